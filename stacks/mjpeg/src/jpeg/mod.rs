//! What RFC 2435 needs of a JPEG file (ITU-T T.81, annex B): every segment looked at, nothing decoded, nothing copied but
//! tables.

mod frame_header;
pub(crate) mod marker;
mod scan;
mod segments;
mod splitter;

use crate::error::{JpegError, Unsupported};
use crate::tables::QuantTables;
use frame_header::FrameHeader;
use segments::{Segments, Tables};
pub use splitter::{Split, Splitter};

/// Subsampling of the two chroma components.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Sampling {
    /// 4:2:2, half the columns: sampling factors 2x1, 1x1, 1x1. Type 0 of RFC 2435 section 4.1.
    Yuv422,
    /// 4:2:0, half the columns and rows: 2x2, 1x1, 1x1. Type 1.
    Yuv420,
}

impl Sampling {
    /// Sampling factors of Y, horizontal and vertical; those of Cb and Cr are 1.
    pub(crate) fn luma_factors(self) -> (u8, u8) {
        match self {
            Self::Yuv422 => (2, 1),
            Self::Yuv420 => (2, 2),
        }
    }

    /// How many minimum coded units (MCU) a picture has.
    pub(crate) fn mcus(self, width: u16, height: u16) -> u32 {
        let (horizontal, vertical) = self.luma_factors();
        let units = |pixels: u16, factor: u8| u32::from(pixels).div_ceil(8 * u32::from(factor));
        units(width, horizontal) * units(height, vertical)
    }
}

/// A picture that RFC 2435 can carry: views of its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Jpeg<'a> {
    width: u16,
    height: u16,
    sampling: Sampling,
    tables: QuantTables,
    restart_interval: u16,
    scan: &'a [u8],
}

impl<'a> Jpeg<'a> {
    /// Walks a JPEG file from its first byte. What comes after its end is left out; a missing EOI is borne, as are missing
    /// Huffman tables, which then are the usual ones. Costs one pass over the file.
    ///
    /// Metadata (APPn, comments, thumbnails within them) are not carried by RFC 2435, and are passed over.
    pub fn parse(file: &'a [u8]) -> Result<Self, JpegError> {
        if file.get(..2) != Some(&[0xff, marker::SOI]) {
            return Err(JpegError::malformed(0, "it begins with SOI"));
        }
        let mut segments = Segments::new(file, 2);
        let mut tables = Tables::default();
        let mut frame: Option<FrameHeader> = None;
        loop {
            let segment = segments.next_segment()?;
            match segment.marker {
                marker::SOS => {
                    let rule = "a frame header comes before the scan";
                    let frame = frame.ok_or(JpegError::malformed(segment.offset, rule))?;
                    let sampling = frame.sampling(&tables)?;
                    let quantisation = frame.quantisation(&tables, segment.offset)?;
                    frame.check_scan_header(&segment, &tables)?;
                    let mcus = sampling.mcus(frame.width, frame.height);
                    let scan = scan::split(file, segment.end, tables.restart_interval, mcus)?;
                    return Ok(Self {
                        width: frame.width,
                        height: frame.height,
                        sampling,
                        tables: quantisation,
                        restart_interval: tables.restart_interval,
                        scan,
                    });
                }
                marker::SOF0..=marker::SOF15 if FrameHeader::is_marker(segment.marker) => {
                    if frame.is_some() {
                        return Err(JpegError::malformed(segment.offset, "it has one frame header"));
                    }
                    frame = Some(FrameHeader::parse(&segment)?);
                }
                marker::SOF55 => return Err(Unsupported::Lossless.into()),
                marker::JPG => return Err(Unsupported::Process(segment.marker).into()),
                marker::DHP | marker::EXP => return Err(Unsupported::Hierarchical.into()),
                marker::DNL => return Err(Unsupported::Dnl.into()),
                _ => tables.take(&segment)?,
            }
        }
    }

    /// Width, pixels.
    pub fn width(&self) -> u16 {
        self.width
    }

    /// Height, pixels.
    pub fn height(&self) -> u16 {
        self.height
    }

    /// Subsampling.
    pub fn sampling(&self) -> Sampling {
        self.sampling
    }

    /// Quantisation tables.
    pub fn tables(&self) -> &QuantTables {
        &self.tables
    }

    /// Minimum coded units between restart markers; 0 if there are none.
    pub fn restart_interval(&self) -> u16 {
        self.restart_interval
    }

    /// The entropy-coded data, restart markers included, EOI left out.
    pub fn scan(&self) -> &'a [u8] {
        self.scan
    }
}
