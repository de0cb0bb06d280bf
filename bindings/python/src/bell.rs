//! What happened, on its way to the event loop: one byte in a pipe for all of it, and then who has news, and which.

use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::mem;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// News of a channel, or of a connection, as bits: the order is the one in which they are dealt with.
pub(crate) const OPEN: u8 = 1;
pub(crate) const READABLE: u8 = 2;
/// No more than the low threshold is buffered.
pub(crate) const LOW: u8 = 4;
/// Who waits for room may look.
pub(crate) const ROOM: u8 = 8;
pub(crate) const CLOSED: u8 = 16;
pub(crate) const STATE: u8 = 32;
pub(crate) const INCOMING: u8 = 64;
/// All servers have been asked for candidates, or one is of no use.
pub(crate) const GATHERED: u8 = 128;

/// Where an event loop's news wait. Each channel and connection stands in it once at most, whatever happens to it.
#[derive(Debug)]
pub(crate) struct Mailbox {
    rung: Mutex<Rung>,
    reader: PipeReader,
    writer: PipeWriter,
}

#[derive(Debug, Default)]
struct Rung {
    bells: Vec<Arc<Bell>>,
    /// There is a byte in the pipe: never more than one, so that no write waits.
    is_told: bool,
}

/// What one channel or one connection has to tell.
#[derive(Debug)]
pub(crate) struct Bell {
    pub(crate) number: u64,
    news: AtomicU8,
}

impl Bell {
    pub(crate) fn new(number: u64) -> Arc<Self> {
        Arc::new(Self { number, news: AtomicU8::new(0) })
    }
}

impl Mailbox {
    pub(crate) fn new() -> io::Result<Self> {
        let (reader, writer) = io::pipe()?;
        Ok(Self { rung: Mutex::default(), reader, writer })
    }

    /// What becomes readable when there is news.
    pub(crate) fn reader(&self) -> &PipeReader {
        &self.reader
    }

    pub(crate) fn ring(&self, bell: &Arc<Bell>, news: u8) {
        if bell.news.fetch_or(news, Ordering::AcqRel) == 0 {
            self.lock().bells.push(bell.clone());
        }
    }

    /// Wakes the event loop, if there is news that it has not been told of.
    pub(crate) fn tell(&self) {
        let mut rung = self.lock();
        if !rung.bells.is_empty() && !mem::replace(&mut rung.is_told, true) {
            // Both ends are ours and there is room: it cannot fail.
            let _ = (&self.writer).write(&[1]);
        }
    }

    /// Who has news, in the order in which they began to have some, and which.
    pub(crate) fn take(&self) -> Vec<(u64, u8)> {
        let mut rung = self.lock();
        if mem::take(&mut rung.is_told) {
            let _ = (&self.reader).read(&mut [0]);
        }
        let bells = mem::take(&mut rung.bells);
        drop(rung);
        bells.iter().map(|bell| (bell.number, bell.news.swap(0, Ordering::AcqRel))).collect()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Rung> {
        self.rung.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
