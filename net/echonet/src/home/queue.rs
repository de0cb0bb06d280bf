//! A queue that spreads the datagrams of many nodes over time.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use netdyno_echonet_core::Destination;

use crate::limits::QUEUED_PER_NODE;

/// How simultaneous datagrams of many nodes are spread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spread {
    /// Datagrams that are sent together.
    pub together: usize,
    /// The pause before the next ones.
    pub pause: Duration,
}

impl Default for Spread {
    /// 1,000 nodes answer within a quarter of a second.
    fn default() -> Self {
        Self { together: 20, pause: Duration::from_millis(5) }
    }
}

#[derive(Debug)]
pub(super) struct Queue {
    waiting: VecDeque<Waiting>,
    spread: Spread,
    max: usize,
    /// No more are sent before this time, once a group is complete.
    next: Option<Instant>,
    left: usize,
}

#[derive(Debug)]
pub(super) struct Waiting {
    pub(super) node: usize,
    pub(super) to: Destination,
    pub(super) datagram: Box<[u8]>,
}

impl Queue {
    pub(super) fn new(spread: Spread, nodes: usize) -> Self {
        let spread = Spread { together: spread.together.max(1), ..spread };
        let max = nodes.max(1).saturating_mul(QUEUED_PER_NODE);
        Self { waiting: VecDeque::new(), spread, max, next: None, left: spread.together }
    }

    /// Appends a datagram; it is lost if the queue is full.
    pub(super) fn push(&mut self, now: Instant, node: usize, to: Destination, datagram: &[u8]) {
        if self.waiting.is_empty() && self.next.is_none_or(|next| next <= now) {
            (self.next, self.left) = (None, self.spread.together);
        }
        if self.waiting.len() < self.max {
            self.waiting.push_back(Waiting { node, to, datagram: datagram.into() });
        }
    }

    /// When the first one may be sent.
    pub(super) fn due(&self) -> Option<Instant> {
        if self.waiting.is_empty() { None } else { Some(self.next.unwrap_or_else(Instant::now)) }
    }

    /// The first one, if it may be sent.
    pub(super) fn pop(&mut self, now: Instant) -> Option<Waiting> {
        if self.next.is_some_and(|next| next > now) {
            return None;
        }
        if self.next.take().is_some() {
            self.left = self.spread.together;
        }
        let first = self.waiting.pop_front()?;
        self.left -= 1;
        if self.left == 0 {
            self.next = now.checked_add(self.spread.pause);
            self.left = self.spread.together;
        }
        Some(first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_go_at_a_time() {
        let spread = Spread { together: 3, pause: Duration::from_millis(5) };
        let (mut queue, begin) = (Queue::new(spread, 2), Instant::now());
        for byte in 0..20 {
            queue.push(begin, 0, Destination::Multicast, &[byte]);
        }
        let (mut sent, mut times) = (Vec::new(), Vec::new());
        let mut now = begin;
        while let Some(due) = queue.due() {
            now = now.max(due);
            let begin = sent.len();
            while let Some(waiting) = queue.pop(now) {
                sent.push(waiting.datagram[0]);
            }
            times.push(sent.len() - begin);
        }
        assert_eq!(sent, (0..2 * QUEUED_PER_NODE as u8).collect::<Vec<_>>(), "no more than may wait");
        assert!(times.iter().rev().skip(1).all(|&count| count == 3), "{times:?}");
        assert!(now - begin >= spread.pause * (times.len() as u32 - 1) && times.len() > 1);
        // After a pause the queue is empty.
        queue.push(now + spread.pause, 0, Destination::Multicast, &[7]);
        assert!(queue.pop(now + spread.pause).is_some());
    }
}
