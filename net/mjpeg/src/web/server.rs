//! The thread that serves the page.

use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use netdyno_io::Waker;
use netdyno_io::tcp::{Backend, Event, Key, Limits, ListenOptions, TcpReactor};

use super::http::{self, Asked, Request};
use super::{News, Shared};

/// Connections at a time; a browser has two for each open page, and some more while it loads. Others wait to be accepted.
const MAX_CONNECTIONS: usize = 64;
/// Connections that look at pictures, and at statistics, at a time. Others are told so.
const MAX_LOOKERS: usize = 16;
/// Bytes of a request.
const MAX_REQUEST_BYTES: usize = 16 << 10;
/// For how long a request may come in, and a browser take nothing of a picture.
const PATIENCE: Duration = Duration::from_secs(15);
/// How often it is looked whether time is over, and for what a browser that was slow has missed.
const TICK: Duration = Duration::from_millis(250);
/// Between the pictures. It is told right behind each: a browser shows a picture when it knows that it is over.
const BOUNDARY: &[u8] = b"\r\n--netdyno\r\n";

/// Connections, and what each is for.
pub(super) struct Server {
    reactor: TcpReactor,
    peers: HashMap<Key, Peer>,
    shared: Arc<Shared>,
}

/// A connection.
#[derive(Debug)]
struct Peer {
    looks_at: Option<Looks>,
    /// The number of what it has.
    has: u64,
    /// When it last took all that there was for it.
    served: Instant,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Looks {
    Pictures,
    Statistics,
}

impl Server {
    pub(super) fn open(address: SocketAddr, shared: Arc<Shared>) -> io::Result<(Self, SocketAddr, Waker)> {
        let mut limits = Limits::default();
        limits.connections = MAX_CONNECTIONS;
        limits.input_bytes = MAX_REQUEST_BYTES;
        limits.flush_time = PATIENCE;
        // Some connections do not need the rings of io_uring, which cost memory.
        let mut reactor = TcpReactor::new(Backend::Epoll, limits)?;
        let listener = reactor.listen(address, &ListenOptions::default())?;
        let (address, waker) = (reactor.local_address(listener), reactor.waker());
        Ok((Self { reactor, peers: HashMap::new(), shared }, address, waker))
    }

    pub(super) fn run(mut self) {
        while !self.shared.ends.load(Ordering::Acquire) {
            // It fails when descriptors or memory have run out: the page has to wait, the receiver goes on.
            if self.reactor.wait(Some(TICK)).is_err() {
                std::thread::sleep(TICK);
            }
            while let Some(event) = self.reactor.next_event() {
                self.handle(event);
            }
            let news = self.shared.news();
            self.serve(&news);
            if self.reactor.flush().is_err() {
                std::thread::sleep(TICK);
            }
        }
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::Accepted(key, _) => {
                self.peers.insert(key, Peer { looks_at: None, has: 0, served: Instant::now() });
            }
            Event::Received(key) => match self.peers.get(&key) {
                Some(Peer { looks_at: None, .. }) => self.request(key),
                // Whoever looks has nothing more to ask, and who is being closed neither.
                _ => self.reactor.consume(key, usize::MAX),
            },
            Event::Ended(key) => self.close(key, false),
            Event::Closed(key, _) => self.forget(key),
            Event::Connected(_) | Event::Woken => {}
        }
    }

    fn request(&mut self, key: Key) {
        let Some(Request { asked, is_head }) = http::parse(self.reactor.input(key)) else { return };
        self.reactor.consume(key, usize::MAX);
        let asked = match asked {
            Asked::Pictures => self.admit(key, Looks::Pictures, is_head).unwrap_or(asked),
            Asked::Statistics => self.admit(key, Looks::Statistics, is_head).unwrap_or(asked),
            Asked::Text(_) | Asked::Refused(..) => asked,
        };
        let out = self.reactor.output(key);
        let text = match asked {
            Asked::Pictures => {
                http::head(out, "200 OK", "multipart/x-mixed-replace; boundary=netdyno", None);
                out.extend_from_slice(if is_head { b"" } else { BOUNDARY });
                ""
            }
            Asked::Statistics => {
                http::head(out, "200 OK", "text/event-stream", None);
                // How soon a browser asks again when the connection is lost, ms.
                out.extend_from_slice(if is_head { b"" } else { b"retry: 1000\n\n" });
                ""
            }
            Asked::Text(text) => {
                http::head(out, "200 OK", text.kind, Some(text.text.len()));
                text.text
            }
            Asked::Refused(status, reason) => {
                http::head(out, status, "text/plain; charset=utf-8", Some(reason.len()));
                reason
            }
        };
        if !is_head {
            out.extend_from_slice(text.as_bytes());
        }
        if self.peers.get(&key).is_none_or(|peer| peer.looks_at.is_none()) {
            self.close(key, true);
        }
    }

    /// Lets a connection look, or says why not.
    fn admit(&mut self, key: Key, looks: Looks, is_head: bool) -> Option<Asked> {
        if is_head {
            return None;
        }
        if self.peers.values().filter(|peer| peer.looks_at == Some(looks)).count() >= MAX_LOOKERS {
            let reason = "16 others look already: close one of their pages.";
            return Some(Asked::Refused("503 Service Unavailable", reason));
        }
        let peer = self.peers.get_mut(&key)?;
        peer.looks_at = Some(looks);
        self.shared.lookers.fetch_add(1, Ordering::AcqRel);
        None
    }

    /// Gives those who look what is new, and ends those whose time is over.
    fn serve(&mut self, news: &News) {
        let now = Instant::now();
        let mut over = Vec::new();
        for (key, peer) in &mut self.peers {
            if peer.looks_at.is_some() && self.reactor.pending_output(*key) == 0 {
                peer.served = now;
                let number = match peer.looks_at {
                    Some(Looks::Pictures) => news.picture.0,
                    _ => news.statistics.0,
                };
                if peer.has != number {
                    peer.has = number;
                    append(self.reactor.output(*key), peer.looks_at, news);
                }
            } else if now.duration_since(peer.served) > PATIENCE {
                over.push(*key);
            }
        }
        for key in over {
            self.close(key, false);
        }
    }

    fn close(&mut self, key: Key, after_flush: bool) {
        self.forget(key);
        self.reactor.close(key, after_flush);
    }

    fn forget(&mut self, key: Key) {
        if self.peers.remove(&key).is_some_and(|peer| peer.looks_at.is_some()) {
            self.shared.lookers.fetch_sub(1, Ordering::AcqRel);
        }
    }
}

fn append(out: &mut Vec<u8>, looks_at: Option<Looks>, news: &News) {
    match looks_at {
        Some(Looks::Pictures) => {
            let picture = &*news.picture.1;
            let head = format!("Content-Type: image/jpeg\r\nContent-Length: {}\r\n\r\n", picture.len());
            out.extend_from_slice(head.as_bytes());
            out.extend_from_slice(picture);
            out.extend_from_slice(BOUNDARY);
        }
        Some(Looks::Statistics) => {
            out.extend_from_slice(b"data: ");
            out.extend_from_slice(news.statistics.1.as_bytes());
            out.extend_from_slice(b"\n\n");
        }
        None => {}
    }
}
