//! The receiver's checks and counters.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use serde_json::json;

use super::{Clip, Job, Picture, Progress};
use crate::{Digest, Event, Histograms, Phase, end, now_ns};

/// The value of a time that has not been reached.
const NEVER: u64 = u64::MAX;

/// Counters that the inbox writes and the lab's thread reads.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(super) struct Books {
    pub(super) frames: AtomicU64,
    pub(super) scan_bytes: AtomicU64,
    pub(super) wrong: AtomicU64,
    pub(super) dropped: AtomicU64,
    pub(super) on_time: AtomicU64,
    reported: AtomicBool,
}

/// The role that receives.
#[derive(Debug)]
pub struct Receiver {
    /// The parameters.
    pub job: Job,
    progress: Progress,
    measure_ns: AtomicU64,
    books: Books,
    jitter: Histograms,
}

impl Receiver {
    pub(super) fn new(job: Job) -> Self {
        Self {
            job,
            progress: Progress::default(),
            measure_ns: AtomicU64::new(NEVER),
            books: Books::default(),
            jitter: Histograms::named(1, &["jitter"]),
        }
    }

    /// Reports that the library's receiver is bound, with RTP at this port. `created_ns` is the time right before its creation.
    pub fn bound(&self, port: u16, created_ns: u64) {
        self.job.lab.connected(&[now_ns().saturating_sub(created_ns)]);
        self.job.lab.signal("sender", json!({ "port": port }));
    }

    /// Creates the inbox. Call it once, before `bound`, because it reads the clip's index.
    pub fn inbox(&'static self) -> Inbox {
        Inbox::new(self, self.job.open_clip())
    }

    pub(super) fn handle(&self, event: Event) {
        if event == Event::Start(Phase::Measure) {
            self.measure_ns.store(now_ns(), Relaxed);
        }
        match self.progress.handle(event) {
            Some(Event::Mark { id }) => self.job.lab.counters(id, &self.values()),
            Some(Event::Stop) => {
                let histograms = if self.job.fps > 0 { self.jitter.encode() } else { Ok(Vec::new()) };
                match histograms {
                    Ok(histograms) => self.job.lab.result_with(&self.values(), &histograms),
                    Err(reason) => self.job.lab.failed(reason),
                }
                end(0);
            }
            _ => {}
        }
    }

    pub(super) fn values(&self) -> [(&'static str, u64); 5] {
        let Books { frames, scan_bytes, wrong, dropped, on_time, .. } = &self.books;
        let of = |name, counter: &AtomicU64| (name, counter.load(Relaxed));
        let frames = of("frames", frames);
        [
            frames,
            of("scan_bytes", scan_bytes),
            of("wrong", wrong),
            of("dropped", dropped),
            of("on_time", on_time),
        ]
    }
}

/// Checks and counts pictures.
#[derive(Debug)]
pub struct Inbox {
    receiver: &'static Receiver,
    clip: Clip,
    /// The frames that have arrived in `verify`, and their canonical forms.
    seen: Vec<bool>,
    digest: Digest,
    messages: usize,
    bytes: u64,
    form: Vec<u8>,
    /// The last frame: its number and time of arrival.
    last: Option<(usize, u64)>,
}

impl Inbox {
    pub(super) fn new(receiver: &'static Receiver, clip: Clip) -> Self {
        Self {
            receiver,
            seen: vec![false; clip.frames()],
            clip,
            digest: Digest::default(),
            messages: 0,
            bytes: 0,
            form: Vec::new(),
            last: None,
        }
    }

    /// Checks a picture (one JPEG file) that the library has just delivered.
    pub fn take(&mut self, jpeg: &[u8]) {
        let at_ns = now_ns();
        let counts = self.receiver.progress.now().phase > Some(Phase::Verify);
        if let Err(why) = self.judge(jpeg, at_ns, counts) {
            if !counts {
                self.receiver.job.lab.failed(format!("verify: {why}"));
            }
            add(&self.receiver.books.wrong, 1);
            if !self.receiver.books.reported.swap(true, Relaxed) {
                eprintln!("{why}");
            }
        }
    }

    /// Returns an error if the picture is wrong.
    fn judge(&mut self, jpeg: &[u8], at_ns: u64, counts: bool) -> Result<(), String> {
        let job = &self.receiver.job;
        let picture = Picture::parse(jpeg)?;
        if counts && job.live {
            if (picture.width, picture.height) != (job.width, job.height) {
                return Err(format!("picture of {}x{} pixels", picture.width, picture.height));
            }
            self.count(0, picture.scan(jpeg).len(), at_ns);
            return Ok(());
        }
        let likely = self.last.map_or(0, |(frame, _)| (frame + 1) % self.clip.frames());
        let found = self.clip.find(&picture, jpeg, likely).map_err(|e| format!("the clip: {e}"))?;
        let found = found.ok_or_else(|| {
            let bytes = picture.scan(jpeg).len();
            format!("the scan of a picture ({bytes} bytes) is not in the clip; expected frame {likely}")
        })?;
        if counts {
            self.count(found.frame, found.scan_bytes, at_ns);
        } else {
            self.last = Some((found.frame, at_ns));
            self.verify(found.frame, &picture, jpeg)?;
        }
        Ok(())
    }

    fn verify(&mut self, frame: usize, picture: &Picture<'_>, jpeg: &[u8]) -> Result<(), String> {
        if std::mem::replace(&mut self.seen[frame], true) {
            return Ok(());
        }
        picture.canonical(jpeg, &mut self.form).ok_or("picture without a quantisation table")?;
        self.digest.add(&self.form);
        self.messages += 1;
        self.bytes += self.form.len() as u64;
        if self.messages == self.seen.len() {
            let Receiver { job, progress, .. } = self.receiver;
            // The other role may have learnt of the phase first.
            progress.until(|state| state.phase.is_some());
            job.lab.signal("sender", json!({ "have": self.messages }));
            job.lab.verified(&self.digest, self.messages as u64, self.bytes);
        }
        Ok(())
    }

    /// Counts a complete and equal frame after `verify`.
    fn count(&mut self, frame: usize, scan_bytes: usize, at_ns: u64) {
        let Receiver { job, books, jitter, measure_ns, .. } = self.receiver;
        if let Some((before, before_ns)) = self.last.replace((frame, at_ns)) {
            let frames = self.clip.frames();
            let missing = if job.live { 0 } else { (frame + frames - before - 1) % frames };
            add(&books.dropped, missing as u64);
            if let Some(nominal_ns) = 1_000_000_000u64.checked_div(job.fps.into()) {
                let off_ns = (at_ns - before_ns).abs_diff(nominal_ns);
                add(&books.on_time, u64::from(off_ns <= nominal_ns / 2));
                let elapsed_ns = at_ns.checked_sub(measure_ns.load(Relaxed));
                if elapsed_ns.is_some_and(|elapsed_ns| elapsed_ns < job.window_ns) {
                    jitter.record(0, 0, 0, off_ns);
                }
            }
        }
        add(&books.scan_bytes, scan_bytes as u64);
        add(&books.frames, 1);
    }
}

/// Adds without an atomic read-modify-write, because there is one writer.
fn add(counter: &AtomicU64, amount: u64) {
    counter.store(counter.load(Relaxed) + amount, Relaxed);
}
