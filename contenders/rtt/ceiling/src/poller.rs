//! The choice of the sockets to try next.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::buffer::spare_capacity;
use rustix::event::{Timespec, epoll};
use rustix::io::Errno;

/// Up to this number of sockets, trying all is faster. Beyond, a non-blocking epoll_wait returns the readable ones.
const MAX_TRIED: usize = 8;
/// Maximum number of sockets that one such call returns.
const MAX_EVENTS: usize = 64;
const AT_ONCE: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };

/// The sockets of a role, by number.
pub struct Poller {
    /// Used above [`MAX_TRIED`] sockets.
    epoll: Option<OwnedFd>,
    events: Vec<epoll::Event>,
    added: usize,
}

impl Poller {
    /// Creates a poller for at most `most` sockets.
    pub fn new(most: usize) -> io::Result<Self> {
        let asks = (most > MAX_TRIED).then(|| epoll::create(epoll::CreateFlags::CLOEXEC));
        Ok(Self { epoll: asks.transpose()?, events: Vec::with_capacity(MAX_EVENTS), added: 0 })
    }

    /// Adds a socket. Sockets are numbered 0, 1, .. in order.
    pub fn add(&mut self, socket: impl AsFd) -> io::Result<()> {
        if let Some(epoll) = &self.epoll {
            let number = epoll::EventData::new_u64(self.added as u64);
            epoll::add(epoll, socket, number, epoll::EventFlags::IN)?;
        }
        self.added += 1;
        Ok(())
    }

    /// Whether epoll selects the sockets; otherwise, all are tried.
    pub fn asks(&self) -> bool {
        self.epoll.is_some()
    }

    /// Returns the number of sockets to try now; [`number`](Self::number) returns each of them.
    pub fn ask(&mut self) -> io::Result<usize> {
        let Some(epoll) = &self.epoll else { return Ok(self.added) };
        self.events.clear();
        match epoll::wait(epoll, spare_capacity(&mut self.events), Some(&AT_ONCE)) {
            Ok(count) => Ok(count),
            Err(Errno::INTR) => Ok(0),
            Err(error) => Err(error.into()),
        }
    }

    /// Returns the socket at this index of the result of [`ask`](Self::ask).
    pub fn number(&self, place: usize) -> usize {
        if self.asks() { self.events[place].data.u64() as usize } else { place }
    }
}
