//! The source's thread: reads pictures and packs them, as they are ordered.
//!
//! A source that is asked whenever we want (files) is read one picture ahead, and not at all while nobody watches. A live one is
//! read all the time, since its pictures would be old ones later; those that nobody ordered are dropped before they are packed.

use std::sync::mpsc::{Receiver, RecvError, SyncSender, TryRecvError, sync_channel};
use std::thread::{self, JoinHandle};

use netdyno_io::Waker;
use netdyno_mjpeg_core::Packetizer;

use super::frame::Frame;
use super::limits::{FAILURE_PAUSE, FAILURES, FED, FIRST_PICTURE};
use crate::source::{Next, Source, Timing};

/// What the source's thread has to say.
#[derive(Debug)]
pub(super) enum Fed {
    /// The frame that was ordered.
    Frame(Frame),
    /// A picture that could not be had or served: it is left out.
    Refused(String),
    /// There are no more pictures; or too many in a row were refused, and why the last was.
    End { gave_up: Option<String> },
}

/// The source's thread.
#[derive(Debug)]
pub(super) struct Feeder {
    orders: SyncSender<Vec<u8>>,
    fed: Receiver<Fed>,
    thread: JoinHandle<()>,
    pub(super) timing: Timing,
}

impl Feeder {
    /// Starts it. What it has wakes the network's thread.
    pub(super) fn start(
        source: Box<dyn Source>,
        packetizer: Packetizer,
        waker: Waker,
    ) -> std::io::Result<Self> {
        let timing = source.timing();
        let (orders, ordered) = sync_channel(1);
        let (feed, fed) = sync_channel(FED);
        let mut work = Work { source, packetizer, ordered, feed, waker, picture: Vec::new(), failures: 0 };
        let thread = thread::Builder::new().name("source".to_owned()).spawn(move || work.run(timing))?;
        Ok(Self { orders, fed, thread, timing })
    }

    /// Orders one frame, with a buffer for it. One order at a time.
    pub(super) fn order(&self, buffer: Vec<u8>) {
        // If the thread has ended it has said so.
        let _ = self.orders.try_send(buffer);
    }

    /// What there is.
    pub(super) fn poll(&self) -> Option<Fed> {
        self.fed.try_recv().ok()
    }

    /// The first thing that there is, waited for a while: so that whoever calls early can be told what the pictures are.
    pub(super) fn first(&self) -> Option<Fed> {
        self.fed.recv_timeout(FIRST_PICTURE).ok()
    }

    /// Ends the thread: once it has its picture, or [`SOURCE_WAIT`](crate::source::SOURCE_WAIT) is over.
    pub(super) fn stop(self) {
        let Self { orders, fed, thread, .. } = self;
        drop((orders, fed));
        // A panic there has been told by the thread itself.
        let _ = thread.join();
    }
}

struct Work {
    source: Box<dyn Source>,
    packetizer: Packetizer,
    ordered: Receiver<Vec<u8>>,
    feed: SyncSender<Fed>,
    waker: Waker,
    picture: Vec<u8>,
    /// In a row.
    failures: u32,
}

impl Work {
    fn run(&mut self, timing: Timing) {
        let mut order = None;
        loop {
            match self.ordered.try_recv() {
                Ok(buffer) => order = Some(buffer),
                Err(TryRecvError::Disconnected) => return,
                Err(TryRecvError::Empty) if order.is_some() || timing == Timing::Live => {}
                Err(TryRecvError::Empty) => match self.ordered.recv() {
                    Ok(buffer) => order = Some(buffer),
                    Err(RecvError) => return,
                },
            }
            let next = self.source.next(&mut self.picture);
            let told = match next {
                // Whether somebody still wants one is asked again.
                Ok(Next::Nothing) => continue,
                Ok(Next::End) => Fed::End { gave_up: None },
                Err(error) => self.refused(error.to_string()),
                Ok(Next::Picture) => {
                    let Some(buffer) = order.take().or_else(|| self.ordered.try_recv().ok()) else {
                        continue;
                    };
                    match Frame::pack(&mut self.packetizer, &self.picture, buffer) {
                        Ok(frame) => {
                            self.failures = 0;
                            Fed::Frame(frame)
                        }
                        Err((error, buffer)) => {
                            order = Some(buffer);
                            self.refused(error.to_string())
                        }
                    }
                }
            };
            let is_end = matches!(told, Fed::End { .. });
            let is_wanted = self.feed.send(told).is_ok();
            self.waker.wake();
            if is_end || !is_wanted {
                return;
            }
        }
    }

    fn refused(&mut self, why: String) -> Fed {
        self.failures += 1;
        if self.failures >= FAILURES {
            return Fed::End { gave_up: Some(why) };
        }
        thread::sleep(FAILURE_PAUSE);
        Fed::Refused(why)
    }
}
