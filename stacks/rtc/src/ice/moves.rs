//! A peer that shows up at an address that nobody knows, while data goes to another: it may have moved, or its NAT has given it another one.
//!
//! Nothing is sent there but a check (RFC 8445 section 7.3.1.4), and data follows no sooner than that is answered: whoever copies or
//! replays what the peer has sent learns nothing and moves nothing, and an address that is another's gets three datagrams. What RFC 9146
//! section 6 asks of DTLS' connection ids is asked here: the record is authentic, it is newer than all before, and the address answers.
//!
//! - A record of DTLS, or a check that nominates, says that the peer sends from there now: it is followed with the answer, one round trip.
//! - Any other check says only that it can, as one with two interfaces does. The address in use is asked at the same time, and the new one is
//!   followed if the old one has not answered when it should have. If it answers later, as on a machine that was busy, data goes there again.
//!   From UDP to TCP, or from straight to a relay, and back, nobody is followed for this.
//!
//! ICE lite makes no checks, and follows its peer's alone.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use is::stun::StunMessage;

use super::session::Asked;
use super::{Ice, PATH_SILENCE, Path};
use crate::sdp::{Candidate, CandidateKind};

/// How long an answer from there is waited for.
const MOVE_TIME: Duration = Duration::from_secs(10);
/// What the address in use may take longer than it did last, to answer.
const GRACE: Duration = Duration::from_millis(10);
/// The last round trip, where it is not known.
const ROUND_TRIP: Duration = Duration::from_millis(100);

/// Where the peer may have gone.
#[derive(Debug, Clone, Copy)]
pub(super) struct Move {
    to: Path,
    since: Instant,
    /// It sends from there, and does not only ask.
    is_sure: bool,
    is_answered: bool,
    /// If it is not sure: when the address in use should have answered.
    proves_at: Instant,
}

impl Move {
    /// When something is to be decided.
    pub(super) fn deadline(&self) -> Instant {
        if self.is_answered { self.proves_at } else { self.since + MOVE_TIME }
    }
}

impl Ice {
    /// The peer has sent DTLS from where nobody knew it, authentic and newer than all before. Whether it may be taken.
    pub(crate) fn follow(&mut self, now: Instant, path: Path) -> bool {
        if self.is_moving_to(path.remote) {
            return true;
        }
        self.expect_at(now, path, true)
    }

    /// Whether a datagram of DTLS from there is taken though nothing that came from there is proven.
    pub(crate) fn is_moving_to(&self, remote: SocketAddr) -> bool {
        self.moving.is_some_and(|moving| moving.is_sure && moving.to.remote == remote)
    }

    /// Whether data has followed the peer since this was asked last: what was sent before is lost.
    pub(crate) fn take_moved(&mut self) -> bool {
        std::mem::take(&mut self.has_moved)
    }

    /// A check came from where nobody knew the peer. Before a pair is nominated that is nothing new.
    pub(super) fn heard_at(&mut self, now: Instant, path: Path, nominates: bool) {
        if self.session.is_settled() {
            self.expect_at(now, path, nominates);
        }
    }

    /// The peer is to be asked whether it is there. False: it cannot be.
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
            // Nobody has asked the address in use, so that its silence says nothing.
            Asked::Lately if is_sure => {}
            Asked::Lately | Asked::NoRoom => return false,
        }
        let round_trip = self.session.round_trip().unwrap_or(ROUND_TRIP);
        let proves_at = if is_sure { now } else { now + round_trip * 5 / 4 + GRACE };
        self.moving = Some(Move { to, since: now, is_sure, is_answered: false, proves_at });
        true
    }

    /// Has the session forget addresses of the peer if it has no room for one more, and a message that shows one is the peer's.
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

    /// Whether what goes from this address of ours goes by TCP, and whether by a relay.
    fn way_from(&self, local: SocketAddr) -> (bool, bool) {
        let is_relay = |it: &Candidate| it.kind == CandidateKind::Relayed && it.address == local;
        (self.session.is_tcp(local), self.locals.iter().any(is_relay))
    }

    /// A check of ours over this path was answered.
    pub(super) fn answered(&mut self, now: Instant, path: Path) {
        if self.left == Some(path) && self.session.is_valid(path.remote) {
            self.select(now, path);
            (self.left, self.has_moved) = (None, true);
        }
        let Some(moving) = &mut self.moving else { return };
        if moving.to.remote == path.remote {
            // What was asked at the old address may be answered from the new one, which proves nothing.
            moving.is_answered |= self.session.is_valid(path.remote);
        } else if self.selected == Some(path) && !moving.is_sure {
            self.moving = None;
        }
    }

    /// Follows, if it is time to.
    pub(super) fn move_on(&mut self, now: Instant) {
        let Some(moving) = self.moving.filter(|moving| now >= moving.deadline()) else { return };
        self.moving = None;
        if moving.is_answered && self.session.is_valid(moving.to.remote) {
            self.left = self.selected.filter(|_| !moving.is_sure);
            self.select(now, moving.to);
            self.has_moved = true;
        }
    }

    /// Data goes by this path from now on.
    pub(super) fn select(&mut self, now: Instant, path: Path) {
        self.has_moved |= std::mem::take(&mut self.is_lost);
        if self.selected != Some(path) {
            self.selected = Some(path);
            self.consent_at = Some(now);
            self.is_down = false;
        }
    }

    /// Whether the path in use has not answered for too long.
    pub(super) fn is_silent(&self, now: Instant) -> bool {
        self.is_lost || self.consent_at.is_none_or(|at| now.saturating_duration_since(at) >= PATH_SILENCE)
    }
}
