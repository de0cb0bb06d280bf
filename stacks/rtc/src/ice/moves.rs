//! A peer that appears at an unknown address while data is sent to another one: it may have moved, or its NAT
//! has assigned another mapping.
//!
//! Only a check is sent there (RFC 8445 section 7.3.1.4), and data follows only once that is answered. An
//! attacker who copies or replays the peer's datagrams therefore learns and redirects nothing, and an
//! unrelated address receives at most three datagrams. The conditions are those of RFC 9146 section 6 for
//! DTLS connection ids: the record is authentic, newer than all before, and the address is reachable.
//!
//! - A DTLS record, or a check that nominates, shows that the peer sends from there now: data follows with
//!   the answer, after one round trip.
//! - Any other check only shows that it can, as with two interfaces. The address in use is checked at the
//!   same time, and the new one is followed if the old one does not answer in time. If it answers later, as
//!   on a busy machine, data returns to it. Such a check never causes a change between UDP and TCP or between
//!   direct and relayed paths.
//!
//! ICE lite sends no such checks. It follows the peer's, to addresses that are proven (`proof`).

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use is::stun::StunMessage;

use super::session::Asked;
use super::{Ice, PATH_SILENCE, Path};
use crate::sdp::{Candidate, CandidateKind};

/// How long to wait for an answer from the new address.
const MOVE_TIME: Duration = Duration::from_secs(10);
/// Tolerance for the address in use to answer, beyond its last round trip.
const GRACE: Duration = Duration::from_millis(10);
/// Round trip assumed if none was measured.
const ROUND_TRIP: Duration = Duration::from_millis(100);

/// A possible move of the peer.
#[derive(Debug, Clone, Copy)]
pub(super) struct Move {
    to: Path,
    since: Instant,
    /// The peer sends from there, and does not merely check.
    is_sure: bool,
    is_answered: bool,
    /// If it is not sure: when the address in use should have answered.
    proves_at: Instant,
}

impl Move {
    /// When a decision is due.
    pub(super) fn deadline(&self) -> Instant {
        if self.is_answered { self.proves_at } else { self.since + MOVE_TIME }
    }
}

impl Ice {
    /// The peer has sent DTLS from an unknown address, authentic and newer than all before. Returns whether
    /// to accept it.
    pub(crate) fn follow(&mut self, now: Instant, path: Path) -> bool {
        if self.is_moving_to(path.remote) {
            return true;
        }
        self.expect_at(now, path, true)
    }

    /// Whether to accept a DTLS datagram from there although the address is not validated.
    pub(crate) fn is_moving_to(&self, remote: SocketAddr) -> bool {
        self.moving.is_some_and(|moving| moving.is_sure && moving.to.remote == remote)
    }

    /// Whether data has followed the peer since the last call: what was sent before is lost.
    pub(crate) fn take_moved(&mut self) -> bool {
        std::mem::take(&mut self.has_moved)
    }

    /// A check came from an unknown address. Before a pair is nominated this is normal.
    pub(super) fn heard_at(&mut self, now: Instant, path: Path, nominates: bool) {
        if self.session.is_settled() {
            self.expect_at(now, path, nominates);
        }
    }

    /// Checks whether the peer is at the new address. False: it cannot be.
    fn expect_at(&mut self, now: Instant, to: Path, is_sure: bool) -> bool {
        let Some(in_use) = self.selected.filter(|path| path.remote != to.remote) else { return false };
        if self.lite || self.restarted.is_some() {
            return false;
        }
        let is_other_way = self.way_from(to.local) != self.way_from(in_use.local);
        let is_less_sure = self.moving.is_some_and(|moving| moving.is_sure);
        if !is_sure && (is_other_way || is_less_sure) {
            return false;
        }
        self.make_room(now, to.remote, None);
        match self.session.ask(now, to, &mut self.transmits) {
            Asked::All => {}
            // The address in use was not checked, so its silence says nothing.
            Asked::Lately if is_sure => {}
            Asked::Lately | Asked::NoRoom => return false,
        }
        let round_trip = self.session.round_trip().unwrap_or(ROUND_TRIP);
        let proves_at = if is_sure { now } else { now + round_trip * 5 / 4 + GRACE };
        self.moving = Some(Move { to, since: now, is_sure, is_answered: false, proves_at });
        true
    }

    /// Makes the session drop addresses of the peer if it has no space for another one, provided that the
    /// message is authentic.
    pub(super) fn make_room(&mut self, now: Instant, remote: SocketAddr, message: Option<&StunMessage<'_>>) {
        if self.session.has_room(remote, message)
            || !self.session.is_renewable(now)
            || !message.is_none_or(|message| self.session.accepts(message))
        {
            return;
        }
        let paths = [self.selected, self.left, self.moving.map(|moving| moving.to)];
        let in_use: Vec<_> = paths.into_iter().flatten().map(|path| path.remote).collect();
        let fresh = self.session_with(self.session.credentials().clone());
        self.session.renew(now, fresh, &in_use);
    }

    /// Whether this local address uses TCP, and whether it uses a relay.
    fn way_from(&self, local: SocketAddr) -> (bool, bool) {
        let is_relay = |it: &Candidate| it.kind == CandidateKind::Relayed && it.address == local;
        (self.session.is_tcp(local), self.locals.iter().any(is_relay))
    }

    /// Our check over this path was answered.
    pub(super) fn answered(&mut self, now: Instant, path: Path) {
        if self.left == Some(path) && self.session.is_valid(path.remote) {
            self.select(now, path);
            (self.left, self.has_moved) = (None, true);
        }
        let Some(moving) = &mut self.moving else { return };
        if moving.to.remote == path.remote {
            // A check to the old address may be answered from the new one, which proves nothing.
            moving.is_answered |= self.session.is_valid(path.remote);
        } else if self.selected == Some(path) && !moving.is_sure {
            self.moving = None;
        }
    }

    /// Follows the peer if it is time to.
    pub(super) fn move_on(&mut self, now: Instant) {
        let Some(moving) = self.moving.filter(|moving| now >= moving.deadline()) else { return };
        self.moving = None;
        if moving.is_answered && self.session.is_valid(moving.to.remote) {
            self.left = self.selected.filter(|_| !moving.is_sure);
            self.select(now, moving.to);
            self.has_moved = true;
        }
    }

    /// Sends data over this path from now on, or once it is proven.
    pub(super) fn select(&mut self, now: Instant, path: Path) {
        if !self.select_proven(now, path) {
            self.use_path(now, path);
        }
    }

    /// Sends data over this path from now on.
    pub(super) fn use_path(&mut self, now: Instant, path: Path) {
        self.has_moved |= std::mem::take(&mut self.is_lost);
        if self.selected != Some(path) {
            self.selected = Some(path);
            self.consent_at = Some(now);
            (self.had_path, self.is_down) = (true, false);
        }
    }

    /// Whether the path in use has not answered for too long.
    pub(super) fn is_silent(&self, now: Instant) -> bool {
        self.is_lost || self.consent_at.is_none_or(|at| now.saturating_duration_since(at) >= PATH_SILENCE)
    }
}
