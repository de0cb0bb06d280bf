//! Checks beside those that the agent makes by itself, and how many may go to whom.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use is::Protocol;

use super::{BINDING_REQUEST, Datagram, Path, STEPS_MAX, Session};
use crate::ice::TRANSMITS_MAX;
use crate::sdp::CandidateTransport;

/// Of a peer-reflexive candidate that no check of the peer has told the priority of (RFC 8445 section 5.1.2.1), and what the agent knows it by
/// until the peer names it.
const REFLEXIVE: (u32, &str) = (110 << 24 | 65_535 << 8 | 255, "tmp_prflx");
/// Checks to an address that the peer has not named, and that no check of its came from: one, and two more
/// should that be lost.
const STRAY_CHECKS_MAX: u8 = 3;
/// All pairs are asked at once no sooner than after so long.
const ASKING_INTERVAL: Duration = Duration::from_secs(1);

/// Who was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::ice) enum Asked {
    /// All.
    All,
    /// Nobody: all were asked a moment ago. The agent makes a check when its time comes.
    Lately,
    /// Nobody: there is no room for the address.
    NoRoom,
}

impl Session {
    /// A check goes by this path, though no check of the peer came by it, and one by each that works.
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
            let (priority, foundation) = REFLEXIVE;
            let kind = is::CandidateKind::PeerReflexive;
            let foundation = foundation.to_owned();
            self.agent.add_remote_candidate(is::Candidate::from_parts(
                foundation,
                1,
                Protocol::Udp,
                priority,
                path.remote,
                kind,
                None,
                None,
                None,
            ));
        }
        self.ask_all(now, Some(path), transmits)
    }

    /// A check goes by each pair that works, and by this one.
    ///
    /// The agent sends no check before its time; with the least of intervals all are due.
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

    /// The agent would keep its pairs with an address that it was the first to hear of, and their priority, when the peer names it with a lower one:
    /// a relay would count for more than what is direct. It is to check anew, with the priority that the address is named with.
    pub(super) fn forget_heard(&mut self, address: SocketAddr) {
        let is_it = |known: &is::Candidate| {
            known.addr() == address && known.kind() == is::CandidateKind::PeerReflexive
        };
        let heard = self.agent.remote_candidates().find(is_it);
        if let Some(heard) = heard {
            self.agent.invalidate_candidate(&heard);
        }
    }

    /// The address is ours no more.
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

    /// Whether one more check may go there; counts it.
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

    /// A datagram to be sent. Who has made a check is owed one, so that who forges its source has no more sent there than he sends; beyond that,
    /// until one was answered from there, nobody has shown to want any.
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
