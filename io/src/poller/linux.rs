//! epoll for the sockets, and an eventfd for wake-ups from other threads.

use std::io;
use std::mem::MaybeUninit;
use std::net::UdpSocket;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use rustix::event::{EventfdFlags, PollFd, PollFlags, epoll, eventfd};
use rustix::io::Errno;

use super::{Events, Ready};
use crate::datagram::DatagramSocket;
use crate::sealed::Sealed;
use crate::wait::{timespec, wait_for};

/// Key of the eventfd. Sockets have 32-bit keys, so none can have this one.
const WAKER_KEY: u64 = u64::MAX;

/// Waits shorter than this end on time; longer ones may end 1 ms late.
const PRECISE_BELOW: Duration = Duration::from_millis(20);

/// Most sockets that one wait reports; the rest are reported by the next wait.
const MAX_EVENTS: usize = 64;

#[derive(Debug)]
pub(crate) struct Poller {
    epoll: OwnedFd,
    wakeup: Arc<OwnedFd>,
}

impl Poller {
    pub(super) fn new() -> io::Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let wakeup = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        epoll::add(&epoll, &wakeup, epoll::EventData::new_u64(WAKER_KEY), epoll::EventFlags::IN)?;
        Ok(Self { epoll, wakeup: Arc::new(wakeup) })
    }

    pub(super) fn add(&self, socket: impl AsFd, key: u32) -> io::Result<()> {
        let data = epoll::EventData::new_u64(key.into());
        Ok(epoll::add(&self.epoll, socket, data, epoll::EventFlags::IN)?)
    }

    pub(super) fn modify(&self, socket: &Arc<UdpSocket>, key: u32, writable: bool) -> io::Result<()> {
        let data = epoll::EventData::new_u64(key.into());
        let room = if writable { epoll::EventFlags::OUT } else { epoll::EventFlags::empty() };
        Ok(epoll::modify(&self.epoll, socket, data, epoll::EventFlags::IN | room)?)
    }

    pub(super) fn remove(&self, socket: &Arc<UdpSocket>) -> io::Result<()> {
        Ok(epoll::delete(&self.epoll, socket)?)
    }

    pub(super) fn waker(&self) -> Waker {
        Waker(self.wakeup.clone())
    }

    pub(super) fn wait(
        &self,
        sockets: &[DatagramSocket],
        events: &mut Events,
        timeout: Option<Duration>,
    ) -> io::Result<()> {
        let is_short = timeout.is_some_and(|timeout| !timeout.is_zero() && timeout < PRECISE_BELOW);
        let polls = is_short || !sockets.is_empty();
        if polls {
            let mut fds = vec![PollFd::new(&self.epoll, PollFlags::IN)];
            fds.extend(sockets.iter().map(|socket| PollFd::new(&**socket.inner(), PollFlags::IN)));
            if wait_for(&mut fds, timeout)? == 0 {
                return Ok(());
            }
            for (key, _) in (0..).zip(&fds[1..]).filter(|(_, fd)| !fd.revents().is_empty()) {
                events.list.push(Ready { key, readable: true, writable: false });
            }
            if fds[0].revents().is_empty() {
                return Ok(());
            }
        }
        let timeout = if polls { Some(Duration::ZERO) } else { timeout };
        let mut found = [MaybeUninit::uninit(); MAX_EVENTS];
        let found = match epoll::wait(&self.epoll, &mut found, timeout.map(timespec).as_ref()) {
            Ok((found, _)) => found,
            Err(Errno::INTR) => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        for event in found {
            let (key, flags) = (event.data.u64(), event.flags);
            let Ok(key) = u32::try_from(key) else {
                self.drain();
                continue;
            };
            let other = epoll::EventFlags::ERR | epoll::EventFlags::HUP;
            events.list.push(Ready {
                key,
                readable: flags.intersects(epoll::EventFlags::IN | other),
                writable: flags.intersects(epoll::EventFlags::OUT | other),
            });
        }
        Ok(())
    }

    /// Sleeps for `time`, or until a wake-up.
    pub(super) fn sleep(&self, time: Duration) -> io::Result<()> {
        wait_for(&mut [PollFd::new(&self.wakeup, PollFlags::IN)], Some(time)).map(drop)
    }

    /// Clears pending wake-ups. A failure would only cause one superfluous wake-up.
    fn drain(&self) {
        let _ = rustix::io::read(&*self.wakeup, &mut [0; 8]);
    }
}

impl AsFd for Poller {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.epoll.as_fd()
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Waker(Arc<OwnedFd>);

impl Waker {
    pub(crate) fn new(wakeup: Arc<OwnedFd>) -> Self {
        Self(wakeup)
    }

    pub(super) fn wake(&self) {
        // Fails only if the counter is full, and then the poller wakes anyway.
        let _ = rustix::io::write(&*self.0, &1_u64.to_ne_bytes());
    }
}
