//! A camera that gives JPEG files by itself (V4L2: MJPG or JPEG), read by mmap.
//!
//! | does | does not |
//! |---|---|
//! | ask for a size and a rate; say what there is where they are not | encode what a camera gives as raw pictures: `gstreamer:` does |
//! | take buffers that are padded behind EOI, or have none, or lack Huffman tables | set exposure, focus and the like: `v4l2-ctl` does |
//!
//! There was no camera to try this with: what touches the device (`device.rs`) was never run with one. All else is tested with
//! buffers as cameras give them.

mod device;
mod modes;

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use netdyno_mjpeg_core::{Split, Splitter};

use self::device::V4l2;
use super::{Next, SOURCE_WAIT, Source, SourceError, Timing};
use crate::limits::MAX_PICTURE_BYTES;

/// So many buffers in a row without a picture are told: a second, or two.
const MAX_BUFFERS_WITHOUT: u32 = 60;

/// Which camera, and what is asked of it.
#[derive(Debug, Clone, PartialEq)]
pub struct CameraSettings {
    /// Its device.
    pub device: PathBuf,
    /// Width and height, pixels; without them the largest up to 1920 by 1080 that there is.
    pub size: Option<(u16, u16)>,
    /// Pictures a second; the driver takes the nearest that it has.
    pub rate: Option<f64>,
}

impl Default for CameraSettings {
    /// /dev/video0, as large and as quick as it is by itself.
    fn default() -> Self {
        Self { device: "/dev/video0".into(), size: None, rate: None }
    }
}

/// A camera that is filming.
pub struct Camera {
    name: String,
    buffers: Box<dyn Buffers>,
    splitter: Splitter,
    without_picture: u32,
}

/// What gives buffers: a device, or a test.
trait Buffers: Send {
    /// Whether one is there within this time.
    fn wait(&mut self, time: Duration) -> io::Result<bool>;

    /// Shows the one that is there, and whether the driver says that it is whole; then gives it back.
    fn take(&mut self, look: &mut dyn FnMut(&[u8], bool)) -> io::Result<()>;
}

impl Camera {
    /// Opens a camera, and has it begin.
    ///
    /// # Errors
    /// There is none by this name, or it cannot do what is asked: what there is is told.
    pub fn open(settings: &CameraSettings) -> Result<Self, SourceError> {
        let name = settings.device.display().to_string();
        let device = V4l2::open(&name, settings)?;
        Ok(Self::of(name, Box::new(device)))
    }

    fn of(name: String, buffers: Box<dyn Buffers>) -> Self {
        Self { name, buffers, splitter: Splitter::new(MAX_PICTURE_BYTES), without_picture: 0 }
    }
}

impl Source for Camera {
    fn next(&mut self, into: &mut Vec<u8>) -> Result<Next, SourceError> {
        into.clear();
        let failed = |error| SourceError::io(&self.name, error);
        if !self.buffers.wait(SOURCE_WAIT).map_err(failed)? {
            return Ok(Next::Pending);
        }
        let (splitter, mut is_picture) = (&mut self.splitter, false);
        let mut look = |mut buffer: &[u8], is_whole: bool| {
            // What stands behind the picture is padding. One without EOI ends with its buffer.
            let split = splitter.split(&mut buffer, into);
            is_picture = (split == Split::Picture || splitter.finish(into)) && is_whole;
        };
        self.buffers.take(&mut look).map_err(failed)?;
        self.without_picture = if is_picture { 0 } else { self.without_picture + 1 };
        if is_picture {
            return Ok(Next::Picture);
        }
        into.clear();
        if self.without_picture < MAX_BUFFERS_WITHOUT {
            return Ok(Next::Pending);
        }
        self.without_picture = 0;
        let reason = format!(
            "{MAX_BUFFERS_WITHOUT} buffers without a JPEG picture: try another size, or another port of USB"
        );
        Err(SourceError::unusable(&self.name, reason))
    }

    fn timing(&self) -> Timing {
        Timing::Live
    }
}

impl std::fmt::Debug for Camera {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Camera").field("name", &self.name).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
