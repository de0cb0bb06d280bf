//! A thread that drives a hub.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use netdyno_io::{Events, Poller};

use crate::error::Error;
use crate::handle::{EndOnDrop, Hub};
use crate::settings::Settings;
use crate::switch::PortMember;

/// A hub and the thread that drives it. Dropping it ends both.
#[derive(Debug)]
pub(crate) struct Driver {
    pub(crate) hub: Arc<Hub>,
    /// Joined by `drop`, after the hub was ended.
    _thread: Thread,
}

impl Driver {
    pub(crate) fn start(
        address: SocketAddr,
        settings: Settings,
        member: Option<PortMember>,
    ) -> Result<Self, Error> {
        let poller = Arc::new(Poller::with_spin(settings.spin)?);
        let waker = poller.waker();
        let kick = Arc::new(move || waker.wake());
        let hub = Arc::new(Hub::bind(address, settings, poller.clone(), kick, member)?);
        let turned = EndOnDrop(hub.clone());
        let thread = Thread::spawn(move || drive(&turned.0, &poller))?;
        Ok(Self { hub, _thread: thread })
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        self.hub.end();
    }
}

/// A driver thread. Dropping it joins the thread, which must have been asked to end before.
#[derive(Debug)]
pub(crate) struct Thread(Option<JoinHandle<()>>);

impl Thread {
    pub(crate) fn spawn(turn: impl FnOnce() + Send + 'static) -> io::Result<Self> {
        thread::Builder::new().name("netdyno-rtc".to_owned()).spawn(turn).map(|handle| Self(Some(handle)))
    }
}

impl Drop for Thread {
    fn drop(&mut self) {
        // The driver itself may drop the last handle, by calling a waker; it then ends on its own.
        let thread = self.0.take().filter(|handle| handle.thread().id() != thread::current().id());
        if let Some(thread) = thread {
            // The panic hook has already reported a panic of the thread.
            let _ = thread.join();
        }
    }
}

/// Runs turns of the hub until it is over or the system fails.
fn drive(hub: &Hub, poller: &Poller) {
    let mut events = Events::default();
    while let Ok(rest) = hub.turn(&events) {
        if poller.wait(&mut events, rest).is_err() {
            break;
        }
    }
}

#[cfg(test)]
mod tests {
    use netdyno_rtc_core::PeerState;

    use super::*;
    use crate::engine::Port;
    use crate::handle::{Peer, block};

    #[test]
    fn waiting_calls_survive_a_panic_of_the_driver() {
        let poller = Arc::new(Poller::new().unwrap());
        let address = "127.0.0.1:0".parse().unwrap();
        let hub = Hub::bind(address, Settings::new().unwrap(), poller, Arc::new(|| ()), None).unwrap();
        let hub = Arc::new(hub);
        let peer = Peer::new(hub.clone(), Arc::new(()), Port::Shared).unwrap();
        thread::scope(|scope| {
            let waiter = scope.spawn(|| block(None, |wait| peer.poll_over(wait)));
            let turned = EndOnDrop(hub.clone());
            let driver = thread::spawn(move || {
                let _turned = turned;
                panic!("a bug, for the sake of this test");
            });
            assert!(driver.join().is_err());
            waiter.join().unwrap().unwrap().unwrap();
        });
        assert_eq!(peer.state(), PeerState::Closed);
        assert!(matches!(Peer::new(hub, Arc::new(()), Port::Shared), Err(Error::Closed)));
    }
}
