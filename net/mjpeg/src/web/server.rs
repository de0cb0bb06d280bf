//! The thread of the web server.

use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use netdyno_io::Waker;
use netdyno_io::tcp::{Backend, Event, Key, Limits, ListenOptions, TcpReactor};

use super::http::{self, Request, Resource};
use super::{Content, Shared};

/// Maximum number of connections. A browser uses two per page and a few more while loading. Others wait in the backlog.
const MAX_CONNECTIONS: usize = 64;
/// Maximum number of viewers of pictures, and of statistics. Others receive an error.
const MAX_VIEWERS: usize = 16;
/// Maximum length of a request.
const MAX_REQUEST_BYTES: usize = 16 << 10;
/// Time for a request to arrive, and for a browser to accept a picture.
const TIMEOUT: Duration = Duration::from_secs(15);
/// Interval of checks of timeouts and slow browsers.
const TICK: Duration = Duration::from_millis(250);
/// Boundary between pictures. It is sent immediately after each picture, because a browser shows a picture after the boundary.
const BOUNDARY: &[u8] = b"\r\n--netdyno\r\n";

/// The server and its connections.
pub(super) struct Server {
    reactor: TcpReactor,
    peers: HashMap<Key, Peer>,
    shared: Arc<Shared>,
}

/// A connection.
#[derive(Debug)]
struct Peer {
    view: Option<View>,
    /// Number of the last content sent.
    sent: u64,
    /// Time at which its output was last empty.
    last_idle: Instant,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum View {
    Pictures,
    Statistics,
}

impl Server {
    pub(super) fn open(address: SocketAddr, shared: Arc<Shared>) -> io::Result<(Self, SocketAddr, Waker)> {
        let mut limits = Limits::default();
        limits.connections = MAX_CONNECTIONS;
        limits.input_bytes = MAX_REQUEST_BYTES;
        limits.flush_time = TIMEOUT;
        // For few connections, epoll needs less memory than io_uring.
        let mut reactor = TcpReactor::new(Backend::Epoll, limits)?;
        let listener = reactor.listen(address, &ListenOptions::default())?;
        let (address, waker) = (reactor.local_address(listener), reactor.waker());
        Ok((Self { reactor, peers: HashMap::new(), shared }, address, waker))
    }

    pub(super) fn run(mut self) {
        while !self.shared.is_stopping.load(Ordering::Acquire) {
            // Without descriptors or memory, the page waits while the receiver continues.
            if self.reactor.wait(Some(TICK)).is_err() {
                std::thread::sleep(TICK);
            }
            while let Some(event) = self.reactor.next_event() {
                self.handle(event);
            }
            let content = self.shared.content();
            self.serve(&content);
            if self.reactor.flush().is_err() {
                std::thread::sleep(TICK);
            }
        }
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::Accepted(key, _) => {
                self.peers.insert(key, Peer { view: None, sent: 0, last_idle: Instant::now() });
            }
            Event::Received(key) => match self.peers.get(&key) {
                Some(Peer { view: None, .. }) => self.request(key),
                // Ignore further input of viewers and of connections that are being closed.
                _ => self.reactor.consume(key, usize::MAX),
            },
            Event::Ended(key) => self.close(key, false),
            Event::Closed(key, _) => self.forget(key),
            Event::Connected(_) | Event::Woken => {}
        }
    }

    fn request(&mut self, key: Key) {
        let Some(Request { resource, is_head }) = http::parse(self.reactor.input(key)) else { return };
        self.reactor.consume(key, usize::MAX);
        let resource = match resource {
            Resource::Pictures => self.admit(key, View::Pictures, is_head).unwrap_or(resource),
            Resource::Statistics => self.admit(key, View::Statistics, is_head).unwrap_or(resource),
            Resource::Text(_) | Resource::Error(..) => resource,
        };
        let out = self.reactor.output(key);
        let text = match resource {
            Resource::Pictures => {
                http::head(out, "200 OK", "multipart/x-mixed-replace; boundary=netdyno", None);
                out.extend_from_slice(if is_head { b"" } else { BOUNDARY });
                ""
            }
            Resource::Statistics => {
                http::head(out, "200 OK", "text/event-stream", None);
                // Reconnection delay of the browser in milliseconds.
                out.extend_from_slice(if is_head { b"" } else { b"retry: 1000\n\n" });
                ""
            }
            Resource::Text(text) => {
                http::head(out, "200 OK", text.kind, Some(text.text.len()));
                text.text
            }
            Resource::Error(status, reason) => {
                http::head(out, status, "text/plain; charset=utf-8", Some(reason.len()));
                reason
            }
        };
        if !is_head {
            out.extend_from_slice(text.as_bytes());
        }
        if self.peers.get(&key).is_none_or(|peer| peer.view.is_none()) {
            self.close(key, true);
        }
    }

    /// Adds a viewer, or returns an error.
    fn admit(&mut self, key: Key, view: View, is_head: bool) -> Option<Resource> {
        if is_head {
            return None;
        }
        if self.peers.values().filter(|peer| peer.view == Some(view)).count() >= MAX_VIEWERS {
            let reason = "Too many viewers (limit 16). Close another page.";
            return Some(Resource::Error("503 Service Unavailable", reason));
        }
        let peer = self.peers.get_mut(&key)?;
        peer.view = Some(view);
        self.shared.viewers.fetch_add(1, Ordering::AcqRel);
        None
    }

    /// Sends new content to viewers and closes connections that have timed out.
    fn serve(&mut self, content: &Content) {
        let now = Instant::now();
        let mut expired = Vec::new();
        for (key, peer) in &mut self.peers {
            if peer.view.is_some() && self.reactor.pending_output(*key) == 0 {
                peer.last_idle = now;
                let number = match peer.view {
                    Some(View::Pictures) => content.picture.0,
                    _ => content.statistics.0,
                };
                if peer.sent != number {
                    peer.sent = number;
                    append(self.reactor.output(*key), peer.view, content);
                }
            } else if now.duration_since(peer.last_idle) > TIMEOUT {
                expired.push(*key);
            }
        }
        for key in expired {
            self.close(key, false);
        }
    }

    fn close(&mut self, key: Key, after_flush: bool) {
        self.forget(key);
        self.reactor.close(key, after_flush);
    }

    fn forget(&mut self, key: Key) {
        if self.peers.remove(&key).is_some_and(|peer| peer.view.is_some()) {
            self.shared.viewers.fetch_sub(1, Ordering::AcqRel);
        }
    }
}

fn append(out: &mut Vec<u8>, view: Option<View>, content: &Content) {
    match view {
        Some(View::Pictures) => {
            let picture = &*content.picture.1;
            let head = format!("Content-Type: image/jpeg\r\nContent-Length: {}\r\n\r\n", picture.len());
            out.extend_from_slice(head.as_bytes());
            out.extend_from_slice(picture);
            out.extend_from_slice(BOUNDARY);
        }
        Some(View::Statistics) => {
            out.extend_from_slice(b"data: ");
            out.extend_from_slice(content.statistics.1.as_bytes());
            out.extend_from_slice(b"\n\n");
        }
        None => {}
    }
}
