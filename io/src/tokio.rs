//! A [`Poller`] integrated with Tokio's reactor.

use std::io;
use std::os::fd::{AsFd, AsRawFd, RawFd};
use std::sync::Arc;
use std::time::Duration;

use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use crate::poller::{Events, Poller};

/// An awaitable poller. The sockets stay with the poller: one Tokio registration serves all of them.
#[derive(Debug)]
pub struct AsyncPoller {
    inner: AsyncFd<Shared>,
}

#[derive(Debug)]
struct Shared(Arc<Poller>);

impl AsRawFd for Shared {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_fd().as_raw_fd()
    }
}

impl AsyncPoller {
    /// Registers with the current runtime, which must have its I/O driver enabled.
    #[allow(unsafe_code)]
    pub fn new(poller: Arc<Poller>) -> io::Result<Self> {
        // SAFETY: the poller opens its descriptor once and closes it when dropped, and the `Arc` keeps it
        // alive.
        let inner = unsafe { AsyncFd::register_with_interest(Shared(poller), Interest::READABLE)? };
        Ok(Self { inner })
    }

    /// Reports what is ready now, without waiting.
    pub fn check(&self, events: &mut Events) -> io::Result<()> {
        self.inner.get_ref().0.wait(events, Some(Duration::ZERO))
    }

    /// Waits until a socket is ready. Wake-ups by [`Waker`](crate::Waker) are not reported: they are for
    /// threads.
    pub async fn wait(&self, events: &mut Events) -> io::Result<()> {
        loop {
            let mut guard = self.inner.readable().await?;
            guard.get_inner().0.wait(events, Some(Duration::ZERO))?;
            if !events.is_empty() {
                return Ok(());
            }
            // Nothing was ready at that time: later arrivals make the descriptor readable again.
            guard.clear_ready();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ReceiveBatch, SocketOptions, UdpSocket};

    #[tokio::test]
    async fn reports_every_datagram() {
        let poller = Arc::new(Poller::new().unwrap());
        let (waiting, mut events) = (AsyncPoller::new(poller.clone()).unwrap(), Events::default());
        let address = "127.0.0.1:0".parse().unwrap();
        let sockets = [0, 1, 2].map(|_| UdpSocket::bind(address, &SocketOptions::default()).unwrap());
        for (key, socket) in sockets.iter().enumerate() {
            poller.add(socket, key as u32).unwrap();
        }
        let mut batch = ReceiveBatch::new(1);
        for round in 0..100 {
            let (from, to) = (&sockets[round % 3], &sockets[(round + 1) % 3]);
            from.send(from.local_address(), to.local_address(), b"hello", 5);
            let wait = tokio::time::timeout(Duration::from_secs(5), waiting.wait(&mut events));
            wait.await.expect("a timely wake-up").unwrap();
            assert_eq!(events.iter().map(|ready| ready.key).collect::<Vec<_>>(), [((round + 1) % 3) as u32]);
            assert_eq!(to.receive(&mut batch).unwrap(), 1);
        }
        let wait = tokio::time::timeout(Duration::from_millis(5), waiting.wait(&mut events));
        assert!(wait.await.is_err(), "no further event");
    }
}
