//! So many of something a second, and so many at once.

use std::time::{Duration, Instant};

/// A token bucket.
#[derive(Debug)]
pub(crate) struct Budget {
    /// The time that one takes to come back.
    each: Duration,
    /// The time that all take: no more are saved up.
    all: Duration,
    /// When all will have come back that were spent.
    full_at: Instant,
}

impl Budget {
    /// `rate_per_s` on and on, `burst` at once; both at least 1.
    pub(crate) fn new(rate_per_s: u32, burst: u32, now: Instant) -> Self {
        let each = Duration::from_secs(1) / rate_per_s.max(1);
        Self { each, all: each * burst.max(1), full_at: now }
    }

    /// Takes one, if there is one.
    pub(crate) fn take(&mut self, now: Instant) -> bool {
        let after = self.full_at.max(now) + self.each;
        let is_there = after <= now + self.all;
        if is_there {
            self.full_at = after;
        }
        is_there
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn so_many_at_once_and_then_so_many_a_second() {
        let begin = Instant::now();
        let mut budget = Budget::new(100, 7, begin);
        let mut taken = |ms| {
            let now = begin + Duration::from_millis(ms);
            (0..1000).filter(|_| budget.take(now)).count()
        };
        assert_eq!([0, 5, 10, 19, 35, 10_000].map(&mut taken), [7, 0, 1, 0, 2, 7]);
        // Over ten seconds, however it is asked.
        let total: usize = (0..10_000).map(|ms| taken(20_000 + ms)).sum();
        assert_eq!(total, 7 + 999);
    }
}
