//! A thread that turns a hub.

use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use netdyno_io::{Events, Poller};

use crate::error::Error;
use crate::face::Hub;
use crate::settings::Settings;

/// A hub and the thread that turns it. Dropping it ends both.
#[derive(Debug)]
pub(crate) struct Driver {
    pub(crate) hub: Arc<Hub>,
    thread: Option<JoinHandle<()>>,
}

impl Driver {
    pub(crate) fn start(address: SocketAddr, settings: Settings) -> Result<Self, Error> {
        let poller = Arc::new(Poller::with_spin(settings.spin)?);
        let waker = poller.waker();
        let hub = Arc::new(Hub::bind(address, settings, poller.clone(), Box::new(move || waker.wake()))?);
        let turned = hub.clone();
        let thread =
            thread::Builder::new().name("netdyno-rtc".to_owned()).spawn(move || drive(&turned, &poller))?;
        Ok(Self { hub, thread: Some(thread) })
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        self.hub.end();
        // A waker that it calls may drop the last handle: then it ends by itself.
        let thread = self.thread.take().filter(|handle| handle.thread().id() != thread::current().id());
        if let Some(thread) = thread {
            // A panic of the thread has been told by itself.
            let _ = thread.join();
        }
    }
}

/// Turns the hub until it is over, or the system fails.
fn drive(hub: &Hub, poller: &Poller) {
    let mut events = Events::default();
    while let Ok(rest) = hub.turn(&events) {
        if poller.wait(&mut events, rest).is_err() {
            break;
        }
    }
    hub.end();
}
