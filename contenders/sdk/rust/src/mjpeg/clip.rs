//! The clip: a file of concatenated JPEG files, of which only one frame at a time is in memory.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::FileExt;
use std::path::Path;

use super::Picture;

/// Maximum length of a frame, and maximum number of frames.
const FRAME_BYTES_MAX: usize = 64 << 20;
const FRAMES_MAX: usize = 100_000;
const READ_BYTES: u64 = 64 << 10;

/// An open clip and the positions of its frames.
#[derive(Debug)]
pub struct Clip {
    file: File,
    frames: Vec<Frame>,
    /// The last compared scan.
    scan: Vec<u8>,
}

#[derive(Debug, Clone, Copy)]
struct Frame {
    at: u64,
    bytes: usize,
    scan_at: usize,
    scan_bytes: usize,
}

/// The frame that a picture equals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Found {
    /// The number of the frame in the clip.
    pub frame: usize,
    /// The length of the scan.
    pub scan_bytes: usize,
}

impl Clip {
    /// Opens a clip and indexes its frames.
    ///
    /// # Errors
    /// If the file cannot be read or is not a clip.
    pub fn open(path: &Path) -> Result<Self, String> {
        let describe = |why: String| format!("{}: {why}", path.display());
        let file = File::open(path).map_err(|e| describe(e.to_string()))?;
        let (mut frames, mut held, mut at) = (Vec::new(), Vec::new(), 0);
        loop {
            while let Some(frame) = first_frame(&held, at) {
                held.drain(..frame.bytes);
                at += frame.bytes as u64;
                frames.push(frame);
            }
            if held.len() > FRAME_BYTES_MAX || frames.len() > FRAMES_MAX {
                return Err(describe(format!("frame {} is too long, or there are too many", frames.len())));
            }
            match (&file).take(READ_BYTES).read_to_end(&mut held) {
                Ok(0) if held.is_empty() && !frames.is_empty() => break,
                Ok(0) => return Err(describe(format!("frame {} is not a complete JPEG file", frames.len()))),
                Ok(_) => {}
                Err(e) => return Err(describe(e.to_string())),
            }
        }
        Ok(Self { file, frames, scan: Vec::new() })
    }

    /// The number of frames.
    pub fn frames(&self) -> usize {
        self.frames.len()
    }

    /// Reads a frame (one JPEG file) into `into`, replacing its content.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn read(&self, frame: usize, into: &mut Vec<u8>) -> std::io::Result<()> {
        let Frame { at, bytes, .. } = self.frames[frame];
        into.resize(bytes, 0);
        self.file.read_exact_at(into, at)
    }

    /// Returns the frame whose scan equals that of this picture, by comparing every byte. `likely` is tried first.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn find(
        &mut self,
        picture: &Picture<'_>,
        jpeg: &[u8],
        likely: usize,
    ) -> std::io::Result<Option<Found>> {
        let rest = &jpeg[picture.scan_at..];
        if self.is_scan(likely, rest)? {
            return Ok(Some(Found { frame: likely, scan_bytes: self.frames[likely].scan_bytes }));
        }
        let scan_bytes = picture.scan(jpeg).len();
        for frame in 0..self.frames.len() {
            if self.frames[frame].scan_bytes == scan_bytes && self.is_scan(frame, rest)? {
                return Ok(Some(Found { frame, scan_bytes }));
            }
        }
        Ok(None)
    }

    /// Whether these bytes start with the frame's scan, followed by its end.
    fn is_scan(&mut self, frame: usize, rest: &[u8]) -> std::io::Result<bool> {
        let Frame { at, scan_at, scan_bytes, .. } = self.frames[frame];
        let Some((scan, after)) = rest.split_at_checked(scan_bytes) else { return Ok(false) };
        if !matches!(after, [] | [0xff] | [0xff, 0xff | 0xd9, ..]) {
            return Ok(false);
        }
        self.scan.resize(scan_bytes, 0);
        self.file.read_exact_at(&mut self.scan, at + scan_at as u64)?;
        Ok(scan == self.scan)
    }
}

/// Returns the frame at the start of these bytes, if it is complete.
fn first_frame(held: &[u8], at: u64) -> Option<Frame> {
    let picture = Picture::parse(held).ok()?;
    let scan = picture.scan(held);
    let bytes = scan.end + 2;
    (held.get(scan.end..bytes)? == [0xff, 0xd9]).then_some(Frame {
        at,
        bytes,
        scan_at: scan.start,
        scan_bytes: scan.len(),
    })
}
