//! A parser of the parts of a JPEG file that RFC 2435 needs (ITU-T T.81, annex B). It checks every segment, decodes nothing
//! and copies only tables.

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

/// Chroma subsampling.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Sampling {
    /// 4:2:2, half the columns: sampling factors 2x1, 1x1, 1x1; type 0 in RFC 2435 section 4.1.
    Yuv422,
    /// 4:2:0, half the columns and rows: sampling factors 2x2, 1x1, 1x1; type 1.
    Yuv420,
}

impl Sampling {
    /// Horizontal and vertical sampling factor of Y; those of Cb and Cr are 1.
    pub(crate) fn luma_factors(self) -> (u8, u8) {
        match self {
            Self::Yuv422 => (2, 1),
            Self::Yuv420 => (2, 2),
        }
    }

    /// Number of minimum coded units (MCU) of a picture.
    pub(crate) fn mcus(self, width: u16, height: u16) -> u32 {
        let (horizontal, vertical) = self.luma_factors();
        let units = |pixels: u16, factor: u8| u32::from(pixels).div_ceil(8 * u32::from(factor));
        units(width, horizontal) * units(height, vertical)
    }
}

/// A picture that RFC 2435 can carry, as views of its file.
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
    /// Parses a JPEG file in one pass. Data after the end of the picture are ignored. A missing EOI is accepted, and missing
    /// Huffman tables are the typical ones.
    ///
    /// Metadata (APPn segments with their thumbnails, comments) are skipped, because RFC 2435 does not carry them.
    ///
    /// # Errors
    /// The file is malformed, or RFC 2435 cannot carry the picture.
    pub fn parse(file: &'a [u8]) -> Result<Self, JpegError> {
        if file.get(..2) != Some(&[0xff, marker::SOI]) {
            return Err(JpegError::malformed(0, "it does not start with SOI"));
        }
        let mut segments = Segments::new(file, 2);
        let mut tables = Tables::default();
        let mut frame: Option<FrameHeader> = None;
        loop {
            let segment = segments.next_segment()?;
            match segment.marker {
                marker::SOS => {
                    let rule = "the scan is not preceded by a frame header (SOF)";
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
                        return Err(JpegError::malformed(
                            segment.offset,
                            "it has several frame headers (SOF)",
                        ));
                    }
                    frame = Some(FrameHeader::parse(&segment)?);
                }
                marker::SOF55 => return Err(Unsupported::Lossless.into()),
                marker::JPG => return Err(Unsupported::Process(segment.marker).into()),
                marker::DHP | marker::EXP => return Err(Unsupported::Hierarchical.into()),
                marker::DNL => return Err(Unsupported::Dnl.into()),
                _ => tables.handle_segment(&segment)?,
            }
        }
    }

    /// Width in pixels.
    pub fn width(&self) -> u16 {
        self.width
    }

    /// Height in pixels.
    pub fn height(&self) -> u16 {
        self.height
    }

    /// Chroma subsampling.
    pub fn sampling(&self) -> Sampling {
        self.sampling
    }

    /// Quantisation tables.
    pub fn tables(&self) -> &QuantTables {
        &self.tables
    }

    /// Restart interval in minimum coded units (MCU); 0 without restart markers.
    pub fn restart_interval(&self) -> u16 {
        self.restart_interval
    }

    /// The entropy-coded data with restart markers, without EOI.
    pub fn scan(&self) -> &'a [u8] {
        self.scan
    }
}
