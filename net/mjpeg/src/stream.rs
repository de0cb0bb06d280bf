//! A source's pictures, sent one after the other: each at its time.

use std::time::{Duration, Instant};

use crate::error::PictureError;
use crate::pace::{Schedule, spread};
use crate::sender::{Sender, Sent};
use crate::source::{Next, SOURCE_WAIT, Source, SourceError, Timing};

/// A source and a sender. One thread calls [`step`](Self::step) again and again.
pub struct Stream {
    sender: Sender,
    source: Box<dyn Source>,
    /// Frames a second; none: as the source has them, or as fast as they go.
    fps: Option<f64>,
    schedule: Option<Schedule>,
    picture: Vec<u8>,
    /// When the picture is due, if there is one that waits.
    due: Option<Instant>,
    last_came: Option<Instant>,
    bytes: u64,
}

/// What a step came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Step {
    /// A picture was sent.
    Sent(Sent),
    /// A picture could not be sent, and is left out.
    Refused(PictureError),
    /// It is not time yet, or the source has none yet: look what else there is to do, then go on.
    Nothing,
    /// The source has none any more.
    End,
}

/// What a live source's pictures are spread over before it is known how often they come.
const FIRST_SPREAD: Duration = Duration::from_millis(5);
/// And what part of the time between them: a camera's picture is old already.
const LIVE_PART: u32 = 2;

impl Stream {
    /// `fps`: frames a second, more than 0; of a live source it is taken as what comes, and only decides how packets are spread. None: as
    /// fast as the source gives them.
    pub fn new(sender: Sender, source: Box<dyn Source>, fps: Option<f64>) -> Self {
        Self {
            sender,
            source,
            fps,
            schedule: None,
            picture: Vec::new(),
            due: None,
            last_came: None,
            bytes: 0,
        }
    }

    /// The sender.
    pub fn sender(&self) -> &Sender {
        &self.sender
    }

    /// The picture of the last step, a JPEG file.
    pub fn picture(&self) -> &[u8] {
        &self.picture
    }

    /// Bytes of all JPEG files that were sent.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Sends one picture, or waits a moment for it: [`SOURCE_WAIT`] at most, and the time that a picture takes.
    ///
    /// # Errors
    /// What the source says; it may be asked again.
    pub fn step(&mut self) -> Result<Step, SourceError> {
        let due = match self.due {
            Some(due) => due,
            None => match self.source.next(&mut self.picture)? {
                Next::Nothing => {
                    self.sender.wait(Instant::now());
                    return Ok(Step::Nothing);
                }
                Next::End => return Ok(Step::End),
                Next::Picture => self.due_now(),
            },
        };
        let now = Instant::now();
        if due > now + SOURCE_WAIT {
            self.due = Some(due);
            self.sender.wait(now + SOURCE_WAIT);
            return Ok(Step::Nothing);
        }
        self.due = None;
        let spread = self.spread();
        Ok(match self.sender.send(&self.picture, due, spread) {
            Ok(sent) => {
                self.bytes += self.picture.len() as u64;
                Step::Sent(sent)
            }
            Err(error) => Step::Refused(error),
        })
    }

    /// When the picture that came just now is to be sent.
    fn due_now(&mut self) -> Instant {
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
        let before = self.last_came.replace(now);
        match (self.source.timing(), &self.schedule) {
            (Timing::OnDemand, Some(schedule)) => spread(schedule.interval()),
            (Timing::OnDemand, None) => Duration::ZERO,
            (Timing::Live, _) => {
                let told = self.fps.map(|fps| Duration::from_secs_f64(1.0 / fps));
                let seen = before.map(|before| now.saturating_duration_since(before));
                told.or(seen).map_or(FIRST_SPREAD, spread) / LIVE_PART
            }
        }
    }
}
