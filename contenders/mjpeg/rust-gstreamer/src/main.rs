//! A sender as described by the published comparison. With `source = live`, GStreamer captures and encodes pictures in this
//! process, and a channel passes them to the sending thread, which makes one call per datagram. Otherwise, the clip is read. The
//! allocator is that of the C library, or a preloaded one.

use std::net::UdpSocket;
use std::sync::mpsc;

use gstreamer::prelude::*;
use gstreamer_app::{AppSink, AppSinkCallbacks};
use netdyno_contender::mjpeg::{self, Job, Role, Sender};
use netdyno_contender::{Lab, lock_version};
use netdyno_mjpeg_rust_gstreamer::packets::{PACKET_BYTES_MIN, Picture, Stream};

const CLOCK_HZ: u64 = 90_000;
/// The frame rate without pacing.
const FLAT_OUT_FPS: u32 = 30;

fn main() {
    let role = mjpeg::connect();
    let Role::Sender(sender) = role else { role.lab().unsupported("rust-gstreamer has only the sender") };
    let job = &sender.job;
    if job.width > 2040 || job.height > 2040 || job.packet_bytes < PACKET_BYTES_MIN {
        job.lab.unsupported("pictures larger than 2,040 pixels, or packets too short for the tables");
    }
    let version = gstreamer::init().map(|()| gstreamer::version_string());
    let crate_version = lock_version(include_str!("../Cargo.lock"), "gstreamer");
    job.lab.ready("rust-gstreamer", crate_version, &format!("{}, {}", ok(job.lab, version), allocator()));
    let mut link = Link::open(sender);
    sender.connected();
    let mut walk = sender.walk();
    let mut jpeg = Vec::new();
    while walk.next(&mut jpeg) {
        walk.await_due();
        link.send(&jpeg);
        walk.sent(&jpeg);
    }
    let pictures = ok(job.lab, capture(job));
    for jpeg in pictures {
        link.send(&jpeg);
        sender.count(jpeg.len());
    }
    job.lab.failed("GStreamer ended by itself")
}

/// The name of the allocator that Rust and GStreamer use.
fn allocator() -> &'static str {
    let mapped = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    ["jemalloc", "mimalloc"].into_iter().find(|name| mapped.contains(name)).unwrap_or("malloc")
}

struct Link {
    lab: Lab,
    socket: UdpSocket,
    stream: Stream,
    packet_bytes: usize,
    /// Timestamp increment per picture (90 kHz).
    step: u64,
    frames: u64,
}

impl Link {
    fn open(sender: &'static Sender) -> Self {
        let job = &sender.job;
        let socket = UdpSocket::bind((job.local, 0)).and_then(|socket| {
            socket.connect((job.peer, sender.await_port()))?;
            Ok(socket)
        });
        let step = CLOCK_HZ / u64::from(if job.fps > 0 { job.fps } else { FLAT_OUT_FPS });
        Self {
            lab: job.lab,
            socket: ok(job.lab, socket),
            stream: Stream::default(),
            packet_bytes: job.packet_bytes,
            step,
            frames: 0,
        }
    }

    fn send(&mut self, jpeg: &[u8]) {
        // Timestamps wrap around.
        let timestamp = (self.frames * self.step) as u32;
        let picture = Picture::parse(jpeg);
        let packets = picture.and_then(|picture| self.stream.packets(&picture, timestamp, self.packet_bytes));
        for packet in packets.unwrap_or_else(|| self.lab.failed("RFC 2435 cannot transport a picture")) {
            // An error means that the receiver has ended, which is ignored.
            let _ = self.socket.send(&packet);
        }
        self.frames += 1;
    }
}

/// Receives GStreamer's pictures from its own thread. The queue is unbounded; those of the published program are short.
fn capture(job: &Job) -> Result<mpsc::Receiver<Vec<u8>>, String> {
    let (fps, live) = if job.fps > 0 { (job.fps, true) } else { (FLAT_OUT_FPS, false) };
    let description = format!(
        "videotestsrc is-live={live} ! video/x-raw,format=I420,width={},height={},framerate={fps}/1 \
         ! jpegenc quality={} ! appsink name=sink sync=false",
        job.width, job.height, job.quality
    );
    let pipeline = gstreamer::parse::launch(&description).map_err(|e| e.to_string())?;
    let bin = pipeline.downcast_ref::<gstreamer::Bin>().ok_or("not a pipeline")?;
    let sink = bin.by_name("sink").and_then(|sink| sink.downcast::<AppSink>().ok()).ok_or("no appsink")?;
    let (send, pictures) = mpsc::channel();
    let callbacks = AppSinkCallbacks::builder().new_sample(move |sink| {
        let sample = sink.pull_sample().map_err(|_| gstreamer::FlowError::Eos)?;
        let buffer = sample.buffer().ok_or(gstreamer::FlowError::Error)?;
        let bytes = buffer.map_readable().map_err(|_| gstreamer::FlowError::Error)?;
        send.send(bytes.to_vec()).map_err(|_| gstreamer::FlowError::Eos)?;
        Ok(gstreamer::FlowSuccess::Ok)
    });
    sink.set_callbacks(callbacks.build());
    pipeline.set_state(gstreamer::State::Playing).map_err(|e| e.to_string())?;
    // The pipeline runs until the process ends.
    std::mem::forget(pipeline);
    Ok(pictures)
}

fn ok<T, E: std::fmt::Display>(lab: Lab, result: Result<T, E>) -> T {
    result.unwrap_or_else(|error| lab.failed(error.to_string()))
}
