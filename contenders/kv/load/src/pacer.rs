//! The schedule of an open loop.

const NS_PER_SECOND: u64 = 1_000_000_000;

/// Operation n, from 0, is due at t0 + floor(n * 10^9 / rate) ns.
#[derive(Debug, Clone, Copy)]
pub struct Pacer {
    rate: u64,
    t0_ns: u64,
    next: u64,
    next_due_ns: u64,
    /// The rounded-off part of `next_due_ns`, in units of 1 / rate ns.
    rest: u64,
}

impl Pacer {
    pub fn new(rate: u64, t0_ns: u64) -> Self {
        Self { rate, t0_ns, next: 0, next_due_ns: t0_ns, rest: 0 }
    }

    /// The number of the next operation.
    pub fn next(&self) -> u64 {
        self.next
    }

    /// When the next operation is due.
    pub fn next_due_ns(&self) -> u64 {
        self.next_due_ns
    }

    /// Returns the number and due time of the next operation, if it is due by `at_ns`. The computation is exact and uses only
    /// additions.
    #[inline]
    pub fn pop(&mut self, at_ns: u64) -> Option<(u64, u64)> {
        let due = (self.next, self.next_due_ns);
        if due.1 > at_ns {
            return None;
        }
        self.next += 1;
        self.next_due_ns += NS_PER_SECOND / self.rate;
        self.rest += NS_PER_SECOND % self.rate;
        if self.rest >= self.rate {
            self.rest -= self.rate;
            self.next_due_ns += 1;
        }
        Some(due)
    }

    /// When operation n is due. Whole seconds are computed separately to avoid overflow.
    pub fn due_ns(&self, n: u64) -> u64 {
        self.t0_ns + (n / self.rate) * NS_PER_SECOND + (n % self.rate) * NS_PER_SECOND / self.rate
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_are_returned_when_they_are_due() {
        for rate in [1, 3, 7, 999, 1000, 99_991, 1_000_000, 1_000_000_000] {
            let mut pacer = Pacer::new(rate, 500);
            for n in 0..5000 {
                let exact = 500 + (u128::from(n) * 1_000_000_000 / u128::from(rate)) as u64;
                assert_eq!(pacer.due_ns(n), exact, "{n} at {rate}/s");
                assert_eq!((pacer.next(), pacer.next_due_ns()), (n, exact));
                assert_eq!(pacer.pop(exact - 1), None);
                assert_eq!(pacer.pop(exact), Some((n, exact)));
            }
        }
    }

    #[test]
    fn rounding_errors_do_not_accumulate() {
        let mut pacer = Pacer::new(999_983, 0);
        while pacer.pop(60 * NS_PER_SECOND).is_some() {}
        assert_eq!(pacer.next(), 60 * 999_983 + 1);
    }
}
