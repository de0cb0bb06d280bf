//! The entropy-coded data (ITU-T T.81, annexes B.1.1.5 and E.1.4): where they end, and whether restart markers are as
//! they must be.

use super::marker;
use crate::error::{JpegError, Unsupported};

/// Bytes looked at together.
const BLOCK: usize = 64;

/// The data from `start` on, restart markers included. One pass by vector instructions, and a step for each marker.
pub(super) fn split(file: &[u8], start: usize, interval: u16, mcus: u32) -> Result<&[u8], JpegError> {
    let (end, restarts) = find_end(file, start, interval)?;
    let scan = &file[start..end];
    if scan.is_empty() {
        return Err(JpegError::malformed(start, "a scan has data"));
    }
    if interval > 0 {
        // Between intervals is a marker; some encoders write one after the last, too.
        let intervals = mcus.div_ceil(u32::from(interval));
        if !(intervals - 1..=intervals).contains(&restarts) {
            return Err(JpegError::malformed(end, "a scan has a restart marker between any two intervals"));
        }
    }
    Ok(scan)
}

/// Where the data end, and how many restart markers they have.
fn find_end(file: &[u8], start: usize, interval: u16) -> Result<(usize, u32), JpegError> {
    let (mut at, mut restarts) = (start, 0u32);
    while let Some(found) = find_marker(&file[at..]) {
        let offset = at + found;
        let fill = file[offset..].iter().take_while(|byte| **byte == 0xff).count();
        let Some(&code) = file.get(offset + fill) else {
            // The file ends within a marker: what was there of it is left out.
            return Ok((offset, restarts));
        };
        at = offset + fill + 1;
        let wrong = |rule| Err(JpegError::malformed(offset, rule));
        match code {
            0 => return wrong("fill bytes come before markers alone"),
            marker::RST0..=marker::RST7 => {
                if interval == 0 {
                    return wrong("restart markers come with a restart interval alone");
                }
                if u32::from(code - marker::RST0) != restarts % 8 {
                    return wrong("restart markers are in order");
                }
                restarts += 1;
            }
            marker::EOI | marker::APP0..=marker::APP15 | marker::COM => return Ok((offset, restarts)),
            marker::DNL => return Err(Unsupported::Dnl.into()),
            marker::SOS | marker::DHT | marker::DQT | marker::DRI => {
                return Err(Unsupported::SeveralScans.into());
            }
            _ => return wrong("a scan ends with EOI"),
        }
    }
    Ok((file.len(), restarts))
}

/// Where the first 0xFF is that is no data: data's have a zero behind them, one in some 300 bytes. A block is one test, which compilers
/// make vector instructions of; a step for each 0xFF took most of the time of a walk.
pub(super) fn find_marker(data: &[u8]) -> Option<usize> {
    // What is behind an 0xFF, and 0 behind another byte: other than 0 only at a marker.
    let code = |byte: u8, next: u8| if byte == 0xff { next } else { 0 };
    let mut at = 0;
    while let Some(block) = data.get(at..).and_then(|rest| rest.first_chunk::<{ BLOCK + 1 }>()) {
        let pairs = block.iter().zip(&block[1..]);
        if pairs.fold(0, |any, (byte, next)| any | code(*byte, *next)) != 0 {
            break;
        }
        at += BLOCK;
    }
    // What the data end with may be the begin of a marker.
    (at..data.len()).find(|&at| code(data[at], data.get(at + 1).copied().unwrap_or(1)) != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The plain way says the same, wherever markers, stuffed bytes and the end are.
    #[test]
    fn a_marker_is_found_wherever_it_is() {
        let mut state = 1u32;
        let mut next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            state >> 24
        };
        for length in (0..200).chain([1_000, 4_096]) {
            for sparse in [2, 16, 250] {
                let data: Vec<u8> = (0..length)
                    .map(
                        |_| if next() % sparse == 0 { [0xff, 0x00, 0xd9][next() as usize % 3] } else { 0x55 },
                    )
                    .collect();
                let plain = (0..length).find(|&at| data[at] == 0xff && data.get(at + 1) != Some(&0));
                assert_eq!(find_marker(&data), plain, "{data:02x?}");
            }
        }
        for at in 0..200 {
            let mut data = [0xff, 0x00].repeat(100);
            data[at] = 0xff;
            let plain = (0..data.len()).find(|&at| data[at] == 0xff && data.get(at + 1) != Some(&0));
            assert_eq!(find_marker(&data), plain, "{at}");
        }
    }
}
