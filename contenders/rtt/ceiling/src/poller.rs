//! Which sockets to try next.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::buffer::spare_capacity;
use rustix::event::{Timespec, epoll};
use rustix::io::Errno;

/// Of so few sockets it is quicker to try all. Of more, one call that does not wait says which of them have something.
const MAX_TRIED: usize = 8;
/// Sockets that one such call may name; those beyond come with the next.
const MAX_EVENTS: usize = 64;
const AT_ONCE: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };

/// The sockets of a role, by number.
pub struct Poller {
    /// Where the kernel is asked.
    epoll: Option<OwnedFd>,
    events: Vec<epoll::Event>,
    added: usize,
}

impl Poller {
    /// For so many sockets at most.
    pub fn new(most: usize) -> io::Result<Self> {
        let asks = (most > MAX_TRIED).then(|| epoll::create(epoll::CreateFlags::CLOEXEC));
        Ok(Self { epoll: asks.transpose()?, events: Vec::with_capacity(MAX_EVENTS), added: 0 })
    }

    /// Sockets are numbered 0, 1, .. in the order in which they are added.
    pub fn add(&mut self, socket: impl AsFd) -> io::Result<()> {
        if let Some(epoll) = &self.epoll {
            let number = epoll::EventData::new_u64(self.added as u64);
            epoll::add(epoll, socket, number, epoll::EventFlags::IN)?;
        }
        self.added += 1;
        Ok(())
    }

    /// Whether the kernel names the sockets; else all are tried.
    pub fn asks(&self) -> bool {
        self.epoll.is_some()
    }

    /// How many sockets are to be tried now; [`number`](Self::number) says which.
    pub fn ask(&mut self) -> io::Result<usize> {
        let Some(epoll) = &self.epoll else { return Ok(self.added) };
        self.events.clear();
        match epoll::wait(epoll, spare_capacity(&mut self.events), Some(&AT_ONCE)) {
            Ok(count) => Ok(count),
            Err(Errno::INTR) => Ok(0),
            Err(error) => Err(error.into()),
        }
    }

    /// The socket at this place of what [`ask`](Self::ask) found.
    pub fn number(&self, place: usize) -> usize {
        if self.asks() { self.events[place].data.u64() as usize } else { place }
    }
}
