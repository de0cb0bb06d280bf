//! Reports of abusive clients in the log.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::limits;

/// Reports of clients, at most one of each event per [`limits::REPORT_INTERVAL`].
#[derive(Debug, Default)]
pub(super) struct Reports(Mutex<BTreeMap<&'static str, Reported>>);

#[derive(Debug, Default)]
struct Reported {
    last: Option<Instant>,
    /// Events since then.
    unreported: u64,
}

impl Reports {
    pub(super) fn report(&self, client: IpAddr, event: &'static str) {
        let mut events = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let reported = events.entry(event).or_default();
        if reported.last.is_some_and(|last| last.elapsed() < limits::REPORT_INTERVAL) {
            reported.unreported += 1;
            return;
        }
        tracing::warn!(%client, unreported = reported.unreported, "{event}");
        *reported = Reported { last: Some(Instant::now()), unreported: 0 };
    }
}

/// Connections of each client within a second.
#[derive(Debug)]
pub(super) struct ConnectionRates {
    since: Instant,
    counts: BTreeMap<IpAddr, u32>,
}

impl ConnectionRates {
    pub(super) fn new(now: Instant) -> ConnectionRates {
        ConnectionRates { since: now, counts: BTreeMap::new() }
    }

    /// Counts a connection. Whether it is the first above [`limits::CONNECTIONS_PER_SECOND`].
    pub(super) fn exceeds(&mut self, client: IpAddr, now: Instant) -> bool {
        if now.duration_since(self.since) >= Duration::from_secs(1) {
            *self = ConnectionRates::new(now);
        }
        if self.counts.len() >= limits::CLIENTS_COUNTED_MAX && !self.counts.contains_key(&client) {
            return false;
        }
        let count = self.counts.entry(client).or_default();
        *count += 1;
        *count == limits::CONNECTIONS_PER_SECOND + 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_is_noticed_once_a_second() {
        let begin = Instant::now();
        let mut rates = ConnectionRates::new(begin);
        let [client, other] = [1, 2].map(|number| IpAddr::from([192, 0, 2, number]));
        for second in 0..2 {
            let now = begin + Duration::from_secs(second);
            let floods = (0..1000).filter(|_| rates.exceeds(client, now)).count();
            assert_eq!(floods, 1);
            assert!((0..limits::CONNECTIONS_PER_SECOND).all(|_| !rates.exceeds(other, now)));
        }
    }

    #[test]
    fn the_number_of_counted_clients_is_limited() {
        let now = Instant::now();
        let mut rates = ConnectionRates::new(now);
        for number in 0..2 * u32::try_from(limits::CLIENTS_COUNTED_MAX).unwrap() {
            rates.exceeds(IpAddr::from(number.to_be_bytes()), now);
        }
        assert_eq!(rates.counts.len(), limits::CLIENTS_COUNTED_MAX);
    }
}
