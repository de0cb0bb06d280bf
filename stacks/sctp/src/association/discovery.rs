//! Path MTU discovery (RFC 8899): looks for the longest SCTP packet that the path takes, with HEARTBEATs made longer by
//! PAD (section 6.2.1). A lost probe costs nothing but itself: congestion control does not hear of it.

use std::time::Duration;

/// A length is given up when so many probes of it got lost (MAX_PROBES, section 5.1.2).
const MAX_PROBES: u32 = 3;
/// The search ends when it knows the length to so many bytes.
const GRANULARITY_BYTES: usize = 32;
/// After this a finished search begins again, upwards (PMTU_RAISE_TIMER, section 5.1.1).
const RAISE_AFTER: Duration = Duration::from_secs(600);
/// A probe without an answer for so long is lost, or for one retransmission timeout if that is longer (PROBE_TIMER:
/// "MUST NOT be smaller than 1 second").
const PROBE_TIMEOUT: Duration = Duration::from_secs(1);
/// So many retransmission timeouts in a row with packets above the base: the path takes them no more (section 4.3).
const BLACK_HOLE_TIMEOUTS: u32 = 2;
/// Lengths that are tried first, the longest first: what an MTU of 9,000 leaves after IP, UDP, DTLS and a relay; what
/// one of 1,500 leaves over IPv4, and over IPv6 or a relay.
const LANDMARKS: [usize; 3] = [8_908, 1_432, 1_408];

/// The search, and what it has found.
#[derive(Debug)]
pub(super) struct Discovery {
    /// What every path takes.
    base: usize,
    /// Where the search ends.
    max: usize,
    /// The longest that was acknowledged, or the base.
    confirmed: usize,
    search: Search,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Search {
    /// Not begun, or turned off.
    Off,
    /// Lengths from `too_long` on are known not to pass.
    Running { too_long: usize, probe: Probe },
    /// Over, until the timer for the next one.
    Done,
}

/// A length under test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Probe {
    bytes: usize,
    /// Probes of this length that got lost.
    lost: u32,
    /// On its way, with this nonce.
    nonce: Option<u64>,
}

/// What to do after something has happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Nothing has changed.
    Unchanged,
    /// Packets may have this length, from now on.
    PacketBytes(usize),
}

impl Discovery {
    /// Packets have a length that is a multiple of 4.
    pub(super) fn new(packet_bytes: usize, max_packet_bytes: usize) -> Self {
        let base = packet_bytes & !3;
        Self { base, max: max_packet_bytes & !3, confirmed: base, search: Search::Off }
    }

    /// How long packets may be, probes aside.
    #[inline]
    pub(super) fn packet_bytes(&self) -> usize {
        self.confirmed
    }

    /// Begins the search.
    pub(super) fn start(&mut self) {
        // One above the maximum is treated as known not to pass, so that the maximum itself is tried.
        self.search = self.next(self.max + 1);
    }

    /// Forgets what was found: the next search begins from nothing.
    pub(super) fn reset(&mut self) {
        self.confirmed = self.base;
        self.search = Search::Off;
    }

    /// Length of the probe that should be sent now.
    #[inline]
    pub(super) fn wanted_probe(&self) -> Option<usize> {
        match self.search {
            Search::Running { probe: Probe { bytes, nonce: None, .. }, .. } => Some(bytes),
            _ => None,
        }
    }

    /// The probe was written. Gives how long to wait for its answer.
    pub(super) fn probe_sent(&mut self, sent_nonce: u64, rto: Duration) -> Duration {
        if let Search::Running { probe, .. } = &mut self.search {
            probe.nonce = Some(sent_nonce);
        }
        PROBE_TIMEOUT.max(rto)
    }

    /// Whether this is the nonce of the probe on its way.
    pub(super) fn is_probe(&self, answered: u64) -> bool {
        matches!(self.search, Search::Running { probe, .. } if probe.nonce == Some(answered))
    }

    /// The probe on its way was answered: its length passes.
    pub(super) fn handle_answer(&mut self) -> Verdict {
        let Search::Running { too_long, probe } = self.search else { return Verdict::Unchanged };
        self.confirmed = probe.bytes;
        self.search = self.next(too_long);
        Verdict::PacketBytes(self.confirmed)
    }

    /// The timer of the probe has expired, or that of the next search. Where nothing at all passes, the loss of a probe
    /// says nothing about its length.
    pub(super) fn handle_timeout(&mut self, is_path_silent: bool) {
        match &mut self.search {
            Search::Off => {}
            Search::Done => self.start(),
            Search::Running { too_long, probe } => {
                probe.nonce = None;
                probe.lost += u32::from(!is_path_silent);
                if probe.lost >= MAX_PROBES {
                    *too_long = probe.bytes;
                    let too_long = *too_long;
                    self.search = self.next(too_long);
                }
            }
        }
    }

    /// How long until `handle_timeout` should be called although no probe is on its way.
    pub(super) fn pause(&self) -> Option<Duration> {
        (self.search == Search::Done && self.confirmed < self.max).then_some(RAISE_AFTER)
    }

    /// There were so many retransmission timeouts, and data does not get on.
    pub(super) fn handle_silence(&mut self, timeouts: u32) -> Verdict {
        if timeouts < BLACK_HOLE_TIMEOUTS || self.confirmed == self.base {
            return Verdict::Unchanged;
        }
        self.confirmed = self.base;
        self.start();
        Verdict::PacketBytes(self.base)
    }

    /// The search goes on, with a length between what passes and `too_long`.
    fn next(&self, too_long: usize) -> Search {
        let is_open = |bytes: usize| self.confirmed < bytes && bytes < too_long;
        let landmark = LANDMARKS.into_iter().find(|&bytes| is_open(bytes));
        let middle = (self.confirmed + (too_long - self.confirmed) / 2) & !3;
        let bytes = if is_open(self.max) {
            self.max
        } else if let Some(landmark) = landmark {
            landmark
        } else if too_long - self.confirmed > GRANULARITY_BYTES && is_open(middle) {
            middle
        } else {
            return Search::Done;
        };
        Search::Running { too_long, probe: Probe { bytes, lost: 0, nonce: None } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTO: Duration = Duration::from_secs(1);

    /// Runs a search to its end over a path that takes packets of up to `path` bytes. Gives the probes that it took.
    fn search(discovery: &mut Discovery, path: usize) -> usize {
        for count in 0..1000 {
            let Some(bytes) = discovery.wanted_probe() else { return count };
            assert!(bytes > discovery.packet_bytes() && bytes <= discovery.max && bytes % 4 == 0, "{bytes}");
            discovery.probe_sent(count as u64, RTO);
            assert_eq!(discovery.wanted_probe(), None);
            assert!(discovery.is_probe(count as u64) && !discovery.is_probe(count as u64 + 1));
            if bytes <= path {
                assert_eq!(discovery.handle_answer(), Verdict::PacketBytes(bytes));
            } else {
                discovery.handle_timeout(false);
            }
        }
        panic!("the search does not end");
    }

    #[test]
    fn it_finds_what_the_path_takes() {
        for (path, max, most_probes) in [
            (16_384, 16_384, 1),
            (60_000, 16_384, 1),
            (60_000, 1_300, 1),
            (1_160, 16_384, 60),
            (1_200, 16_384, 60),
            (1_435, 16_384, 60),
            (1_415, 16_384, 60),
            (2_000, 16_384, 60),
            (8_935, 16_384, 60),
            (12_345, 16_383, 60),
        ] {
            let mut discovery = Discovery::new(1_163, max);
            discovery.start();
            let probes = search(&mut discovery, path);
            let found = discovery.packet_bytes();
            let best = path.min(max & !3);
            assert!(found <= best && best - found <= GRANULARITY_BYTES + 4, "{path}: {found}");
            assert!(probes <= most_probes, "{path}: {probes}");
            assert_eq!(discovery.pause(), (found < max & !3).then_some(RAISE_AFTER), "{path}");
        }
    }

    #[test]
    fn it_is_off_where_there_is_nothing_to_find() {
        let mut discovery = Discovery::new(1_163, 1_163);
        discovery.start();
        assert_eq!((discovery.wanted_probe(), discovery.pause()), (None, None));
    }

    #[test]
    fn a_black_hole_is_seen_and_searched_anew() {
        let mut discovery = Discovery::new(1_163, 9_000);
        discovery.start();
        search(&mut discovery, 9_000);
        assert_eq!(discovery.handle_silence(1), Verdict::Unchanged);
        assert_eq!(discovery.handle_silence(2), Verdict::PacketBytes(1_160));
        assert_eq!(discovery.handle_silence(3), Verdict::Unchanged);
        search(&mut discovery, 1_500);
        assert!((1_470..=1_500).contains(&discovery.packet_bytes()));
    }

    #[test]
    fn a_silent_path_says_nothing_about_lengths() {
        let mut discovery = Discovery::new(1_163, 9_000);
        discovery.start();
        for nonce in 0..100 {
            assert_eq!(discovery.wanted_probe(), Some(9_000));
            discovery.probe_sent(nonce, RTO);
            discovery.handle_timeout(true);
        }
    }

    #[test]
    fn a_path_that_grows_is_found_after_a_while() {
        let mut discovery = Discovery::new(1_163, 9_000);
        discovery.start();
        search(&mut discovery, 1_200);
        discovery.handle_timeout(false);
        search(&mut discovery, 9_000);
        assert_eq!(discovery.packet_bytes(), 9_000);
    }
}
