//! Interoperability with GStreamer and FFmpeg: they decode sent pictures to the pixels of the file, and their pictures are received
//! with the same scan.

#![allow(clippy::unwrap_used, missing_docs)]

#[path = "../support/mod.rs"]
mod support;
#[path = "../support/tool.rs"]
mod tool;

use std::collections::HashSet;
use std::fs;
use std::net::UdpSocket;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use jpeg_encoder::SamplingFactor;
use netdyno_mjpeg::core::{Jpeg, Split, Splitter};
use support::{picture, plain};
use tool::{Running, TIMEOUT, free_port, receive, skip};

/// Length of a raw 4:2:0 picture of the test size.
const WIDTH: u16 = 640;
const HEIGHT: u16 = 480;
const RAW_BYTES: usize = WIDTH as usize * HEIGHT as usize * 3 / 2;
const FRAMES: usize = 20;

fn has(program: &str, argument: &str) -> bool {
    let found = Command::new(program).arg(argument).stdout(Stdio::null()).stderr(Stdio::null()).status();
    let found = found.is_ok_and(|status| status.success());
    if !found {
        skip(program);
    }
    found
}

/// Runs a program and requires success.
fn run(program: &str, arguments: &[&str]) {
    let output = Command::new(program).args(arguments).stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{program} {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
}

fn start(program: &str, arguments: &[&str]) -> Running {
    let mut command = Command::new(program);
    Running(command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap())
}

/// Waits until the port is bound.
fn await_bound(port: u16) {
    let begin = Instant::now();
    while UdpSocket::bind(("127.0.0.1", port)).is_ok() {
        assert!(begin.elapsed() < TIMEOUT, "nobody listens at {port}");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
}

/// A file of five pictures, with and without restart markers.
fn clip(folder: &Path) -> String {
    let mut pictures: Vec<_> = (0..4).map(|seed| plain(WIDTH, HEIGHT, seed)).collect();
    pictures.push(picture(WIDTH, HEIGHT, 9, SamplingFactor::R_4_2_0, Some(16)));
    let path = folder.join("clip.mjpeg");
    fs::write(&path, pictures.concat()).unwrap();
    path.to_str().unwrap().to_owned()
}

/// Checks that decoded pictures are those that the same program decodes from the clip, in order.
fn check_decoded(stream: &[u8], clip: &[u8]) {
    let clip: Vec<_> = clip.chunks_exact(RAW_BYTES).collect();
    assert_eq!((clip.len(), clip.iter().collect::<HashSet<_>>().len()), (5, 5));
    let of = |raw: &[u8]| clip.iter().position(|known| *known == raw);
    let found: Vec<_> = stream.chunks_exact(RAW_BYTES).map(of).collect();
    assert!(found.len() >= 10, "{} pictures were decoded", found.len());
    let first = found[0].expect("the first picture is one of the clip's, every pixel the same");
    let expected: Vec<_> = (0..found.len()).map(|index| Some((first + index) % 5)).collect();
    assert_eq!(found, expected);
}

#[test]
fn gstreamer_decodes_sent_pictures() {
    if !has("gst-launch-1.0", "--version") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let clip = clip(folder.path());
    let [stream, file] = ["stream", "file"].map(|name| folder.path().join(name).to_str().unwrap().to_owned());
    let port = free_port();
    let caps = "application/x-rtp,media=video,clock-rate=90000,encoding-name=JPEG,payload=26";
    let udp = format!(
        "udpsrc address=127.0.0.1 port={port} caps={caps} ! rtpjpegdepay ! jpegdec ! video/x-raw,format=I420 ! filesink location={stream}"
    );
    let mut them =
        start("gst-launch-1.0", &[&["-q", "-e"], &udp.split(' ').collect::<Vec<_>>()[..]].concat());
    await_bound(port);
    run(tool::TOOL, &["send", &clip, "--loop", "--frames", "20", "--to", &format!("127.0.0.1:{port}")]);
    std::thread::sleep(std::time::Duration::from_millis(500));
    them.interrupt();
    them.wait();
    let whole = format!(
        "filesrc location={clip} ! jpegparse ! jpegdec ! video/x-raw,format=I420 ! filesink location={file}"
    );
    run("gst-launch-1.0", &[&["-q"], &whole.split(' ').collect::<Vec<_>>()[..]].concat());
    check_decoded(&fs::read(stream).unwrap(), &fs::read(file).unwrap());
}

#[test]
fn ffmpeg_decodes_sent_pictures() {
    if !has("ffmpeg", "-version") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let clip = clip(folder.path());
    let [stream, file, sdp] =
        ["stream", "file", "x.sdp"].map(|name| folder.path().join(name).to_str().unwrap().to_owned());
    let port = free_port();
    let to = format!("127.0.0.1:{port}");
    // The SDP file exists after the first picture.
    run(tool::TOOL, &["send", &clip, "--frames", "1", "--to", &to, "--sdp", &sdp]);
    let raw = ["-fps_mode", "passthrough", "-pix_fmt", "yuvj420p", "-f", "rawvideo", "-y"];
    let receive = ["-v", "error", "-protocol_whitelist", "file,udp,rtp", "-i", &sdp, "-frames:v", "20"];
    let mut them = start("ffmpeg", &[&receive[..], &raw, &[&stream]].concat());
    await_bound(port);
    let _send = Running::tool(&["send", &clip, "--loop", "--to", &to]);
    assert_eq!(them.wait(), Some(0));
    run("ffmpeg", &[&["-v", "error", "-i", &clip], &raw[..], &[&file]].concat());
    check_decoded(&fs::read(stream).unwrap(), &fs::read(file).unwrap());
}

/// Splits a file into pictures.
fn pictures(bytes: &[u8]) -> Vec<Vec<u8>> {
    let (mut rest, mut all, mut picture) = (bytes, Vec::new(), Vec::new());
    let mut splitter = Splitter::new(32 << 20);
    while splitter.split(&mut rest, &mut picture) == Split::Picture {
        all.push(std::mem::take(&mut picture));
    }
    all
}

fn pixels(file: &[u8]) -> Vec<u8> {
    zune_jpeg::JpegDecoder::new(zune_jpeg::zune_core::bytestream::ZCursor::new(file)).decode().unwrap()
}

/// Checks that the received files have the scans of the sent pictures.
fn check_received(folder: &Path, theirs: &[u8]) {
    let theirs = pictures(theirs);
    assert_eq!(theirs.len(), FRAMES);
    for (number, theirs) in theirs.iter().enumerate() {
        let ours = fs::read(folder.join(format!("{:08}.jpg", number + 1))).unwrap();
        assert!(Jpeg::parse(&ours).unwrap().scan() == Jpeg::parse(theirs).unwrap().scan(), "{number}");
        assert!(pixels(&ours) == pixels(theirs), "{number}");
    }
}

#[test]
fn pictures_of_gstreamer_are_received() {
    if !has("gst-launch-1.0", "--version") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (into, file) = (folder.path().join("into"), folder.path().join("file"));
    let (mut receiver, _lines, address) = receive(&["--frames", "20", "--into", into.to_str().unwrap()]);
    let port = address.rsplit(':').next().unwrap();
    let pipeline = format!(
        "videotestsrc num-buffers={FRAMES} pattern=ball ! video/x-raw,format=I420,width={WIDTH},height={HEIGHT},framerate=30/1 ! jpegenc \
         ! tee name=t ! queue ! rtpjpegpay ! udpsink host=127.0.0.1 port={port} t. ! queue ! filesink location={}",
        file.display()
    );
    run("gst-launch-1.0", &[&["-q"], &pipeline.split(' ').collect::<Vec<_>>()[..]].concat());
    assert_eq!(receiver.wait(), Some(0));
    check_received(&into, &fs::read(file).unwrap());
}

#[test]
fn pictures_of_ffmpeg_are_received() {
    if !has("ffmpeg", "-version") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (into, file) = (folder.path().join("into"), folder.path().join("file"));
    let (mut receiver, _lines, address) = receive(&["--frames", "20", "--into", into.to_str().unwrap()]);
    let from = format!("testsrc2=s={WIDTH}x{HEIGHT}:r=30");
    let to = format!("[f=rtp]rtp://{address}|[f=mjpeg]{}", file.display());
    let source = ["-v", "error", "-re", "-f", "lavfi", "-i", &from, "-frames:v", "20"];
    let encoder =
        ["-c:v", "mjpeg", "-huffman", "default", "-force_duplicated_matrix", "1", "-pix_fmt", "yuvj420p"];
    run("ffmpeg", &[&source[..], &encoder, &["-map", "0:v", "-f", "tee", &to]].concat());
    assert_eq!(receiver.wait(), Some(0));
    check_received(&into, &fs::read(file).unwrap());
}
