use proptest::prelude::*;

use super::*;

fn header(sequence: u16, timestamp: u32) -> Header {
    Header {
        sequence: Sequence(sequence),
        timestamp: Timestamp(timestamp),
        ssrc: Ssrc(7),
        ..Header::default()
    }
}

fn books(now: Instant, first: u16) -> Reception {
    Reception::new(now, &header(first, 0), 90_000)
}

#[test]
fn source_is_valid_after_probation() {
    let now = Instant::now();
    use Arrival::{OutOfReach, Probation, Restarted, Valid};
    const A: u64 = 65_536;
    let rows: [(&str, &[(u16, Arrival)]); 7] = [
        ("two in a row", &[(9, Probation(A + 9)), (10, Valid(A + 10)), (11, Valid(A + 11))]),
        ("a hole begins it again", &[(9, Probation(A + 9)), (11, Probation(A + 11)), (12, Valid(A + 12))]),
        ("twice the same is no row", &[(9, Probation(A + 9)), (9, Probation(A + 9)), (10, Valid(A + 10))]),
        (
            "wraps",
            &[
                (65_535, Probation(A + 65_535)),
                (0, Valid(2 * A)),
                (65_535, Valid(2 * A - 1)),
                (1, Valid(2 * A + 1)),
            ],
        ),
        (
            "near enough, both ways",
            &[
                (0, Probation(A)),
                (1, Valid(A + 1)),
                (3000, Valid(A + 3000)),
                (2900, Valid(A + 2900)),
                (2899, OutOfReach),
            ],
        ),
        (
            "a leap is believed once it goes on",
            &[
                (0, Probation(A)),
                (1, Valid(A + 1)),
                (3001, OutOfReach),
                (3002, Restarted(A + 3002)),
                (3003, Valid(A + 3003)),
            ],
        ),
        (
            "a stray packet changes nothing",
            &[
                (0, Probation(A)),
                (1, Valid(A + 1)),
                (30_000, OutOfReach),
                (2, Valid(A + 2)),
                (30_001, OutOfReach),
                (3, Valid(A + 3)),
            ],
        ),
    ];
    for (what, packets) in rows {
        let mut books = books(now, packets[0].0);
        for (sequence, expected) in packets {
            assert_eq!(books.handle_packet(now, &header(*sequence, 0)), *expected, "{what}: {sequence}");
        }
    }
    let mut announced = Reception::announced(now, &header(9, 0), 90_000);
    assert_eq!(announced.handle_packet(now, &header(9, 0)), Valid(A + 9));
    assert_eq!(announced.stats().expected, 1);
}

#[test]
fn fraction_lost_covers_one_interval() {
    let now = Instant::now();
    let mut books = books(now, 99);
    assert_eq!(books.report(now), None);
    books.handle_packet(now, &header(99, 0));
    assert_eq!(books.report(now), None);
    for (arrived, fraction_lost, cumulative_lost, highest) in [
        (&[100, 101, 102, 103][..], 0, 0, 103),
        (&[104, 107], 128, 2, 107),
        (&[], 0, 2, 107),
        // One of the lost, late: more came than was expected.
        (&[105], 0, 1, 107),
        (&[108, 108, 108], 0, -1, 108),
        (&[109, 110, 111, 115], 146 - 1 - 36, 2, 115),
    ] {
        for sequence in arrived {
            books.handle_packet(now, &header(*sequence, 0));
        }
        let report = books.report(now).unwrap();
        let seen = (report.fraction_lost, report.cumulative_lost, report.highest_sequence);
        assert_eq!(seen, (fraction_lost, cumulative_lost, highest), "{arrived:?}");
    }
}

#[test]
fn jitter_matches_the_rfc() {
    let start = Instant::now();
    let mut books = books(start, 0);
    books.handle_packet(start, &header(0, 0));
    // Every 10 ms, and every second one 2 ms late: transit times differ by 180 ticks always.
    let mut expected = 0.0;
    for n in 1..200u32 {
        let late = u64::from(n % 2) * 2;
        let now = start + Duration::from_millis(u64::from(n) * 10 + late);
        books.handle_packet(now, &header(n as u16, n * 900));
        if n > 1 {
            expected += (180.0 - expected) / 16.0;
        }
        let jitter = f64::from(books.stats().jitter_ticks);
        assert!((jitter - expected).abs() < 2.0, "{n}: {jitter} is not {expected}");
    }
    let stats = books.stats();
    assert!((177..=180).contains(&stats.jitter_ticks), "{stats:?}");
    assert_eq!(stats.jitter, duration(stats.jitter_ticks, 90_000));
}

#[test]
fn sender_reports_provide_delay_and_wall_clock() {
    let start = Instant::now();
    let mut books = books(start, 0);
    books.handle_packet(start, &header(0, 0));
    books.handle_packet(start, &header(1, 0));
    let ntp = NtpTime::from_unix(Duration::from_secs(1_000));
    let info = SenderInfo { ssrc: Ssrc(7), ntp, rtp: Timestamp(u32::MAX), packets: 2, octets: 9 };
    assert_eq!(books.wallclock(Timestamp(0)), None);
    books.handle_sender_report(start, &SenderInfo { ssrc: Ssrc(8), ..info });
    assert_eq!(books.last_sender_report(), None);
    books.handle_sender_report(start, &info);
    let report = books.report(start + Duration::from_millis(1_500)).unwrap();
    assert_eq!((report.last_sr, report.delay_since_last_sr), (ntp.middle(), 98_304));
    let unix = |ticks| books.wallclock(Timestamp(ticks)).unwrap().to_unix().unwrap();
    assert_eq!(unix(89_999), Duration::from_secs(1_001));
    assert_eq!(unix(u32::MAX - 45_000), Duration::from_millis(999_500));
}

proptest! {
    #[test]
    fn any_packets_are_counted(
        packets in prop::collection::vec((any::<u16>(), any::<u32>(), 0u64..100_000), 1..200),
    ) {
        let mut now = Instant::now();
        let mut books = books(now, packets[0].0);
        for (sequence, timestamp, micros) in packets {
            now += Duration::from_micros(micros);
            let arrival = books.handle_packet(now, &header(sequence, timestamp));
            let stats = books.stats();
            prop_assert!(stats.expected >= u64::from(stats.received > 0), "{:?}", stats);
            if let Arrival::Valid(number) | Arrival::Restarted(number) | Arrival::Probation(number) = arrival {
                prop_assert_eq!(number as u16, sequence);
            }
            if sequence % 7 == 0 {
                books.report(now);
            }
        }
    }
}
