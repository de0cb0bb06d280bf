//! Datagrams waiting to be sent.

use std::collections::VecDeque;

/// Datagrams that wait to be polled. A flight has at most two; the oldest is dropped if they are not polled.
const TRANSMITS_MAX: usize = 16;

/// Datagrams to send.
pub(super) type Transmits = VecDeque<Vec<u8>>;

/// Queues a datagram.
pub(super) fn push(transmits: &mut Transmits, datagram: Vec<u8>) {
    if transmits.len() == TRANSMITS_MAX {
        transmits.pop_front();
    }
    transmits.push_back(datagram);
}
