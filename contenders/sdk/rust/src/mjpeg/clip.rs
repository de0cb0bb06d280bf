//! The clip: JPEG files one after the other in a file, of which one frame at a time is in memory.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::FileExt;
use std::path::Path;

use super::Picture;

/// The longest frame, in bytes, and the most frames.
const FRAME_BYTES_MAX: usize = 64 << 20;
const FRAMES_MAX: usize = 100_000;
const READ_BYTES: u64 = 64 << 10;

/// A clip, opened, and where its frames are.
#[derive(Debug)]
pub struct Clip {
    file: File,
    frames: Vec<Frame>,
    /// The scan that was compared last.
    scan: Vec<u8>,
}

#[derive(Debug, Clone, Copy)]
struct Frame {
    at: u64,
    bytes: usize,
    scan_at: usize,
    scan_bytes: usize,
}

/// What a picture is found to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Found {
    /// The frame's number in the clip.
    pub frame: usize,
    /// The length of its scan.
    pub scan_bytes: usize,
}

impl Clip {
    /// Opens a clip and looks where its frames are.
    ///
    /// # Errors
    /// When it cannot be read, or is no clip.
    pub fn open(path: &Path) -> Result<Self, String> {
        let told = |why: String| format!("{}: {why}", path.display());
        let file = File::open(path).map_err(|e| told(e.to_string()))?;
        let (mut frames, mut held, mut at) = (Vec::new(), Vec::new(), 0);
        loop {
            while let Some(frame) = first_frame(&held, at) {
                held.drain(..frame.bytes);
                at += frame.bytes as u64;
                frames.push(frame);
            }
            if held.len() > FRAME_BYTES_MAX || frames.len() > FRAMES_MAX {
                return Err(told(format!("frame {} is too long, or there are too many", frames.len())));
            }
            match (&file).take(READ_BYTES).read_to_end(&mut held) {
                Ok(0) if held.is_empty() && !frames.is_empty() => break,
                Ok(0) => return Err(told(format!("frame {} is no whole JPEG file", frames.len()))),
                Ok(_) => {}
                Err(e) => return Err(told(e.to_string())),
            }
        }
        Ok(Self { file, frames, scan: Vec::new() })
    }

    /// How many frames it has.
    pub fn frames(&self) -> usize {
        self.frames.len()
    }

    /// Reads a frame, one JPEG file, in the place of what is in `into`.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn read(&self, frame: usize, into: &mut Vec<u8>) -> std::io::Result<()> {
        let Frame { at, bytes, .. } = self.frames[frame];
        into.resize(bytes, 0);
        self.file.read_exact_at(into, at)
    }

    /// Which frame has the scan of this picture, every byte compared: most likely the one of number `likely`. None has it: none.
    ///
    /// # Errors
    /// When the file cannot be read.
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

    /// Whether these bytes begin with the frame's scan, and it ends there.
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

/// The frame that these bytes begin with, if all of it is there.
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
