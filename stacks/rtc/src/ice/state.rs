//! The state of ICE: connected, disconnected or failed, and restarts that take over.

use std::collections::VecDeque;
use std::time::Instant;

use super::session::Session;
use super::{Ice, IceState, Path};

impl Ice {
    /// The restart has a pair: the old session ends.
    pub(super) fn adopt_restarted(&mut self, now: Instant, path: Path) {
        let Some(mut restarted) = self.restarted.take() else { return };
        // Datagrams in flight from the old address are still the peer's.
        if let Some(old) = self.selected {
            restarted.validate(old.remote);
        }
        (self.session, self.moving, self.left) = (*restarted, None, None);
        self.select(now, path);
        // It was answered just now, even if it is the old one.
        self.consent_at = Some(now);
    }

    /// Consent has expired. Without consent nothing may be sent (RFC 7675 section 5.1).
    fn fail(&mut self) {
        self.failure = Some(match self.selected.take() {
            None => "no candidate pair works",
            Some(_) => "the peer's consent was lost (RFC 7675)",
        });
        (self.state, self.is_down) = (IceState::Failed, true);
        (self.consent_at, self.moving, self.proof) = (None, None, None);
        self.transmits = VecDeque::new();
    }

    /// The old session has failed while a restart is in progress: the restart has as much time as the first
    /// session had.
    pub(super) fn go_on_restarted(&mut self) {
        let Some(restarted) = self.restarted.take() else { return };
        self.consent_at = restarted.started_at();
        self.session = *restarted;
        (self.selected, self.failure) = (None, None);
        (self.state, self.is_down) = (IceState::Checking, true);
    }

    pub(super) fn update_state(&mut self, now: Instant) {
        let most = self.consent_timeout;
        let is_over = |at: Option<Instant>| at.is_some_and(|at| now.saturating_duration_since(at) >= most);
        let has_time = |restarted: &Session| !is_over(restarted.started_at());
        if is_over(self.consent_at) && self.restarted.as_deref().is_some_and(has_time) {
            self.go_on_restarted();
        }
        if is_over(self.consent_at) {
            return self.fail();
        }
        let Some(consent_at) = self.consent_at else { return };
        self.state = match self.selected {
            None => IceState::Checking,
            Some(_) if now.saturating_duration_since(consent_at) >= self.patience() => IceState::Disconnected,
            Some(_) => IceState::Connected,
        };
    }
}
