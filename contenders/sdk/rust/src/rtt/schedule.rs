//! The schedule of an open loop.

const NS_PER_SECOND: u64 = 1_000_000_000;

/// The times at which a lane's requests are due.
#[derive(Debug, Clone, Copy)]
pub(super) struct Schedule {
    /// Requests per second over all lanes; not 0.
    pub(super) rate: u64,
    pub(super) lanes: u64,
    pub(super) lane: u64,
}

impl Schedule {
    /// The time from t0 to the lane's request of this number: floor(n * 10^9 / rate) ns for request n over all lanes. Whole
    /// seconds and the remainder are computed separately to avoid overflow.
    pub(super) fn due_ns(&self, number: u64) -> u64 {
        let n = number * self.lanes + self.lane;
        (n / self.rate) * NS_PER_SECOND + (n % self.rate) * NS_PER_SECOND / self.rate
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_alternate_between_the_lanes() {
        // (rate, lanes, lane, number) -> ns
        let rows = [
            ((1, 1, 0, 0), 0),
            ((1, 1, 0, 3600), 3600 * NS_PER_SECOND),
            ((3, 1, 0, 1), 333_333_333),
            ((3, 1, 0, 2), 666_666_666),
            ((3, 1, 0, 4), 1_333_333_333),
            ((1000, 8, 0, 1), 8_000_000),
            ((1000, 8, 7, 0), 7_000_000),
            ((1000, 8, 7, 1), 15_000_000),
            ((1_000_000, 1000, 999, 0), 999_000),
        ];
        for ((rate, lanes, lane, number), wanted) in rows {
            assert_eq!(
                Schedule { rate, lanes, lane }.due_ns(number),
                wanted,
                "{rate} {lanes} {lane} {number}"
            );
        }
    }

    /// Equals exact arithmetic, over four hours, at rates that divide 10^9 and rates that do not.
    #[test]
    fn rounding_errors_do_not_accumulate() {
        for rate in [1, 3, 7, 999, 1000, 99_991, 1_000_000] {
            for n in (0..rate * 14_400).step_by((rate * 14_400 / 5000) as usize + 1) {
                let exact = u128::from(n) * u128::from(NS_PER_SECOND) / u128::from(rate);
                let schedule = Schedule { rate, lanes: 1, lane: 0 };
                assert_eq!(u128::from(schedule.due_ns(n)), exact, "{n} at {rate}/s");
            }
        }
    }
}
