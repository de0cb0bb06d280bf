//! The arguments that select a source.

use std::os::unix::fs::FileTypeExt;
use std::path::PathBuf;

use clap::Args;
use netdyno_mjpeg::source::{Files, Source, StreamSource};

use super::Failure;

/// Arguments of `send` and `serve`.
#[derive(Debug, Args)]
pub(crate) struct SourceArgs {
    /// Read pictures from:
    /// files of one or more concatenated JPEG pictures, and folders of such files;
    /// `-` or a named pipe: a stream of JPEG pictures;
    /// `exec:COMMAND`: the stdout of a shell command;
    /// `gstreamer:PIPELINE`: the output of gst-launch-1.0;
    /// `camera` or `camera:/dev/video1`: a V4L2 camera;
    /// `pattern`: a moving test picture.
    /// Prefix files of these names with ./, for example ./pattern
    #[arg(value_name = "SOURCE", required = true, verbatim_doc_comment)]
    sources: Vec<String>,

    /// Repeat the files
    #[arg(long = "loop")]
    repeat: bool,

    /// Set the size of the camera's or the test picture in pixels; default: the camera's largest up to 1920x1080
    #[arg(long, value_name = "WIDTHxHEIGHT", value_parser = size)]
    size: Option<(u16, u16)>,

    /// Set the quality of the test picture, 1 to 100
    #[arg(long, value_name = "N", default_value_t = 85, value_parser = clap::value_parser!(u8).range(1..=100))]
    quality: u8,
}

impl SourceArgs {
    /// Opens the source. Cameras are set to the rate `fps`.
    pub(crate) fn open(&self, fps: f64) -> Result<Box<dyn Source>, Failure> {
        if let [source] = &self.sources[..]
            && let Some(source) = self.live(source, fps)?
        {
            return Ok(source);
        }
        let paths: Vec<_> = self.sources.iter().map(PathBuf::from).collect();
        Ok(Box::new(Files::open(&paths, self.repeat)?))
    }

    /// Opens a source other than files; `None` for a path.
    fn live(&self, source: &str, fps: f64) -> Result<Option<Box<dyn Source>>, Failure> {
        let (kind, rest) = source.split_once(':').unwrap_or((source, ""));
        let is_pipe =
            || PathBuf::from(source).metadata().is_ok_and(|metadata| metadata.file_type().is_fifo());
        Ok(Some(match kind {
            "-" => Box::new(StreamSource::stdin()?),
            "exec" => Box::new(StreamSource::command(rest)?),
            "gstreamer" => Box::new(StreamSource::gstreamer(rest)?),
            "camera" => self.camera(rest, fps)?,
            "pattern" if rest.is_empty() => self.pattern()?,
            _ if source.starts_with("/dev/video") => self.camera(source, fps)?,
            _ if is_pipe() => Box::new(StreamSource::open(source.as_ref())?),
            _ => return Ok(None),
        }))
    }

    #[cfg(feature = "pattern")]
    fn pattern(&self) -> Result<Box<dyn Source>, Failure> {
        use netdyno_mjpeg::source::{Pattern, PatternSettings};
        let settings = PatternSettings::default();
        let (width, height) = self.size.unwrap_or((settings.width, settings.height));
        Ok(Box::new(Pattern::new(PatternSettings { width, height, quality: self.quality, ..settings })?))
    }

    #[cfg(not(feature = "pattern"))]
    fn pattern(&self) -> Result<Box<dyn Source>, Failure> {
        Err(missing_feature("pattern"))
    }

    #[cfg(all(feature = "camera", target_os = "linux"))]
    fn camera(&self, device: &str, fps: f64) -> Result<Box<dyn Source>, Failure> {
        use netdyno_mjpeg::source::{Camera, CameraSettings};
        let mut settings = CameraSettings { size: self.size, rate: Some(fps), ..CameraSettings::default() };
        if !device.is_empty() {
            settings.device = device.into();
        }
        Ok(Box::new(Camera::open(&settings)?))
    }

    #[cfg(not(all(feature = "camera", target_os = "linux")))]
    fn camera(&self, _: &str, _: f64) -> Result<Box<dyn Source>, Failure> {
        Err(missing_feature("camera"))
    }
}

#[cfg(not(all(feature = "pattern", feature = "camera", target_os = "linux")))]
fn missing_feature(feature: &str) -> Failure {
    Failure::Message(format!(
        "this program was built without the feature `{feature}`; build it with the feature on Linux"
    ))
}

fn size(text: &str) -> Result<(u16, u16), String> {
    let parse = |(width, height): (&str, &str)| Some((width.parse().ok()?, height.parse().ok()?));
    let size = text.split_once('x').and_then(parse).filter(|(width, height)| *width > 0 && *height > 0);
    size.ok_or_else(|| "expected WIDTHxHEIGHT in pixels, each 1 to 65535, for example 1280x720".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_parsed() {
        assert_eq!(size("1280x720"), Ok((1280, 720)));
        for wrong in ["", "1280", "0x720", "1280x0", "65536x1", "axb", "1280x720x3", "-1x1"] {
            assert!(size(wrong).is_err(), "{wrong}");
        }
    }
}
