//! A background thread that receives messages and handles timers.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::{self, JoinHandle};

use netdyno_io::{DatagramBatch, Events, Poller};

use super::hub::Hub;
use crate::engine::Engine;
use crate::limits::{LAZY, STREAMS_KEY, WAIT};

/// The threads that drive a hub. Dropping it ends them.
#[derive(Debug)]
pub(crate) struct Driver<E: Engine> {
    pub(crate) hub: Arc<Hub<E>>,
    threads: Vec<JoinHandle<()>>,
}

impl<E: Engine> Driver<E> {
    /// Starts one thread for all sockets; the poller watches the multicast sockets.
    pub(crate) fn start(hub: Arc<Hub<E>>, poller: Poller) -> io::Result<Self> {
        let end = EndOnDrop(hub.clone());
        let thread = spawn(move || drive(&*end.0, &poller))?;
        Ok(Self { hub, threads: vec![thread] })
    }

    /// Starts a thread for each socket, so that receiving a datagram takes one system call, and one thread
    /// for TCP connections, if they are possible; the poller watches these.
    pub(crate) fn start_each(hub: Arc<Hub<E>>, connections: Option<Poller>) -> io::Result<Self> {
        let mut driver = Self { hub, threads: Vec::new() };
        if let Some(poller) = connections {
            let end = EndOnDrop(driver.hub.clone());
            driver.threads.push(spawn(move || attend(&*end.0, &poller))?);
        }
        for number in 0..driver.hub.links.all().count() {
            let end = EndOnDrop(driver.hub.clone());
            driver.threads.push(spawn(move || serve(&*end.0, number))?);
        }
        Ok(driver)
    }
}

impl<E: Engine> Drop for Driver<E> {
    fn drop(&mut self) {
        self.hub.end();
        for thread in self.threads.drain(..) {
            // A waker may drop the last handle on this very thread, which then ends on its own. Panics have
            // been reported.
            if thread.thread().id() != thread::current().id() {
                let _ = thread.join();
            }
        }
    }
}

/// Ends the hub with its thread, also on a panic: the remaining handles must not wait forever.
pub(crate) struct EndOnDrop<E: Engine>(pub(crate) Arc<Hub<E>>);

impl<E: Engine> Drop for EndOnDrop<E> {
    fn drop(&mut self) {
        self.0.end();
    }
}

fn spawn(run: impl FnOnce() + Send + 'static) -> io::Result<JoinHandle<()>> {
    thread::Builder::new().name("netdyno-echonet".to_owned()).spawn(run)
}

/// Receives from one socket until the hub ends or the system fails.
fn serve<E: Engine>(hub: &Hub<E>, number: usize) {
    let mut batch = DatagramBatch::default();
    let Some(socket) = hub.links.all().nth(number) else { return };
    while !hub.is_over() {
        match socket.receive_batch(&mut batch) {
            Ok(0) => hub.tick(),
            Ok(_) => hub.receive(number, &batch),
            Err(_) => break,
        }
    }
}

/// Receives from all connections; the poller watches only these.
fn attend<E: Engine>(hub: &Hub<E>, poller: &Poller) {
    let mut events = Events::default();
    while !hub.is_over() && poller.wait(&mut events, Some(hub.rest(WAIT))).is_ok() {
        if !events.is_empty() {
            hub.turn();
        }
        hub.tick();
    }
}

/// Receives from all sockets, except while waiting calls receive the unicast messages.
fn drive<E: Engine>(hub: &Hub<E>, poller: &Poller) {
    let (mut events, mut batch) = (Events::default(), DatagramBatch::default());
    let (mut watches, mut calls) = (true, 0);
    let begun = || hub.calls.load(Ordering::Relaxed);
    while !hub.is_over() {
        let longest = if watches { WAIT } else { LAZY };
        let watched = if watches { &hub.links.unicast[..] } else { &[] };
        if poller.wait_with(watched, &mut events, Some(hub.rest(longest))).is_err() {
            break;
        }
        for ready in events.iter() {
            let number = ready.key as usize;
            if ready.key == STREAMS_KEY {
                hub.turn();
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
