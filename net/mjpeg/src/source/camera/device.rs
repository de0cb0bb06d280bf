//! The V4L2 device, accessed by ioctl and mmap through the crate `linuxvideo`. Not tested with a camera.

use std::io::{self, ErrorKind};
use std::os::fd::AsFd;
use std::time::Duration;

use linuxvideo::format::{FrameIntervals, FrameSizes, PixFormat, PixelFormat};
use linuxvideo::stream::ReadStream;
use linuxvideo::{BufType, CapabilityFlags, Device, Fract};

use super::modes::{Format, Size, choose};
use super::{Buffers, CameraSettings};
use crate::source::SourceError;
use crate::source::child::poll;

/// Maximum number of listed formats and of listed sizes.
const MAX_FORMATS: usize = 64;

pub(super) struct V4l2 {
    stream: ReadStream,
}

impl V4l2 {
    pub(super) fn open(name: &str, settings: &CameraSettings) -> Result<Self, SourceError> {
        let device = Device::open(&settings.device).map_err(|error| absent(name, error))?;
        let failed = |error| SourceError::io(name, error);
        let capabilities = device.capabilities().map_err(failed)?.device_capabilities();
        if !capabilities.contains(CapabilityFlags::VIDEO_CAPTURE | CapabilityFlags::STREAMING) {
            return Err(SourceError::unusable(name, format!("not a camera; {}", cameras())));
        }
        let formats = formats(&device).map_err(failed)?;
        let (format, (width, height)) =
            choose(&formats, settings.size).map_err(|reason| SourceError::unusable(name, reason))?;
        let format = if format == "MJPG" { PixelFormat::MJPG } else { PixelFormat::JPEG };
        let requested = PixFormat::new(width, height, format);
        let capture = device.video_capture(requested).map_err(failed)?;
        let actual = capture.format();
        if (actual.width(), actual.height(), actual.pixel_format()) != (width, height, format) {
            let (width, height, format) = (actual.width(), actual.height(), actual.pixel_format());
            let reason = format!(
                "the driver selected {format} at {width}x{height} instead of a listed mode; choose another --size"
            );
            return Err(SourceError::unusable(name, reason));
        }
        if let Some(rate) = settings.rate.filter(|rate| *rate > 0.0) {
            let interval = Fract::new(1000, (rate * 1000.0).round().clamp(1.0, 1e9) as u32);
            // Some cameras have a single rate that cannot be set.
            let _ = capture.set_frame_interval(interval);
        }
        let busy = |error: io::Error| match error.kind() {
            ErrorKind::ResourceBusy => SourceError::unusable(
                name,
                "the camera is in use by another program; stop that program".to_owned(),
            ),
            _ => SourceError::io(name, error),
        };
        Ok(Self { stream: capture.into_stream().map_err(busy)? })
    }
}

impl Buffers for V4l2 {
    fn wait(&mut self, time: Duration) -> io::Result<bool> {
        let [is_ready, _] = poll([Some(self.stream.as_fd()), None], time)?;
        Ok(is_ready)
    }

    fn handle_next(&mut self, handle: &mut dyn FnMut(&[u8], bool)) -> io::Result<()> {
        self.stream.dequeue(|view| {
            handle(&view, !view.is_error());
            Ok(())
        })
    }
}

/// The formats of the camera, with sizes and rates as far as the driver lists them.
fn formats(device: &Device) -> io::Result<Vec<Format>> {
    let mut formats = Vec::new();
    for format in device.formats(BufType::VIDEO_CAPTURE).take(MAX_FORMATS) {
        let format = format?.pixel_format();
        let rates = |width, height| rates(device, format, width, height);
        let sizes = match device.frame_sizes(format) {
            Ok(FrameSizes::Discrete(sizes)) => sizes
                .iter()
                .take(MAX_FORMATS)
                .map(|size| Size::fixed(size.width(), size.height(), rates(size.width(), size.height())))
                .collect(),
            Ok(FrameSizes::Stepwise(range) | FrameSizes::Continuous(range)) => vec![Size {
                min: (range.min_width(), range.min_height()),
                max: (range.max_width(), range.max_height()),
                step: (range.step_width(), range.step_height()),
                rates: rates(range.max_width(), range.max_height()),
            }],
            Err(_) => Vec::new(),
        };
        formats.push(Format { name: format.to_string(), sizes });
    }
    Ok(formats)
}

fn rates(device: &Device, format: PixelFormat, width: u32, height: u32) -> Vec<f64> {
    let rate = |interval: &Fract| f64::from(interval.denominator()) / f64::from(interval.numerator().max(1));
    match device.frame_intervals(format, width, height) {
        Ok(FrameIntervals::Discrete(intervals)) => {
            intervals.iter().take(MAX_FORMATS).map(|interval| rate(interval.fract())).collect()
        }
        Ok(FrameIntervals::Stepwise(range) | FrameIntervals::Continuous(range)) => vec![rate(range.min())],
        Err(_) => Vec::new(),
    }
}

/// Describes why the device cannot be opened, with the list of cameras.
fn absent(name: &str, error: io::Error) -> SourceError {
    match error.kind() {
        ErrorKind::NotFound => SourceError::unusable(name, format!("no such camera; {}", cameras())),
        ErrorKind::PermissionDenied => {
            SourceError::unusable(name, format!("{error}; add your user to the group `video`"))
        }
        _ => SourceError::io(name, error),
    }
}

/// Describes all usable cameras.
fn cameras() -> String {
    let described = |device: Device| {
        let capabilities = device.capabilities().ok()?;
        let is_camera = capabilities.device_capabilities().contains(CapabilityFlags::VIDEO_CAPTURE);
        is_camera.then(|| Some(format!("{} ({})", device.path().ok()?.display(), capabilities.card())))?
    };
    let list = linuxvideo::list().into_iter().flatten().take(MAX_FORMATS);
    let mut list: Vec<_> = list.flatten().filter_map(described).collect();
    list.sort_unstable();
    if list.is_empty() { "there is none at all".to_owned() } else { format!("there are {}", list.join(", ")) }
}
