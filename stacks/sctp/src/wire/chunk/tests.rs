use proptest::prelude::*;

use super::*;
use crate::wire::Causes;

/// Types that are known, and how short their values may be.
const KNOWN: [(u8, usize); 19] = [
    (0, 13),
    (1, 16),
    (2, 16),
    (3, 12),
    (4, 4),
    (5, 4),
    (6, 0),
    (7, 4),
    (8, 0),
    (9, 0),
    (10, 0),
    (11, 0),
    (14, 0),
    (64, 17),
    (130, 8),
    (132, 0),
    (192, 4),
    (194, 4),
    (255, 0),
];

/// Looks at everything that a chunk gives on demand, and counts it.
fn walk(chunk: &Chunk<'_>) -> usize {
    match chunk {
        Chunk::Data(data) => data.payload.len(),
        Chunk::Init(init) | Chunk::InitAck(init) => init.unrecognized.count(),
        Chunk::Sack(sack) => sack.gaps.count(),
        Chunk::Abort(abort) => walk_causes(abort.causes),
        Chunk::Error(error) => walk_causes(error.causes),
        Chunk::ReConfig(re_config) => re_config.items().count(),
        Chunk::ForwardTsn(forward) => forward.skipped.count(),
        _ => 0,
    }
}

fn walk_causes(causes: Causes<'_>) -> usize {
    let texts: Vec<String> = causes.map(|cause| cause.to_string()).collect();
    texts.len()
}

#[test]
fn every_type_has_its_chunk() {
    for kind in 0..=255 {
        let parsed = Chunk::parse(&RawChunk { kind, flags: 0, value: &[] });
        let known = KNOWN.iter().any(|&(k, _)| k == kind && k != 255);
        assert_eq!(matches!(parsed, Ok(Chunk::Unknown { .. })), !known, "{kind}");
    }
}

#[test]
fn the_two_high_bits_say_what_an_unknown_one_does() {
    for (kind, skips, reports) in
        [(0x3f, false, false), (0x7f, false, true), (0x80, true, false), (0xff, true, true)]
    {
        let raw = RawChunk { kind, flags: 0, value: &[] };
        assert_eq!(Chunk::parse(&raw), Ok(Chunk::Unknown { kind, raw }));
        assert_eq!((raw.skips_if_unknown(), raw.reports_if_unknown()), (skips, reports), "{kind:#x}");
    }
}

#[test]
fn no_chunk_is_shorter_than_its_fields() {
    for (kind, shortest) in KNOWN {
        for length in 0..shortest {
            let raw = RawChunk { kind, flags: 0, value: &[1; 32][..length] };
            assert!(Chunk::parse(&raw).is_err(), "{kind} {length}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 20 } else { 2000 }))]

    #[test]
    fn any_value_of_any_length_is_read_in_bounds(
        which in 0..KNOWN.len(),
        flags in any::<u8>(),
        // Small numbers make lengths and types that are right more often.
        value in prop::collection::vec(prop_oneof![0u8..20, any::<u8>()], 0..80),
    ) {
        for length in 0..=value.len() {
            let raw = RawChunk { kind: KNOWN[which].0, flags, value: &value[..length] };
            if let Ok(chunk) = Chunk::parse(&raw) {
                prop_assert!(walk(&chunk) <= length);
            }
        }
    }
}
