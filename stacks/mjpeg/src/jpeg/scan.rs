//! The entropy-coded data (ITU-T T.81, annexes B.1.1.5 and E.1.4): where they end, and whether restart markers are as
//! they must be.

use memchr::memchr;

use super::marker;
use crate::error::{JpegError, Unsupported};

/// The data from `start` on, restart markers included. One pass by vector instructions, and a step for each 0xFF.
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
    while let Some(found) = memchr(0xff, &file[at..]) {
        let offset = at + found;
        let fill = file[offset..].iter().take_while(|byte| **byte == 0xff).count();
        let Some(&code) = file.get(offset + fill) else {
            // The file ends within a marker: what was there of it is left out.
            return Ok((offset, restarts));
        };
        at = offset + fill + 1;
        let wrong = |rule| Err(JpegError::malformed(offset, rule));
        match code {
            0 if fill == 1 => {}
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
