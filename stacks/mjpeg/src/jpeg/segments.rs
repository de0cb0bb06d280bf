//! The segments before the scan, and the tables that they define (ITU-T T.81, annex B.2.4).

use super::marker;
use crate::error::{JpegError, Unsupported};
use crate::huffman::{Class, Part, standard};
use crate::tables::QuantTable;

/// A marker and what belongs to it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Segment<'a> {
    pub(super) marker: u8,
    /// Where the marker is.
    pub(super) offset: usize,
    /// What comes after the length field.
    pub(super) body: &'a [u8],
    /// Where the segment ends.
    pub(super) end: usize,
}

impl Segment<'_> {
    /// The error that this segment breaks a rule.
    pub(super) fn wrong(&self, rule: &'static str) -> JpegError {
        JpegError::malformed(self.offset, rule)
    }
}

/// Segments, one after the other.
#[derive(Debug)]
pub(super) struct Segments<'a> {
    file: &'a [u8],
    at: usize,
}

impl<'a> Segments<'a> {
    pub(super) fn new(file: &'a [u8], at: usize) -> Self {
        Self { file, at }
    }

    /// The next one that has a length.
    pub(super) fn next_segment(&mut self) -> Result<Segment<'a>, JpegError> {
        loop {
            let offset = self.at;
            let wrong = |rule| Err(JpegError::malformed(offset, rule));
            let rest = &self.file[offset..];
            // > Any marker may optionally be preceded by any number of fill bytes (B.1.1.2)
            let fill = rest.iter().take_while(|byte| **byte == 0xff).count();
            let Some(&marker) = rest.get(fill) else { return wrong("it goes on to a scan") };
            if fill == 0 {
                return wrong("a segment begins with a marker");
            }
            self.at += fill + 1;
            match marker {
                marker::TEM => continue,
                marker::EOI => return wrong("it has a scan"),
                marker::SOI => return wrong("SOI is at its beginning alone"),
                marker::RST0..=marker::RST7 => return wrong("restart markers are within the scan"),
                0x00 | 0x02..marker::SOF0 => return wrong("its markers are those of the standard"),
                _ => {}
            }
            let after = &self.file[self.at..];
            let Some(length) =
                after.first_chunk::<2>().map(|length| usize::from(u16::from_be_bytes(*length)))
            else {
                return wrong("a segment has a length");
            };
            let Some(body) = after.get(2..length) else { return wrong("a segment is as long as it says") };
            self.at += length;
            return Ok(Segment { marker, offset, body, end: self.at });
        }
    }
}

/// What a Huffman table is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Known {
    /// Not told: then it is that of its number (as in AVI files, and from many cameras).
    #[default]
    Untold,
    Standard(Part),
    /// One of somebody's own.
    Other,
}

/// All that segments have defined so far.
#[derive(Debug, Default)]
pub(super) struct Tables {
    pub(super) quantisation: [Option<QuantTable>; 4],
    /// By class, then number.
    huffman: [[Known; 4]; 2],
    pub(super) restart_interval: u16,
    pub(super) is_jfif: bool,
    /// The colour transform that Adobe's segment tells.
    pub(super) adobe_transform: Option<u8>,
}

impl Tables {
    /// Takes note of a segment.
    pub(super) fn take(&mut self, segment: &Segment<'_>) -> Result<(), JpegError> {
        match segment.marker {
            marker::DQT => self.take_quantisation(segment),
            marker::DHT => self.take_huffman(segment),
            marker::DAC => Err(Unsupported::Arithmetic.into()),
            marker::DRI => {
                let body = segment.body.try_into().map_err(|_| segment.wrong("DRI has 2 bytes"))?;
                self.restart_interval = u16::from_be_bytes(body);
                Ok(())
            }
            marker::APP0 => {
                self.is_jfif |= segment.body.starts_with(b"JFIF\0");
                Ok(())
            }
            marker::APP14 => {
                if let [b'A', b'd', b'o', b'b', b'e', _, _, _, _, _, _, transform, ..] = segment.body {
                    self.adobe_transform = Some(*transform);
                }
                Ok(())
            }
            marker::APP0..=marker::APP15 | marker::JPG0..=marker::COM => Ok(()),
            _ => Err(segment.wrong("its markers are those of the standard")),
        }
    }

    /// Whether the table of that number is the usual one for that part.
    pub(super) fn is_standard(&self, class: Class, number: u8, part: Part) -> bool {
        match self.huffman[class as usize].get(usize::from(number)) {
            Some(Known::Untold) => number == part as u8,
            Some(Known::Standard(known)) => *known == part,
            Some(Known::Other) | None => false,
        }
    }

    /// DQT: one table or more, each of 8 or 16 bits a value.
    fn take_quantisation(&mut self, segment: &Segment<'_>) -> Result<(), JpegError> {
        let mut rest = segment.body;
        while let [head, after @ ..] = rest {
            let is_wide = match head >> 4 {
                0 => false,
                1 => true,
                _ => return Err(segment.wrong("a quantisation table has 8 or 16 bits a value")),
            };
            let values = after.split_at_checked(if is_wide { 128 } else { 64 });
            let (values, after) = values.ok_or(segment.wrong("a quantisation table has 64 values"))?;
            let table = QuantTable::read(values, is_wide);
            let table = table.ok_or(segment.wrong("no value of a quantisation table is 0"))?;
            let place = self.quantisation.get_mut(usize::from(head & 0x0f));
            *place.ok_or(segment.wrong("a quantisation table has number 0 to 3"))? = Some(table);
            rest = after;
        }
        Ok(())
    }

    /// DHT: one table or more.
    fn take_huffman(&mut self, segment: &Segment<'_>) -> Result<(), JpegError> {
        let mut rest = segment.body;
        while let [head, after @ ..] = rest {
            let class = match head >> 4 {
                0 => Class::Dc,
                1 => Class::Ac,
                _ => return Err(segment.wrong("a Huffman table is of DC or AC")),
            };
            let wrong = segment.wrong("a Huffman table has as many values as codes");
            let (counts, after) = after.split_at_checked(16).ok_or(wrong)?;
            let count = counts.iter().map(|count| usize::from(*count)).sum();
            let (values, after) = after.split_at_checked(count).ok_or(wrong)?;
            let parts = [Part::Luma, Part::Chroma];
            let known = parts.into_iter().find(|part| standard(class, *part).is(counts, values));
            let place = self.huffman[class as usize].get_mut(usize::from(head & 0x0f));
            *place.ok_or(segment.wrong("a Huffman table has number 0 to 3"))? =
                known.map_or(Known::Other, Known::Standard);
            rest = after;
        }
        Ok(())
    }
}
