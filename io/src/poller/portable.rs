//! poll(2) for the sockets and a socket that sends to itself for wake-ups, for systems without epoll. Its
//! cost grows with the number of sockets.

use std::io;
use std::net::{Ipv4Addr, UdpSocket};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags};

use super::{Events, Ready};
use crate::datagram::DatagramSocket;
use crate::sealed::Sealed;
use crate::wait::wait_for;

/// Some of these systems take timeouts as 31-bit milliseconds.
const LONGEST: Duration = Duration::from_secs(86_400);

#[derive(Debug)]
struct Entry {
    socket: Arc<std::net::UdpSocket>,
    key: u32,
    writable: bool,
}

#[derive(Debug)]
pub(crate) struct Poller {
    entries: Mutex<Vec<Entry>>,
    waker: Waker,
}

impl Poller {
    pub(super) fn new() -> io::Result<Self> {
        let socket = std::net::UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
        socket.connect(socket.local_addr()?)?;
        socket.set_nonblocking(true)?;
        Ok(Self { entries: Mutex::new(Vec::new()), waker: Waker(Arc::new(socket)) })
    }

    pub(super) fn add(&self, socket: &Arc<UdpSocket>, key: u32) -> io::Result<()> {
        self.entries().push(Entry { socket: socket.clone(), key, writable: false });
        // A wait in progress does not include it yet.
        self.waker.wake();
        Ok(())
    }

    pub(super) fn modify(&self, socket: &Arc<UdpSocket>, key: u32, writable: bool) -> io::Result<()> {
        let mut entries = self.entries();
        let known = entries.iter_mut().find(|entry| Arc::ptr_eq(&entry.socket, socket));
        let entry = known.ok_or(io::ErrorKind::NotFound)?;
        (entry.key, entry.writable) = (key, writable);
        self.waker.wake();
        Ok(())
    }

    pub(super) fn remove(&self, socket: &Arc<UdpSocket>) -> io::Result<()> {
        self.entries().retain(|entry| !Arc::ptr_eq(&entry.socket, socket));
        self.waker.wake();
        Ok(())
    }

    pub(super) fn waker(&self) -> Waker {
        self.waker.clone()
    }

    pub(super) fn wait(
        &self,
        sockets: &[DatagramSocket],
        events: &mut Events,
        timeout: Option<Duration>,
    ) -> io::Result<()> {
        // Copied, so that other threads can add sockets while this one sleeps.
        let entries: Vec<_> = (0..)
            .zip(sockets)
            .map(|(key, socket)| (socket.inner().clone(), key, false))
            .chain(self.entries().iter().map(|entry| (entry.socket.clone(), entry.key, entry.writable)))
            .collect();
        let mut fds = Vec::with_capacity(entries.len() + 1);
        fds.push(PollFd::new(&*self.waker.0, PollFlags::IN));
        fds.extend(entries.iter().map(|(socket, _, writable)| {
            let room = if *writable { PollFlags::OUT } else { PollFlags::empty() };
            PollFd::new(&**socket, PollFlags::IN | room)
        }));
        if wait_for(&mut fds, timeout.map(|timeout| timeout.min(LONGEST)))? == 0 {
            return Ok(());
        }
        if !fds[0].revents().is_empty() {
            while self.waker.0.recv(&mut [0; 1]).is_ok() {}
        }
        for (fd, (_, key, _)) in fds[1..].iter().zip(&entries) {
            let (found, other) = (fd.revents(), PollFlags::ERR | PollFlags::HUP);
            if !found.is_empty() {
                let readable = found.intersects(PollFlags::IN | other);
                events.list.push(Ready {
                    key: *key,
                    readable,
                    writable: found.intersects(PollFlags::OUT | other),
                });
            }
        }
        Ok(())
    }

    pub(super) fn sleep(&self, time: Duration) -> io::Result<()> {
        wait_for(&mut [PollFd::new(&*self.waker.0, PollFlags::IN)], Some(time)).map(drop)
    }

    fn entries(&self) -> MutexGuard<'_, Vec<Entry>> {
        // No code that can panic runs under the lock.
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Waker(Arc<std::net::UdpSocket>);

impl Waker {
    pub(super) fn wake(&self) {
        // Fails only if the buffer is full of wake-ups.
        let _ = self.0.send(&[1]);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;
    use crate::{DatagramOptions, ReceiveBatch, SocketOptions, UdpSocket};

    fn socket() -> UdpSocket {
        UdpSocket::bind("127.0.0.1:0".parse().unwrap(), &SocketOptions::default()).unwrap()
    }

    #[test]
    fn reports_sockets_timeouts_and_wake_ups() {
        let (poller, mut events) = (Poller::new().unwrap(), Events::default());
        let (one, two) = (socket(), socket());
        poller.add(one.inner(), 1).unwrap();
        poller.add(two.inner(), 2).unwrap();
        poller.wait(&[], &mut events, None).unwrap();
        assert!(events.is_empty(), "adding a socket ends a wait");

        let begin = Instant::now();
        poller.wait(&[], &mut events, Some(Duration::from_millis(3))).unwrap();
        assert!(events.is_empty() && begin.elapsed() >= Duration::from_millis(3));
        poller.sleep(Duration::from_millis(3)).unwrap();
        assert!(begin.elapsed() >= Duration::from_millis(6));

        one.send(one.local_address(), two.local_address(), b"hello", 5);
        poller.wait(&[], &mut events, None).unwrap();
        let readable = Ready { key: 2, readable: true, writable: false };
        assert_eq!(events.iter().collect::<Vec<_>>(), [readable]);
        assert_eq!(two.receive(&mut ReceiveBatch::new(1)).unwrap(), 1);

        poller.modify(one.inner(), 1, true).unwrap();
        events.list.clear();
        poller.wait(&[], &mut events, None).unwrap();
        assert_eq!(events.iter().collect::<Vec<_>>(), [Ready { key: 1, readable: false, writable: true }]);
        poller.remove(one.inner()).unwrap();

        let bind =
            || DatagramSocket::bind("127.0.0.1:0".parse().unwrap(), &DatagramOptions::default()).unwrap();
        let others = [bind(), bind()];
        others[0].send(others[1].local_address(), b"hello").unwrap();
        events.list.clear();
        // Removing a socket also ends a wait.
        while events.is_empty() {
            poller.wait(&others, &mut events, None).unwrap();
        }
        assert_eq!(events.iter().collect::<Vec<_>>(), [Ready { key: 1, readable: true, writable: false }]);

        let waker = poller.waker();
        let thread = std::thread::spawn(move || waker.wake());
        events.list.clear();
        poller.wait(&[], &mut events, None).unwrap();
        thread.join().unwrap();
        assert!(events.is_empty());
    }
}
