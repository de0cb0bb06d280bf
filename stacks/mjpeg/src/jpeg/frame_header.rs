//! The frame header (SOF) and the scan header (SOS) of ITU-T T.81, annexes B.2.2 and B.2.3.

use super::Sampling;
use super::marker;
use super::segments::{Segment, Tables};
use crate::error::{JpegError, Unsupported};
use crate::huffman::{Class, Part};
use crate::tables::{QuantTable, QuantTables};

/// A component of the picture.
#[derive(Debug, Clone, Copy)]
struct Component {
    id: u8,
    /// Horizontal and vertical sampling factor.
    factors: (u8, u8),
    /// Destination identifier of its quantisation table.
    table: u8,
}

/// A frame header with three components of 8-bit samples.
#[derive(Debug, Clone, Copy)]
pub(super) struct FrameHeader {
    pub(super) width: u16,
    pub(super) height: u16,
    components: [Component; 3],
}

impl FrameHeader {
    /// Whether a marker between SOF0 and SOF15 starts a frame header; three of them do not.
    pub(super) fn is_marker(marker: u8) -> bool {
        !matches!(marker, marker::DHT | marker::JPG | marker::DAC)
    }

    /// Parses a frame header and rejects properties that RFC 2435 cannot carry.
    pub(super) fn parse(segment: &Segment<'_>) -> Result<Self, JpegError> {
        check_process(segment.marker)?;
        let &[precision, h1, h0, w1, w0, count, ref components @ ..] = segment.body else {
            return Err(segment.malformed("the frame header (SOF) is too short"));
        };
        if components.len() != 3 * usize::from(count) {
            return Err(segment
                .malformed("the length of the frame header (SOF) does not match its number of components"));
        }
        if precision != 8 {
            return Err(Unsupported::Precision(precision).into());
        }
        let (width, height) = (u16::from_be_bytes([w1, w0]), u16::from_be_bytes([h1, h0]));
        if width == 0 {
            return Err(segment.malformed("the width is 0"));
        }
        if height == 0 {
            return Err(Unsupported::Dnl.into());
        }
        let &[id0, factors0, table0, id1, factors1, table1, id2, factors2, table2] = components else {
            return Err(match count {
                0 => segment.malformed("the number of components is 0"),
                1 => Unsupported::Greyscale.into(),
                _ => Unsupported::Components(count).into(),
            });
        };
        let component = |id, factors, table| Component { id, factors: (factors >> 4, factors & 15), table };
        let components = [
            component(id0, factors0, table0),
            component(id1, factors1, table1),
            component(id2, factors2, table2),
        ];
        let is_valid = |factor| (1..=4).contains(&factor);
        if !components.iter().all(|c| is_valid(c.factors.0) && is_valid(c.factors.1)) {
            return Err(segment.malformed("a sampling factor is not 1 to 4"));
        }
        Ok(Self { width, height, components })
    }

    /// The subsampling, if the picture is YCbCr with one of RFC 2435's two kinds.
    pub(super) fn sampling(&self, tables: &Tables) -> Result<Sampling, JpegError> {
        let ids = self.components.map(|component| component.id);
        let is_rgb = match tables.adobe_transform {
            // If JFIF (which implies YCbCr) contradicts Adobe's segment, decoders differ. Reject rather than risk wrong colours.
            Some(transform) => transform == 0,
            // The component identifiers that libjpeg interprets as RGB.
            None => !tables.is_jfif && ids == *b"RGB",
        };
        if is_rgb {
            return Err(Unsupported::Rgb.into());
        }
        match self.components.map(|component| component.factors) {
            [(2, 1), (1, 1), (1, 1)] => Ok(Sampling::Yuv422),
            [(2, 2), (1, 1), (1, 1)] => Ok(Sampling::Yuv420),
            factors => Err(Unsupported::Sampling(factors).into()),
        }
    }

    /// The quantisation tables of Y, and of Cb and Cr.
    pub(super) fn quantisation(&self, tables: &Tables, offset: usize) -> Result<QuantTables, JpegError> {
        let table = |component: &Component| -> Result<QuantTable, JpegError> {
            let table = tables.quantisation.get(usize::from(component.table)).copied().flatten();
            table.ok_or(JpegError::malformed(offset, "a quantisation table is missing before the scan"))
        };
        let [y, cb, cr] = &self.components;
        let (luma, chroma) = (table(y)?, table(cb)?);
        if chroma != table(cr)? {
            return Err(Unsupported::ThreeTables.into());
        }
        Ok(QuantTables { luma, chroma })
    }

    /// Checks that the scan has all components, all coefficients and the typical Huffman tables.
    pub(super) fn check_scan_header(&self, segment: &Segment<'_>, tables: &Tables) -> Result<(), JpegError> {
        let [count, rest @ ..] = segment.body else {
            return Err(segment.malformed("the scan header (SOS) is empty"));
        };
        if rest.len() != 2 * usize::from(*count) + 3 || !(1..=4).contains(count) {
            return Err(segment.malformed(
                "the length of the scan header (SOS) does not match its number of components (1 to 4)",
            ));
        }
        let &[id0, tables0, id1, tables1, id2, tables2, first, last, bits] = rest else {
            return Err(match count {
                1 | 2 => Unsupported::SeveralScans.into(),
                _ => segment.malformed("the scan has a component that the frame header lacks"),
            });
        };
        if [id0, id1, id2] != self.components.map(|component| component.id) {
            return Err(
                segment.malformed("the components of the scan are not those of the frame in the same order")
            );
        }
        if (first, last, bits) != (0, 63, 0) {
            return Err(segment.malformed("the scan of a baseline picture does not have all coefficients"));
        }
        let parts = [(tables0, Part::Luma), (tables1, Part::Chroma), (tables2, Part::Chroma)];
        for (numbers, part) in parts {
            let (dc, ac) = (numbers >> 4, numbers & 0x0f);
            if dc > 3 || ac > 3 {
                return Err(segment.malformed("a Huffman table identifier is not 0 to 3"));
            }
            if !tables.is_standard(Class::Dc, dc, part) || !tables.is_standard(Class::Ac, ac, part) {
                return Err(Unsupported::Huffman.into());
            }
        }
        Ok(())
    }
}

/// Accepts the baseline process and extended sequential processes with Huffman coding.
fn check_process(marker: u8) -> Result<(), Unsupported> {
    match marker {
        marker::SOF0 | marker::SOF1 => Ok(()),
        0xc2 => Err(Unsupported::Progressive),
        0xc3 => Err(Unsupported::Lossless),
        0xc5..=0xc7 => Err(Unsupported::Hierarchical),
        _ => Err(Unsupported::Arithmetic),
    }
}
