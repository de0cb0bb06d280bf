//! The segments before the scan and the tables in them (ITU-T T.81, annex B.2.4).

use super::marker;
use crate::error::{JpegError, Unsupported};
use crate::huffman::{Class, Part, standard};
use crate::tables::QuantTable;

/// A marker segment.
#[derive(Debug, Clone, Copy)]
pub(super) struct Segment<'a> {
    pub(super) marker: u8,
    /// Position of the marker.
    pub(super) offset: usize,
    /// The parameters after the length field.
    pub(super) body: &'a [u8],
    /// End position of the segment.
    pub(super) end: usize,
}

impl Segment<'_> {
    /// An error at this segment.
    pub(super) fn malformed(&self, rule: &'static str) -> JpegError {
        JpegError::malformed(self.offset, rule)
    }
}

/// Iterates over the segments of a file.
#[derive(Debug)]
pub(super) struct Segments<'a> {
    file: &'a [u8],
    at: usize,
}

impl<'a> Segments<'a> {
    pub(super) fn new(file: &'a [u8], at: usize) -> Self {
        Self { file, at }
    }

    /// The next segment; markers without a length are skipped.
    pub(super) fn next_segment(&mut self) -> Result<Segment<'a>, JpegError> {
        loop {
            let offset = self.at;
            let malformed = |rule| Err(JpegError::malformed(offset, rule));
            let rest = &self.file[offset..];
            // > Any marker may optionally be preceded by any number of fill bytes (B.1.1.2)
            let fill = rest.iter().take_while(|byte| **byte == 0xff).count();
            let Some(&marker) = rest.get(fill) else { return malformed("the file ends before the scan") };
            if fill == 0 {
                return malformed("a segment does not start with a marker");
            }
            self.at += fill + 1;
            match marker {
                marker::TEM => continue,
                marker::EOI => return malformed("EOI occurs before the scan"),
                marker::SOI => return malformed("SOI occurs twice"),
                marker::RST0..=marker::RST7 => return malformed("a restart marker occurs before the scan"),
                0x00 | 0x02..marker::SOF0 => return malformed("a marker code is invalid"),
                _ => {}
            }
            let after = &self.file[self.at..];
            let Some(length) =
                after.first_chunk::<2>().map(|length| usize::from(u16::from_be_bytes(*length)))
            else {
                return malformed("the file ends before the length of a segment");
            };
            let Some(body) = after.get(2..length) else {
                return malformed("the length of a segment is invalid or exceeds the file");
            };
            self.at += length;
            return Ok(Segment { marker, offset, body, end: self.at });
        }
    }
}

/// The definition of a Huffman table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum HuffmanDefinition {
    /// Undefined: the typical table with the same identifier applies, as in AVI files and the output of many cameras.
    #[default]
    Implied,
    Standard(Part),
    /// Any other table.
    Other,
}

/// The tables and parameters defined by segments.
#[derive(Debug, Default)]
pub(super) struct Tables {
    pub(super) quantisation: [Option<QuantTable>; 4],
    /// Indexed by class and identifier.
    huffman: [[HuffmanDefinition; 4]; 2],
    pub(super) restart_interval: u16,
    pub(super) is_jfif: bool,
    /// The colour transform in Adobe's APP14 segment.
    pub(super) adobe_transform: Option<u8>,
}

impl Tables {
    /// Handles a segment.
    pub(super) fn handle_segment(&mut self, segment: &Segment<'_>) -> Result<(), JpegError> {
        match segment.marker {
            marker::DQT => self.handle_quantisation(segment),
            marker::DHT => self.handle_huffman(segment),
            marker::DAC => Err(Unsupported::Arithmetic.into()),
            marker::DRI => {
                let body =
                    segment.body.try_into().map_err(|_| segment.malformed("the length of DRI is not 4"))?;
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
            _ => Err(segment.malformed("a marker code is invalid")),
        }
    }

    /// Whether the table with this identifier is the typical one for a part.
    pub(super) fn is_standard(&self, class: Class, number: u8, part: Part) -> bool {
        match self.huffman[class as usize].get(usize::from(number)) {
            Some(HuffmanDefinition::Implied) => number == part as u8,
            Some(HuffmanDefinition::Standard(known)) => *known == part,
            Some(HuffmanDefinition::Other) | None => false,
        }
    }

    /// DQT: one or more tables with values of 8 or 16 bits.
    fn handle_quantisation(&mut self, segment: &Segment<'_>) -> Result<(), JpegError> {
        let mut rest = segment.body;
        while let [head, after @ ..] = rest {
            let is_wide = match head >> 4 {
                0 => false,
                1 => true,
                _ => {
                    return Err(
                        segment.malformed("the precision of a quantisation table is not 8 or 16 bits")
                    );
                }
            };
            let values = after.split_at_checked(if is_wide { 128 } else { 64 });
            let (values, after) =
                values.ok_or(segment.malformed("a quantisation table has fewer than 64 values"))?;
            let table = QuantTable::read(values, is_wide);
            let table = table.ok_or(segment.malformed("a value of a quantisation table is 0"))?;
            let slot = self.quantisation.get_mut(usize::from(head & 0x0f));
            *slot.ok_or(segment.malformed("a quantisation table identifier is not 0 to 3"))? = Some(table);
            rest = after;
        }
        Ok(())
    }

    /// DHT: one or more tables.
    fn handle_huffman(&mut self, segment: &Segment<'_>) -> Result<(), JpegError> {
        let mut rest = segment.body;
        while let [head, after @ ..] = rest {
            let class = match head >> 4 {
                0 => Class::Dc,
                1 => Class::Ac,
                _ => return Err(segment.malformed("a Huffman table class is not 0 (DC) or 1 (AC)")),
            };
            let truncated = segment.malformed("a Huffman table is truncated");
            let (counts, after) = after.split_at_checked(16).ok_or(truncated)?;
            let count = counts.iter().map(|count| usize::from(*count)).sum();
            let (values, after) = after.split_at_checked(count).ok_or(truncated)?;
            let parts = [Part::Luma, Part::Chroma];
            let known = parts.into_iter().find(|part| standard(class, *part).is(counts, values));
            let slot = self.huffman[class as usize].get_mut(usize::from(head & 0x0f));
            *slot.ok_or(segment.malformed("a Huffman table identifier is not 0 to 3"))? =
                known.map_or(HuffmanDefinition::Other, HuffmanDefinition::Standard);
            rest = after;
        }
        Ok(())
    }
}
