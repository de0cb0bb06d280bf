//! The controller's counters and its messages to the lab.

use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Condvar, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use super::values::{check, hex, is_same};
use super::{IDENTIFIER_BYTES, MAX_OUTSTANDING, READS, ROUND};
use crate::{Digest, Event, Histograms, Lab, Phase, Setup, end, now_ns};

/// The value of a time that has not been reached.
const NEVER: u64 = u64::MAX;
/// The read whose value the gate verifies.
const IDENTIFICATION: usize = 2;
const MAX_TIMEOUT_MS: u64 = 3_600_000;

/// The reason why a read has no value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unanswered {
    /// The device refused the read (ESV 52).
    Refused,
    /// No answer arrived in time.
    Lost,
}

/// Counters that the loop writes and the lab's thread reads.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Books {
    reads: AtomicU64,
    bytes: AtomicU64,
    wrong: AtomicU64,
    lost: AtomicU64,
    late: AtomicU64,
    text: AtomicBool,
}

/// The role that discovers the device and reads its properties.
#[derive(Debug)]
pub struct Controller {
    /// For `ready`, `unsupported` and `failed`.
    pub lab: Lab,
    /// The address of the interface to use.
    pub local: IpAddr,
    /// The address of the device.
    pub peer: IpAddr,
    /// Maximum number of outstanding reads.
    pub outstanding: usize,
    /// The time after which a read is lost.
    pub timeout: Duration,
    seed: u64,
    window_ns: u64,
    device: OnceLock<()>,
    phase: (Mutex<Option<Phase>>, Condvar),
    measure_ns: AtomicU64,
    keeping: Mutex<Vec<Box<[u8]>>>,
    kept: OnceLock<Vec<Box<[u8]>>>,
    books: Books,
    histograms: Histograms,
}

impl Controller {
    pub(super) fn new(lab: Lab, setup: &Setup) -> Self {
        let bounded = |name: &str, max: u64| match setup.params.int(name) {
            value if (1..=max).contains(&value) => value,
            value => lab.failed(format!("parameter `{name}` is {value}, not between 1 and {max}")),
        };
        let outstanding = bounded("outstanding", MAX_OUTSTANDING as u64) as usize;
        Self {
            lab,
            local: setup.local,
            peer: setup.peer,
            outstanding,
            timeout: Duration::from_millis(bounded("timeout_ms", MAX_TIMEOUT_MS)),
            seed: setup.seed,
            // The cast saturates.
            window_ns: (setup.params.float("seconds") * 1e9) as u64,
            device: OnceLock::new(),
            phase: Default::default(),
            measure_ns: AtomicU64::new(NEVER),
            keeping: Mutex::default(),
            kept: OnceLock::new(),
            books: Books::default(),
            histograms: Histograms::new(outstanding, false),
        }
    }

    /// Waits for the device's signal. Call it after `ready` and before creating the library's controller.
    pub fn await_device(&self) {
        self.device.wait();
    }

    /// Reports that the device was discovered. `created_ns` is the time right before the controller was created.
    pub fn found(&self, created_ns: u64) {
        self.lab.connected(&[now_ns().saturating_sub(created_ns)]);
    }

    /// Waits until this phase has started.
    pub fn await_phase(&self, phase: Phase) {
        let (lock, changed) = &self.phase;
        let held = lock.lock().unwrap_or_else(PoisonError::into_inner);
        let begun = changed.wait_while(held, |now| now.is_none_or(|now| now < phase));
        drop(begun.unwrap_or_else(PoisonError::into_inner));
    }

    /// Checks a value of `verify`, in the order of [`READS`]. The last one prints `verified`; a wrong one ends the process.
    pub fn verify(&self, value: Result<&[u8], Unanswered>) {
        let mut keeping = self.keeping.lock().unwrap_or_else(PoisonError::into_inner);
        let read = READS[keeping.len() % ROUND];
        let checked = match value {
            Ok(value) => check(read, value, self.seed).map(|()| value),
            Err(Unanswered::Refused) => Err(format!("{read} was refused")),
            Err(Unanswered::Lost) => Err(format!("the read of {read} timed out")),
        };
        keeping.push(checked.unwrap_or_else(|why| self.lab.failed(why)).into());
        if keeping.len() == ROUND {
            let kept = std::mem::take(&mut *keeping);
            let own = &kept[IDENTIFICATION];
            let mut digest = Digest::default();
            digest.add(&own[own.len() - IDENTIFIER_BYTES..]);
            if self.kept.set(kept).is_err() {
                self.lab.failed("`verify` was repeated");
            }
            self.lab.verified(&digest, 1, IDENTIFIER_BYTES as u64);
        }
    }

    /// Records the outcome of a read after `verify`, by its index in [`READS`]. `lane` is the number of the reading thread.
    pub fn record(
        &self,
        lane: usize,
        index: usize,
        sent_ns: u64,
        at_ns: u64,
        value: Result<&[u8], Unanswered>,
    ) {
        let books = &self.books;
        let value = match value {
            Err(Unanswered::Lost) => {
                books.lost.fetch_add(1, Relaxed);
                return;
            }
            Err(Unanswered::Refused) => None,
            Ok(value) => Some(value),
        };
        let kept = self.kept.get().map(|kept| &*kept[index]);
        let same = |(value, kept)| is_same(READS[index], value, kept);
        if !value.zip(kept).is_some_and(same) {
            self.wrong(index, value, kept);
        }
        books.bytes.fetch_add(value.map_or(0, |value| value.len() as u64), Relaxed);
        books.reads.fetch_add(1, Relaxed);
        let elapsed_ns = at_ns.checked_sub(self.measure_ns.load(Relaxed));
        if elapsed_ns.is_some_and(|elapsed_ns| elapsed_ns < self.window_ns) {
            self.histograms.record(lane, sent_ns, sent_ns, at_ns);
        }
    }

    /// Counts an answer to a lost read.
    pub fn record_late(&self) {
        self.books.late.fetch_add(1, Relaxed);
    }

    #[cold]
    fn wrong(&self, index: usize, value: Option<&[u8]>, kept: Option<&[u8]>) {
        self.books.wrong.fetch_add(1, Relaxed);
        if !self.books.text.swap(true, Relaxed) {
            let text = |value: Option<&[u8]>| value.map_or("refused".to_owned(), hex);
            eprintln!("{}: {}, but {} in verify", READS[index], text(value), text(kept));
        }
    }

    pub(super) fn handle(&self, event: Event) {
        match event {
            // Repeated signals have no effect.
            Event::Signal { .. } => drop(self.device.set(())),
            Event::Start(phase) => {
                if phase == Phase::Measure {
                    self.measure_ns.store(now_ns(), Relaxed);
                }
                let (lock, changed) = &self.phase;
                *lock.lock().unwrap_or_else(PoisonError::into_inner) = Some(phase);
                changed.notify_all();
            }
            Event::Mark { id } => self.lab.counters(id, &self.values()),
            Event::Stop => {
                match self.histograms.encode() {
                    Ok(histograms) => self.lab.result_with(&self.values(), &histograms),
                    Err(reason) => self.lab.failed(reason),
                }
                end(0);
            }
        }
    }

    pub(super) fn values(&self) -> [(&'static str, u64); 5] {
        let Books { reads, bytes, wrong, lost, late, .. } = &self.books;
        let of = |name, counter: &AtomicU64| (name, counter.load(Relaxed));
        [of("reads", reads), of("bytes", bytes), of("wrong", wrong), of("lost", lost), of("late", late)]
    }

    #[cfg(test)]
    pub(super) fn samples(&self) -> u64 {
        self.histograms.samples()
    }
}
