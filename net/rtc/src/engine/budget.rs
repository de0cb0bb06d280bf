//! A rate limit with bursts.

use std::time::{Duration, Instant};

/// A token bucket.
#[derive(Debug)]
pub(crate) struct Budget {
    /// Time in which one token returns.
    each: Duration,
    /// The maximum number of tokens.
    burst: u32,
    /// When all tokens will have returned.
    full_at: Instant,
}

impl Budget {
    /// `rate_per_s` on average and `burst` at once; both at least 1.
    pub(crate) fn new(rate_per_s: u32, burst: u32, now: Instant) -> Self {
        Self { each: Duration::from_secs(1) / rate_per_s.max(1), burst: burst.max(1), full_at: now }
    }

    /// The maximum number of tokens.
    pub(crate) fn burst(&self) -> u32 {
        self.burst
    }

    /// Takes a token, if there is one.
    pub(crate) fn take(&mut self, now: Instant) -> bool {
        self.take_leaving(now, 0)
    }

    /// Takes a token, if `left` others remain.
    pub(crate) fn take_leaving(&mut self, now: Instant, left: u32) -> bool {
        let after = self.full_at.max(now) + self.each * left.saturating_add(1);
        let is_there = after <= now + self.each * self.burst;
        if is_there {
            self.full_at = self.full_at.max(now) + self.each;
        }
        is_there
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_and_then_a_steady_rate() {
        let begin = Instant::now();
        let mut budget = Budget::new(100, 7, begin);
        let taken = |budget: &mut Budget, ms| {
            let now = begin + Duration::from_millis(ms);
            (0..1000).filter(|_| budget.take(now)).count()
        };
        assert_eq!([0, 5, 10, 19, 35, 10_000].map(|ms| taken(&mut budget, ms)), [7, 0, 1, 0, 2, 7]);
        assert_eq!((0..9).filter(|_| budget.take_leaving(begin + Duration::from_secs(15), 3)).count(), 4);
        // Over ten seconds, whatever the pattern of requests.
        let total: usize = (0..10_000).map(|ms| taken(&mut budget, 20_000 + ms)).sum();
        assert_eq!(total, 7 + 999);
    }
}
