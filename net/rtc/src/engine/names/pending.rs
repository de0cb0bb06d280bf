//! Names that are being resolved, each queried once for all waiting connections.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::{Duration, Instant};

use super::super::budget::Budget;
use super::super::slot::ConnectionId;
use super::wire;
use crate::limits::{NAMES_ASKED_PER_S, NAMES_PENDING, NAMES_PER_CONNECTION};

/// Delays between queries: answers take up to 120 ms (RFC 6762, section 6), and the first queries must be at
/// least one second apart (section 5.2).
const WAITS: [Duration; 3] = [Duration::from_secs(1), Duration::from_secs(2), Duration::from_secs(4)];
/// Delay of a query that exceeds the rate limit.
const PAUSE: Duration = Duration::from_millis(100);

/// Length of ".local".
const SUFFIX_BYTES: usize = 6;

/// A candidate whose address is a name (draft-ietf-mmusic-mdns-ice-candidates section 3.1.1): a UUID below
/// "local". Other names are not queried: an offer could name any host of the local network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Named {
    pub(super) name: String,
    /// The parts of the line before and after the name.
    before: String,
    after: String,
}

impl Named {
    /// Parses a line from "candidate:" on. `None`: it has an address, or another kind of name.
    pub(super) fn read(line: &str) -> Option<Self> {
        let line = line.trim();
        let name = line.strip_prefix("candidate:")?.split_ascii_whitespace().nth(4)?;
        let (label, suffix) = name.split_at_checked(name.len().checked_sub(SUFFIX_BYTES)?)?;
        if !suffix.eq_ignore_ascii_case(".local") || !is_uuid(label) {
            return None;
        }
        let (before, after) = line.split_once(name)?;
        Some(Self { name: name.to_ascii_lowercase(), before: before.to_owned(), after: after.to_owned() })
    }

    /// The candidate with this address in place of the name.
    pub(super) fn at(&self, address: IpAddr) -> String {
        format!("{}{address}{}", self.before, self.after)
    }
}

/// Whether a label has the text form of a UUID (RFC 9562 section 4).
fn is_uuid(label: &str) -> bool {
    let mut parts = label.split('-');
    let is_part = |length| {
        parts
            .next()
            .is_some_and(|part| part.len() == length && part.bytes().all(|byte| byte.is_ascii_hexdigit()))
    };
    [8, 4, 4, 4, 12].into_iter().all(is_part) && parts.next().is_none()
}

/// A name and the candidates that wait for its address.
#[derive(Debug)]
struct Pending {
    asked: usize,
    at: Instant,
    waiting: Vec<(ConnectionId, Named)>,
}

/// All pending names.
#[derive(Debug)]
pub(super) struct Questions {
    names: BTreeMap<String, Pending>,
    budget: Budget,
}

impl Questions {
    pub(super) fn new(now: Instant) -> Self {
        Self { names: BTreeMap::new(), budget: Budget::new(NAMES_ASKED_PER_S, NAMES_ASKED_PER_S, now) }
    }

    /// When there is something to do next.
    pub(super) fn next(&self) -> Option<Instant> {
        self.names.values().map(|pending| pending.at).min()
    }

    /// Adds a candidate. Beyond the limits it is ignored, like a name without an answer.
    pub(super) fn add(&mut self, now: Instant, id: ConnectionId, named: Named) {
        let waiting = self.names.values().flat_map(|pending| &pending.waiting);
        let of_one = waiting.clone().filter(|(of, _)| *of == id).count();
        if of_one >= NAMES_PER_CONNECTION || waiting.count() >= NAMES_PENDING {
            return;
        }
        let begin = || Pending { asked: 0, at: now, waiting: Vec::new() };
        let pending = self.names.entry(named.name.clone()).or_insert_with(begin);
        pending.waiting.push((id, named));
    }

    /// Sends due queries and drops names that were queried often enough.
    pub(super) fn work(&mut self, now: Instant, mut send: impl FnMut(&[u8])) {
        self.names.retain(|name, pending| {
            if pending.at > now {
                return true;
            }
            let Some(wait) = WAITS.get(pending.asked) else { return false };
            if !self.budget.take(now) {
                pending.at = now + PAUSE;
                return true;
            }
            (pending.asked, pending.at) = (pending.asked + 1, now + *wait);
            // Chromium answers for one record type per second, and mostly has IPv4 addresses.
            wire::question(name, pending.asked > 1).into_iter().for_each(|question| send(&question));
            true
        });
    }

    /// Handles an answer. Returns the resolved candidates with their connections.
    pub(super) fn answer(&mut self, name: &str, address: IpAddr) -> Vec<(ConnectionId, String)> {
        let pending = self.names.remove(&name.to_ascii_lowercase());
        let waiting = pending.into_iter().flat_map(|pending| pending.waiting);
        waiting.map(|(id, named)| (id, named.at(address))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(index: u32) -> ConnectionId {
        ConnectionId { index, generation: 1 }
    }

    fn uuid(number: u32) -> String {
        format!("{number:08x}-ea17-4bcf-a596-105139dfd8bf")
    }

    fn named(name: &str) -> Named {
        Named::read(&format!("candidate:1 1 udp 2113937151 {name}.local 50000 typ host generation 0"))
            .unwrap()
    }

    #[test]
    fn only_names_of_candidates_are_read() {
        for (name, is_read) in [
            ("1f4712db-ea17-4bcf-a596-105139dfd8bf.local", true),
            ("1F4712DB-EA17-4BCF-A596-105139DFD8BF.LOCAL", true),
            ("printer.local", false),
            ("1f4712db-ea17-4bcf-a596-105139dfd8bf.b.local", false),
            ("1f4712db-ea17-4bcf-a596-105139dfd8bf-.local", false),
            ("1f4712db-ea17-4bcf-a596-105139dfd8bg.local", false),
            ("1f4712dbea174bcfa596105139dfd8bf.local", false),
            ("1f4712d-bea17-4bcf-a596-105139dfd8bf.local", false),
            ("1f4712db-ea17-4bcf-a596-105139dfd8bf.localx", false),
            ("a.b.local", false),
            (".local", false),
            ("local", false),
            ("192.0.2.1", false),
            ("a_b.local", false),
            ("a.local.", false),
            ("\u{e9}.local", false),
        ] {
            let line = format!("candidate:1 1 udp 7 {name} 5000 typ host");
            assert_eq!(Named::read(&line).is_some(), is_read, "{name}");
        }
        let address = "192.0.2.7".parse().unwrap();
        assert_eq!(
            named(&uuid(1)).at(address),
            "candidate:1 1 udp 2113937151 192.0.2.7 50000 typ host generation 0"
        );
        assert!(Named::read("candidate:1 1 udp 7").is_none() && Named::read("").is_none());
    }

    #[test]
    fn each_name_is_queried_once_and_given_up() {
        let begin = Instant::now();
        let mut questions = Questions::new(begin);
        let (one, upper) = (uuid(0xabc), uuid(0xabc).to_uppercase());
        questions.add(begin, id(1), named(&one));
        questions.add(begin, id(2), named(&upper));
        let mut asked_at = Vec::new();
        while let Some(now) = questions.next() {
            questions.work(now, |_| asked_at.push((now - begin).as_secs()));
        }
        assert_eq!(asked_at, [0, 1, 3]);
        let address = "192.0.2.7".parse().unwrap();
        assert!(questions.answer(&format!("{one}.local"), address).is_empty(), "too late");
        questions.add(begin, id(1), named(&one));
        questions.add(begin, id(2), named(&upper));
        let found = questions.answer(&format!("{upper}.local"), address);
        assert_eq!(found.iter().map(|(id, _)| id.index).collect::<Vec<_>>(), [1, 2]);
        assert_eq!(questions.next(), None);
    }

    #[test]
    fn queries_are_bounded() {
        let begin = Instant::now();
        let mut questions = Questions::new(begin);
        for index in 0..1000 {
            for name in 0..100 {
                questions.add(begin, id(index), named(&uuid(index * 100 + name)));
            }
        }
        assert_eq!(questions.names.len(), NAMES_PENDING);
        let of_first = questions.names.values().flat_map(|it| &it.waiting).filter(|(of, _)| *of == id(0));
        assert_eq!(of_first.count(), NAMES_PER_CONNECTION);
        let mut asked = 0;
        for ms in 0..2000 {
            questions.work(begin + Duration::from_millis(ms), |_| asked += 1);
        }
        assert!(asked <= 3 * NAMES_ASKED_PER_S, "{asked}");
    }
}
