//! Round trips through the encoders of the library, and rejected input.

use std::io::Write;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::ZlibEncoder;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Serializer, V2DeflateSerializer, V2Serializer};
use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::{Rng, SeedableRng};

use crate::histogram::{
    COUNT_MAX, ENCODED_BYTES_MAX, HEADER_BYTES, HistogramError, Latencies, TEXT_BYTES_MAX,
    V2_COMPRESSED_COOKIE, VALUE_MAX,
};

fn recorded(values: impl IntoIterator<Item = u64>) -> Histogram<u64> {
    let mut histogram = Histogram::new_with_bounds(1, 60_000_000_000, 3).unwrap();
    values.into_iter().for_each(|value| histogram.record(value).unwrap());
    histogram
}

fn plain(histogram: &Histogram<u64>) -> Vec<u8> {
    let mut bytes = Vec::new();
    V2Serializer::new().serialize(histogram, &mut bytes).unwrap();
    bytes
}

fn decode_bytes(bytes: &[u8]) -> Result<Latencies, HistogramError> {
    Latencies::decode(&STANDARD.encode(bytes))
}

fn compressed(inner: &[u8]) -> Vec<u8> {
    let mut stream = ZlibEncoder::new(Vec::new(), Compression::best());
    stream.write_all(inner).unwrap();
    let stream = stream.finish().unwrap();
    [&V2_COMPRESSED_COOKIE.to_be_bytes()[..], &(stream.len() as u32).to_be_bytes(), &stream].concat()
}

#[test]
fn both_encodings_round_trip() {
    let histogram = recorded((1..=10_000).map(|i| i * 1_000));
    let mut deflated = Vec::new();
    V2DeflateSerializer::new().serialize(&histogram, &mut deflated).unwrap();
    for bytes in [plain(&histogram), deflated] {
        let latencies = decode_bytes(&bytes).unwrap();
        assert_eq!(latencies.count(), 10_000);
        for (q, expected) in [(0.5, 5e6), (0.9, 9e6), (0.99, 9.9e6), (0.999, 9.99e6), (1.0, 1e7)] {
            let got = latencies.quantile(q).unwrap();
            assert!((got as f64 / expected - 1.0).abs() < 1e-3, "{q}: {got}");
        }
    }
}

/// 900 fast and 100 slow values in one trial, 1,000 slow in the other: the merged median is slow, the mean of
/// the medians is neither.
#[test]
fn merging_adds_counts_with_different_bounds() {
    let mut fine = Histogram::new_with_bounds(1, 1_000_000, 2).unwrap();
    fine.record_n(100, 900).unwrap();
    fine.record_n(10_000, 100).unwrap();
    let slow = recorded(std::iter::repeat_n(10_000, 1_000));
    let parts = [plain(&fine), plain(&slow), plain(&recorded([]))].map(|bytes| decode_bytes(&bytes).unwrap());
    let merged = Latencies::merge(&parts).unwrap().unwrap();
    assert_eq!(merged.count(), 2_000);
    assert_eq!(merged.quantile(0.45), Some(100));
    // The coarser part has a resolution of two digits.
    assert!(merged.quantile(0.5).unwrap().abs_diff(10_000) <= 100);
    assert_eq!(Latencies::merge([]).unwrap(), None);
}

#[test]
fn the_curve_rises_to_one() {
    let curve = Latencies { counts: recorded(1..=100_000) }.curve();
    assert!(curve.len() > 20 && curve.len() < 500, "{}", curve.len());
    assert!(curve.is_sorted());
    assert_eq!(curve.last().unwrap().0, 1.0);
    assert!(Latencies { counts: recorded([]) }.curve().len() <= 1);
}

#[test]
fn an_empty_histogram_has_no_quantile() {
    let empty = decode_bytes(&plain(&recorded([]))).unwrap();
    assert_eq!((empty.quantile(0.5), empty.quantile(1.0)), (None, None));
    let one = decode_bytes(&plain(&recorded([5]))).unwrap();
    assert_eq!((one.quantile(0.999), one.quantile(f64::NAN), one.quantile(1.5)), (Some(5), None, None));
}

#[test]
fn the_largest_values_merge() {
    let mut top = Histogram::new_with_bounds(1, VALUE_MAX, 3).unwrap();
    top.record(VALUE_MAX).unwrap();
    top.record(1).unwrap();
    let part = decode_bytes(&plain(&top)).unwrap();
    let merged = Latencies::merge([&part, &part]).unwrap().unwrap();
    assert_eq!(merged.count(), 4);
    assert!(merged.quantile(1.0).unwrap() >= VALUE_MAX);
    let mut many = Histogram::new(3).unwrap();
    many.record_n(1, COUNT_MAX).unwrap();
    let part = decode_bytes(&plain(&many)).unwrap();
    assert_eq!(Latencies::merge([&part, &part]), Err(HistogramError::TooManyValues));
}

#[test]
fn invalid_encodings_are_rejected() {
    let good = plain(&recorded([1, 2, 3]));
    let with = |at: usize, bytes: &[u8]| {
        let mut changed = good.clone();
        changed[at..at + bytes.len()].copy_from_slice(bytes);
        decode_bytes(&changed).unwrap_err()
    };
    assert_eq!(with(0, &[1, 2, 3, 4]), HistogramError::UnknownCookie(0x0102_0304));
    assert!(matches!(with(4, &u32::MAX.to_be_bytes()), HistogramError::CutShort { .. }));
    assert!(matches!(with(8, &1u32.to_be_bytes()), HistogramError::Malformed(_)));
    assert_eq!(with(12, &5u32.to_be_bytes()), HistogramError::TooManyDigits(5));
    assert!(matches!(with(16, &0u64.to_be_bytes()), HistogramError::Malformed(_)));
    assert_eq!(with(24, &u64::MAX.to_be_bytes()), HistogramError::ValueTooHigh(u64::MAX));
    assert_eq!(
        Latencies::decode(&"A".repeat(TEXT_BYTES_MAX + 1)),
        Err(HistogramError::TextTooLong(TEXT_BYTES_MAX + 1))
    );
    assert!(matches!(Latencies::decode("no!"), Err(HistogramError::NotBase64(_))));
    assert!(matches!(Latencies::decode(""), Err(HistogramError::CutShort { .. })));

    let mut overflowing = good[..HEADER_BYTES].to_vec();
    overflowing[4..8].copy_from_slice(&9u32.to_be_bytes());
    overflowing.extend([0xff; 9]);
    assert_eq!(decode_bytes(&overflowing), Err(HistogramError::TooManyValues));

    let bomb = compressed(&vec![0; ENCODED_BYTES_MAX + 1]);
    assert_eq!(decode_bytes(&bomb), Err(HistogramError::InflatedTooLong));
    let nested = compressed(&compressed(&good));
    assert_eq!(decode_bytes(&nested), Err(HistogramError::UnknownCookie(V2_COMPRESSED_COOKIE)));
    assert!(matches!(decode_bytes(&compressed(&good)[..30]), Err(HistogramError::CutShort { .. })));
}

/// Damaged and random encodings cause no panic. A decoded histogram can be merged and read.
#[test]
fn no_bytes_panic() {
    const SEED: u64 = 7;
    println!("seed {SEED}");
    let mut random = Pcg64Mcg::seed_from_u64(SEED);
    let good = plain(&recorded((0..200).map(|i| i * i * 1_000)));
    for round in 0..1_000 {
        let mut bytes = good.clone();
        for _ in 0..=round % 8 {
            let at = random.next_u64() as usize % bytes.len();
            bytes[at] = random.next_u64() as u8;
        }
        bytes.truncate(
            bytes.len() - if round % 5 == 0 { random.next_u64() as usize % bytes.len() } else { 0 },
        );
        let packed = if round % 3 == 0 { compressed(&bytes) } else { bytes };
        if let Ok(latencies) = decode_bytes(&packed) {
            let merged = Latencies::merge([&latencies, &latencies]).ok().flatten();
            let read = merged.as_ref().and_then(|m| m.quantile(0.5));
            assert_eq!(read.is_some(), latencies.count() > 0 && merged.is_some());
            assert!(latencies.curve().is_sorted());
        }
    }
}
