//! The order in which connections send.

use std::collections::VecDeque;

/// Connections that may have datagrams to send, each once.
///
/// Deficit round robin (M. Shreedhar, G. Varghese, 1995) with two queues, as in FQ-CoDel (RFC 8290, section
/// 4.2). A connection that has used up its share is queued behind all others that have; connections with a
/// remaining share go first. A connection with little to send therefore waits only for others with little to
/// send. No connection starves: a refilled share is used in the queue of those without one.
#[derive(Debug, Default)]
pub(super) struct SendQueue {
    with_share: VecDeque<u32>,
    without: VecDeque<u32>,
}

impl SendQueue {
    /// Queues a connection that has some of its share left.
    pub(super) fn push(&mut self, index: u32) {
        self.with_share.push_back(index);
    }

    /// Queues a connection that has used up its share.
    pub(super) fn push_behind(&mut self, index: u32) {
        self.without.push_back(index);
    }

    /// The next connection to send.
    pub(super) fn pop(&mut self) -> Option<u32> {
        self.with_share.pop_front().or_else(|| self.without.pop_front())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.with_share.is_empty() && self.without.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_with_a_share_go_first_and_none_starves() {
        let mut queue = SendQueue::default();
        for index in [0, 1, 2] {
            queue.push_behind(index);
        }
        queue.push(7);
        let mut order = Vec::new();
        // Each has more to send, and its share is one batch.
        while order.len() < 9 {
            let index = queue.pop().unwrap();
            order.push(index);
            queue.push_behind(index);
        }
        assert_eq!(order, [7, 0, 1, 2, 7, 0, 1, 2, 7]);
        assert_eq!((0..5).filter_map(|_| queue.pop()).count(), 4);
        assert!(queue.is_empty());
    }
}
