//! A page in a browser that shows what is received, live: the picture, and how it comes.
//!
//! | does | does not |
//! |---|---|
//! | serve one page, the pictures as multipart/x-mixed-replace, statistics as server-sent events, from one thread of its own | encrypt, or ask who is there: keep it to an address that only those reach who may look |
//! | leave out pictures for a browser that is slow; nobody waits for it | decode or change pictures |
//! | refuse requests by another name than an address or `localhost`, so that no page elsewhere gets at it (DNS rebinding) | know names by which this host is known |
//!
//! ```no_run
//! use netdyno_mjpeg::web::{Statistics, Web};
//!
//! # fn main() -> std::io::Result<()> {
//! # let jpeg: &[u8] = &[];
//! let web = Web::open("127.0.0.1:8080".parse().unwrap())?;
//! println!("see http://{}/", web.address());
//! // For each picture, and now and then:
//! web.show(jpeg);
//! let mut statistics = Statistics::default();
//! statistics.frames = 1;
//! web.tell(&statistics);
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

/// How pictures come, as the page shows it.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct Statistics {
    /// Pictures that came whole.
    pub frames: u64,
    /// Pictures that did not.
    pub dropped: u64,
    /// Packets that came.
    pub packets: u64,
    /// Packets that did not.
    pub lost_packets: u64,
    /// Pictures a second, of late.
    pub frames_per_s: f64,
    /// Bits a second, of late.
    pub bits_per_s: f64,
    /// Interarrival jitter of packets, ms (RFC 3550 section 6.4.1).
    pub jitter_ms: f64,
    /// By how much an interval between two pictures was longer or shorter than their timestamps say, ms, at the most since this
    /// was last told.
    pub interval_jitter_ms: f64,
    /// Width and height of the picture, pixels.
    pub size: (u16, u16),
    /// What the sender calls itself (SDES CNAME); empty if it does not.
    pub sender: String,
}

/// The page's server. It ends when dropped.
#[derive(Debug)]
pub struct Web {
    shared: Arc<Shared>,
    waker: Waker,
    address: SocketAddr,
    thread: Option<JoinHandle<()>>,
}

/// What both threads see.
#[derive(Debug, Default)]
struct Shared {
    news: Mutex<News>,
    /// How many look: with none, nobody has to be woken.
    lookers: AtomicUsize,
    ends: AtomicBool,
}

/// The last of everything, each with its number: 0 is none.
#[derive(Debug, Default, Clone)]
struct News {
    picture: (u64, Arc<Vec<u8>>),
    statistics: (u64, Arc<str>),
}

impl Shared {
    /// A clone is of two pointers.
    fn news(&self) -> News {
        self.news.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Web {
    /// Serves at an address; with port 0 the system chooses one. Only loopback (127.0.0.1) keeps others out.
    ///
    /// # Errors
    /// The address cannot be had, or there can be no thread.
    pub fn open(address: SocketAddr) -> io::Result<Self> {
        let shared = Arc::new(Shared::default());
        let (server, address, waker) = Server::open(address, shared.clone())?;
        let thread = std::thread::Builder::new().name("web".to_owned()).spawn(move || server.run())?;
        Ok(Self { shared, waker, address, thread: Some(thread) })
    }

    /// Where it is served.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Shows a JPEG file from now on. Does not wait; costs one copy.
    pub fn show(&self, jpeg: &[u8]) {
        let mut news = self.shared.news.lock().unwrap_or_else(PoisonError::into_inner);
        let (number, picture) = &mut news.picture;
        *number += 1;
        match Arc::get_mut(picture) {
            Some(picture) => {
                picture.clear();
                picture.extend_from_slice(jpeg);
            }
            // It is just being sent.
            None => *picture = Arc::new(jpeg.to_vec()),
        }
        drop(news);
        self.wake();
    }

    /// Tells statistics. A few times a second is enough.
    pub fn tell(&self, statistics: &Statistics) {
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
        let mut news = self.shared.news.lock().unwrap_or_else(PoisonError::into_inner);
        news.statistics = (news.statistics.0 + 1, json.to_string().into());
        drop(news);
        self.wake();
    }

    fn wake(&self) {
        if self.shared.lookers.load(Ordering::Acquire) > 0 {
            self.waker.wake();
        }
    }
}

impl Drop for Web {
    fn drop(&mut self) {
        self.shared.ends.store(true, Ordering::Release);
        self.waker.wake();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
