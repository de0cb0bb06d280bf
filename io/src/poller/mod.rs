//! Waiting for sockets, a deadline and wake-ups from other threads.

#[cfg(target_os = "linux")]
mod linux;
// Always compiled for tests, so that it also stays correct on systems that do not use it.
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

/// No thread is waiting.
pub(crate) const AWAKE: u8 = 0;
/// A thread is waiting or about to wait: a wake-up needs a system call.
pub(crate) const ASLEEP: u8 = 1;
/// A wake-up is pending: further ones have no effect.
pub(crate) const NOTIFIED: u8 = 2;

/// Readiness of one socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ready {
    /// The key under which the socket was added.
    pub key: u32,
    /// The socket has data to receive.
    pub readable: bool,
    /// The socket has buffer space to send; reported only if requested.
    pub writable: bool,
}

/// The reusable result of [`Poller::wait`].
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

    /// Removes all events.
    pub fn clear(&mut self) {
        self.list.clear();
        self.is_woken = false;
    }

    /// Whether a [`Waker`] was used, whatever else happened. Reported once per wake-up.
    pub fn is_woken(&self) -> bool {
        self.is_woken
    }

    /// Number of ready sockets.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Whether no socket is ready.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }
}

/// The sockets that a [`Poller`] can wait for: those of this crate.
pub trait Pollable: Sealed {}

impl Pollable for UdpSocket {}
impl Pollable for DatagramSocket {}

/// Waits for any number of sockets. Level-triggered: a socket is reported until its data has been received.
///
/// One thread waits; other threads may add, change and remove sockets meanwhile. On Linux a wait is one
/// system call (epoll). A wait of less than 20 ms takes two: epoll rounds timeouts up to milliseconds,
/// whereas ppoll takes nanoseconds.
#[derive(Debug)]
pub struct Poller {
    system: system::Poller,
    state: Arc<AtomicU8>,
    spin: Duration,
    /// Least time in microseconds that the next wait spins.
    min_spin_us: AtomicU32,
    /// Least time in microseconds that the next wait sleeps.
    min_sleep_us: AtomicU32,
}

impl Poller {
    /// Creates a poller that sleeps at once when nothing is ready.
    pub fn new() -> io::Result<Self> {
        Self::with_spin(Duration::ZERO)
    }

    /// Creates a poller that polls for `spin` before it sleeps. This saves the time that the kernel takes to
    /// wake a thread, at the cost of a busy core.
    pub fn with_spin(spin: Duration) -> io::Result<Self> {
        let (system, state) = (system::Poller::new()?, Arc::new(AtomicU8::new(AWAKE)));
        Ok(Self { system, state, spin, min_spin_us: AtomicU32::new(0), min_sleep_us: AtomicU32::new(0) })
    }

    /// Reports `socket` under `key` whenever it has something to receive.
    pub fn add(&self, socket: &impl Pollable, key: u32) -> io::Result<()> {
        self.system.add(socket.inner(), key)
    }

    /// Reports under `key` when this descriptor is readable.
    #[cfg(target_os = "linux")]
    pub(crate) fn add_descriptor(&self, descriptor: std::os::fd::BorrowedFd<'_>, key: u32) -> io::Result<()> {
        self.system.add(descriptor, key)
    }

    /// Sets whether `socket` is also reported when it has buffer space to send.
    pub fn set_writable(&self, socket: &impl Pollable, key: u32, writable: bool) -> io::Result<()> {
        self.system.modify(socket.inner(), key, writable)
    }

    /// Stops reporting `socket`.
    pub fn remove(&self, socket: &impl Pollable) -> io::Result<()> {
        self.system.remove(socket.inner())
    }

    /// Announces that data is likely to arrive within `time`: the next wait that may sleep first polls for
    /// that long, yielding to other threads. Zero cancels the announcement.
    pub fn spin_at_least(&self, time: Duration) {
        self.min_spin_us.store(u32::try_from(time.as_micros()).unwrap_or(u32::MAX), Ordering::Relaxed);
    }

    /// Allows arriving data to wait for `time`: the next wait that may sleep sleeps at least that long,
    /// unless woken. The sender is then not delayed by waking this thread for each datagram, and several are
    /// received at once. Zero cancels it.
    pub fn sleep_at_least(&self, time: Duration) {
        self.min_sleep_us.store(u32::try_from(time.as_micros()).unwrap_or(u32::MAX), Ordering::Relaxed);
    }

    /// Returns a handle with which other threads end a wait.
    pub fn waker(&self) -> Waker {
        Waker { state: self.state.clone(), system: self.system.waker() }
    }

    /// Waits until a socket is ready, a wake-up, or the timeout; `None` waits without limit. May also return
    /// spuriously.
    pub fn wait(&self, events: &mut Events, timeout: Option<Duration>) -> io::Result<()> {
        self.wait_with(&[], events, timeout)
    }

    /// Like [`wait`](Self::wait), but also waits for `sockets` that were not added; each is reported by its
    /// index. On Linux, an added socket makes each of its datagrams more expensive, even while no thread
    /// waits, because epoll is notified. A socket passed here makes only the wait more expensive. Use it for
    /// sockets that are mostly read without waiting.
    pub fn wait_with(
        &self,
        sockets: &[DatagramSocket],
        events: &mut Events,
        timeout: Option<Duration>,
    ) -> io::Result<()> {
        events.clear();
        let result = self.wait_and_collect(sockets, events, timeout);
        events.is_woken = self.state.swap(AWAKE, Ordering::AcqRel) == NOTIFIED;
        result
    }

    fn wait_and_collect(
        &self,
        sockets: &[DatagramSocket],
        events: &mut Events,
        timeout: Option<Duration>,
    ) -> io::Result<()> {
        if timeout == Some(Duration::ZERO) {
            return self.system.wait(sockets, events, timeout);
        }
        let min_spin_us = self.min_spin_us.swap(0, Ordering::Relaxed);
        let spin = self.spin.max(Duration::from_micros(min_spin_us.into()));
        if !spin.is_zero() && self.spin(spin, sockets, events, timeout)? {
            return Ok(());
        }
        let rest = Duration::from_micros(self.min_sleep_us.swap(0, Ordering::Relaxed).into());
        let rest = timeout.map_or(rest, |timeout| rest.min(timeout));
        let woken = self.state.compare_exchange(AWAKE, ASLEEP, Ordering::AcqRel, Ordering::Acquire).is_err();
        if woken || !rest.is_zero() {
            if !woken {
                self.system.sleep(rest)?;
            }
            self.system.wait(sockets, events, Some(Duration::ZERO))?;
            if woken || !events.is_empty() || self.state.load(Ordering::Acquire) == NOTIFIED {
                return Ok(());
            }
        }
        self.system.wait(sockets, events, timeout.map(|timeout| timeout - rest))
    }

    /// Polls without sleeping; true if an event was found or the time is over.
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
            // The sender may need this core to run.
            std::thread::yield_now();
        }
    }
}

/// Readable when a socket is ready or a wake-up is pending.
#[cfg(target_os = "linux")]
impl std::os::fd::AsFd for Poller {
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        self.system.as_fd()
    }
}

/// Ends a wait of a [`Poller`] or a [`TcpReactor`](crate::tcp::TcpReactor) from any thread. Makes a system
/// call only if that thread is sleeping.
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

    /// Ends the current wait, or the next one if no thread is waiting.
    pub fn wake(&self) {
        if self.state.swap(NOTIFIED, Ordering::AcqRel) == ASLEEP {
            self.system.wake();
        }
    }
}

#[cfg(test)]
mod tests;
