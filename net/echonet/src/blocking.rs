//! Controllers and devices with blocking calls.
//!
//! Handles can be cloned and shared between threads. A call that waits for an answer receives it itself,
//! without a thread in between: a read costs one system call to send and one to receive. A background thread
//! receives multicast and TCP messages, receives all messages while no call waits, and handles timers. A
//! device has one thread for each socket, so that an answer costs one system call to receive and one to send,
//! and one thread for all TCP connections.
//!
//! The threads end when the last handle is dropped.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use netdyno_io::hub::{Launch, block, block_forever};
use netdyno_io::{DatagramBatch, Events as Ready, Poller};

use crate::engine::Engine;
use crate::limits::{LAZY, STREAMS_KEY, THREAD_NAME, WAIT};
use crate::links::Links;
use crate::shared::{Hub, interface};

interface!(
    controller: open_controller,
    device: open_device,
    answer: Hub::wait_answer,
    wait: block_forever,
    async: [],
    await: []
);

impl Controller {
    /// Searches, waits for `timeout`, and returns all nodes known by then.
    pub fn find(&self, timeout: Duration) -> Result<Vec<(NodeAddress, Node)>, Error> {
        let updates = self.updates()?;
        self.search();
        let deadline = Instant::now().checked_add(timeout);
        while block(deadline, |wait| updates.feed.poll(wait)).flatten().is_some() {}
        Ok(self.nodes())
    }
}

/// Methods that only blocking subscriptions have.
macro_rules! listener {
    ($name:ident, $event:ty) => {
        impl $name {
            /// Waits for the next event; `None` after the timeout, or once the source is closed.
            pub fn recv_timeout(&self, timeout: Duration) -> Option<$event> {
                block(Instant::now().checked_add(timeout), |wait| self.feed.poll(wait)).flatten()
            }
        }

        impl Iterator for $name {
            type Item = $event;

            fn next(&mut self) -> Option<$event> {
                self.recv()
            }
        }
    };
}
listener!(Updates, ControllerEvent);
listener!(Events, DeviceEvent);

/// Starts one thread for all sockets; the poller watches the multicast sockets.
fn open_controller(settings: &Settings, config: ControllerConfig) -> Result<Driver<core::Controller>, Error> {
    let links = Links::open(settings, Some(WAIT))?;
    let launch = Launch::thread(links.poller()?);
    let mut driver = Driver::new(Arc::new(Hub::controller(settings, config, links, &launch)?));
    let poller = launch.poller().clone();
    driver.spawn(THREAD_NAME, move |hub| drive(hub, &poller))?;
    Ok(driver)
}

/// Starts a thread for each socket, so that receiving a datagram takes one system call, and one thread for
/// TCP connections, if they are enabled; the poller watches these.
fn open_device(settings: &Settings, description: &Description) -> Result<Driver<core::Device>, Error> {
    let links = Links::open(settings, Some(WAIT))?;
    let launch = Launch::thread(Poller::new()?);
    let hub = Arc::new(Hub::device(settings, description, links, &launch)?);
    let mut driver = if hub.has_streams() { launch.start(hub, THREAD_NAME)? } else { Driver::new(hub) };
    for number in 0..driver.hub().links.all().count() {
        driver.spawn(THREAD_NAME, move |hub| serve(hub, number))?;
    }
    Ok(driver)
}

/// Receives from one socket until the hub ends or the system fails.
fn serve<E: Engine>(hub: &Hub<E>, number: usize) {
    let mut batch = DatagramBatch::default();
    let Some(socket) = hub.links.all().nth(number) else { return };
    while !hub.is_over() {
        match socket.receive_batch(&mut batch) {
            Ok(0) => hub.tick(),
            Ok(_) => hub.receive(number, &batch),
            Err(error) => return hub.fail(error),
        }
    }
}

/// Receives from all sockets, except while waiting calls receive the unicast messages.
fn drive<E: Engine>(hub: &Hub<E>, poller: &Poller) {
    let (mut events, mut batch) = (Ready::default(), DatagramBatch::default());
    let (mut watches, mut calls) = (true, 0);
    let begun = || hub.calls.load(Ordering::Relaxed);
    while !hub.is_over() {
        let longest = if watches { WAIT } else { LAZY };
        let watched = if watches { &hub.links.unicast[..] } else { &[] };
        if let Err(error) = poller.wait_with(watched, &mut events, Some(hub.rest(longest))) {
            return hub.fail(error);
        }
        for ready in events.iter() {
            let number = ready.key as usize;
            if ready.key == STREAMS_KEY {
                hub.receive_streams();
            } else if number >= hub.links.unicast.len() {
                hub.drain(number, &mut batch);
            } else if hub.with_lead(|batch| hub.drain(number, batch)).is_none() {
                // The leader receives it. Watching the socket would return immediately each time.
                watches = false;
                calls = begun();
            }
        }
        hub.tick();
        watches |= begun() == calls;
        calls = begun();
    }
}
