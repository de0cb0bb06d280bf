//! The test vector that all SDKs share, and the receiver's counters.

use std::path::PathBuf;

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::clip::Found;
use super::*;
use crate::Digest;

fn vector() -> Value {
    serde_json::from_str(include_str!("../../../mjpeg.json")).unwrap()
}

fn bytes_of(hex: &str) -> Vec<u8> {
    (0..hex.len()).step_by(2).map(|i| u8::from_str_radix(&hex[i..i + 2], 16).unwrap()).collect()
}

/// The clip of the vector as a file.
struct File(PathBuf);

impl File {
    fn of(name: &str, bytes: &[u8]) -> Self {
        let path = std::env::temp_dir().join(format!("netdyno-sdk-{}-{name}", std::process::id()));
        std::fs::write(&path, bytes).unwrap();
        Self(path)
    }

    fn of_vector(name: &str) -> Self {
        Self::of(name, &bytes_of(vector()["clip"].as_str().unwrap()))
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn receiver(fps: u64, live: bool, clip: &File) -> &'static Receiver {
    let setup = json!({
        "protocol": 1, "workload": "mjpeg", "role": "receiver", "seed": 1, "local": "127.0.0.1", "peer": "127.0.0.1",
        "inputs": { "clip": clip.0 },
        "params": { "width": 32, "height": 16, "quality": 40, "fps": fps, "packet_bytes": 1400, "clip_frames": 3,
            "source": if live { "live" } else { "clip" }, "seconds": 1.0 },
    });
    Box::leak(Box::new(Receiver::new(Job::new(Lab::for_tests(), &serde_json::from_value(setup).unwrap()))))
}

#[test]
fn canonical_forms_match_the_vector() {
    let (vector, file) = (vector(), File::of_vector("digest"));
    let clip = Clip::open(&file.0).unwrap();
    let (mut digest, mut jpeg, mut form, mut bytes) = (Digest::default(), Vec::new(), Vec::new(), 0);
    for frame in 0..clip.frames() {
        clip.read(frame, &mut jpeg).unwrap();
        Picture::parse(&jpeg).unwrap().canonical(&jpeg, &mut form).unwrap();
        digest.add(&form);
        bytes += form.len();
    }
    assert_eq!(
        (digest.to_string().as_str(), clip.frames(), bytes),
        (vector["digest"].as_str().unwrap(), 3, 2924)
    );
}

#[test]
fn pictures_are_matched_with_frames() {
    let file = File::of_vector("cases");
    let mut clip = Clip::open(&file.0).unwrap();
    for case in vector()["cases"].as_array().unwrap() {
        let (name, jpeg) = (&case["name"], bytes_of(case["jpeg"].as_str().unwrap()));
        let picture = Picture::parse(&jpeg);
        let mut form = Vec::new();
        let canonical = picture.as_ref().ok().and_then(|picture| picture.canonical(&jpeg, &mut form));
        let hash: Option<String> =
            canonical.map(|()| Sha256::digest(&form).iter().map(|byte| format!("{byte:02x}")).collect());
        assert_eq!(hash.as_deref(), case["canonical"].as_str(), "{name}");
        let Ok(picture) = picture else { continue };
        for likely in 0..3 {
            let found = clip.find(&picture, &jpeg, likely).unwrap();
            assert_eq!(found.map(|Found { frame, .. }| frame as u64), case["frame"].as_u64(), "{name}");
        }
    }
}

#[test]
fn invalid_clips_are_rejected() {
    let whole = bytes_of(vector()["clip"].as_str().unwrap());
    for (name, bytes) in [("empty", &whole[..0]), ("cut", &whole[..whole.len() - 1]), ("late", &whole[1..])] {
        let file = File::of(name, bytes);
        assert!(Clip::open(&file.0).unwrap_err().contains("frame"), "{name}");
    }
}

#[test]
fn truncated_headers_are_rejected_without_a_panic() {
    for case in vector()["cases"].as_array().unwrap() {
        let jpeg = bytes_of(case["jpeg"].as_str().unwrap());
        for end in 0..jpeg.len() {
            if let Ok(picture) = Picture::parse(&jpeg[..end]) {
                assert!(picture.scan(&jpeg[..end]).end <= end);
            }
        }
    }
}

/// Frames in order of arrival after `verify` -> (frames, dropped).
#[test]
fn missing_frames_are_counted_as_dropped() {
    let file = File::of_vector("counts");
    for (order, wanted) in
        [(&[0, 1, 2, 0][..], (4, 0)), (&[1, 2], (2, 0)), (&[0, 2, 1], (3, 2)), (&[2, 1], (2, 1))]
    {
        let receiver = receiver(0, false, &file);
        let mut inbox = receiver.inbox();
        receiver.handle(Event::Start(Phase::Verify));
        let mut jpeg = Vec::new();
        for frame in 0..3 {
            Clip::open(&file.0).unwrap().read(frame, &mut jpeg).unwrap();
            inbox.take(&jpeg);
        }
        receiver.handle(Event::Start(Phase::Warmup));
        // The last frame of verify is 2.
        let before = if order[0] == 0 { 0 } else { (order[0] + 3 - 2 - 1) % 3 };
        for &frame in order {
            Clip::open(&file.0).unwrap().read(frame, &mut jpeg).unwrap();
            inbox.take(&jpeg);
        }
        let values: std::collections::BTreeMap<_, _> = receiver.values().into();
        assert_eq!((values["frames"], values["dropped"] - before as u64), wanted, "{order:?}");
        assert_eq!((values["wrong"], values["on_time"]), (0, 0));
        inbox.take(&bytes_of("ffd8"));
        assert_eq!(receiver.values()[2], ("wrong", 1));
    }
}

#[test]
fn live_pictures_are_checked_by_their_size() {
    let file = File::of_vector("live");
    let receiver = receiver(100, true, &file);
    let mut inbox = receiver.inbox();
    receiver.handle(Event::Start(Phase::Warmup));
    receiver.handle(Event::Start(Phase::Measure));
    let mut jpeg = Vec::new();
    Clip::open(&file.0).unwrap().read(0, &mut jpeg).unwrap();
    inbox.take(&jpeg);
    std::thread::sleep(std::time::Duration::from_millis(10));
    inbox.take(&jpeg);
    // Change the low byte of the width, which follows SOF's length, precision and height.
    let frame_at = jpeg.windows(2).position(|pair| pair == [0xff, 0xc0]).unwrap();
    jpeg[frame_at + 8] ^= 16;
    inbox.take(&jpeg);
    let values: std::collections::BTreeMap<_, _> = receiver.values().into();
    assert_eq!((values["frames"], values["wrong"], values["dropped"]), (2, 1, 0));
}
