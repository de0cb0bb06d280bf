//! Generates the clip of the `mjpeg` workload: a file of concatenated JPEG files, and the digest that a receiver must report.
//!
//! | does | does not |
//! |---|---|
//! | draw pictures that depend only on the parameters, with integer arithmetic | use code of the measured stacks |
//! | encode them as baseline 4:2:0 with the default Huffman tables | |
//! | print the digest of the canonical forms, as specified by the workload's contract | |
//!
//! The lab runs `clip PATH width=1920 height=1080 quality=85 content=pattern clip_frames=60` and reads one line of JSON from stdout.

mod canonical;
mod picture;

use std::fs::File;
use std::io::{BufWriter, Write};
use std::process::ExitCode;

use jpeg_encoder::{ColorType, Encoder, SamplingFactor};
use sha2::{Digest, Sha256};

use picture::{Content, Painter};

/// Maximum width and height in pixels, and maximum number of frames. The bounds of the workload are tighter.
const SIDE_MAX: u16 = 8192;
const FRAMES_MAX: u32 = 10_000;
/// RFC 2435 represents width and height in units of eight pixels.
const SIDE_UNIT: u32 = 8;
const USAGE: &str = "usage: clip PATH width=N height=N quality=1..100 content=pattern|photo clip_frames=N";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match Job::read(&args).and_then(|job| job.run()) {
        Ok(message) => {
            println!("{message}");
            ExitCode::SUCCESS
        }
        Err(why) => {
            eprintln!("{why}");
            ExitCode::FAILURE
        }
    }
}

/// The parameters.
struct Job {
    path: String,
    width: u16,
    height: u16,
    quality: u8,
    content: Content,
    frames: u32,
}

impl Job {
    fn read(args: &[String]) -> Result<Self, String> {
        let (path, params) = args.split_first().ok_or(USAGE)?;
        let text = |name: &str| {
            let found = params.iter().find_map(|arg| arg.strip_prefix(name)?.strip_prefix('='));
            found.ok_or_else(|| format!("{name} is missing; {USAGE}"))
        };
        let number = |name: &str, max: u32| match text(name)?.parse::<u32>() {
            Ok(n) if (1..=max).contains(&n) => Ok(n),
            _ => Err(format!("{name} must be a whole number from 1 to {max}; {USAGE}")),
        };
        let side = |name| match number(name, SIDE_MAX.into())? {
            n if n.is_multiple_of(SIDE_UNIT) => Ok(n as u16),
            n => Err(format!("{name} is {n}; RFC 2435 requires a multiple of {SIDE_UNIT}")),
        };
        let content = match text("content")? {
            "pattern" => Content::Pattern,
            "photo" => Content::Photo,
            other => return Err(format!("content is {other}, not pattern or photo; {USAGE}")),
        };
        Ok(Self {
            path: path.clone(),
            width: side("width")?,
            height: side("height")?,
            quality: number("quality", 100)? as u8,
            content,
            frames: number("clip_frames", FRAMES_MAX)?,
        })
    }

    /// Writes the file and returns the line for the lab.
    fn run(&self) -> Result<String, String> {
        let of_file = |e: std::io::Error| format!("{}: {e}", self.path);
        let mut file = BufWriter::new(File::create(&self.path).map_err(of_file)?);
        let (mut digest, mut bytes) = ([0u8; 32], 0);
        let mut painter = Painter::new(self.content, self.width.into(), self.height.into());
        let (mut jpeg, mut form) = (Vec::new(), Vec::new());
        for frame in 0..self.frames {
            self.encode(painter.paint(frame), &mut jpeg)?;
            canonical::form(&jpeg, &mut form)?;
            bytes += form.len();
            digest.iter_mut().zip(Sha256::digest(&form)).for_each(|(sum, byte)| *sum ^= byte);
            file.write_all(&jpeg).map_err(of_file)?;
        }
        file.into_inner().map_err(|e| of_file(e.into_error()))?.sync_all().map_err(of_file)?;
        let digest: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(format!(r#"{{"digest":"{digest}","messages":{},"bytes":{bytes}}}"#, self.frames))
    }

    fn encode(&self, rgb: &[u8], jpeg: &mut Vec<u8>) -> Result<(), String> {
        jpeg.clear();
        let mut encoder = Encoder::new(&mut *jpeg, self.quality);
        encoder.set_sampling_factor(SamplingFactor::F_2_2);
        encoder.encode(rgb, self.width, self.height, ColorType::Rgb).map_err(|e| e.to_string())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn made(name: &str, content: &str) -> (String, Vec<u8>) {
        let path = std::env::temp_dir().join(format!("netdyno-clip-{}-{name}", std::process::id()));
        let args = [path.to_str().unwrap(), "width=64", "height=40", "quality=85", "clip_frames=3"]
            .map(str::to_owned);
        let message = Job::read(&[&args[..], &[format!("content={content}")]].concat()).unwrap().run().unwrap();
        let bytes = std::fs::read(&path).unwrap();
        std::fs::remove_file(path).unwrap();
        (message, bytes)
    }

    #[test]
    fn output_is_deterministic_and_all_frames_differ() {
        for content in ["pattern", "photo"] {
            let (message, bytes) = made(&format!("{content}-1"), content);
            assert_eq!((message.clone(), bytes.clone()), made(&format!("{content}-2"), content));
            assert!(message.contains(r#""messages":3"#), "{message}");
            let starts: Vec<usize> =
                (0..bytes.len() - 2).filter(|&i| bytes[i..].starts_with(&[0xff, 0xd8, 0xff])).collect();
            assert_eq!(starts.len(), 3);
            assert_ne!(bytes[starts[0]..starts[1]], bytes[starts[1]..starts[2]]);
        }
    }

    #[test]
    fn invalid_parameters_are_named() {
        let good = ["/dev/null", "width=64", "height=40", "quality=85", "content=photo", "clip_frames=3"];
        for (at, with, says) in [
            (1, "width=0", "width"),
            (2, "height=8200", "height"),
            (3, "quality=101", "quality"),
            (4, "content=film", "content"),
            (5, "frames=3", "clip_frames"),
        ] {
            let mut args = good.map(str::to_owned);
            args[at] = with.to_owned();
            let error = Job::read(&args).err().unwrap();
            assert!(error.contains(says) && error.contains("usage"), "{error}");
        }
        assert!(Job::read(&[]).is_err());
    }
}
