//! A camera that provides JPEG files (V4L2: MJPG or JPEG), read through mmap.
//!
//! | does | does not |
//! |---|---|
//! | request a size and a rate; list the available modes if they are missing | encode raw pictures: use `gstreamer:` |
//! | accept buffers with padding after EOI, without EOI or without Huffman tables | set exposure or focus: use `v4l2-ctl` |
//!
//! The code that accesses the device (`device.rs`) has not been tested with a camera. The rest is tested with buffers as cameras
//! produce them.

mod device;
mod modes;

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use netdyno_mjpeg_core::{Split, Splitter};

use self::device::V4l2;
use super::{Next, SOURCE_WAIT, Source, SourceError, Timing};
use crate::limits::MAX_PICTURE_BYTES;

/// Number of consecutive buffers without a picture that is an error, one or two seconds.
const MAX_BUFFERS_WITHOUT: u32 = 60;

/// Settings of a camera.
#[derive(Debug, Clone, PartialEq)]
pub struct CameraSettings {
    /// The device file.
    pub device: PathBuf,
    /// Width and height in pixels; `None` selects the largest up to 1920 by 1080.
    pub size: Option<(u16, u16)>,
    /// Requested frames per second; the driver selects the nearest rate.
    pub rate: Option<f64>,
}

impl Default for CameraSettings {
    /// /dev/video0 with the default size and rate.
    fn default() -> Self {
        Self { device: "/dev/video0".into(), size: None, rate: None }
    }
}

/// A camera that is streaming.
pub struct Camera {
    name: String,
    buffers: Box<dyn Buffers>,
    splitter: Splitter,
    without_picture: u32,
}

/// Provides buffers: a device or a test.
trait Buffers: Send {
    /// Waits for a buffer. Returns whether one is available.
    fn wait(&mut self, time: Duration) -> io::Result<bool>;

    /// Passes the available buffer to `handle` with the driver's flag that it is intact, and requeues it.
    fn handle_next(&mut self, handle: &mut dyn FnMut(&[u8], bool)) -> io::Result<()>;
}

impl Camera {
    /// Opens a camera and starts streaming.
    ///
    /// # Errors
    /// The device does not exist or lacks the requested mode. The error lists the alternatives.
    pub fn open(settings: &CameraSettings) -> Result<Self, SourceError> {
        let name = settings.device.display().to_string();
        let device = V4l2::open(&name, settings)?;
        Ok(Self::with_buffers(name, Box::new(device)))
    }

    fn with_buffers(name: String, buffers: Box<dyn Buffers>) -> Self {
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
        let mut handle = |mut buffer: &[u8], is_intact: bool| {
            // Data after the picture are padding. A picture without EOI ends with its buffer.
            let split = splitter.split(&mut buffer, into);
            is_picture = (split == Split::Picture || splitter.finish(into)) && is_intact;
        };
        self.buffers.handle_next(&mut handle).map_err(failed)?;
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
            "{MAX_BUFFERS_WITHOUT} buffers without a JPEG picture; try another size or another USB port"
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
