//! A limit of the datagrams of each source, which keeps a flood from displacing the requests of others.

use std::time::Instant;

use crate::address::{NodeAddress, Source};
use crate::device::senders::Senders;
use crate::limits::OTHER_SOURCE_AGE_MAX;

/// Decides which datagrams are dropped before they are parsed.
///
/// A receive buffer that overflows loses datagrams of all sources. An excess datagram costs much less if it is
/// dropped unread than if it is answered, so the buffer overflows later. A datagram is dropped if all of these
/// hold:
///
/// - others wait behind it (`has_backlog`),
/// - its source has sent more than the limit in this second, counting only datagrams with others behind them,
/// - it is a multicast one, or another source has sent unicast datagrams within ten minutes. The limit thus
///   does not slow down a single busy controller: there is no other source to protect from it.
///
/// State: the counts of the eight busiest sources, separately for unicast and multicast, and the last two
/// sources. Forged sources can make these counts too low, never too high: they hide a flood, but cannot cause
/// the datagrams of a source below the limit to be dropped. Multicast messages are no evidence of another
/// source, since they include the notifications of all nodes, this one among them.
#[derive(Debug)]
pub struct SourceLimit {
    unicast_per_s: u32,
    multicast_per_s: u32,
    unicast: Senders,
    multicast: Senders,
    /// The two sources of unicast datagrams heard last, the latest first.
    latest: [Option<(NodeAddress, Instant)>; 2],
}

impl SourceLimit {
    /// A limit in datagrams per second; 0: none. It applies to each of `nodes` nodes that share a socket, as
    /// those of a virtual home do: a source may send them `nodes` times as many unicast datagrams. A multicast
    /// datagram is handled by all nodes and is counted once.
    pub fn new(per_s: u32, nodes: usize) -> Self {
        let nodes = u32::try_from(nodes).unwrap_or(u32::MAX);
        Self {
            unicast_per_s: per_s.saturating_mul(nodes),
            multicast_per_s: per_s,
            unicast: Senders::default(),
            multicast: Senders::default(),
            latest: [None; 2],
        }
    }

    /// Whether to handle a datagram. Call it once for each received datagram, in order. `has_backlog`: whether
    /// so many datagrams were waiting that the receive buffer may overflow, for example as many as one receive
    /// call returns.
    pub fn admits(&mut self, now: Instant, from: Source, has_backlog: bool) -> bool {
        if self.unicast_per_s == 0 {
            return true;
        }
        if from.multicast {
            return !has_backlog || self.multicast.count(now, from.address) <= self.multicast_per_s;
        }
        // Requests from beyond the link are not answered: there is nothing to protect.
        if !from.is_off_link {
            self.note(now, from.address);
        }
        !has_backlog
            || !self.has_other(now, from.address)
            || self.unicast.count(now, from.address) <= self.unicast_per_s
    }

    /// Remembers a source of unicast datagrams.
    fn note(&mut self, now: Instant, from: NodeAddress) {
        if self.latest[0].is_none_or(|(known, _)| known != from) {
            self.latest[1] = self.latest[0];
        }
        self.latest[0] = Some((from, now));
    }

    /// Whether another source than this one has sent unicast datagrams recently.
    fn has_other(&self, now: Instant, from: NodeAddress) -> bool {
        let is_recent = |at: Instant| now.saturating_duration_since(at) < OTHER_SOURCE_AGE_MAX;
        self.latest.iter().flatten().any(|&(known, at)| known != from && is_recent(at))
    }
}

#[cfg(test)]
#[allow(clippy::disallowed_methods)]
mod tests {
    use std::time::Duration;

    use super::*;

    const LIMIT: u32 = 1000;
    const FLOOD: u32 = 7;
    const HONEST: u32 = 8;

    fn node(number: u32) -> Source {
        Source::unicast(std::net::IpAddr::from(number.to_be_bytes()))
    }

    fn group(number: u32) -> Source {
        Source { multicast: true, ..node(number) }
    }

    fn beyond(number: u32) -> Source {
        Source { is_off_link: true, ..node(number) }
    }

    /// Passes the datagrams of one second at equal intervals; returns how many of each source were admitted.
    fn second(
        limit: &mut SourceLimit,
        begin: Instant,
        has_backlog: bool,
        sources: &[(Source, u32)],
    ) -> Vec<u32> {
        let most = sources.iter().map(|(_, count)| *count).max().unwrap_or(1);
        let mut admitted = vec![0; sources.len()];
        for round in 0..most {
            let now = begin + Duration::from_secs(1) * round / most;
            for (&(source, count), admitted) in sources.iter().zip(&mut admitted) {
                // Its share of the rounds.
                if u64::from(round) * u64::from(count) % u64::from(most) < u64::from(count) {
                    *admitted += u32::from(limit.admits(now, source, has_backlog));
                }
            }
        }
        admitted
    }

    /// The kind and the number of a source, and its datagrams in a second.
    type Traffic = (fn(u32) -> Source, u32, u32);

    /// A second of traffic, and the datagrams of it that are admitted.
    struct Row {
        name: &'static str,
        per_s: u32,
        nodes: usize,
        has_backlog: bool,
        sources: &'static [Traffic],
        admitted: &'static [u32],
    }

    #[test]
    fn only_the_excess_of_a_flood_beside_others_is_dropped() {
        let row = Row {
            name: "a flood beside an honest source",
            per_s: LIMIT,
            nodes: 1,
            has_backlog: true,
            sources: &[(node, HONEST, 50), (node, FLOOD, 20_000)],
            admitted: &[50, LIMIT],
        };
        let rows = [
            Row { name: "no backlog", has_backlog: false, admitted: &[50, 20_000], ..row },
            Row { name: "no limit", per_s: 0, admitted: &[50, 20_000], ..row },
            Row { name: "two nodes", nodes: 2, admitted: &[50, 2 * LIMIT], ..row },
            Row { name: "alone", sources: &[(node, FLOOD, 20_000)], admitted: &[20_000], ..row },
            Row {
                name: "as many as allowed",
                sources: &[(node, HONEST, 5), (node, FLOOD, 1000)],
                admitted: &[5, 1000],
                ..row
            },
            Row {
                name: "others only by multicast",
                sources: &[(group, HONEST, 50), (node, FLOOD, 20_000)],
                admitted: &[50, 20_000],
                ..row
            },
            Row {
                name: "others only beyond the link",
                sources: &[(beyond, HONEST, 50), (node, FLOOD, 20_000)],
                admitted: &[50, 20_000],
                ..row
            },
            Row {
                name: "a flood by multicast",
                nodes: 2,
                sources: &[(node, HONEST, 50), (group, FLOOD, 20_000)],
                admitted: &[50, LIMIT],
                ..row
            },
            row,
        ];
        for row in rows {
            let mut limit = SourceLimit::new(row.per_s, row.nodes);
            let sources: Vec<_> =
                row.sources.iter().map(|&(source, number, count)| (source(number), count)).collect();
            let begin = Instant::now();
            for at in 0..3 {
                let now = begin + Duration::from_secs(at);
                assert_eq!(
                    second(&mut limit, now, row.has_backlog, &sources),
                    row.admitted,
                    "{}, second {at}",
                    row.name
                );
            }
        }
    }

    #[test]
    fn a_source_that_is_silent_for_long_is_not_protected() {
        let begin = Instant::now();
        for (age, expected) in
            [(OTHER_SOURCE_AGE_MAX - Duration::from_secs(1), LIMIT), (OTHER_SOURCE_AGE_MAX, 5000)]
        {
            let mut limit = SourceLimit::new(LIMIT, 1);
            assert!(limit.admits(begin, node(HONEST), true));
            assert_eq!(second(&mut limit, begin + age, true, &[(node(FLOOD), 5000)]), [expected]);
        }
    }

    #[test]
    fn forged_sources_cost_no_honest_source_its_datagrams() {
        let (mut limit, begin) = (SourceLimit::new(LIMIT, 1), Instant::now());
        let (mut forged, mut dropped) = (1000, 0);
        for round in 0..30_000 {
            let now = begin + Duration::from_micros(100) * round;
            // Eight forged datagrams, each with a source of its own, five of a flood, and at times an honest one.
            for _ in 0..8 {
                forged += 1;
                limit.admits(now, node(forged), true);
            }
            dropped += (0..5).filter(|_| !limit.admits(now, node(FLOOD), true)).count();
            if round % 20 == 0 {
                assert!(limit.admits(now, node(HONEST), true), "{round}");
            }
        }
        assert!(dropped > 50_000, "the flood is limited beside forged sources: {dropped}");
    }
}
