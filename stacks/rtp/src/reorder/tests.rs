use proptest::prelude::*;

use super::*;

fn limits(max_packets: usize, millis: u64) -> ReorderLimits {
    ReorderLimits { max_packets, max_wait: Duration::from_millis(millis) }
}

/// What comes out, as text: numbers of packets, and gaps as `first+count`.
fn drain(buffer: &mut ReorderBuffer<()>, now: Instant) -> String {
    let outputs = std::iter::from_fn(|| buffer.poll(now)).map(|output| match output {
        Ordered::Packet { sequence, .. } => sequence.to_string(),
        Ordered::Gap { first, count } => format!("{first}+{count}"),
    });
    outputs.collect::<Vec<_>>().join(" ")
}

/// Name of the case, limits, and packets as milliseconds, number and output.
type Row = (&'static str, ReorderLimits, &'static [(u64, u64, &'static str)]);

#[test]
fn packets_are_reordered_and_gaps_are_reported() {
    let rows: [Row; 7] = [
        ("in order", limits(4, 10), &[(0, 7, "7"), (0, 8, "8"), (5, 9, "9")]),
        ("swapped", limits(4, 10), &[(0, 7, "7"), (1, 9, ""), (2, 8, "8 9")]),
        ("late", limits(4, 10), &[(0, 7, "7"), (1, 9, ""), (11, 10, "8+1 9 10"), (12, 8, "late")]),
        ("twice", limits(4, 10), &[(0, 7, "7"), (1, 9, ""), (1, 9, "twice"), (2, 7, "late")]),
        ("too many", limits(2, 10), &[(0, 7, "7"), (1, 9, ""), (1, 10, ""), (1, 11, "8+1 9 10 11")]),
        (
            "a leap",
            limits(2, 10),
            &[
                (0, 7, "7"),
                (1, u64::MAX / 2, ""),
                (2, 8, "8"),
                (11, 9, "9 10+4611686018427387893 9223372036854775807 x"),
            ],
        ),
        (
            "two holes",
            limits(9, 10),
            &[(0, 7, "7"), (1, 9, ""), (4, 11, ""), (11, 12, "8+1 9"), (14, 13, "10+1 11 12 13")],
        ),
    ];
    let start = Instant::now();
    for (what, limits, packets) in rows {
        let mut buffer = ReorderBuffer::new(limits);
        for (millis, sequence, expected) in packets {
            let now = start + Duration::from_millis(*millis);
            let seen = match buffer.insert(now, *sequence, ()) {
                Ok(()) => drain(&mut buffer, now),
                Err(InsertError::Late) => "late".into(),
                Err(InsertError::Duplicate) => "twice".into(),
            };
            if expected.ends_with('x') {
                assert!(seen.starts_with("9 10+"), "{what}: {seen}");
            } else {
                assert_eq!(seen, *expected, "{what}: {sequence}");
            }
        }
    }
}

#[test]
fn deadline_flush_and_reset_end_gaps() {
    let start = Instant::now();
    let mut buffer = ReorderBuffer::new(limits(4, 10));
    assert_eq!((buffer.next_deadline(), buffer.poll(start)), (None, None));
    buffer.insert(start, 1, ()).unwrap();
    assert_eq!(drain(&mut buffer, start), "1");
    buffer.insert(start + Duration::from_millis(3), 4, ()).unwrap();
    buffer.insert(start + Duration::from_millis(5), 3, ()).unwrap();
    let deadline = start + Duration::from_millis(13);
    assert_eq!((buffer.next_deadline(), buffer.len()), (Some(deadline), 2));
    assert_eq!(drain(&mut buffer, deadline - Duration::from_nanos(1)), "");
    assert_eq!(drain(&mut buffer, deadline), "2+1 3 4");
    assert!(buffer.is_empty() && buffer.next_deadline().is_none());
    buffer.insert(start, 9, ()).unwrap();
    assert_eq!(buffer.flush(), Some(Ordered::Gap { first: 5, count: 4 }));
    assert_eq!(buffer.flush(), Some(Ordered::Packet { sequence: 9, item: () }));
    assert_eq!(buffer.flush(), None);
    buffer.reset();
    assert_eq!(buffer.insert(start, 2, ()), Ok(()));
}

proptest! {
    /// For any input in any order: the output ascends, with gaps exactly where nothing was output, and no
    /// more is held than may be.
    #[test]
    fn what_comes_out_is_in_order_and_complete(
        arrivals in prop::collection::vec((0u64..80, 0u64..8), 1..200),
        max_packets in 0usize..10,
        max_wait in 0u64..20,
    ) {
        let mut now = Instant::now();
        let mut buffer = ReorderBuffer::new(limits(max_packets, max_wait));
        let mut next = None;
        let mut check = |output: Ordered<u64>| {
            let (at, count) = match output {
                Ordered::Packet { sequence, item } => {
                    assert_eq!(sequence, item);
                    (sequence, 1)
                }
                Ordered::Gap { first, count } => {
                    assert!(count > 0);
                    (first, count)
                }
            };
            assert!(next.is_none_or(|next| next == at));
            next = Some(at + count);
        };
        for (sequence, millis) in arrivals {
            now += Duration::from_millis(millis);
            let _ = buffer.insert(now, sequence, sequence);
            while let Some(output) = buffer.poll(now) {
                check(output);
            }
            prop_assert!(buffer.len() <= max_packets);
            prop_assert!(buffer.next_deadline().is_none_or(|deadline| deadline > now));
            prop_assert_eq!(buffer.next_deadline().is_some(), !buffer.is_empty());
        }
        while let Some(output) = buffer.flush() {
            check(output);
        }
        prop_assert!(buffer.is_empty());
    }
}
