//! A web page with the received pictures and statistics.
//!
//! | does | does not |
//! |---|---|
//! | serve the page, pictures (multipart/x-mixed-replace) and statistics (server-sent events) from its own thread | encrypt or authenticate: bind an address that only trusted clients can reach |
//! | skip pictures for a slow browser without delaying the receiver | decode or modify pictures |
//! | reject hosts other than IP addresses and `localhost` (against DNS rebinding) | support host names |
//!
//! ```no_run
//! use netdyno_mjpeg::web::{Statistics, Web};
//!
//! # fn main() -> std::io::Result<()> {
//! # let jpeg: &[u8] = &[];
//! let web = Web::open("127.0.0.1:8080".parse().unwrap())?;
//! println!("http://{}/", web.address());
//! // Call show() for each picture and update() a few times per second.
//! web.show(jpeg);
//! let mut statistics = Statistics::default();
//! statistics.frames = 1;
//! web.update(&statistics);
//! # Ok(())
//! # }
//! ```

mod feed;
mod http;
mod server;

use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use netdyno_io::Waker;
use serde_json::json;

pub use feed::Feed;
use server::Server;

/// The statistics on the page.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct Statistics {
    /// Complete frames.
    pub frames: u64,
    /// Lost frames.
    pub dropped: u64,
    /// Received packets.
    pub packets: u64,
    /// Lost packets.
    pub lost_packets: u64,
    /// Current frames per second.
    pub frames_per_s: f64,
    /// Current bits per second.
    pub bits_per_s: f64,
    /// Interarrival jitter in milliseconds (RFC 3550 section 6.4.1).
    pub jitter_ms: f64,
    /// Maximum deviation of a frame interval from the difference of timestamps since the last update, in milliseconds.
    pub interval_jitter_ms: f64,
    /// Width and height in pixels.
    pub size: (u16, u16),
    /// CNAME of the sender; empty if unknown.
    pub sender: String,
}

/// The web server. Dropping it stops the server.
#[derive(Debug)]
pub struct Web {
    shared: Arc<Shared>,
    waker: Waker,
    address: SocketAddr,
    thread: Option<JoinHandle<()>>,
}

/// State shared by both threads.
#[derive(Debug, Default)]
struct Shared {
    content: Mutex<Content>,
    /// Number of viewers; without viewers, the server need not be woken.
    viewers: AtomicUsize,
    /// Whether the server must stop.
    is_stopping: AtomicBool,
}

/// The latest picture and statistics with their numbers; 0 means none.
#[derive(Debug, Default, Clone)]
struct Content {
    picture: (u64, Arc<Vec<u8>>),
    statistics: (u64, Arc<str>),
}

impl Shared {
    /// The latest content; cloning copies two pointers.
    fn content(&self) -> Content {
        self.content.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Web {
    /// Serves the page at an address. Port 0 selects a free port. Only a loopback address excludes other hosts.
    ///
    /// # Errors
    /// The address cannot be bound, or the thread cannot be started.
    pub fn open(address: SocketAddr) -> io::Result<Self> {
        let shared = Arc::new(Shared::default());
        let (server, address, waker) = Server::open(address, shared.clone())?;
        let thread = std::thread::Builder::new().name("web".to_owned()).spawn(move || server.run())?;
        Ok(Self { shared, waker, address, thread: Some(thread) })
    }

    /// The listening address with the actual port.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Shows a JPEG file. Does not block; copies the file once.
    pub fn show(&self, jpeg: &[u8]) {
        let mut content = self.shared.content.lock().unwrap_or_else(PoisonError::into_inner);
        let (number, picture) = &mut content.picture;
        *number += 1;
        match Arc::get_mut(picture) {
            Some(picture) => {
                picture.clear();
                picture.extend_from_slice(jpeg);
            }
            // The picture is being sent.
            None => *picture = Arc::new(jpeg.to_vec()),
        }
        drop(content);
        self.wake();
    }

    /// Updates the statistics. A few times per second suffice.
    pub fn update(&self, statistics: &Statistics) {
        let (width, height) = statistics.size;
        let json = json!({
            "frames": statistics.frames,
            "dropped": statistics.dropped,
            "packets": statistics.packets,
            "lost_packets": statistics.lost_packets,
            "frames_per_s": statistics.frames_per_s,
            "bits_per_s": statistics.bits_per_s,
            "jitter_ms": statistics.jitter_ms,
            "interval_jitter_ms": statistics.interval_jitter_ms,
            "width": width,
            "height": height,
            "sender": statistics.sender,
        });
        let mut content = self.shared.content.lock().unwrap_or_else(PoisonError::into_inner);
        content.statistics = (content.statistics.0 + 1, json.to_string().into());
        drop(content);
        self.wake();
    }

    fn wake(&self) {
        if self.shared.viewers.load(Ordering::Acquire) > 0 {
            self.waker.wake();
        }
    }
}

impl Drop for Web {
    fn drop(&mut self) {
        self.shared.is_stopping.store(true, Ordering::Release);
        self.waker.wake();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
