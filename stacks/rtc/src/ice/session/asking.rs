//! Checks besides those that the agent sends by itself, and their limits per address.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use is::Protocol;

use super::{BINDING_REQUEST, Datagram, Path, STEPS_MAX, Session};
use crate::ice::TRANSMITS_MAX;
use crate::sdp::CandidateTransport;

/// Priority of a peer-reflexive candidate for which no check has given one (RFC 8445 section 5.1.2.1).
pub(in crate::ice) const REFLEXIVE_PRIORITY: u32 = 110 << 24 | 65_535 << 8 | 255;
/// The foundation that the agent uses for one until the peer signals it.
const REFLEXIVE_FOUNDATION: &str = "tmp_prflx";
/// Most checks to an address that was not signalled and sent no check: one, and two more in case it is lost.
const STRAY_CHECKS_MAX: u8 = 3;
/// Shortest time between two rounds of checking all pairs.
const ASKING_INTERVAL: Duration = Duration::from_secs(1);

/// Which pairs were checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::ice) enum Asked {
    /// All.
    All,
    /// None: all were checked a moment ago. The agent checks them by its own timer.
    Lately,
    /// None: there is no space for the address.
    NoRoom,
}

impl Session {
    /// Sends a check on this path, although no check of the peer arrived on it, and one on each working pair.
    pub(in crate::ice) fn ask(
        &mut self,
        now: Instant,
        path: Path,
        transmits: &mut VecDeque<Datagram>,
    ) -> Asked {
        if !self.knows(path.remote) {
            if self.known_mut(path.remote).is_none() {
                return Asked::NoRoom;
            }
            let kind = is::CandidateKind::PeerReflexive;
            self.agent.add_remote_candidate(is::Candidate::from_parts(
                REFLEXIVE_FOUNDATION.to_owned(),
                1,
                Protocol::Udp,
                REFLEXIVE_PRIORITY,
                path.remote,
                kind,
                None,
                None,
                None,
            ));
        }
        self.ask_all(now, Some(path), transmits)
    }

    /// Sends a check on each working pair and on this one.
    ///
    /// The agent sends no check before its time; with the shortest interval all are due.
    pub(in crate::ice) fn ask_all(
        &mut self,
        now: Instant,
        path: Option<Path>,
        transmits: &mut VecDeque<Datagram>,
    ) -> Asked {
        if self.asked_at.is_some_and(|at| now.saturating_duration_since(at) < ASKING_INTERVAL) {
            self.deadline = Some(now);
            return Asked::Lately;
        }
        self.asked_at = Some(now);
        self.agent.set_max_stun_rto(Duration::from_millis(1));
        for _ in 0..self.pairs_max.min(STEPS_MAX) {
            self.agent.handle_timeout(now);
        }
        self.agent.set_max_stun_rto(self.interval);
        while let Some(transmit) = self.agent.poll_transmit() {
            let to = Path { local: transmit.source, remote: transmit.destination };
            let goes = (Some(to) == path || self.is_validated(to.remote)) && self.may_send(to.remote);
            if goes && transmits.len() < TRANSMITS_MAX {
                transmits.push_back(self.datagram(to, transmit.contents.into()));
            }
        }
        Asked::All
    }

    /// If the peer signals an address with a lower priority than its check had, the agent would keep the old
    /// pairs and their priority, and a relay would be preferred to a direct path. This removes them, so that
    /// the agent checks again with the signalled priority.
    pub(super) fn forget_heard(&mut self, address: SocketAddr) {
        let is_it = |known: &is::Candidate| {
            known.addr() == address && known.kind() == is::CandidateKind::PeerReflexive
        };
        let heard = self.agent.remote_candidates().find(is_it);
        if let Some(heard) = heard {
            self.agent.invalidate_candidate(&heard);
        }
    }

    /// A local address is no longer available.
    pub(in crate::ice) fn remove_local(&mut self, address: SocketAddr) {
        let before = self.tcp.len();
        self.tcp.retain(|tcp| *tcp != address);
        let transport =
            if self.tcp.len() < before { CandidateTransport::TcpPassive } else { CandidateTransport::Udp };
        let is_ours = |local: &is::Candidate| local.addr() == address;
        if self.agent.local_candidates().any(|local| is_ours(&local))
            && is::Candidate::host(address, transport.name())
                .is_ok_and(|candidate| self.agent.invalidate_candidate(&candidate))
        {
            self.locals -= 1;
            self.set_rto();
        }
    }

    /// Remembers a check.
    pub(super) fn keep_check(&mut self, datagram: &Datagram) {
        let is_request = datagram.bytes.first_chunk() == Some(&BINDING_REQUEST);
        if !is_request || self.is_settled {
            return;
        }
        // This is the check that was to follow the peer's.
        self.triggered = self.triggered.filter(|path| *path != datagram.path);
        self.checks.retain(|check| check.path != datagram.path);
        if self.checks.len() < self.pairs_max {
            self.checks.push(datagram.clone());
        }
    }

    /// The latest check of a pair.
    pub(super) fn check_of(&self, path: Path) -> Option<&Datagram> {
        self.checks.iter().find(|check| check.path == path)
    }

    /// Whether another check may be sent there; counts it.
    pub(super) fn may_send(&mut self, remote: SocketAddr) -> bool {
        let known = self.known.iter_mut().find(|known| known.address == remote);
        if let Some(known) = known {
            if known.validated {
                return true;
            }
            if !known.signalled {
                if known.asked == STRAY_CHECKS_MAX {
                    return false;
                }
                known.asked += 1;
            }
        }
        let may = self.unanswered_left > 0;
        self.unanswered_left -= u32::from(may);
        may
    }

    /// Creates a datagram to send. Each check received entitles its source to one check in return, so that a
    /// forged source address receives no more than the attacker sends. Any further check, until one was
    /// answered from there, is marked as unsolicited.
    pub(super) fn datagram(&mut self, path: Path, bytes: Vec<u8>) -> Datagram {
        let is_check = bytes.first_chunk() == Some(&BINDING_REQUEST);
        let mut is_to_stranger = is_check && !self.is_valid(path.remote);
        let owing = self.known.iter_mut().find(|known| known.address == path.remote && known.owed > 0);
        if let Some(known) = owing.filter(|_| is_to_stranger) {
            (known.owed, is_to_stranger) = (known.owed - 1, false);
        }
        Datagram { path, bytes, is_to_stranger }
    }
}
