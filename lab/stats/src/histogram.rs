//! Latency histograms of contenders: decoding within limits, merging, quantiles.
//!
//! The encoding is HdrHistogram's V2, plain or compressed (zlib), in base64: the format of the Java library's
//! `encodeIntoByteBuffer` and `encodeIntoCompressedByteBuffer`, which its ports share. Big endian:
//!
//! ```text
//! | cookie u32 | payload length u32 | normalising offset u32 | digits u32 | lowest u64 | highest u64 |
//! | ratio f64 | payload |
//!
//! | compressed cookie u32 | length u32 | zlib stream of the above |
//! ```
//!
//! The payload is a list of zigzag LEB128 numbers: a count, or minus the length of a run of empty buckets.
//! Percentiles of several trials are computed from the merged counts. An average of percentiles is not a percentile,
//! and this module does not offer one.

use std::borrow::Cow;
use std::io::Read;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::read::ZlibDecoder;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;

/// Maximum length of the base64 text: one line of the contender protocol.
pub const TEXT_BYTES_MAX: usize = 1 << 20;
/// Maximum length of the V2 encoding after decompression.
pub const ENCODED_BYTES_MAX: usize = 8 << 20;
/// Maximum number of significant decimal digits. Four need up to 7 MB of counters, five would need 50 MB.
pub const DIGITS_MAX: u32 = 4;
/// Maximum trackable value, in the unit of the histogram; in nanoseconds, 292 years.
pub const VALUE_MAX: u64 = i64::MAX as u64;
/// Maximum number of values of a histogram, merged or not: all counts up to it are exact as floats.
pub const COUNT_MAX: u64 = 1 << 53;

const V2_COOKIE: u32 = 0x1c84_9313;
pub(crate) const V2_COMPRESSED_COOKIE: u32 = 0x1c84_9314;
const COMPRESSED_HEADER_BYTES: usize = 8;
pub(crate) const HEADER_BYTES: usize = 40;
/// Points of the curve for each halving of the remaining values.
const CURVE_POINTS_PER_HALVING: u32 = 5;

/// A contender's histogram is invalid. The contender is always at fault.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages document the variants")]
pub enum HistogramError {
    #[error("histogram: {0} bytes of text exceed the limit of {TEXT_BYTES_MAX}")]
    TextTooLong(usize),
    #[error("histogram: not base64: {0}")]
    NotBase64(String),
    #[error("histogram: the compressed part cannot be decompressed: {0}")]
    NotZlib(String),
    #[error("histogram: more than {ENCODED_BYTES_MAX} bytes after decompression")]
    InflatedTooLong,
    #[error("histogram: cookie {0:#010x} is neither HDR V2 nor HDR V2 compressed")]
    UnknownCookie(u32),
    #[error("histogram: the header needs {needed} bytes, but there are {present}")]
    CutShort { present: usize, needed: usize },
    #[error("histogram: {0} significant digits exceed the limit of {DIGITS_MAX}")]
    TooManyDigits(u32),
    #[error("histogram: highest trackable value {0} exceeds the limit of {VALUE_MAX}")]
    ValueTooHigh(u64),
    #[error("histogram: more than {COUNT_MAX} values")]
    TooManyValues,
    #[error("histogram: {0}")]
    Malformed(String),
}

/// Latencies of one trial, or of several merged.
#[derive(Debug, Clone, PartialEq)]
pub struct Latencies {
    pub(crate) counts: Histogram<u64>,
}

impl Latencies {
    /// Decodes a histogram.
    ///
    /// # Errors
    /// If the text is not a V2 histogram within the limits of this module.
    pub fn decode(text: &str) -> Result<Self, HistogramError> {
        if text.len() > TEXT_BYTES_MAX {
            return Err(HistogramError::TextTooLong(text.len()));
        }
        let bytes = STANDARD.decode(text.trim()).map_err(|e| HistogramError::NotBase64(e.to_string()))?;
        match u32::from_be_bytes(field(&bytes, 0)?) {
            V2_COOKIE => Self::decode_plain(&bytes),
            V2_COMPRESSED_COOKIE => Self::decode_plain(&inflate(&bytes)?),
            other => Err(HistogramError::UnknownCookie(other)),
        }
    }

    /// Validates the header before the library allocates memory for it.
    fn decode_plain(bytes: &[u8]) -> Result<Self, HistogramError> {
        let cookie = u32::from_be_bytes(field(bytes, 0)?);
        if cookie != V2_COOKIE {
            return Err(HistogramError::UnknownCookie(cookie));
        }
        let payload_bytes = u32::from_be_bytes(field(bytes, 4)?) as usize;
        let digits = u32::from_be_bytes(field(bytes, 12)?);
        let highest = u64::from_be_bytes(field(bytes, 24)?);
        let needed = HEADER_BYTES.saturating_add(payload_bytes);
        if bytes.len() < needed {
            return Err(HistogramError::CutShort { present: bytes.len(), needed });
        }
        if digits > DIGITS_MAX {
            return Err(HistogramError::TooManyDigits(digits));
        }
        if highest > VALUE_MAX {
            return Err(HistogramError::ValueTooHigh(highest));
        }
        // The library negates the length of an empty run, which overflows for i64::MIN: nine bytes of 0xff.
        // In a valid payload they could only follow a count near 2^63.
        if bytes[HEADER_BYTES..].windows(9).any(|window| window == [0xff; 9]) {
            return Err(HistogramError::TooManyValues);
        }
        let counts: Histogram<u64> = Deserializer::new()
            .deserialize(&mut &bytes[..needed])
            .map_err(|e| HistogramError::Malformed(e.to_string()))?;
        if counts.len() > COUNT_MAX {
            return Err(HistogramError::TooManyValues);
        }
        Ok(Self { counts })
    }

    /// Merges all values of all parts, at the finest precision among them. `None` without a part.
    ///
    /// # Errors
    /// If there are more than [`COUNT_MAX`] values in total.
    pub fn merge<'a>(parts: impl IntoIterator<Item = &'a Self>) -> Result<Option<Self>, HistogramError> {
        let parts: Vec<&Self> = parts.into_iter().collect();
        let Some(digits) = parts.iter().map(|part| part.counts.sigfig()).max() else { return Ok(None) };
        if parts.iter().map(|part| part.counts.len()).fold(0, u64::saturating_add) > COUNT_MAX {
            return Err(HistogramError::TooManyValues);
        }
        // Without bounds, the histogram grows as values are added.
        let mut counts = Histogram::new(digits).map_err(|e| HistogramError::Malformed(e.to_string()))?;
        for part in parts {
            counts.add(&part.counts).map_err(|e| HistogramError::Malformed(e.to_string()))?;
        }
        Ok(Some(Self { counts }))
    }

    /// The result of merging this histogram alone: resolution is then independent of the lowest trackable value.
    pub(super) fn alone(&self) -> Result<Cow<'_, Self>, HistogramError> {
        if self.counts.low() == 1 {
            return Ok(Cow::Borrowed(self));
        }
        Ok(Self::merge([self])?.map_or(Cow::Borrowed(self), Cow::Owned))
    }

    /// Number of values.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.counts.len()
    }

    /// The `q`-quantile: the top of the first bucket at or below which at least `q` of the values lie. `None`
    /// if there are no values or `q` is not between 0 and 1.
    #[must_use]
    pub fn quantile(&self, q: f64) -> Option<u64> {
        let valid = !self.counts.is_empty() && (0.0..=1.0).contains(&q);
        valid.then(|| self.counts.value_at_quantile(q))
    }

    /// The curve as pairs of quantile and value, increasing in both, denser towards 1 like HDR plots; a few hundred
    /// points at most.
    #[must_use]
    pub fn curve(&self) -> Vec<(f64, u64)> {
        let points = self.counts.iter_quantiles(CURVE_POINTS_PER_HALVING);
        points.map(|point| (point.quantile(), point.value_iterated_to())).collect()
    }
}

fn field<const N: usize>(bytes: &[u8], at: usize) -> Result<[u8; N], HistogramError> {
    let found = bytes.get(at..at + N).and_then(|slice| slice.try_into().ok());
    found.ok_or(HistogramError::CutShort { present: bytes.len(), needed: HEADER_BYTES })
}

fn inflate(bytes: &[u8]) -> Result<Vec<u8>, HistogramError> {
    let length = u32::from_be_bytes(field(bytes, 4)?) as usize;
    let needed = COMPRESSED_HEADER_BYTES.saturating_add(length);
    let stream = bytes
        .get(COMPRESSED_HEADER_BYTES..needed)
        .ok_or(HistogramError::CutShort { present: bytes.len(), needed })?;
    let mut inflated = Vec::new();
    ZlibDecoder::new(stream)
        .take(ENCODED_BYTES_MAX as u64 + 1)
        .read_to_end(&mut inflated)
        .map_err(|e| HistogramError::NotZlib(e.to_string()))?;
    if inflated.len() > ENCODED_BYTES_MAX {
        return Err(HistogramError::InflatedTooLong);
    }
    Ok(inflated)
}
