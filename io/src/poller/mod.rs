//! Waiting for sockets, a deadline, and other threads.

#[cfg(target_os = "linux")]
mod linux;
// Built in tests everywhere, so that it cannot rot on the machines that do not need it.
#[cfg(any(not(target_os = "linux"), test))]
mod portable;

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU32, Ordering};
use std::time::{Duration, Instant};

#[cfg(target_os = "linux")]
pub(crate) use linux::Waker as SystemWaker;

#[cfg(target_os = "linux")]
use linux as system;
#[cfg(not(target_os = "linux"))]
use portable as system;

use crate::datagram::DatagramSocket;
use crate::sealed::Sealed;
use crate::socket::UdpSocket;
#[cfg(target_os = "linux")]
use crate::tcp::TcpReactor;

/// Nobody waits.
pub(crate) const AWAKE: u8 = 0;
/// Somebody waits, or is about to: a wake-up needs a system call.
pub(crate) const ASLEEP: u8 = 1;
/// A wake-up has not been seen yet: another one changes nothing.
pub(crate) const NOTIFIED: u8 = 2;

/// What happened at a socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ready {
    /// The key that the socket was added with.
    pub key: u32,
    /// There is something to receive.
    pub readable: bool,
    /// There is room to send; told only if it was asked for.
    pub writable: bool,
}

/// What [`Poller::wait`] found; used again and again.
#[derive(Debug, Default)]
pub struct Events {
    list: Vec<Ready>,
    is_woken: bool,
}

impl Events {
    /// The sockets that are ready.
    pub fn iter(&self) -> impl Iterator<Item = Ready> + '_ {
        self.list.iter().copied()
    }

    /// Forgets them.
    pub fn clear(&mut self) {
        self.list.clear();
        self.is_woken = false;
    }

    /// Whether somebody used a [`Waker`], whatever else happened: it is told once.
    pub fn is_woken(&self) -> bool {
        self.is_woken
    }

    /// How many are ready.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Whether none is.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }
}

/// What a [`Poller`] can wait for: the sockets of this crate.
pub trait Pollable: Sealed {}

impl Pollable for UdpSocket {}
impl Pollable for DatagramSocket {}

/// Waits for any number of sockets. Level-triggered: what is not dealt with is told again.
///
/// One thread waits; sockets may be added, changed and removed by others meanwhile. On Linux a wait is one system
/// call (epoll), two if it ends within 20 ms and so must end on time: epoll counts in milliseconds, rounded up,
/// ppoll in nanoseconds.
#[derive(Debug)]
pub struct Poller {
    system: system::Poller,
    state: Arc<AtomicU8>,
    spin: Duration,
    /// Microseconds that the next wait spins at the least.
    expected_us: AtomicU32,
    /// Microseconds that the next wait sleeps at the least.
    rest_us: AtomicU32,
}

impl Poller {
    /// One that goes to sleep at once when there is nothing to do.
    pub fn new() -> io::Result<Self> {
        Self::with_spin(Duration::ZERO)
    }

    /// One that asks again and again for as long as `spin` before it sleeps: saves the time that the kernel takes
    /// to wake a thread (some 5 to 50 us), and costs a core.
    pub fn with_spin(spin: Duration) -> io::Result<Self> {
        let (system, state) = (system::Poller::new()?, Arc::new(AtomicU8::new(AWAKE)));
        Ok(Self { system, state, spin, expected_us: AtomicU32::new(0), rest_us: AtomicU32::new(0) })
    }

    /// Tells of `socket` under `key` from now on, when there is something to receive.
    pub fn add(&self, socket: &impl Pollable, key: u32) -> io::Result<()> {
        self.system.add(socket.inner(), key)
    }

    /// Tells under `key` from now on when a reactor's [`wait`](TcpReactor::wait) has something to do, so that one thread waits for
    /// connections and for other sockets. A wait that does not wait (`Some(Duration::ZERO)`) then makes a turn. Its
    /// [`next_deadline`](TcpReactor::next_deadline) is to be looked at too.
    ///
    /// # Errors
    ///
    /// It works with io_uring: then it can only be waited for by itself.
    #[cfg(target_os = "linux")]
    pub fn add_reactor(&self, reactor: &TcpReactor, key: u32) -> io::Result<()> {
        let text = "a reactor on io_uring waits by itself: make it with Backend::Epoll";
        let epoll = reactor.epoll().ok_or_else(|| io::Error::new(io::ErrorKind::Unsupported, text))?;
        self.system.add(epoll, key)
    }

    /// Whether to tell also when there is room to send.
    pub fn set_writable(&self, socket: &impl Pollable, key: u32, writable: bool) -> io::Result<()> {
        self.system.modify(socket.inner(), key, writable)
    }

    /// Tells of `socket` no more.
    pub fn remove(&self, socket: &impl Pollable) -> io::Result<()> {
        self.system.remove(socket.inner())
    }

    /// Something is likely to come within so long: the next wait that may sleep asks again and again for that time first, and lets
    /// others run meanwhile. Zero takes it back.
    pub fn expect_within(&self, time: Duration) {
        self.expected_us.store(u32::try_from(time.as_micros()).unwrap_or(u32::MAX), Ordering::Relaxed);
    }

    /// What comes may be left where it is for so long: the next wait that may sleep does so at the least, unless somebody wakes it. Who
    /// sends is not held up by waking us for each datagram then, and several are found at once. Zero takes it back.
    pub fn rest_for(&self, time: Duration) {
        self.rest_us.store(u32::try_from(time.as_micros()).unwrap_or(u32::MAX), Ordering::Relaxed);
    }

    /// A way for other threads to end a wait.
    pub fn waker(&self) -> Waker {
        Waker { state: self.state.clone(), system: self.system.waker() }
    }

    /// Waits until a socket is ready, somebody wakes us, or the time is over; `None`: without end. It may also end
    /// for no reason.
    pub fn wait(&self, events: &mut Events, timeout: Option<Duration>) -> io::Result<()> {
        self.wait_with(&[], events, timeout)
    }

    /// As [`wait`](Self::wait), and until one of these sockets, which were not added, has something to receive: each is told by
    /// its place. On Linux a socket that was added makes every datagram dearer that it gets (epoll hears of it), also while nobody
    /// waits here; these make the wait dearer. So they are for sockets that are mostly read without a wait.
    pub fn wait_with(
        &self,
        sockets: &[DatagramSocket],
        events: &mut Events,
        timeout: Option<Duration>,
    ) -> io::Result<()> {
        events.clear();
        let result = self.wait_and_see(sockets, events, timeout);
        events.is_woken = self.state.swap(AWAKE, Ordering::AcqRel) == NOTIFIED;
        result
    }

    fn wait_and_see(
        &self,
        sockets: &[DatagramSocket],
        events: &mut Events,
        timeout: Option<Duration>,
    ) -> io::Result<()> {
        if timeout == Some(Duration::ZERO) {
            return self.system.wait(sockets, events, timeout);
        }
        let expected_us = self.expected_us.swap(0, Ordering::Relaxed);
        let spin = self.spin.max(Duration::from_micros(expected_us.into()));
        if !spin.is_zero() && self.spin(spin, sockets, events, timeout)? {
            return Ok(());
        }
        let rest = Duration::from_micros(self.rest_us.swap(0, Ordering::Relaxed).into());
        let rest = timeout.map_or(rest, |timeout| rest.min(timeout));
        let woken = self.state.compare_exchange(AWAKE, ASLEEP, Ordering::AcqRel, Ordering::Acquire).is_err();
        if woken || !rest.is_zero() {
            if !woken {
                self.system.rest(rest)?;
            }
            self.system.wait(sockets, events, Some(Duration::ZERO))?;
            if woken || !events.is_empty() || self.state.load(Ordering::Acquire) == NOTIFIED {
                return Ok(());
            }
        }
        self.system.wait(sockets, events, timeout.map(|timeout| timeout - rest))
    }

    /// Asks without sleeping; true if something was found, or the time is over.
    fn spin(
        &self,
        longest: Duration,
        sockets: &[DatagramSocket],
        events: &mut Events,
        timeout: Option<Duration>,
    ) -> io::Result<bool> {
        let begin = Instant::now();
        loop {
            self.system.wait(sockets, events, Some(Duration::ZERO))?;
            if !events.is_empty() || self.state.load(Ordering::Acquire) == NOTIFIED {
                return Ok(true);
            }
            let spent = begin.elapsed();
            if timeout.is_some_and(|timeout| spent >= timeout) {
                return Ok(true);
            }
            if spent >= longest {
                return Ok(false);
            }
            // Who is awaited may have to run on this very core.
            std::thread::yield_now();
        }
    }
}

/// Readable when a socket is ready, or somebody wakes us.
#[cfg(target_os = "linux")]
impl std::os::fd::AsFd for Poller {
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        self.system.as_fd()
    }
}

/// Ends a wait of a [`Poller`] or a [`TcpReactor`](crate::tcp::TcpReactor) from any thread. Costs a system call only if
/// it really sleeps.
#[derive(Debug, Clone)]
pub struct Waker {
    state: Arc<AtomicU8>,
    system: system::Waker,
}

impl Waker {
    #[cfg(target_os = "linux")]
    pub(crate) fn new(state: Arc<AtomicU8>, system: system::Waker) -> Self {
        Self { state, system }
    }

    /// Ends the wait under way, or the next one.
    pub fn wake(&self) {
        if self.state.swap(NOTIFIED, Ordering::AcqRel) == ASLEEP {
            self.system.wake();
        }
    }
}

#[cfg(test)]
mod tests;
