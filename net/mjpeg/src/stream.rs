//! Sends the pictures of a source on schedule.

use std::time::{Duration, Instant};

use crate::error::PictureError;
use crate::pace::{Schedule, spread};
use crate::sender::{Sender, Sent};
use crate::source::{Next, SOURCE_WAIT, Source, SourceError, Timing};

/// A source and a sender. One thread calls [`step`](Self::step) repeatedly.
pub struct Stream {
    sender: Sender,
    source: Box<dyn Source>,
    /// Frames per second; `None` for the rate of the source, or as fast as possible.
    fps: Option<f64>,
    schedule: Option<Schedule>,
    picture: Vec<u8>,
    /// Time at which the pending picture is due.
    due: Option<Instant>,
    last_arrival: Option<Instant>,
    bytes: u64,
}

/// Result of [`Stream::step`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Step {
    /// A picture was sent.
    Sent(Sent),
    /// A picture could not be sent and was skipped.
    Skipped(PictureError),
    /// No picture is available or due. Call [`Stream::step`] again.
    Pending,
    /// The source has ended.
    End,
}

/// Time over which the first picture of a live source is spread, before its frame interval is known.
const FIRST_SPREAD: Duration = Duration::from_millis(5);
/// Divisor of the spread for live sources, which reduces latency.
const LIVE_DIVISOR: u32 = 2;

impl Stream {
    /// Creates a stream. `fps` is the frame rate of an on-demand source, above 0; for a live source it only determines the spread of
    /// packets. With `None`, pictures are sent as fast as the source provides them.
    pub fn new(sender: Sender, source: Box<dyn Source>, fps: Option<f64>) -> Self {
        Self {
            sender,
            source,
            fps,
            schedule: None,
            picture: Vec::new(),
            due: None,
            last_arrival: None,
            bytes: 0,
        }
    }

    /// The sender.
    pub fn sender(&self) -> &Sender {
        &self.sender
    }

    /// The picture of the last step as a JPEG file.
    pub fn picture(&self) -> &[u8] {
        &self.picture
    }

    /// Total length of the sent JPEG files.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Sends one picture, or waits for one for at most [`SOURCE_WAIT`].
    ///
    /// # Errors
    /// The source failed. The next call tries again.
    pub fn step(&mut self) -> Result<Step, SourceError> {
        let due = match self.due {
            Some(due) => due,
            None => match self.source.next(&mut self.picture)? {
                Next::Pending => {
                    self.sender.wait(Instant::now());
                    return Ok(Step::Pending);
                }
                Next::End => return Ok(Step::End),
                Next::Picture => self.due_time(),
            },
        };
        let now = Instant::now();
        if due > now + SOURCE_WAIT {
            self.due = Some(due);
            self.sender.wait(now + SOURCE_WAIT);
            return Ok(Step::Pending);
        }
        self.due = None;
        let spread = self.spread();
        Ok(match self.sender.send(&self.picture, due, spread) {
            Ok(sent) => {
                self.bytes += self.picture.len() as u64;
                Step::Sent(sent)
            }
            Err(error) => Step::Skipped(error),
        })
    }

    /// The time at which a new picture is due.
    fn due_time(&mut self) -> Instant {
        let now = Instant::now();
        match (self.source.timing(), self.fps) {
            (Timing::OnDemand, Some(fps)) => {
                self.schedule.get_or_insert_with(|| Schedule::new(now, fps)).next(now)
            }
            _ => now,
        }
    }

    fn spread(&mut self) -> Duration {
        let now = Instant::now();
        let before = self.last_arrival.replace(now);
        match (self.source.timing(), &self.schedule) {
            (Timing::OnDemand, Some(schedule)) => spread(schedule.interval()),
            (Timing::OnDemand, None) => Duration::ZERO,
            (Timing::Live, _) => {
                let configured = self.fps.map(|fps| Duration::from_secs_f64(1.0 / fps));
                let measured = before.map(|before| now.saturating_duration_since(before));
                configured.or(measured).map_or(FIRST_SPREAD, spread) / LIVE_DIVISOR
            }
        }
    }
}
