//! The loop for libraries whose read call returns the value.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread::Builder;

use super::{Controller, Property, READS, ROUND, Unanswered};
use crate::{Phase, now_ns};

/// A library's read call.
pub trait Reader: Send {
    /// The type of a value.
    type Value: AsRef<[u8]>;

    /// Reads a property of the device.
    ///
    /// # Errors
    /// Returns the reason why there is no value.
    fn read(&mut self, property: Property) -> Result<Self::Value, Unanswered>;
}

impl Controller {
    /// Runs the whole trial with one reader for each outstanding read. Each runs on its own thread, the first one on the
    /// caller's.
    pub fn drive<R: Reader + 'static>(&'static self, readers: Vec<R>) -> ! {
        let mut readers = readers.into_iter();
        let Some(mut first) = readers.next() else { self.lab.failed("the adapter has no readers") };
        self.await_phase(Phase::Verify);
        for read in READS {
            self.verify(first.read(read).as_ref().map(AsRef::as_ref).map_err(|why| *why));
        }
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        for (lane, mut reader) in (1..).zip(readers) {
            let run = move || self.read_on(lane, &mut reader, &NEXT);
            if let Err(error) = Builder::new().spawn(run) {
                self.lab.failed(format!("cannot create a thread for a reader: {error}"));
            }
        }
        self.read_on(0, &mut first, &NEXT)
    }

    fn read_on(&self, lane: usize, reader: &mut impl Reader, next: &AtomicUsize) -> ! {
        self.await_phase(Phase::Warmup);
        loop {
            let index = next.fetch_add(1, Relaxed) % ROUND;
            let sent_ns = now_ns();
            let value = reader.read(READS[index]);
            let at_ns = now_ns();
            let value = value.as_ref().map(AsRef::as_ref).map_err(|why| *why);
            self.record(lane, index, sent_ns, at_ns, value);
        }
    }
}
