//! Finds the connection of a datagram from an unknown address: a peer that has moved, or whose NAT assigned a
//! new address, continues with DTLS, which does not identify the connection.
//!
//! Candidate connections try their keys: the owner of a separate port; otherwise connections with a peer at
//! the same address, because NATs mostly change only the port; and all connections if there are few. The
//! number of trials is limited per datagram and per second. Beyond that, and behind other reactors of a
//! shared port, the next check identifies the peer.

use super::routes::Path;
use super::state::Engine;
use crate::limits::TRIALS_PER_DATAGRAM;

impl Engine {
    /// The connection whose peer has sent this datagram. Until a check proves the new address, only this
    /// route leads there.
    #[cold]
    pub(super) fn find_moved(&mut self, path: Path, datagram: &[u8]) -> Option<u32> {
        // Handshakes come from addresses that have sent checks.
        if !is_protected(datagram) || self.routes.other_reactor(path).is_some() {
            return None;
        }
        let mut known: Vec<u32> = match self.ports.get(path.0)?.owner {
            Some(owner) => vec![owner],
            None => self.routes.at_host(path.0, path.1.ip()).take(TRIALS_PER_DATAGRAM).collect(),
        };
        if path.0 == 0 && self.slots.len() <= TRIALS_PER_DATAGRAM {
            known.extend(self.slots.iter().filter(|(_, slot)| slot.port == 0).map(|(index, _)| index as u32));
        }
        known.sort_unstable();
        known.dedup();
        let now = self.now;
        let is_its = |index: &u32| {
            let slot = self.slots.get(*index as usize);
            slot.is_some_and(|slot| self.trials.take(now) && slot.peer.accepts_dtls(datagram))
        };
        let index = known.into_iter().take(TRIALS_PER_DATAGRAM).find(is_its)?;
        let slot = self.slots.get_mut(index as usize)?;
        self.routes.add_unproven(index, &mut slot.trail, path).then_some(index)
    }
}

/// Whether a datagram begins with an encrypted DTLS record: epoch 1 of DTLS 1.2 (RFC 6347, section 4.1), or
/// the unified header of DTLS 1.3 (RFC 9147, section 4).
fn is_protected(datagram: &[u8]) -> bool {
    match datagram.first() {
        Some(20..=26) => datagram.get(3..5) == Some(&[0, 1]),
        Some(first) => first & 0xe0 == 0x20,
        None => false,
    }
}
