//! Makes space for new addresses of a peer that has had many.
//!
//! The agent never drops an address, neither the peer's nor our address as the peer sees it. An agent without
//! space is therefore replaced by one with the same credentials, which receives the most recent addresses and
//! checks them again. Data continues to flow meanwhile.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use is::stun::StunMessage;

use super::{Session, UNANSWERED_REQUESTS};
use crate::log::in_silence;

/// Shortest time between replacements, so that a peer that invents addresses gains nothing. A peer with a new
/// address every two seconds is still followed.
const RENEWAL_INTERVAL: Duration = Duration::from_secs(60);

impl Session {
    /// Marks an address as validated and most recent, if there is space.
    pub(in crate::ice) fn validate(&mut self, address: SocketAddr) {
        if let Some(known) = self.known_mut(address) {
            known.validated = true;
        }
        if let Some(at) = self.known.iter().position(|known| known.address == address) {
            self.known[at..].rotate_left(1);
        }
    }

    /// Whether there is space for the peer's address and, with a message, for the address that it reports.
    pub(in crate::ice) fn has_room(&self, remote: SocketAddr, message: Option<&StunMessage<'_>>) -> bool {
        match message.filter(|message| !message.is_binding_request()) {
            None => self.knows(remote) || self.known.len() < self.known_max,
            Some(answer) => answer
                .mapped_address()
                .is_none_or(|address| self.mapped.contains(&address) || self.mapped.len() < self.known_max),
        }
    }

    /// Whether [`renew`](Self::renew) may make space.
    pub(in crate::ice) fn is_renewable(&self, now: Instant) -> bool {
        let is_lately = |at| now.saturating_duration_since(at) < RENEWAL_INTERVAL;
        self.is_settled && !self.renewed_at.is_some_and(is_lately)
    }

    /// Drops half of the peer's addresses: the least recent ones that are not in use. `fresh` has the same
    /// credentials and our addresses.
    pub(in crate::ice) fn renew(&mut self, now: Instant, fresh: Self, in_use: &[SocketAddr]) {
        let mut excess = self.known.len().saturating_sub(self.known_max / 2);
        self.known.retain(|known| {
            let goes = excess > 0 && !in_use.contains(&known.address);
            excess -= usize::from(goes);
            !goes
        });
        let before = std::mem::replace(&mut self.agent, fresh.agent);
        (self.mapped, self.locals, self.is_answered) = (Vec::new(), fresh.locals, false);
        self.agent.set_controlling(before.controlling());
        // As at the start, it would log passwords.
        in_silence(|| before.remote_credentials().cloned().map(|it| self.agent.set_remote_credentials(it)));
        for candidate in before.remote_candidates() {
            if self.knows(candidate.addr()) {
                self.agent.add_remote_candidate(candidate);
            }
        }
        self.agent.set_max_stun_rto(self.interval);
        self.agent.set_max_stun_retransmits(UNANSWERED_REQUESTS);
        self.set_rto();
        (self.renewed_at, self.deadline) = (Some(now), Some(now));
    }
}
