//! Room for new addresses of a peer that has had many.
//!
//! The agent forgets no address: neither of the peer's, nor one that the peer says to see us at. So one that has no room for more is replaced by
//! another with the same credentials, which is told of the addresses that were heard of last, and finds out anew which of them work. Data goes
//! on meanwhile.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use is::stun::StunMessage;

use super::{Session, UNANSWERED_REQUESTS};
use crate::log::in_silence;

/// No sooner than after so long, so that a peer which makes up addresses gains nothing: who has a new one every two seconds is followed.
const RENEWAL_INTERVAL: Duration = Duration::from_secs(60);

impl Session {
    /// The address is the peer's, as far as there is room to remember it, and was heard of last.
    pub(in crate::ice) fn validate(&mut self, address: SocketAddr) {
        if let Some(known) = self.known_mut(address) {
            known.validated = true;
        }
        if let Some(at) = self.known.iter().position(|known| known.address == address) {
            self.known[at..].rotate_left(1);
        }
    }

    /// Whether there is room for the peer to be there and, if a message came, for what that shows.
    pub(in crate::ice) fn has_room(&self, remote: SocketAddr, message: Option<&StunMessage<'_>>) -> bool {
        match message.filter(|message| !message.is_binding_request()) {
            None => self.knows(remote) || self.known.len() < self.known_max,
            Some(answer) => answer
                .mapped_address()
                .is_none_or(|address| self.mapped.contains(&address) || self.mapped.len() < self.known_max),
        }
    }

    /// Whether there may be room by [`renew`](Self::renew).
    pub(in crate::ice) fn is_renewable(&self, now: Instant) -> bool {
        let is_lately = |at| now.saturating_duration_since(at) < RENEWAL_INTERVAL;
        self.is_settled && !self.renewed_at.is_some_and(is_lately)
    }

    /// Forgets half of the peer's addresses: those that were not heard of for longest, and are not in use. `fresh` has the same credentials, and our
    /// addresses.
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
        // As at first, it would log passwords.
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
