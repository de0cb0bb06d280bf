//! A sender with the parts of the published Rust program: GStreamer in this process, an `appsink` that drops pictures, bounded
//! channels between Tokio tasks, pictures and packets as `Bytes`, and one asynchronous call per datagram. The binaries differ in
//! the allocator. Only live pictures pass the channels; those of the clip are sent directly, so that each is counted when it is
//! sent.

mod capture;
mod link;

use netdyno_contender::mjpeg::{self, Role, Sender};
use netdyno_contender::{Lab, lock_version};
use netdyno_mjpeg_rust_gstreamer::packets::PACKET_BYTES_MIN;
use tokio::runtime::Runtime;
use tokio::sync::mpsc::{self, Receiver};

use crate::capture::{Picture, capture};
use crate::link::Link;

/// Pictures that wait for being sent.
const QUEUED_MAX: usize = 10;

/// Runs the role of this process. `allocator` is the name of the allocator of the binary.
pub fn run(allocator: &str) -> ! {
    let role = mjpeg::connect();
    let Role::Sender(sender) = role else {
        role.lab().unsupported("rust-tokio-gstreamer has only the sender")
    };
    let job = &sender.job;
    if job.width > 2040 || job.height > 2040 || job.packet_bytes < PACKET_BYTES_MIN {
        job.lab.unsupported("pictures larger than 2,040 pixels, or packets too short for the tables");
    }
    let version = gstreamer::init().map(|()| gstreamer::version_string());
    let crate_version = lock_version(include_str!("../Cargo.lock"), "gstreamer");
    let runtime = format!("Tokio, {}, {allocator}", ok(job.lab, version));
    job.lab.ready("rust-tokio-gstreamer", crate_version, &runtime);
    // This call blocks, so it precedes the start of the runtime.
    let port = sender.await_port();
    let runtime = ok(job.lab, Runtime::new());
    runtime.block_on(async {
        let link = ok(job.lab, Link::open(job, port).await);
        send(sender, link).await
    })
}

async fn send(sender: &'static Sender, mut link: Link) -> ! {
    let lab = sender.job.lab;
    sender.connected();
    let mut walk = sender.walk();
    let mut jpeg = Vec::new();
    // The waits of this loop block the main thread, which has no other task.
    while walk.next(&mut jpeg) {
        walk.await_due();
        ok(lab, link.send(&Picture::copy_from_slice(&jpeg)).await);
        walk.sent(&jpeg);
    }
    let pictures = ok(lab, capture(&sender.job));
    let (queue, queued) = mpsc::channel(QUEUED_MAX);
    tokio::spawn(send_queued(sender, link, queued));
    forward(pictures, queue).await;
    lab.failed("GStreamer ended by itself")
}

/// Waits while the queue is full; the capture then drops pictures.
async fn forward(mut pictures: Receiver<Picture>, queue: mpsc::Sender<Picture>) {
    while let Some(jpeg) = pictures.recv().await {
        if queue.send(jpeg).await.is_err() {
            return;
        }
    }
}

async fn send_queued(sender: &'static Sender, mut link: Link, mut queued: Receiver<Picture>) {
    while let Some(jpeg) = queued.recv().await {
        ok(sender.job.lab, link.send(&jpeg).await);
        sender.count(jpeg.len());
    }
}

fn ok<T, E: std::fmt::Display>(lab: Lab, result: Result<T, E>) -> T {
    result.unwrap_or_else(|error| lab.failed(error.to_string()))
}
