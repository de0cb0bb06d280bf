//! Path MTU discovery (RFC 8899): searches for the longest SCTP packet that the path carries, with HEARTBEATs
//! padded by PAD (section 6.2.1). Lost probes are not reported to congestion control.

use std::time::Duration;

/// Lost probes after which a length is given up (MAX_PROBES, section 5.1.2).
const MAX_PROBES: u32 = 3;
/// The search ends when the length is known to this accuracy.
const GRANULARITY_BYTES: usize = 32;
/// After this time a finished search starts again, upwards (PMTU_RAISE_TIMER, section 5.1.1).
const RAISE_AFTER: Duration = Duration::from_secs(600);
/// A probe without an answer for this long, or for one retransmission timeout if that is longer, counts as
/// lost (PROBE_TIMER: "MUST NOT be smaller than 1 second").
const PROBE_TIMEOUT: Duration = Duration::from_secs(1);
/// After this many consecutive retransmission timeouts, packets above the base length count as lost to a
/// black hole (section 4.3).
const BLACK_HOLE_TIMEOUTS: u32 = 2;
/// Lengths tried first, in this order: MTU 9,000 less IP, UDP, DTLS and a relay; MTU 1,500 over IPv4; MTU
/// 1,500 over IPv6 or a relay.
const LANDMARKS: [usize; 3] = [8_908, 1_432, 1_408];

/// The search and its result.
#[derive(Debug)]
pub(super) struct Discovery {
    /// Length that every path carries.
    base: usize,
    /// Upper end of the search.
    max: usize,
    /// Longest acknowledged length, or the base.
    confirmed: usize,
    search: Search,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Search {
    /// Not started, or disabled.
    Off,
    /// Lengths from `too_long` upwards are known to fail.
    Running { too_long: usize, probe: Probe },
    /// Finished, until the timer for the next search.
    Done,
}

/// A length being tested.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Probe {
    bytes: usize,
    /// Lost probes of this length.
    lost: u32,
    /// Nonce of the probe in flight.
    nonce: Option<u64>,
}

/// What the caller must do after an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Nothing changed.
    Unchanged,
    /// Packets may have this length from now on.
    PacketBytes(usize),
}

impl Discovery {
    /// Packet lengths are multiples of 4.
    pub(super) fn new(packet_bytes: usize, max_packet_bytes: usize) -> Self {
        let base = packet_bytes & !3;
        Self { base, max: max_packet_bytes & !3, confirmed: base, search: Search::Off }
    }

    /// Current packet length, probes excluded.
    #[inline]
    pub(super) fn packet_bytes(&self) -> usize {
        self.confirmed
    }

    /// Starts the search.
    pub(super) fn start(&mut self) {
        // One above the maximum counts as failed, so that the maximum itself is tried.
        self.search = self.next(self.max + 1);
    }

    /// Discards the result: the next search starts from the base.
    pub(super) fn reset(&mut self) {
        self.confirmed = self.base;
        self.search = Search::Off;
    }

    /// Length of the probe to send now.
    #[inline]
    pub(super) fn wanted_probe(&self) -> Option<usize> {
        match self.search {
            Search::Running { probe: Probe { bytes, nonce: None, .. }, .. } => Some(bytes),
            _ => None,
        }
    }

    /// Records that the probe was sent, and returns how long to wait for its answer.
    pub(super) fn probe_sent(&mut self, sent_nonce: u64, rto: Duration) -> Duration {
        if let Search::Running { probe, .. } = &mut self.search {
            probe.nonce = Some(sent_nonce);
        }
        PROBE_TIMEOUT.max(rto)
    }

    /// Whether this is the nonce of the probe in flight.
    pub(super) fn is_probe(&self, answered: u64) -> bool {
        matches!(self.search, Search::Running { probe, .. } if probe.nonce == Some(answered))
    }

    /// The probe in flight was answered: its length is confirmed.
    pub(super) fn handle_answer(&mut self) -> Verdict {
        let Search::Running { too_long, probe } = self.search else { return Verdict::Unchanged };
        self.confirmed = probe.bytes;
        self.search = self.next(too_long);
        Verdict::PacketBytes(self.confirmed)
    }

    /// The timer of the probe or of the next search has expired. While the path is silent, a lost probe says
    /// nothing about its length.
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

    /// Time until `handle_timeout` is due without a probe in flight.
    pub(super) fn pause(&self) -> Option<Duration> {
        (self.search == Search::Done && self.confirmed < self.max).then_some(RAISE_AFTER)
    }

    /// Handles consecutive retransmission timeouts without progress.
    pub(super) fn handle_silence(&mut self, timeouts: u32) -> Verdict {
        if timeouts < BLACK_HOLE_TIMEOUTS || self.confirmed == self.base {
            return Verdict::Unchanged;
        }
        self.confirmed = self.base;
        self.start();
        Verdict::PacketBytes(self.base)
    }

    /// Continues the search between the confirmed length and `too_long`.
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

    /// Runs a search to its end over a path that carries packets of up to `path` bytes; returns the number of
    /// probes.
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
