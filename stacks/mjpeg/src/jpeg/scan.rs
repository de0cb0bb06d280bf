//! The entropy-coded data (ITU-T T.81, annexes B.1.1.5 and E.1.4): finds their end and checks their restart markers.

use super::marker;
use crate::error::{JpegError, Unsupported};

/// Number of bytes tested at once.
const BLOCK: usize = 64;

/// The data from `start`, with restart markers. One vectorised pass, and one step for each marker.
pub(super) fn split(file: &[u8], start: usize, interval: u16, mcus: u32) -> Result<&[u8], JpegError> {
    let (end, restarts) = find_end(file, start, interval)?;
    let scan = &file[start..end];
    if scan.is_empty() {
        return Err(JpegError::malformed(start, "the scan has no data"));
    }
    if interval > 0 {
        // A marker separates two intervals. Some encoders write another one after the last interval.
        let intervals = mcus.div_ceil(u32::from(interval));
        if !(intervals - 1..=intervals).contains(&restarts) {
            return Err(JpegError::malformed(
                end,
                "the number of restart markers does not match the restart interval",
            ));
        }
    }
    Ok(scan)
}

/// The end of the data and the number of restart markers.
fn find_end(file: &[u8], start: usize, interval: u16) -> Result<(usize, u32), JpegError> {
    let (mut at, mut restarts) = (start, 0u32);
    while let Some(found) = find_marker(&file[at..]) {
        let offset = at + found;
        let fill = file[offset..].iter().take_while(|byte| **byte == 0xff).count();
        let Some(&code) = file.get(offset + fill) else {
            // The file ends within a marker; omit it.
            return Ok((offset, restarts));
        };
        at = offset + fill + 1;
        let malformed = |rule| Err(JpegError::malformed(offset, rule));
        match code {
            0 => return malformed("a fill byte is not followed by a marker"),
            marker::RST0..=marker::RST7 => {
                if interval == 0 {
                    return malformed("a restart marker occurs without a restart interval (DRI)");
                }
                if u32::from(code - marker::RST0) != restarts % 8 {
                    return malformed("the restart markers are not consecutive");
                }
                restarts += 1;
            }
            marker::EOI | marker::APP0..=marker::APP15 | marker::COM => return Ok((offset, restarts)),
            marker::DNL => return Err(Unsupported::Dnl.into()),
            marker::SOS | marker::DHT | marker::DQT | marker::DRI => {
                return Err(Unsupported::SeveralScans.into());
            }
            _ => return malformed("the scan contains an unexpected marker"),
        }
    }
    Ok((file.len(), restarts))
}

/// Position of the first 0xFF that starts a marker. In scan data, 0xFF occurs about every 300 bytes and is followed by 0. Testing
/// a block at once can be vectorised; testing each 0xFF would dominate the cost of parsing.
pub(super) fn find_marker(data: &[u8]) -> Option<usize> {
    // The byte after 0xFF, otherwise 0: non-zero only at a marker.
    let code = |byte: u8, next: u8| if byte == 0xff { next } else { 0 };
    let mut at = 0;
    while let Some(block) = data.get(at..).and_then(|rest| rest.first_chunk::<{ BLOCK + 1 }>()) {
        let pairs = block.iter().zip(&block[1..]);
        if pairs.fold(0, |any, (byte, next)| any | code(*byte, *next)) != 0 {
            break;
        }
        at += BLOCK;
    }
    // A trailing 0xFF may start a marker.
    (at..data.len()).find(|&at| code(data[at], data.get(at + 1).copied().unwrap_or(1)) != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn find_marker_agrees_with_a_bytewise_search() {
        let mut state = 1u32;
        let mut next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            state >> 24
        };
        // Miri is much slower.
        let (step, long) = if cfg!(miri) { (23, 300) } else { (1, 4_096) };
        for length in (0..200).step_by(step).chain([long]) {
            for sparse in [2, 16, 250] {
                let data: Vec<u8> = (0..length)
                    .map(
                        |_| if next() % sparse == 0 { [0xff, 0x00, 0xd9][next() as usize % 3] } else { 0x55 },
                    )
                    .collect();
                let expected = (0..length).find(|&at| data[at] == 0xff && data.get(at + 1) != Some(&0));
                assert_eq!(find_marker(&data), expected, "{data:02x?}");
            }
        }
        for at in (0..200).step_by(step) {
            let mut data = [0xff, 0x00].repeat(100);
            data[at] = 0xff;
            let expected = (0..data.len()).find(|&at| data[at] == 0xff && data.get(at + 1) != Some(&0));
            assert_eq!(find_marker(&data), expected, "{at}");
        }
    }
}
