//! The way of events to the event loop: one byte in a pipe makes it collect all pending events.

use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::mem;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Events of a channel or a connection as bits, in the order in which they are handled.
pub(crate) const OPEN: u8 = 1;
pub(crate) const READABLE: u8 = 2;
/// The buffered amount has fallen to the low threshold.
pub(crate) const LOW: u8 = 4;
/// Coroutines that wait for space must check again.
pub(crate) const ROOM: u8 = 8;
pub(crate) const CLOSED: u8 = 16;
pub(crate) const STATE: u8 = 32;
pub(crate) const INCOMING: u8 = 64;
/// All servers have been queried for candidates, or one has failed.
pub(crate) const GATHERED: u8 = 128;

/// The pending events of an event loop. Each channel and connection is in it at most once.
#[derive(Debug)]
pub(crate) struct EventQueue {
    pending: Mutex<Pending>,
    reader: PipeReader,
    writer: PipeWriter,
}

#[derive(Debug, Default)]
struct Pending {
    sources: Vec<Arc<EventSource>>,
    /// There is a byte in the pipe: at most one, so that no write blocks.
    is_signalled: bool,
}

/// A channel or a connection that raises events.
#[derive(Debug)]
pub(crate) struct EventSource {
    pub(crate) number: u64,
    news: AtomicU8,
}

impl EventSource {
    pub(crate) fn new(number: u64) -> Arc<Self> {
        Arc::new(Self { number, news: AtomicU8::new(0) })
    }
}

impl EventQueue {
    pub(crate) fn new() -> io::Result<Self> {
        let (reader, writer) = io::pipe()?;
        Ok(Self { pending: Mutex::default(), reader, writer })
    }

    /// The end of the pipe that is readable when there are events.
    pub(crate) fn reader(&self) -> &PipeReader {
        &self.reader
    }

    pub(crate) fn raise(&self, source: &Arc<EventSource>, news: u8) {
        if source.news.fetch_or(news, Ordering::AcqRel) == 0 {
            self.lock().sources.push(source.clone());
        }
    }

    /// Wakes the event loop, if there are events and it was not woken yet.
    pub(crate) fn tell(&self) {
        let mut pending = self.lock();
        if !pending.sources.is_empty() && !mem::replace(&mut pending.is_signalled, true) {
            // Both ends belong to this queue and there is space: the write cannot fail.
            let _ = (&self.writer).write(&[1]);
        }
    }

    /// Takes the pending events with their numbers, in the order in which the sources raised their first.
    pub(crate) fn take(&self) -> Vec<(u64, u8)> {
        let mut pending = self.lock();
        if mem::take(&mut pending.is_signalled) {
            let _ = (&self.reader).read(&mut [0]);
        }
        let sources = mem::take(&mut pending.sources);
        drop(pending);
        sources.iter().map(|source| (source.number, source.news.swap(0, Ordering::AcqRel))).collect()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Pending> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
