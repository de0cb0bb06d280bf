//! Log output about checks, states and failures.

use super::PeerConnection;
use super::pairs::{News, Pair};
use crate::error::Error;
use crate::ice::{IceState, Path};
use crate::log::log;

/// Most pairs listed if none was answered.
const NAMED_MAX: usize = 8;

impl PeerConnection {
    pub(super) fn log_check(&self, path: Path, news: News) {
        let what = match news {
            News::Asked => "sent its first check",
            News::Answered => "answered a check",
            News::Refused => "refused a check",
        };
        let Path { local, remote } = path;
        log!(DEBUG, self.session_id(), "{remote} {what}, at {local}");
    }

    pub(super) fn log_ice(&self, state: IceState) {
        match (state, self.ice.selected()) {
            (IceState::Connected, Some(Path { local, remote })) => {
                log!(DEBUG, self.session_id(), "ICE: connected, {local} to {remote}");
            }
            (IceState::Disconnected, Some(Path { remote, .. })) => {
                log!(WARN, self.session_id(), "ICE: no response from {remote} for a while");
            }
            _ => log!(DEBUG, self.session_id(), "ICE: {state:?}"),
        }
    }

    pub(super) fn log_move(&self) {
        if let Some(Path { local, remote }) = self.ice.selected() {
            log!(INFO, self.session_id(), "ICE: the peer may have moved to {remote}, checked from {local}");
        }
    }

    pub(super) fn log_failure(&self, error: &Error) {
        log!(WARN, self.session_id(), "failed: {error}");
        if !matches!(error, Error::Ice(_)) {
            return;
        }
        if self.pairs.iter().all(|pair| pair.requests_sent == 0) {
            let (ours, theirs) = (self.ice.local_candidates().len(), self.ice.remote_candidates().len());
            log!(WARN, self.session_id(), "no check was sent: {ours} local and {theirs} remote candidates");
        }
        for Pair {
            path: Path { local, remote }, requests_sent, responses_received, requests_received, ..
        } in self.pairs.iter().take(NAMED_MAX)
        {
            let any_more = if *responses_received > 0 { " any more" } else { "" };
            log!(
                WARN,
                self.session_id(),
                "no answer from {remote}{any_more}: {requests_sent} checks sent from {local}, {responses_received} answered; \
                 {requests_received} received from there"
            );
        }
    }
}
