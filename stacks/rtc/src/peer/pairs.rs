//! Traffic per candidate pair, for statistics: checks are counted one by one, data as the difference between
//! two readings of the transport's counters. Has no influence on the connection.

use std::ops::{AddAssign, Sub};
use std::time::{Duration, Instant};

use is::stun::StunMessage;

use crate::ice::Path;

/// Datagrams and their bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Traffic {
    pub(super) packets_sent: u64,
    pub(super) packets_received: u64,
    pub(super) bytes_sent: u64,
    pub(super) bytes_received: u64,
}

impl AddAssign for Traffic {
    fn add_assign(&mut self, other: Self) {
        self.packets_sent += other.packets_sent;
        self.packets_received += other.packets_received;
        self.bytes_sent += other.bytes_sent;
        self.bytes_received += other.bytes_received;
    }
}

impl Sub for Traffic {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self {
            packets_sent: self.packets_sent - other.packets_sent,
            packets_received: self.packets_received - other.packets_received,
            bytes_sent: self.bytes_sent - other.bytes_sent,
            bytes_received: self.bytes_received - other.bytes_received,
        }
    }
}

/// Counters of a pair.
#[derive(Debug)]
pub(super) struct Pair {
    pub(super) path: Path,
    pub(super) requests_sent: u64,
    pub(super) requests_received: u64,
    pub(super) responses_sent: u64,
    pub(super) responses_received: u64,
    pub(super) consent_requests_sent: u64,
    pub(super) current_round_trip: Option<Duration>,
    pub(super) total_round_trip: Duration,
    pub(super) nominated: bool,
    /// Data until it last ceased to be the selected pair.
    data: Traffic,
    /// The last request: its transaction id and time.
    asked: Option<([u8; 12], Instant)>,
    /// The last request nominated the pair: the answer completes that.
    is_being_nominated: bool,
}

impl Pair {
    fn new(path: Path) -> Self {
        Self {
            path,
            requests_sent: 0,
            requests_received: 0,
            responses_sent: 0,
            responses_received: 0,
            consent_requests_sent: 0,
            current_round_trip: None,
            total_round_trip: Duration::ZERO,
            nominated: false,
            data: Traffic::default(),
            asked: None,
            is_being_nominated: false,
        }
    }
}

/// All pairs of a connection.
#[derive(Debug)]
pub(super) struct Pairs {
    list: Vec<Pair>,
    max: usize,
    selected: Option<Path>,
    pub(super) changes: u32,
    /// The transport's counters when the current pair was selected.
    since: Traffic,
    /// ICE traffic.
    checks: Traffic,
}

impl Pairs {
    pub(super) fn new(max: usize) -> Self {
        let (since, checks) = Default::default();
        Self { list: Vec::new(), max: max.max(1), selected: None, changes: 0, since, checks }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Pair> {
        self.list.iter()
    }

    /// The part of the transport's traffic that is not checks.
    pub(super) fn data(&self, all: Traffic) -> Traffic {
        all - self.checks
    }

    /// The data of a pair, given the transport's counters.
    pub(super) fn data_of(&self, pair: &Pair, all: Traffic) -> Traffic {
        let mut data = pair.data;
        if self.selected == Some(pair.path) {
            data += self.data(all) - self.since;
        }
        data
    }

    /// Sets the selected pair, given the transport's counters.
    #[inline]
    pub(super) fn select(&mut self, path: Option<Path>, all: Traffic) {
        if self.selected != path {
            self.change(path, all);
        }
    }

    #[cold]
    fn change(&mut self, path: Option<Path>, all: Traffic) {
        let data = self.data(all);
        let carried = data - self.since;
        if let Some(before) = self.selected.and_then(|path| self.find(path)) {
            before.data += carried;
        }
        self.since = data;
        self.selected = path;
        if let Some(path) = path {
            self.changes += 1;
            self.find(path);
        }
    }

    /// Counts an outgoing ICE datagram. True if it is the first check of its pair.
    pub(super) fn sent(&mut self, now: Instant, path: Path, datagram: &[u8]) -> bool {
        self.checks.packets_sent += 1;
        self.checks.bytes_sent += datagram.len() as u64;
        let is_selected = self.selected == Some(path);
        let (Some(kind), Some(pair)) = (Kind::of(datagram), self.find(path)) else { return false };
        match kind {
            Kind::Request { id, nominates } => {
                pair.requests_sent += 1;
                pair.consent_requests_sent += u64::from(is_selected);
                (pair.asked, pair.is_being_nominated) = (Some((id, now)), nominates);
                return pair.requests_sent == 1;
            }
            Kind::Success(_) => pair.responses_sent += 1,
            Kind::Error => {}
        }
        false
    }

    /// Counts an incoming ICE datagram; `authenticated` concerns its source. Returns what is worth logging.
    pub(super) fn received(
        &mut self,
        now: Instant,
        path: Path,
        datagram: &[u8],
        is_authentic: bool,
    ) -> Option<News> {
        self.checks.packets_received += 1;
        self.checks.bytes_received += datagram.len() as u64;
        let (kind, pair) = (Kind::of(datagram).filter(|_| is_authentic)?, self.find(path)?);
        match kind {
            Kind::Request { nominates, .. } => {
                pair.requests_received += 1;
                pair.nominated |= nominates && pair.responses_received > 0;
                pair.is_being_nominated |= nominates;
                (pair.requests_received == 1).then_some(News::Asked)
            }
            Kind::Success(id) => {
                pair.responses_received += 1;
                pair.nominated |= pair.is_being_nominated;
                if let Some((_, at)) = pair.asked.take_if(|(asked, _)| *asked == id) {
                    let time = now.saturating_duration_since(at);
                    pair.current_round_trip = Some(time);
                    pair.total_round_trip += time;
                }
                (pair.responses_received == 1).then_some(News::Answered)
            }
            Kind::Error => Some(News::Refused),
        }
    }

    /// The entry of a pair, created if necessary; if there are too many, it replaces the oldest unselected
    /// one.
    fn find(&mut self, path: Path) -> Option<&mut Pair> {
        let at = match self.list.iter().position(|pair| pair.path == path) {
            Some(at) => at,
            None => {
                if self.list.len() >= self.max {
                    let oldest = self.list.iter().position(|pair| Some(pair.path) != self.selected)?;
                    self.list.remove(oldest);
                }
                // Most connections have one or two.
                self.list.reserve_exact(1);
                self.list.push(Pair::new(path));
                self.list.len() - 1
            }
        };
        self.list.get_mut(at)
    }
}

/// What the log reports about a pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum News {
    /// The peer's first check.
    Asked,
    /// The first answer to our checks.
    Answered,
    /// An error response, usually because of a role conflict.
    Refused,
}

/// Kind of an ICE datagram.
enum Kind {
    Request { id: [u8; 12], nominates: bool },
    Success([u8; 12]),
    Error,
}

impl Kind {
    fn of(datagram: &[u8]) -> Option<Self> {
        let message = StunMessage::parse(datagram).ok()?;
        // The transaction id (RFC 8489 section 5).
        let id = datagram.get(8..20)?.try_into().ok()?;
        Some(match () {
            () if message.is_binding_request() => Self::Request { id, nominates: message.use_candidate() },
            () if message.is_successful_binding_response() => Self::Success(id),
            () => Self::Error,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(port: u16) -> Path {
        let at = |port| std::net::SocketAddr::from(([192, 0, 2, 1], port));
        Path { local: at(1), remote: at(port) }
    }

    #[test]
    fn pairs_do_not_pile_up_and_the_one_in_use_stays() {
        let mut pairs = Pairs::new(3);
        let mut all = Traffic::default();
        pairs.select(Some(path(7)), all);
        for port in 10..50 {
            pairs.find(path(port));
        }
        let kept: Vec<_> = pairs.iter().map(|pair| pair.path.remote.port()).collect();
        assert_eq!(kept, [7, 48, 49]);
        // Data counts for the pair selected meanwhile.
        (all.packets_sent, all.bytes_sent) = (5, 500);
        pairs.select(Some(path(48)), all);
        (all.packets_sent, all.bytes_sent) = (7, 700);
        let data: Vec<_> = pairs.iter().map(|pair| pairs.data_of(pair, all).bytes_sent).collect();
        assert_eq!((data, pairs.changes), (vec![500, 200, 0], 2));
    }
}
