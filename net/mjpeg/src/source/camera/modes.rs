//! What a camera can do, and what of it is taken. No I/O.

use std::fmt;

/// The largest size that is taken without being asked for.
const LARGEST: (u32, u32) = (1920, 1080);
/// Sizes of a format that are told at the most.
const MAX_TOLD: usize = 16;

/// A format that a camera has.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Format {
    /// Its four letters.
    pub(super) name: String,
    pub(super) sizes: Vec<Size>,
}

/// A size, or a range of them, and how many pictures a second there are of it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Size {
    pub(super) least: (u32, u32),
    pub(super) most: (u32, u32),
    /// Pixels from one size of the range to the next.
    pub(super) step: (u32, u32),
    /// None where the driver does not tell.
    pub(super) rates: Vec<f64>,
}

impl Size {
    pub(super) fn one(width: u32, height: u32, rates: Vec<f64>) -> Self {
        Self { least: (width, height), most: (width, height), step: (1, 1), rates }
    }

    fn has(&self, (width, height): (u32, u32)) -> bool {
        let is_within = |pixels: u32, least: u32, most: u32, step: u32| {
            (least..=most).contains(&pixels) && (pixels - least).is_multiple_of(step.max(1))
        };
        is_within(width, self.least.0, self.most.0, self.step.0)
            && is_within(height, self.least.1, self.most.1, self.step.1)
    }

    /// The largest size of it within a limit.
    fn largest_within(&self, (width, height): (u32, u32)) -> Option<(u32, u32)> {
        let largest = |least: u32, most: u32, step: u32, limit: u32| {
            let most = most.min(limit);
            Some(most - (most.checked_sub(least)?) % step.max(1))
        };
        let width = largest(self.least.0, self.most.0, self.step.0, width)?;
        Some((width, largest(self.least.1, self.most.1, self.step.1, height)?))
    }
}

/// The formats that are pictures as they are, the better known first.
const JPEG_NAMES: [&str; 2] = ["MJPG", "JPEG"];

/// Which format and size to ask for; or why there is none, with what there is.
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
    let asked = wanted.map_or(String::new(), |(width, height)| format!(" at {width}x{height}"));
    let has: Vec<_> = formats.iter().map(Format::to_string).collect();
    let has = if has.is_empty() { "no format at all".to_owned() } else { has.join("; ") };
    let is_jpeg = formats.iter().any(|format| JPEG_NAMES.contains(&format.name.as_str()));
    let remedy = if is_jpeg {
        "ask for one of these by --size"
    } else {
        "have it encoded: gstreamer:v4l2src ! videoconvert ! video/x-raw,format=I420 ! jpegenc"
    };
    Err(format!("no MJPG{asked}: it has {has}; {remedy}"))
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.name)?;
        for (place, size) in self.sizes.iter().take(MAX_TOLD).enumerate() {
            write!(f, "{}{size}", if place == 0 { " " } else { ", " })?;
        }
        if self.sizes.len() > MAX_TOLD {
            write!(f, " and {} more", self.sizes.len() - MAX_TOLD)
        } else {
            Ok(())
        }
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}", self.least.0, self.least.1)?;
        if self.most != self.least {
            write!(f, " to {}x{}", self.most.0, self.most.1)?;
        }
        if self.rates.is_empty() {
            return Ok(());
        }
        let rates: Vec<_> =
            self.rates.iter().map(|rate| format!("{}", (rate * 100.0).round() / 100.0)).collect();
        write!(f, " ({} fps)", rates.join(", "))
    }
}
