//! The sender's walk over the clip, and its side of the lab.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use super::{Clip, Course, Job, VERIFY_FPS_MAX};
use crate::{Event, Phase, end};

/// The role that sends.
#[derive(Debug)]
pub struct Sender {
    /// What it goes by.
    pub job: Job,
    course: Course,
    frames: AtomicU64,
    bytes: AtomicU64,
}

impl Sender {
    pub(super) fn new(job: Job) -> Self {
        Self { job, course: Course::default(), frames: AtomicU64::new(0), bytes: AtomicU64::new(0) }
    }

    /// Waits until the receiver is there; gives its RTP port. After `ready`.
    pub fn await_port(&self) -> u16 {
        self.course.until(|state| state.port.is_some()).port.unwrap_or_default()
    }

    /// The library's sender is there.
    pub fn connected(&self) {
        self.job.lab.connected(&[]);
    }

    /// The walk over the clip. Once.
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

    /// A picture of its own was handed to the network, of so many bytes.
    pub fn count(&self, bytes: usize) {
        // One writer.
        self.bytes.store(self.bytes.load(Relaxed) + bytes as u64, Relaxed);
        self.frames.store(self.frames.load(Relaxed) + 1, Relaxed);
    }

    pub(super) fn handle(&self, event: Event) {
        let values = || {
            let frames = self.frames.load(Relaxed);
            [("frames", frames), ("bytes", self.bytes.load(Relaxed))]
        };
        match self.course.handle(event) {
            Some(Event::Signal { body, .. }) => self.course.change(|state| {
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

/// The clip, frame by frame, round and round.
#[derive(Debug)]
pub struct Walk {
    sender: &'static Sender,
    clip: Clip,
    frame: usize,
    phase: Option<Phase>,
    /// When the schedule's first frame was due, and how many were sent then.
    first: (Instant, u64),
    sent: u64,
}

impl Walk {
    /// Puts the next frame, one JPEG file, into `into`. Waits until its phase has begun. False once `verify` is over if the
    /// sender is to make its own pictures from then on.
    pub fn next(&mut self, into: &mut Vec<u8>) -> bool {
        let course = &self.sender.course;
        // Verify lasts until the receiver has all.
        let begun = |phase: Option<Phase>, have: bool| match phase {
            Some(Phase::Verify) => (!have).then_some(Phase::Verify),
            // The lab knows no difference between the two, and neither does a sender.
            Some(_) => Some(Phase::Warmup),
            None => None,
        };
        let now = course.until(|state| begun(state.phase, state.have).is_some());
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

    /// From one frame to the next: that of `verify` while it lasts; none: flat out.
    pub fn interval(&self) -> Option<Duration> {
        let fps = match (self.phase, self.sender.job.fps) {
            (None | Some(Phase::Verify), 0) => VERIFY_FPS_MAX,
            (None | Some(Phase::Verify), fps) => fps.min(VERIFY_FPS_MAX),
            (_, fps) => fps,
        };
        (fps > 0).then(|| Duration::from_secs(1) / fps)
    }

    /// When the frame that `next` gave is due: at once if flat out.
    pub fn due(&self) -> Instant {
        let (first, before) = self.first;
        first + self.interval().unwrap_or_default() * u32::try_from(self.sent - before).unwrap_or(u32::MAX)
    }

    /// Sleeps until the frame that `next` gave is due.
    pub fn await_due(&self) {
        std::thread::sleep(self.due().saturating_duration_since(Instant::now()));
    }

    /// The frame was handed to the network.
    pub fn sent(&mut self, jpeg: &[u8]) {
        self.sent += 1;
        if self.phase != Some(Phase::Verify) {
            self.sender.count(jpeg.len());
        }
    }
}
