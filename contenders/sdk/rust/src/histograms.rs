//! Latency histograms with one sample per answer.

use std::sync::{Mutex, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Serializer as _, V2Serializer};

/// The range of values. Greater values count as the maximum.
const MIN_NS: u64 = 1;
const MAX_NS: u64 = 60_000_000_000;
const SIGNIFICANT_DIGITS: u8 = 3;
/// The maximum number of shards that lanes share. A shard takes about 220 KiB per name after its first sample; a lane holds its lock for a few ns.
const MAX_SHARDS: usize = 16;
const CLOSED_LOOP: &[&str] = &["latency"];
const OPEN_LOOP: &[&str] = &["latency", "service", "lateness"];

/// The histograms of all lanes, as specified by the workloads' contracts.
#[derive(Debug)]
pub struct Histograms {
    names: &'static [&'static str],
    shards: Box<[Shard]>,
}

/// One histogram per name, allocated at the first sample to save memory. Aligned to avoid false sharing.
#[derive(Debug)]
#[repr(align(128))]
struct Shard(Mutex<Option<Box<[Histogram<u64>]>>>);

impl Histograms {
    /// Creates `latency`, and for an open loop also `service` and `lateness`.
    pub fn new(lanes: usize, open_loop: bool) -> Self {
        Self::named(lanes, if open_loop { OPEN_LOOP } else { CLOSED_LOOP })
    }

    /// Creates histograms with one or three names. A single one records the time from `sent_ns` to `echo_ns`.
    pub fn named(lanes: usize, names: &'static [&'static str]) -> Self {
        Self { names, shards: (0..lanes.min(MAX_SHARDS)).map(|_| Shard(Mutex::default())).collect() }
    }

    /// Records an echo of a lane. `due_ns` is used in an open loop only.
    pub fn record(&self, lane: usize, due_ns: u64, sent_ns: u64, echo_ns: u64) {
        self.record_many(lane, due_ns, sent_ns, echo_ns, 1);
    }

    /// Records several echoes of a lane with the same times.
    pub fn record_many(&self, lane: usize, due_ns: u64, sent_ns: u64, echo_ns: u64, echoes: u64) {
        let Shard(shard) = &self.shards[lane % self.shards.len()];
        let mut shard = shard.lock().unwrap_or_else(PoisonError::into_inner);
        let histograms = shard.get_or_insert_with(|| self.names.iter().map(|_| empty()).collect());
        let mut record = |at: usize, from_ns: u64, to_ns: u64| {
            histograms[at].saturating_record_n(to_ns.saturating_sub(from_ns).min(MAX_NS), echoes);
        };
        if self.names.len() == CLOSED_LOOP.len() {
            return record(0, sent_ns, echo_ns);
        }
        record(0, due_ns, echo_ns);
        record(1, sent_ns, echo_ns);
        record(2, due_ns, sent_ns);
    }

    /// Returns the histograms by name, summed over all lanes, as HDR V2 in base64.
    pub fn encode(&self) -> Result<Vec<(&'static str, String)>, String> {
        let encoded = self.names.iter().enumerate().map(|(at, name)| {
            let mut bytes = Vec::new();
            V2Serializer::new()
                .serialize(&self.sum(at), &mut bytes)
                .map_err(|error| format!("histogram `{name}`: {error}"))?;
            Ok((*name, STANDARD.encode(bytes)))
        });
        encoded.collect()
    }

    #[cfg(all(test, any(feature = "echonet", feature = "rtt")))]
    pub(crate) fn samples(&self) -> u64 {
        self.sum(0).len()
    }

    fn sum(&self, at: usize) -> Histogram<u64> {
        self.shards.iter().fold(empty(), |mut sum, Shard(shard)| {
            if let Some(histograms) = &*shard.lock().unwrap_or_else(PoisonError::into_inner) {
                sum += &histograms[at];
            }
            sum
        })
    }
}

fn empty() -> Histogram<u64> {
    Histogram::new_with_bounds(MIN_NS, MAX_NS, SIGNIFICANT_DIGITS).expect("the bounds are valid constants")
}

#[cfg(test)]
mod tests {
    use hdrhistogram::serialization::Deserializer;

    use super::*;

    fn decoded(histograms: &Histograms) -> Vec<(&'static str, Histogram<u64>)> {
        let decode = |text: String| {
            let bytes = STANDARD.decode(text).unwrap();
            Deserializer::new().deserialize(&mut bytes.as_slice()).unwrap()
        };
        histograms.encode().unwrap().into_iter().map(|(name, text)| (name, decode(text))).collect()
    }

    #[test]
    fn an_open_loop_records_service_and_lateness() {
        let histograms = Histograms::new(100, true);
        for lane in 0..100 {
            histograms.record(lane, 1_000, 4_000, 11_000);
        }
        let close = |histogram: &Histogram<u64>, value| histogram.equivalent(histogram.max(), value);
        for ((name, histogram), (wanted, value)) in
            decoded(&histograms).iter().zip([("latency", 10_000), ("service", 7_000), ("lateness", 3_000)])
        {
            assert_eq!((*name, histogram.len()), (wanted, 100));
            assert!(close(histogram, value), "{name}: {}", histogram.max());
        }
    }

    #[test]
    fn a_closed_loop_records_latency_from_the_send() {
        let histograms = Histograms::new(1, false);
        histograms.record(0, 0, 5_000, 5_000);
        histograms.record(0, 0, 5_000, 5_000 + 2 * MAX_NS);
        let found = decoded(&histograms);
        assert_eq!(found.len(), 1);
        let (name, histogram) = &found[0];
        assert_eq!((*name, histogram.len(), histogram.min()), ("latency", 2, 0));
        assert!(histogram.equivalent(histogram.max(), MAX_NS));
    }
}
