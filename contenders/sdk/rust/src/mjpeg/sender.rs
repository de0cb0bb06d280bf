//! The sender's iteration over the clip, and its messages to the lab.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use super::{Clip, Job, Progress, VERIFY_FPS_MAX};
use crate::{Event, Phase, end};

/// The role that sends.
#[derive(Debug)]
pub struct Sender {
    /// The parameters.
    pub job: Job,
    progress: Progress,
    frames: AtomicU64,
    bytes: AtomicU64,
}

impl Sender {
    pub(super) fn new(job: Job) -> Self {
        Self { job, progress: Progress::default(), frames: AtomicU64::new(0), bytes: AtomicU64::new(0) }
    }

    /// Waits for the receiver's signal and returns its RTP port. Call it after `ready`.
    pub fn await_port(&self) -> u16 {
        self.progress.until(|state| state.port.is_some()).port.unwrap_or_default()
    }

    /// Reports that the library's sender was created.
    pub fn connected(&self) {
        self.job.lab.connected(&[]);
    }

    /// Creates the iteration over the clip. Call it once.
    pub fn walk(&'static self) -> Walk {
        Walk {
            sender: self,
            clip: self.job.open_clip(),
            frame: 0,
            phase: None,
            first: (Instant::now(), 0),
            sent: 0,
        }
    }

    /// Counts a live picture of this length that was handed to the network.
    pub fn count(&self, bytes: usize) {
        // There is one writer.
        self.bytes.store(self.bytes.load(Relaxed) + bytes as u64, Relaxed);
        self.frames.store(self.frames.load(Relaxed) + 1, Relaxed);
    }

    pub(super) fn handle(&self, event: Event) {
        let values = || {
            let frames = self.frames.load(Relaxed);
            [("frames", frames), ("bytes", self.bytes.load(Relaxed))]
        };
        match self.progress.handle(event) {
            Some(Event::Signal { body, .. }) => self.progress.change(|state| {
                state.port = state.port.or_else(|| u16::try_from(body["port"].as_u64()?).ok());
                state.have |= body["have"].is_u64();
            }),
            Some(Event::Mark { id }) => self.job.lab.counters(id, &values()),
            Some(Event::Stop) => {
                self.job.lab.result(&values());
                end(0);
            }
            _ => {}
        }
    }
}

/// A repeated iteration over the frames of the clip.
#[derive(Debug)]
pub struct Walk {
    sender: &'static Sender,
    clip: Clip,
    frame: usize,
    phase: Option<Phase>,
    /// When the first frame of the schedule was due, and the number of frames sent before it.
    first: (Instant, u64),
    sent: u64,
}

impl Walk {
    /// Reads the next frame (one JPEG file) into `into`. Waits for its phase. Returns false after `verify` if the sender
    /// generates the pictures from then on.
    pub fn next(&mut self, into: &mut Vec<u8>) -> bool {
        let progress = &self.sender.progress;
        // Verify lasts until the receiver has all frames.
        let begun = |phase: Option<Phase>, have: bool| match phase {
            Some(Phase::Verify) => (!have).then_some(Phase::Verify),
            // A sender does not distinguish warm-up and measurement.
            Some(_) => Some(Phase::Warmup),
            None => None,
        };
        let now = progress.until(|state| begun(state.phase, state.have).is_some());
        let phase = begun(now.phase, now.have);
        if phase == Some(Phase::Warmup) && self.sender.job.live {
            return false;
        }
        if std::mem::replace(&mut self.phase, phase) != phase {
            self.first = (Instant::now(), self.sent);
        }
        if let Err(error) = self.clip.read(self.frame, into) {
            self.sender.job.lab.failed(format!("the clip: {error}"));
        }
        self.frame = (self.frame + 1) % self.clip.frames();
        true
    }

    /// The interval between frames in the current phase; `None`: as fast as possible.
    pub fn interval(&self) -> Option<Duration> {
        let fps = match (self.phase, self.sender.job.fps) {
            (None | Some(Phase::Verify), 0) => VERIFY_FPS_MAX,
            (None | Some(Phase::Verify), fps) => fps.min(VERIFY_FPS_MAX),
            (_, fps) => fps,
        };
        (fps > 0).then(|| Duration::from_secs(1) / fps)
    }

    /// When the current frame is due: at once if there is no interval.
    pub fn due(&self) -> Instant {
        let (first, before) = self.first;
        first + self.interval().unwrap_or_default() * u32::try_from(self.sent - before).unwrap_or(u32::MAX)
    }

    /// Sleeps until the current frame is due.
    pub fn await_due(&self) {
        std::thread::sleep(self.due().saturating_duration_since(Instant::now()));
    }

    /// Reports that the frame was handed to the network.
    pub fn sent(&mut self, jpeg: &[u8]) {
        self.sent += 1;
        if self.phase != Some(Phase::Verify) {
            self.sender.count(jpeg.len());
        }
    }
}
