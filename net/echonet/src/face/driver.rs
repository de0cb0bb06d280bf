//! A thread that receives what nobody else does, and looks at the time.

use std::io;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use netdyno_io::{Events, Poller};

use super::receiver::{Buffer, Receiver};
use crate::limits::{DATAGRAMS_PER_TURN, LAZY, WAIT};
use crate::links::Links;

/// Threads that turn a receiver. Dropping it ends them.
#[derive(Debug)]
pub(crate) struct Driver<R: Receiver> {
    pub(crate) hub: Arc<R>,
    threads: Vec<JoinHandle<()>>,
}

impl<R: Receiver + 'static> Driver<R> {
    /// Starts one thread for all sockets.
    pub(crate) fn start(hub: Arc<R>, poller: Arc<Poller>) -> io::Result<Self> {
        for (key, socket) in (0..).zip(hub.links().all()) {
            poller.add(socket, key)?;
        }
        let end = EndOnDrop(hub.clone());
        let thread = spawn(move || drive(&*end.0, &poller))?;
        Ok(Self { hub, threads: vec![thread] })
    }

    /// Starts a thread for each socket, so that a datagram takes one system call to receive.
    pub(crate) fn start_each(hub: Arc<R>) -> io::Result<Self> {
        let mut driver = Self { hub, threads: Vec::new() };
        for number in 0..driver.hub.links().all().count() {
            let end = EndOnDrop(driver.hub.clone());
            driver.threads.push(spawn(move || serve(&*end.0, number))?);
        }
        Ok(driver)
    }
}

impl<R: Receiver> Drop for Driver<R> {
    fn drop(&mut self) {
        self.hub.end();
        for thread in self.threads.drain(..) {
            // A waker that it calls may drop the last handle: then it ends by itself. A panic has been told by itself.
            if thread.thread().id() != thread::current().id() {
                let _ = thread.join();
            }
        }
    }
}

/// Ends the receiver with its thread, also if that panics: handles live on elsewhere, and must not wait for ever.
pub(crate) struct EndOnDrop<R: Receiver>(pub(crate) Arc<R>);

impl<R: Receiver> Drop for EndOnDrop<R> {
    fn drop(&mut self) {
        self.0.end();
    }
}

fn spawn(run: impl FnOnce() + Send + 'static) -> io::Result<JoinHandle<()>> {
    thread::Builder::new().name("netdyno-echonet".to_owned()).spawn(run)
}

/// Receives from one socket until it is over, or the system fails.
fn serve(hub: &impl Receiver, number: usize) {
    let mut buffer = Buffer::default();
    let Some(socket) = hub.links().all().nth(number) else { return };
    while !hub.is_over() {
        match socket.receive(&mut buffer.bytes) {
            Ok(Some((bytes, address))) => {
                hub.receive(&buffer.bytes[..bytes], hub.links().source(number, address));
            }
            Ok(None) => hub.tick(),
            Err(_) => break,
        }
    }
}

/// Receives from all sockets, unless those who wait for answers do so.
fn drive(hub: &impl Receiver, poller: &Poller) {
    let (mut events, mut buffer) = (Events::default(), Buffer::default());
    let (mut watches, mut calls) = (true, 0);
    while !hub.is_over() {
        let longest = if watches { WAIT } else { LAZY };
        if poller.wait(&mut events, Some(hub.rest(longest))).is_err() {
            break;
        }
        for ready in events.iter() {
            let number = ready.key as usize;
            if number >= hub.links().unicast.len() {
                drain(hub, number, &mut buffer);
            } else if watches && !hub.with_lead(&mut |buffer| drain(hub, number, buffer)) {
                // Who leads takes it. It would be told again and again.
                watches = !watch(hub.links(), poller, false);
                calls = hub.calls();
            }
        }
        hub.tick();
        if !watches && hub.calls() == calls {
            watches = watch(hub.links(), poller, true);
        }
        calls = hub.calls();
    }
}

/// Has the poller tell of datagrams to our addresses, or not; false if it cannot.
fn watch(links: &Links, poller: &Poller, watches: bool) -> bool {
    let mut done = true;
    for (key, socket) in (0..).zip(&links.unicast) {
        done &= if watches { poller.add(socket, key) } else { poller.remove(socket) }.is_ok();
    }
    done
}

/// Takes what a socket has.
pub(crate) fn drain(hub: &impl Receiver, number: usize, buffer: &mut Buffer) {
    let Some(socket) = hub.links().all().nth(number) else { return };
    for _ in 0..DATAGRAMS_PER_TURN {
        match socket.receive_now(&mut buffer.bytes) {
            Ok(Some((bytes, address))) => {
                hub.receive(&buffer.bytes[..bytes], hub.links().source(number, address));
            }
            // Nothing more; an error comes again, if it lasts.
            Ok(None) | Err(_) => break,
        }
    }
}
