//! One deadline per connection, in one queue.

use std::collections::BTreeSet;
use std::time::Instant;

/// Deadlines of connections. Each has at most one entry, which moves only to earlier times, because most
/// deadlines move later with every datagram. An entry that expires too early finds nothing to do and is armed
/// again.
#[derive(Debug, Default)]
pub(crate) struct Timers {
    queue: BTreeSet<(Instant, u32)>,
    armed: Vec<Option<Instant>>,
}

impl Timers {
    /// The connection with this index must be called at `deadline` or before.
    pub(crate) fn arm(&mut self, index: u32, deadline: Option<Instant>) {
        let Some(deadline) = deadline else { return };
        let at = index as usize;
        if self.armed.len() <= at {
            self.armed.resize(at + 1, None);
        }
        match self.armed[at] {
            Some(armed) if armed <= deadline => return,
            Some(armed) => {
                self.queue.remove(&(armed, index));
            }
            None => {}
        }
        self.armed[at] = Some(deadline);
        self.queue.insert((deadline, index));
    }

    /// Removes a connection.
    pub(crate) fn disarm(&mut self, index: u32) {
        if let Some(armed) = self.armed.get_mut(index as usize).and_then(Option::take) {
            self.queue.remove(&(armed, index));
        }
    }

    /// Takes a connection whose deadline has passed. It must be armed again.
    pub(crate) fn expired(&mut self, now: Instant) -> Option<u32> {
        let &(deadline, index) = self.queue.first().filter(|(deadline, _)| *deadline <= now)?;
        self.queue.remove(&(deadline, index));
        self.armed[index as usize] = None;
        Some(index)
    }

    /// The earliest deadline.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.queue.first().map(|&(deadline, _)| deadline)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn the_earliest_deadline_of_each_connection_counts() {
        let (begin, mut timers) = (Instant::now(), Timers::default());
        let at = |ms| begin + Duration::from_millis(ms);
        for (index, ms) in [(0, 50), (1, 30), (7, 40), (0, 20), (1, 90)] {
            timers.arm(index, Some(at(ms)));
        }
        timers.arm(3, None);
        assert_eq!(timers.next(), Some(at(20)));
        assert_eq!(timers.queue.len(), 3);
        assert_eq!(timers.expired(at(19)), None);
        assert_eq!(timers.expired(at(35)), Some(0));
        assert_eq!(
            timers.expired(at(35)),
            Some(1),
            "too early for its later deadline, so that it is set anew"
        );
        assert_eq!(timers.expired(at(35)), None);
        timers.disarm(7);
        timers.disarm(7);
        assert_eq!(timers.next(), None);
        timers.arm(7, Some(at(60)));
        assert_eq!(timers.expired(at(60)), Some(7));
    }
}
