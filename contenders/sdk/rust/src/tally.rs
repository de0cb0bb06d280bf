//! Counters, verification and setup times of all connections of a process.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

use crate::payload::Tally;
use crate::{Digest, Lab, now_ns};

/// The counters of one connection, aligned to avoid false sharing.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Slot {
    messages: AtomicU64,
    bytes: AtomicU64,
    gaps: AtomicU64,
    repeats: AtomicU64,
    disorder: AtomicU64,
}

/// The counters of all connections. Each connection has one writer; any thread can sum them without blocking it.
#[derive(Debug)]
pub struct Counters(Box<[Slot]>);

impl Counters {
    /// Creates the counters of `connections` connections.
    pub fn new(connections: usize) -> Self {
        Self((0..connections).map(|_| Slot::default()).collect())
    }

    /// Replaces the counters of `connection`.
    pub fn publish(&self, connection: usize, tally: &Tally) {
        let slot = &self.0[connection];
        slot.messages.store(tally.messages, Relaxed);
        slot.bytes.store(tally.bytes, Relaxed);
        slot.gaps.store(tally.gaps, Relaxed);
        slot.repeats.store(tally.repeats, Relaxed);
        slot.disorder.store(tally.disorder, Relaxed);
    }

    /// Returns the sum over all connections.
    pub fn sum(&self) -> Tally {
        self.0.iter().fold(Tally::default(), |sum, slot| Tally {
            messages: sum.messages + slot.messages.load(Relaxed),
            bytes: sum.bytes + slot.bytes.load(Relaxed),
            gaps: sum.gaps.saturating_add(slot.gaps.load(Relaxed)),
            repeats: sum.repeats + slot.repeats.load(Relaxed),
            disorder: sum.disorder + slot.disorder.load(Relaxed),
        })
    }
}

/// The end of the `verify` phase: prints `verified` when the phase has started and every connection has passed.
#[derive(Debug)]
pub struct Gate(Mutex<GateState>);

#[derive(Debug)]
struct GateState {
    /// Connections that have not passed, plus one for the start of the phase: if the lab notifies the other role
    /// first, messages may arrive before this role's `start`.
    awaited: usize,
    digest: Digest,
    messages: u64,
    bytes: u64,
}

impl Gate {
    /// Creates the gate for `connections` connections.
    pub fn new(connections: usize) -> Self {
        let awaited = connections + 1;
        Self(Mutex::new(GateState { awaited, digest: Digest::default(), messages: 0, bytes: 0 }))
    }

    /// Reports the start of the phase.
    pub fn started(&self, lab: &Lab) {
        self.passed(lab, &Digest::default(), 0, 0);
    }

    /// Reports that a connection has received all of its messages of the phase. Call it once per connection.
    pub fn passed(&self, lab: &Lab, digest: &Digest, messages: u64, bytes: u64) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.digest.merge(digest);
        state.messages += messages;
        state.bytes += bytes;
        state.awaited = state.awaited.saturating_sub(1);
        if state.awaited == 0 {
            lab.verified(&state.digest, state.messages, state.bytes);
        }
    }
}

/// The setup time of each connection: prints `connected` when the last one is established.
#[derive(Debug)]
pub struct SetupTimes(Mutex<SetupState>);

#[derive(Debug)]
struct SetupState {
    awaited: usize,
    connections: Vec<Connecting>,
}

#[derive(Debug, Clone)]
struct Connecting {
    created_ns: u64,
    /// Bits of the conditions that are not met yet.
    conditions: u8,
    elapsed_ns: u64,
}

impl SetupTimes {
    /// Creates the times of `connections` connections. Each is established when all bits of `conditions` (not 0) are
    /// [met](Self::met).
    pub fn new(connections: usize, conditions: u8) -> Self {
        let connecting = Connecting { created_ns: 0, conditions, elapsed_ns: 0 };
        Self(Mutex::new(SetupState { awaited: connections, connections: vec![connecting; connections] }))
    }

    /// Starts the setup time of a connection: call it right before its object is created.
    pub fn created(&self, connection: usize) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.connections[connection].created_ns = now_ns();
    }

    /// Marks these conditions as met. Repeated calls have no effect.
    pub fn met(&self, lab: &Lab, connection: usize, bits: u8) {
        let at_ns = now_ns();
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let connecting = &mut state.connections[connection];
        if connecting.conditions == 0 {
            return;
        }
        connecting.conditions &= !bits;
        if connecting.conditions > 0 {
            return;
        }
        connecting.elapsed_ns = at_ns.saturating_sub(connecting.created_ns);
        state.awaited -= 1;
        if state.awaited == 0 {
            let setup_ns: Vec<u64> =
                state.connections.iter().map(|connecting| connecting.elapsed_ns).collect();
            lab.connected(&setup_ns);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_replaced_and_summed() {
        let counters = Counters::new(2);
        counters.publish(0, &Tally { messages: 1, bytes: 10, gaps: 5, repeats: 0, disorder: 2 });
        counters.publish(0, &Tally { messages: 2, bytes: 20, gaps: 1, repeats: 1, disorder: 3 });
        counters.publish(1, &Tally { messages: 3, bytes: 30, gaps: 0, repeats: 1, disorder: 0 });
        assert_eq!(counters.sum(), Tally { messages: 5, bytes: 50, gaps: 1, repeats: 2, disorder: 3 });
    }
}
