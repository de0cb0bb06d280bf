use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;

fn blocks(set: &BTreeSet<u64>, cumulative: u64) -> Vec<(u16, u16)> {
    let mut blocks: Vec<(u16, u16)> = Vec::new();
    for offset in set.iter().map(|position| (position - cumulative) as u16) {
        match blocks.last_mut() {
            Some((_, last)) if *last + 1 == offset => *last = offset,
            _ => blocks.push((offset, offset)),
        }
    }
    blocks
}

#[test]
fn what_is_a_duplicate() {
    let mut received = Received::new(Tsn(0));
    assert_eq!(received.cumulative_tsn(), Tsn(u32::MAX));
    received.insert(received.position_after(Tsn(2)).unwrap());
    for (tsn, expected) in [
        (u32::MAX, Some(Arrival::Duplicate)),
        (u32::MAX - 5, Some(Arrival::Duplicate)),
        (1 << 31, Some(Arrival::Duplicate)),
        ((1 << 31) - 2, Some(Arrival::TooFar)),
        (65_472, Some(Arrival::TooFar)),
        (2, Some(Arrival::Duplicate)),
        (65_471, None),
        (0, None),
        (1, None),
        (3, None),
    ] {
        let arrival = received.classify(Tsn(tsn), SPAN);
        match expected {
            Some(expected) => assert_eq!(arrival, expected, "{tsn}"),
            None => assert!(matches!(arrival, Arrival::New(_)), "{tsn}"),
        }
    }
}

#[test]
fn the_whole_span_is_told_apart() {
    for initial in [0, 1, 63, 64, 100, u32::MAX - 40_000] {
        let mut received = Received::new(Tsn(initial));
        let mut set = BTreeSet::new();
        let cumulative = received.cumulative();
        // The last first, then all but the next: the ring is as long as it gets, and full.
        for offset in std::iter::once(SPAN).chain(2..SPAN) {
            received.insert(cumulative + offset);
            set.insert(cumulative + offset);
            if offset % 9973 == 0 {
                assert_eq!(received.gap_blocks().collect::<Vec<_>>(), blocks(&set, cumulative));
            }
        }
        assert_eq!(received.heap_bytes(), 8192);
        received.insert(cumulative + 1);
        assert_eq!((received.cumulative(), received.has_gap()), (cumulative + SPAN, false));
        assert!(received.words.iter().all(|word| *word == 0));
        received.release();
        assert_eq!(received.heap_bytes(), 0);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    /// The ring says what a set of positions says.
    #[test]
    fn it_is_a_set(
        initial: u32,
        steps in prop::collection::vec((0..20u8, prop_oneof![1..8u64, 1..200u64, 1..SPAN + 10]), 1..300),
    ) {
        let mut received = Received::new(Tsn(initial));
        let (mut cumulative, mut set) = (received.cumulative(), BTreeSet::new());
        for (kind, ahead) in steps {
            let position = cumulative + ahead;
            if kind == 0 {
                received.advance_to(position);
                cumulative = position;
                set = set.split_off(&(position + 1));
            } else {
                match received.classify(Tsn(position as u32), SPAN) {
                    Arrival::Duplicate => prop_assert!(set.contains(&position)),
                    Arrival::TooFar => prop_assert!(ahead > SPAN),
                    Arrival::New(found) => {
                        prop_assert!(found == position && set.insert(position));
                        received.insert(position);
                    }
                }
            }
            while set.remove(&(cumulative + 1)) {
                cumulative += 1;
            }
            prop_assert_eq!(received.cumulative(), cumulative);
            prop_assert_eq!(received.has_gap(), !set.is_empty());
            prop_assert_eq!(received.gap_blocks().collect::<Vec<_>>(), blocks(&set, cumulative));
        }
    }
}
