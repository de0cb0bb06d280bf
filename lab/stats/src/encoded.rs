//! An encoded latency histogram with a cache of common quantiles.
//!
//! Every comparison of a contender needs the same quantiles. The counts are not cached: a run has thousands of
//! histograms of up to 7 MB each.

use std::sync::OnceLock;

use serde::{Deserialize, Serialize};

use super::histogram::{HistogramError, Latencies};

/// Cached quantiles. Any other quantile decodes the histogram.
const CACHED: [f64; 5] = [0.5, 0.9, 0.99, 0.999, 1.0];

/// A histogram as received: HDR V2 in base64, not validated.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub struct Encoded {
    text: String,
    cache: OnceLock<Result<Cache, HistogramError>>,
}

#[derive(Debug, Clone, Copy)]
struct Cache {
    count: u64,
    /// Values at [`CACHED`]; `None` without values.
    at: [Option<u64>; CACHED.len()],
}

impl Encoded {
    /// The text as received.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Decodes the histogram.
    ///
    /// # Errors
    /// See [`Latencies::decode`].
    pub fn decode(&self) -> Result<Latencies, HistogramError> {
        let decoded = Latencies::decode(&self.text);
        self.cache.get_or_init(|| decoded.as_ref().map_err(Clone::clone).and_then(Cache::new));
        decoded
    }

    /// A quantile, equal to [`Latencies::quantile`] of a merged histogram, and the number of values.
    ///
    /// # Errors
    /// See [`Latencies::decode`].
    pub fn quantile(&self, q: f64) -> Result<Option<(u64, u64)>, HistogramError> {
        let Some(index) = CACHED.iter().position(|cached| *cached == q) else {
            let decoded = self.decode()?;
            return Ok(decoded.alone()?.quantile(q).map(|value| (value, decoded.count())));
        };
        let cache = self.cache.get_or_init(|| Cache::new(&Latencies::decode(&self.text)?));
        cache.as_ref().map_err(Clone::clone).map(|cache| Some((cache.at[index]?, cache.count)))
    }
}

impl Cache {
    fn new(latencies: &Latencies) -> Result<Cache, HistogramError> {
        let alone = latencies.alone()?;
        Ok(Cache { count: latencies.count(), at: CACHED.map(|q| alone.quantile(q)) })
    }
}

impl From<String> for Encoded {
    fn from(text: String) -> Encoded {
        Encoded { text, cache: OnceLock::new() }
    }
}

impl From<&str> for Encoded {
    fn from(text: &str) -> Encoded {
        text.to_owned().into()
    }
}

impl From<Encoded> for String {
    fn from(encoded: Encoded) -> String {
        encoded.text
    }
}

impl PartialEq for Encoded {
    fn eq(&self, other: &Encoded) -> bool {
        self.text == other.text
    }
}

#[cfg(test)]
mod tests {
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;
    use hdrhistogram::Histogram;
    use hdrhistogram::serialization::{Serializer, V2Serializer};

    use super::*;

    fn encoded(histogram: &Histogram<u64>) -> Encoded {
        let mut bytes = Vec::new();
        V2Serializer::new().serialize(histogram, &mut bytes).unwrap();
        STANDARD.encode(bytes).into()
    }

    /// For any resolution and order of calls, quantiles equal those of a merged histogram.
    #[test]
    fn cached_quantiles_equal_those_of_a_merged_histogram() {
        for (lowest, digits) in [(1, 3), (1, 2), (1000, 3), (7, 1)] {
            let mut histogram = Histogram::new_with_bounds(lowest, 60_000_000_000, digits).unwrap();
            (1..=5000u64).for_each(|i| histogram.record(i * i * 37 + 1000).unwrap());
            let merged = Latencies::merge([&encoded(&histogram).decode().unwrap()]).unwrap().unwrap();
            for decoded_first in [true, false] {
                let encoded = encoded(&histogram);
                if decoded_first {
                    encoded.decode().unwrap();
                }
                for q in [0.0, 0.123, 0.5, 0.9, 0.95, 0.99, 0.999, 1.0] {
                    let wanted = merged.quantile(q).map(|value| (value, 5000));
                    assert_eq!(encoded.quantile(q).unwrap(), wanted, "{lowest} {digits} {q}");
                }
            }
        }
    }

    #[test]
    fn empty_and_invalid_histograms_have_no_quantile() {
        let empty = encoded(&Histogram::new(3).unwrap());
        let damaged = Encoded::from("AAAA");
        for q in [0.5, 0.7] {
            assert_eq!(empty.quantile(q), Ok(None));
            assert_eq!(damaged.quantile(q), Err(damaged.decode().unwrap_err()));
        }
        let merged = Latencies::merge([&empty.decode().unwrap()]).unwrap();
        assert_eq!(merged.and_then(|one| one.quantile(2.0)), empty.quantile(2.0).unwrap().map(|(v, _)| v));
    }
}
