//! The modes of a camera and their selection, without I/O.

use std::fmt;

/// Largest size that is selected by default.
const LARGEST: (u32, u32) = (1920, 1080);
/// Maximum number of sizes of a format in a message.
const MAX_LISTED: usize = 16;

/// A pixel format of a camera.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Format {
    /// Its four-character code.
    pub(super) name: String,
    pub(super) sizes: Vec<Size>,
}

/// A size or a range of sizes, with its frame rates.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Size {
    pub(super) min: (u32, u32),
    pub(super) max: (u32, u32),
    /// Increment in pixels.
    pub(super) step: (u32, u32),
    /// Empty if the driver does not list them.
    pub(super) rates: Vec<f64>,
}

impl Size {
    pub(super) fn fixed(width: u32, height: u32, rates: Vec<f64>) -> Self {
        Self { min: (width, height), max: (width, height), step: (1, 1), rates }
    }

    fn has(&self, (width, height): (u32, u32)) -> bool {
        let is_within = |pixels: u32, min: u32, max: u32, step: u32| {
            (min..=max).contains(&pixels) && (pixels - min).is_multiple_of(step.max(1))
        };
        is_within(width, self.min.0, self.max.0, self.step.0)
            && is_within(height, self.min.1, self.max.1, self.step.1)
    }

    /// The largest size within a limit.
    fn largest_within(&self, (width, height): (u32, u32)) -> Option<(u32, u32)> {
        let largest = |min: u32, max: u32, step: u32, limit: u32| {
            let max = max.min(limit);
            Some(max - (max.checked_sub(min)?) % step.max(1))
        };
        let width = largest(self.min.0, self.max.0, self.step.0, width)?;
        Some((width, largest(self.min.1, self.max.1, self.step.1, height)?))
    }
}

/// The JPEG formats in order of preference.
const JPEG_NAMES: [&str; 2] = ["MJPG", "JPEG"];

/// Selects a format and a size, or returns an error that lists the alternatives.
pub(super) fn choose(
    formats: &[Format],
    wanted: Option<(u16, u16)>,
) -> Result<(&'static str, (u32, u32)), String> {
    let wanted = wanted.map(|(width, height)| (u32::from(width), u32::from(height)));
    for name in JPEG_NAMES {
        let sizes = formats.iter().filter(|format| format.name == name).flat_map(|format| &format.sizes);
        let chosen = match wanted {
            Some(wanted) => sizes.clone().any(|size| size.has(wanted)).then_some(wanted),
            None => sizes
                .filter_map(|size| size.largest_within(LARGEST))
                .max_by_key(|(width, height)| u64::from(*width) * u64::from(*height)),
        };
        if let Some(size) = chosen {
            return Ok((name, size));
        }
    }
    let requested = wanted.map_or(String::new(), |(width, height)| format!(" at {width}x{height}"));
    let has: Vec<_> = formats.iter().map(Format::to_string).collect();
    let has = if has.is_empty() { "no formats".to_owned() } else { has.join("; ") };
    let is_jpeg = formats.iter().any(|format| JPEG_NAMES.contains(&format.name.as_str()));
    let remedy = if is_jpeg {
        "select one of these with --size"
    } else {
        "encode it with gstreamer:v4l2src ! videoconvert ! video/x-raw,format=I420 ! jpegenc"
    };
    Err(format!("no MJPG mode{requested}; the camera has {has}; {remedy}"))
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.name)?;
        for (place, size) in self.sizes.iter().take(MAX_LISTED).enumerate() {
            write!(f, "{}{size}", if place == 0 { " " } else { ", " })?;
        }
        if self.sizes.len() > MAX_LISTED {
            write!(f, " and {} more", self.sizes.len() - MAX_LISTED)
        } else {
            Ok(())
        }
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}", self.min.0, self.min.1)?;
        if self.max != self.min {
            write!(f, " to {}x{}", self.max.0, self.max.1)?;
        }
        if self.rates.is_empty() {
            return Ok(());
        }
        let rates: Vec<_> =
            self.rates.iter().map(|rate| format!("{}", (rate * 100.0).round() / 100.0)).collect();
        write!(f, " ({} fps)", rates.join(", "))
    }
}
