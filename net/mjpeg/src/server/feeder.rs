//! The source thread: reads pictures and packetizes them on request.
//!
//! An on-demand source (files) is read one picture ahead, and not at all without clients. A live source is read all the time,
//! so that its pictures are current; pictures without a request are dropped before they are packetized.

use std::sync::mpsc::{Receiver, RecvError, SyncSender, TryRecvError, sync_channel};
use std::thread::{self, JoinHandle};

use netdyno_io::Waker;
use netdyno_mjpeg_core::Packetizer;

use super::frame::Frame;
use super::limits::{FEEDER_EVENTS, FIRST_PICTURE_TIMEOUT, MAX_FAILURES, RETRY_DELAY};
use crate::source::{Next, Source, Timing};

/// An event of the source thread.
#[derive(Debug)]
pub(super) enum FeederEvent {
    /// The requested frame.
    Frame(Frame),
    /// A picture could not be read or packetized and is skipped.
    Skipped(String),
    /// The source has ended. `failure` is the last cause after too many consecutive failures.
    End { failure: Option<String> },
}

/// A handle of the source thread.
#[derive(Debug)]
pub(super) struct Feeder {
    requests: SyncSender<Vec<u8>>,
    events: Receiver<FeederEvent>,
    thread: JoinHandle<()>,
    pub(super) timing: Timing,
}

impl Feeder {
    /// Starts the thread. Its events wake the network thread.
    pub(super) fn start(
        source: Box<dyn Source>,
        packetizer: Packetizer,
        waker: Waker,
    ) -> std::io::Result<Self> {
        let timing = source.timing();
        let (request_sender, requests) = sync_channel(1);
        let (events, event_receiver) = sync_channel(FEEDER_EVENTS);
        let mut worker =
            Worker { source, packetizer, requests, events, waker, picture: Vec::new(), failures: 0 };
        let thread = thread::Builder::new().name("source".to_owned()).spawn(move || worker.run(timing))?;
        Ok(Self { requests: request_sender, events: event_receiver, thread, timing })
    }

    /// Requests one frame and provides its buffer. At most one request is pending.
    pub(super) fn request(&self, buffer: Vec<u8>) {
        // A thread that has ended has sent `End`.
        let _ = self.requests.try_send(buffer);
    }

    /// Returns the next event.
    pub(super) fn poll(&self) -> Option<FeederEvent> {
        self.events.try_recv().ok()
    }

    /// Waits for the first event, so that DESCRIBE succeeds for clients that connect immediately.
    pub(super) fn wait_for_first(&self) -> Option<FeederEvent> {
        self.events.recv_timeout(FIRST_PICTURE_TIMEOUT).ok()
    }

    /// Stops the thread after its current picture, or after [`SOURCE_WAIT`](crate::source::SOURCE_WAIT).
    pub(super) fn stop(self) {
        let Self { requests, events, thread, .. } = self;
        drop((requests, events));
        // The thread itself has reported a panic.
        let _ = thread.join();
    }
}

struct Worker {
    source: Box<dyn Source>,
    packetizer: Packetizer,
    requests: Receiver<Vec<u8>>,
    events: SyncSender<FeederEvent>,
    waker: Waker,
    picture: Vec<u8>,
    /// Number of consecutive failures.
    failures: u32,
}

impl Worker {
    fn run(&mut self, timing: Timing) {
        let mut buffer = None;
        loop {
            match self.requests.try_recv() {
                Ok(new) => buffer = Some(new),
                Err(TryRecvError::Disconnected) => return,
                Err(TryRecvError::Empty) if buffer.is_some() || timing == Timing::Live => {}
                Err(TryRecvError::Empty) => match self.requests.recv() {
                    Ok(new) => buffer = Some(new),
                    Err(RecvError) => return,
                },
            }
            let event = match self.source.next(&mut self.picture) {
                // Check for requests and disconnection again.
                Ok(Next::Pending) => continue,
                Ok(Next::End) => FeederEvent::End { failure: None },
                Err(error) => self.failed(error.to_string()),
                Ok(Next::Picture) => {
                    let Some(target) = buffer.take().or_else(|| self.requests.try_recv().ok()) else {
                        continue;
                    };
                    match Frame::packetize(&mut self.packetizer, &self.picture, target) {
                        Ok(frame) => {
                            self.failures = 0;
                            FeederEvent::Frame(frame)
                        }
                        Err((error, unused)) => {
                            buffer = Some(unused);
                            self.failed(error.to_string())
                        }
                    }
                }
            };
            let is_end = matches!(event, FeederEvent::End { .. });
            let is_connected = self.events.send(event).is_ok();
            self.waker.wake();
            if is_end || !is_connected {
                return;
            }
        }
    }

    fn failed(&mut self, cause: String) -> FeederEvent {
        self.failures += 1;
        if self.failures >= MAX_FAILURES {
            return FeederEvent::End { failure: Some(cause) };
        }
        thread::sleep(RETRY_DELAY);
        FeederEvent::Skipped(cause)
    }
}
