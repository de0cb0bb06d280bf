//! HyStart++ (RFC 9406): ends slow start when the round trip grows, before a queue overflows.

use std::time::Duration;

/// MIN_RTT_THRESH
const MIN_THRESHOLD: Duration = Duration::from_millis(4);
/// MAX_RTT_THRESH
const MAX_THRESHOLD: Duration = Duration::from_millis(16);
/// MIN_RTT_DIVISOR
const DIVISOR: u32 = 8;
/// N_RTT_SAMPLE
const SAMPLES: u32 = 8;
/// CSS_GROWTH_DIVISOR
const CONSERVATIVE_DIVISOR: usize = 4;
/// CSS_ROUNDS
const CONSERVATIVE_ROUNDS: u32 = 5;

/// The first slow start of an association.
#[derive(Debug, Default)]
pub(super) struct HyStart {
    /// The round ends when the chunk before this number is acknowledged.
    round_end: u64,
    /// lastRoundMinRTT
    last: Option<Duration>,
    /// currentRoundMinRTT
    current: Option<Duration>,
    /// rttSampleCount
    samples: u32,
    /// Conservative slow start, once the round trip has grown.
    conservative: Option<Conservative>,
}

#[derive(Debug)]
struct Conservative {
    /// cssBaselineMinRtt
    baseline: Duration,
    rounds: u32,
}

/// Result of an acknowledgement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Growth {
    /// Slow start continues: grow by this many bytes.
    By(usize),
    /// Slow start has ended.
    Over,
}

impl HyStart {
    /// Handles acknowledged `bytes`; for the other parameters see [`Ack`](super::Ack).
    pub(super) fn on_ack(
        &mut self,
        bytes: usize,
        rtt: Option<Duration>,
        acked_end: u64,
        next: u64,
    ) -> Growth {
        if let Some(rtt) = rtt {
            self.current = Some(self.current.map_or(rtt, |lowest| lowest.min(rtt)));
            self.samples += 1;
            self.judge();
        }
        if acked_end >= self.round_end && self.end_round(next) {
            return Growth::Over;
        }
        Growth::By(if self.conservative.is_some() { bytes / CONSERVATIVE_DIVISOR } else { bytes })
    }

    /// Checks whether the round trip has grown, or has returned to its earlier value.
    fn judge(&mut self) {
        let Some(current) = self.current.filter(|_| self.samples >= SAMPLES) else {
            return;
        };
        match (&self.conservative, self.last) {
            (None, Some(last)) => {
                let threshold = (last / DIVISOR).clamp(MIN_THRESHOLD, MAX_THRESHOLD);
                if current >= last + threshold {
                    self.conservative = Some(Conservative { baseline: current, rounds: 0 });
                }
            }
            (Some(conservative), _) if current < conservative.baseline => self.conservative = None,
            _ => {}
        }
    }

    /// Starts a new round. Returns whether conservative slow start has lasted long enough; a partial first
    /// round counts.
    fn end_round(&mut self, next: u64) -> bool {
        self.round_end = next;
        self.last = self.current.take().or(self.last);
        self.samples = 0;
        self.conservative.as_mut().is_some_and(|conservative| {
            conservative.rounds += 1;
            conservative.rounds >= CONSERVATIVE_ROUNDS
        })
    }
}
