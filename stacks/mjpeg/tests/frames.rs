//! The depacketizer with lost, duplicate, reordered, inconsistent and unsupported packets, and wraparound.
#![allow(clippy::unwrap_used, missing_docs)]

mod common;

use std::time::{Duration, Instant};

use common::{datagrams, now, packetizer, plain};
use netdyno_mjpeg_core::{
    ConfigError, Depacketizer, DepacketizerConfig, Event, Frame, Jpeg, JpegHeaders, Lost, LostReason,
    PacketizerConfig, QuantTable, QuantTables, Sampling,
};
use netdyno_rtp::rtcp::SenderInfo;
use netdyno_rtp::{NtpTime, Packet, Ssrc, Timestamp};

/// The packets of three frames. Sequence numbers wrap within the first frame, timestamps after it.
fn stream(set: impl FnOnce(&mut PacketizerConfig)) -> Vec<Vec<Vec<u8>>> {
    let mut packetizer = packetizer(set);
    let frame = |number: u32| {
        let file = file(number);
        let jpeg = Jpeg::parse(&file).unwrap();
        let timestamp = Timestamp(u32::MAX - 2_999).add(number * 3_000);
        datagrams(&packetizer.packets(&jpeg, timestamp).unwrap())
    };
    (0..3).map(frame).collect()
}

/// A picture with tables that no Q implies and 1,500 bytes of arbitrary scan data.
fn file(number: u32) -> Vec<u8> {
    let mut tables = QuantTables::computed(85).unwrap();
    tables.chroma = QuantTable::new([77; 64]).unwrap();
    let mut file = Vec::new();
    let sampling = Sampling::Yuv420;
    JpegHeaders { width: 64, height: 48, sampling, tables, restart_interval: 0 }.append(&mut file);
    file.extend((0..1_500).map(|at| ((at + number) % 251) as u8));
    file.extend([0xff, 0xd9]);
    file
}

/// Maximum packet length with which these frames need four packets.
const PACKET_BYTES: usize = 450;

fn four_packets(config: &mut PacketizerConfig) {
    config.max_packet_bytes = PACKET_BYTES;
}

fn depacketizer(set: impl FnOnce(&mut DepacketizerConfig)) -> Depacketizer {
    let mut config = DepacketizerConfig::default();
    set(&mut config);
    Depacketizer::new(config).unwrap()
}

/// Formats an event: a frame as its number, a lost one as `-` with the missing packets, unattributed packets as `?`.
fn format_event(event: &Event) -> String {
    let number = |timestamp: Timestamp| timestamp.0.wrapping_sub(u32::MAX - 2_999) / 3_000;
    match event {
        Event::Frame(frame) => number(frame.info().timestamp).to_string(),
        Event::Lost(Lost {
            timestamp: Some(timestamp),
            missing_packets,
            reason: LostReason::Missing,
            ..
        }) => {
            format!("-{}({missing_packets})", number(*timestamp))
        }
        Event::Lost(Lost { timestamp: None, missing_packets, .. }) => format!("?({missing_packets})"),
        Event::Lost(Lost { timestamp: Some(timestamp), reason, .. }) => {
            format!("-{}({reason:?})", number(*timestamp))
        }
        Event::Restarted => "restarted".into(),
        _ => "another event".into(),
    }
}

fn poll(depacketizer: &mut Depacketizer, now: Instant) -> Vec<String> {
    std::iter::from_fn(|| depacketizer.poll_event(now)).map(|event| format_event(&event)).collect()
}

fn handle(depacketizer: &mut Depacketizer, now: Instant, datagram: &[u8]) {
    depacketizer.handle_packet(now, &Packet::parse(datagram).unwrap());
}

/// Handles the packets `(frame, packet)` at intervals of 1 ms, then flushes. Returns all events.
fn run(set: impl FnOnce(&mut DepacketizerConfig), order: &[(usize, usize)]) -> String {
    let (stream, mut depacketizer, start) = (stream(four_packets), depacketizer(set), now());
    assert!(
        stream.iter().all(|frame| frame.len() == 4),
        "{:?}",
        stream.iter().map(Vec::len).collect::<Vec<_>>()
    );
    let mut events = Vec::new();
    for (millis, (frame, packet)) in order.iter().enumerate() {
        let now = start + Duration::from_millis(millis as u64);
        handle(&mut depacketizer, now, &stream[*frame][*packet]);
        events.extend(poll(&mut depacketizer, now));
    }
    events.push("|".into());
    depacketizer.flush();
    events.extend(poll(&mut depacketizer, start));
    events.join(" ")
}

/// All packets of the three frames, except some.
fn all_except(excluded: &[(usize, usize)]) -> Vec<(usize, usize)> {
    let all = (0..3).flat_map(|frame| (0..4).map(move |packet| (frame, packet)));
    all.filter(|packet| !excluded.contains(packet)).collect()
}

#[test]
fn frames_survive_reordering_and_duplication_but_not_loss() {
    // A wait of 2 ms corresponds to two packets. Events after the flush follow the bar.
    let rows = [
        ("all", all_except(&[]), "0 1 2 |"),
        ("without the first packet", all_except(&[(1, 0)]), "0 -1(1) 2 |"),
        ("without a middle packet", all_except(&[(1, 2)]), "0 -1(1) 2 |"),
        ("without the marker", all_except(&[(1, 3)]), "0 -1(1) 2 |"),
        ("without first and marker", all_except(&[(1, 0), (1, 3)]), "0 -1(2) 2 |"),
        ("without all packets of a frame", all_except(&[(1, 0), (1, 1), (1, 2), (1, 3)]), "0 ?(4) 2 |"),
        ("without the last marker", all_except(&[(2, 3)]), "0 1 | -2(0)"),
        ("without the last frame's middle", all_except(&[(2, 2)]), "0 1 | -2(1)"),
        ("joined in a frame", all_except(&[(0, 0), (0, 1)]), "-0(Joined) 1 2 |"),
        ("joined between frames", all_except(&[(0, 0), (0, 1), (0, 2), (0, 3)]), "1 2 |"),
        (
            "swapped across frames",
            vec![
                (0, 0),
                (0, 1),
                (0, 2),
                (1, 0),
                (0, 3),
                (1, 1),
                (1, 2),
                (1, 3),
                (2, 0),
                (2, 1),
                (2, 2),
                (2, 3),
            ],
            "0 1 2 |",
        ),
        (
            "reversed within a frame",
            vec![
                (0, 0),
                (0, 1),
                (0, 2),
                (0, 3),
                (1, 3),
                (1, 2),
                (1, 1),
                (1, 0),
                (2, 1),
                (2, 0),
                (2, 3),
                (2, 2),
            ],
            "0 1 2 |",
        ),
        (
            "all duplicated",
            all_except(&[]).into_iter().flat_map(|packet| [packet, packet]).collect(),
            "0 1 2 |",
        ),
        ("too late", [all_except(&[(0, 1)]), vec![(0, 1)]].concat(), "-0(1) 1 2 |"),
    ];
    for (case, order, expected) in rows {
        assert_eq!(run(|config| config.max_wait = Duration::from_millis(2), &order), expected, "{case}");
    }
}

#[test]
fn waiting_is_limited_by_time_and_memory() {
    let late = |by: usize| {
        let mut order = all_except(&[(0, 1)]);
        order.insert(3 + by, (0, 1));
        order
    };
    for (case, max_wait_ms, by, expected) in [
        ("in time", 5, 4, "0 1 2 |"),
        ("just too late", 4, 4, "-0(1) 1 2 |"),
        ("no wait: reordered packets are lost once", 0, 0, "-0(1) 1 2 |"),
    ] {
        let order = late(by);
        assert_eq!(
            run(|config| config.max_wait = Duration::from_millis(max_wait_ms), &order),
            expected,
            "{case}"
        );
    }
    // The limit on frames applies regardless of the wait.
    let few = |config: &mut DepacketizerConfig| {
        config.max_wait = Duration::from_secs(9);
        config.limits.max_frames = 1;
    };
    assert_eq!(run(few, &all_except(&[(0, 1)])), "-0(1) 1 2 |");
    let one_run = |config: &mut DepacketizerConfig| config.limits.max_runs = 1;
    assert_eq!(run(one_run, &all_except(&[(1, 1)])), "0 | -1(TooManyPieces) 2");
}

#[test]
fn missing_packets_are_lost_at_the_deadline() {
    let (stream, mut depacketizer, start) = (stream(four_packets), depacketizer(|_| {}), now());
    assert_eq!(depacketizer.next_deadline(), None);
    handle(&mut depacketizer, start, &stream[0][0]);
    assert_eq!(depacketizer.next_deadline(), None);
    handle(&mut depacketizer, start, &stream[0][2]);
    let deadline = start + Duration::from_millis(20);
    assert_eq!(depacketizer.next_deadline(), Some(deadline));
    assert_eq!(poll(&mut depacketizer, deadline - Duration::from_nanos(1)), [""; 0]);
    assert_eq!(poll(&mut depacketizer, deadline), ["-0(1)"]);
    assert_eq!(depacketizer.next_deadline(), None);
    // Its later packets are late and not counted as lost again.
    for packet in [1, 3] {
        handle(&mut depacketizer, deadline, &stream[0][packet]);
        assert_eq!(poll(&mut depacketizer, deadline), [""; 0]);
    }
    assert_eq!(depacketizer.stats().late, 2);
    stream[1].iter().for_each(|datagram| handle(&mut depacketizer, deadline, datagram));
    assert_eq!(poll(&mut depacketizer, deadline), ["1"]);
}

/// Handles all packets of several frames and returns all events.
fn frames(set: impl FnOnce(&mut DepacketizerConfig), frames: &[Vec<Vec<u8>>]) -> Vec<Event> {
    let (mut depacketizer, now, mut events) = (depacketizer(set), now(), Vec::new());
    for datagram in frames.iter().flatten() {
        handle(&mut depacketizer, now, datagram);
        events.extend(std::iter::from_fn(|| depacketizer.poll_event(now)));
    }
    depacketizer.flush();
    events.extend(std::iter::from_fn(|| depacketizer.poll_event(now)));
    events
}

#[test]
fn static_tables_are_stored_and_may_be_missing() {
    let static_tables = |config: &mut PacketizerConfig| {
        config.max_packet_bytes = PACKET_BYTES;
        config.static_tables_every = std::num::NonZeroU32::new(2);
    };
    let stream = stream(static_tables);
    let texts = |events: Vec<Event>| events.iter().map(format_event).collect::<Vec<_>>().join(" ");
    assert_eq!(texts(frames(|_| {}, &stream)), "0 1 2");
    // Reception starts after the tables were sent; the third frame repeats them.
    assert_eq!(texts(frames(|_| {}, &stream[1..])), "-1(TablesUnknown(128)) 2");
    // The frame with the tables is lost, but not the packet with the tables.
    let mut first_is_lost = stream.clone();
    first_is_lost[0].remove(2);
    let wait = |config: &mut DepacketizerConfig| config.max_wait = Duration::ZERO;
    assert_eq!(texts(frames(wait, &first_is_lost)), "-0(1) 1 2");
}

#[test]
fn unsupported_and_inconsistent_frames_are_lost() {
    let stream = stream(four_packets);
    // Changes a byte of the payload headers in all packets of the first frame.
    let changed = |at: usize, value: u8| {
        let mut frame = stream[0].clone();
        frame.iter_mut().for_each(|datagram| datagram[12 + at] = value);
        frame
    };
    let one_changed = |packet: usize, at: usize, value: u8| {
        let mut frame = stream[0].clone();
        frame[packet][12 + at] = value;
        frame
    };
    let with_zero = one_changed(0, 12, 0);
    for (case, frame, expected) in [
        ("type 2", changed(4, 2), "-0(Type(2)) 1"),
        ("type 130", changed(4, 130), "-0(Type(130)) 1"),
        ("Q 0", changed(5, 0), "-0(ReservedQ(0)) 1"),
        ("Q 100", changed(5, 100), "-0(ReservedQ(100)) 1"),
        ("no width", changed(6, 0), "-0(Dimensions) 1"),
        ("another width in one packet", one_changed(2, 6, 9), "-0(Contradictory) 1"),
        ("another type in one packet", one_changed(2, 4, 0), "-0(Contradictory) 1"),
        ("data that overlap", one_changed(2, 3, 0), "-0(Contradictory) 1"),
        ("a value of 0 in a table", with_zero, "-0(Tables) 1"),
        ("interlaced", changed(0, 1), "0 1"),
    ] {
        let events = frames(|_| {}, &[frame, stream[1].clone()]);
        assert_eq!(events.iter().map(format_event).collect::<Vec<_>>().join(" "), expected, "{case}");
    }
    let small = |config: &mut DepacketizerConfig| config.limits.max_frame_bytes = 1_000;
    let events = frames(small, &stream[..1]);
    assert_eq!(events.iter().map(format_event).collect::<Vec<_>>(), ["-0(TooLarge)"]);
    // Width and height from SDP.
    let from_sdp = |config: &mut DepacketizerConfig| config.dimensions = Some((64, 48));
    let mut frame = changed(6, 0);
    frame.iter_mut().for_each(|datagram| datagram[19] = 0);
    let events = frames(from_sdp, &[frame]);
    let Event::Frame(frame) = &events[0] else { panic!("{events:?}") };
    assert_eq!((frame.info().headers.width, frame.info().headers.height), (64, 48));
}

/// Some hardware sends EOI and padding after the scan.
#[test]
fn file_ends_with_eoi_for_any_end_of_the_scan() {
    let file = plain(16, 16);
    let jpeg = Jpeg::parse(&file).unwrap();
    let datagram = datagrams(&packetizer(|_| {}).packets(&jpeg, Timestamp(0)).unwrap()).remove(0);
    for (case, suffix, scan) in [
        ("nothing", &b""[..], jpeg.scan().to_vec()),
        ("EOI", &[0xff, 0xd9], jpeg.scan().to_vec()),
        ("EOI and padding", &[0xff, 0xd9, 0, 0], [jpeg.scan(), &[0xff, 0xd9, 0, 0]].concat()),
        ("half an EOI", &[0xff], [jpeg.scan(), &[0xff]].concat()),
    ] {
        let events = frames(|_| {}, &[vec![[&datagram[..], suffix].concat()]]);
        let Event::Frame(frame) = &events[0] else { panic!("{case}: {events:?}") };
        assert_eq!(frame.scan(), scan, "{case}");
        assert_eq!(frame.jpeg(), [frame.headers(), &scan, &[0xff, 0xd9]].concat(), "{case}");
        assert_eq!(Jpeg::parse(frame.jpeg()).unwrap().scan(), jpeg.scan(), "{case}");
    }
}

#[test]
fn frames_with_equal_timestamps_are_separated() {
    let mut stream = stream(four_packets);
    for datagram in stream.iter_mut().flatten() {
        datagram[4..8].copy_from_slice(&(u32::MAX - 2_999).to_be_bytes());
    }
    let events = frames(|_| {}, &stream);
    assert_eq!(events.iter().map(format_event).collect::<Vec<_>>(), ["0", "0", "0"]);
    let jpegs: Vec<_> =
        events.iter().map(|event| if let Event::Frame(frame) = event { frame.jpeg() } else { &[] }).collect();
    assert!(jpegs[0] != jpegs[1] && jpegs[1] != jpegs[2]);
    // Packets after a frame's end belong to the next frame even if its start is lost.
    let (late, start) = (stream[0][1].clone(), &stream[1][1..]);
    let order = [vec![stream[0][0].clone()], stream[0][2..].to_vec(), start.to_vec(), vec![late]];
    let events = frames(|_| {}, &order);
    assert_eq!(events.iter().map(format_event).collect::<Vec<_>>(), ["0", "-0(1)"]);
    // The packets after a lost frame are not attributed to it.
    stream[0].remove(3);
    stream[0].remove(1);
    let events = frames(|config| config.max_wait = Duration::ZERO, &stream);
    assert_eq!(events.iter().map(format_event).collect::<Vec<_>>(), ["-0(1)", "?(1)", "0", "0"]);
}

#[test]
fn sources_change_and_restart() {
    let (stream, start) = (stream(four_packets), now());
    let with_ssrc = |ssrc: u8, datagram: &[u8]| {
        let mut datagram = datagram.to_vec();
        datagram[11] = ssrc;
        datagram
    };
    let mut receiver = depacketizer(|_| {});
    stream[0].iter().for_each(|datagram| handle(&mut receiver, start, datagram));
    handle(&mut receiver, start, &with_ssrc(8, &stream[1][0]));
    assert_eq!((poll(&mut receiver, start), receiver.stats().foreign), (vec!["0".to_string()], 1));
    // Another source is accepted after the timeout, while half a frame is stored.
    handle(&mut receiver, start, &stream[1][0]);
    let later = start + Duration::from_secs(2);
    stream[2].iter().for_each(|datagram| handle(&mut receiver, later, &with_ssrc(8, datagram)));
    assert_eq!(poll(&mut receiver, later), ["restarted", "2"]);
    assert_eq!(receiver.reception().unwrap().ssrc(), Ssrc(8));
    // A configured source is never replaced.
    let mut receiver = depacketizer(|config| config.ssrc = Some(Ssrc(7)));
    handle(&mut receiver, start, &with_ssrc(8, &stream[0][0]));
    stream[0].iter().for_each(|datagram| handle(&mut receiver, later, datagram));
    assert_eq!((poll(&mut receiver, later), receiver.stats().foreign), (vec!["0".to_string()], 1));
    // A jump of sequence numbers is accepted from the second packet on.
    for datagram in &stream[1] {
        let mut datagram = datagram.clone();
        datagram[2] = datagram[2].wrapping_add(0x40);
        handle(&mut receiver, later, &datagram);
    }
    receiver.flush();
    assert_eq!(poll(&mut receiver, later), ["restarted", "-1(Joined)"]);
    let mut other = stream[2][0].clone();
    other[1] = 96;
    handle(&mut receiver, later, &other);
    assert_eq!(receiver.stats().foreign, 3);
    let mut receiver = depacketizer(|_| {});
    handle(&mut receiver, later, &stream[2][0][..15]);
    assert_eq!((receiver.stats().malformed, receiver.stats().packets), (1, 0));
}

#[test]
fn reports_describe_the_source() {
    let (stream, start) = (stream(four_packets), now());
    let mut receiver = depacketizer(|_| {});
    assert_eq!(receiver.report(start), None);
    stream[0].iter().skip(1).for_each(|datagram| handle(&mut receiver, start, datagram));
    handle(&mut receiver, start, &stream[1][1]);
    let ntp = NtpTime::from_unix(Duration::from_secs(1_000));
    let rtp = Timestamp(u32::MAX - 2_999);
    receiver.handle_sender_report(start, &SenderInfo { ssrc: Ssrc(7), ntp, rtp, packets: 4, octets: 0 });
    let report = receiver.report(start).unwrap();
    assert_eq!((report.ssrc, report.cumulative_lost, report.highest_sequence), (Ssrc(7), 1, 65_536 + 2));
    let wallclock = receiver.reception().unwrap().wallclock(Timestamp(0)).unwrap().to_unix().unwrap();
    assert_eq!(wallclock, Duration::from_micros(1_000_033_333) + Duration::from_nanos(333));
}

/// Memory is bounded without polling, and recycled buffers are reused.
#[test]
fn memory_is_bounded_and_reused() {
    let file = plain(64, 48);
    let jpeg = Jpeg::parse(&file).unwrap();
    let (mut packetizer, mut receiver, now) = (packetizer(|_| {}), depacketizer(|_| {}), now());
    let mut send = |receiver: &mut Depacketizer, number: u32| {
        let frame = packetizer.packets(&jpeg, Timestamp(number * 3_000)).unwrap();
        datagrams(&frame).iter().for_each(|datagram| handle(receiver, now, datagram));
    };
    (0..10).for_each(|number| send(&mut receiver, number));
    assert!(receiver.stats().unpolled > 0);
    assert_eq!(std::iter::from_fn(|| receiver.poll_event(now)).count(), 4);
    let mut addresses = Vec::new();
    for number in 10..14 {
        send(&mut receiver, number);
        receiver.flush();
        while let Some(event) = receiver.poll_event(now) {
            if let Event::Frame(frame) = event {
                addresses.push(frame.jpeg().as_ptr());
                let _: &Frame = &frame;
                receiver.recycle(frame);
            }
        }
    }
    assert_eq!(addresses.len(), 4);
    assert!(addresses.windows(2).all(|pair| pair[0] == pair[1]));
}

#[test]
fn invalid_settings_are_rejected() {
    let with = |set: fn(&mut DepacketizerConfig)| {
        let mut config = DepacketizerConfig::default();
        set(&mut config);
        Depacketizer::new(config).err()
    };
    assert_eq!(with(|config| config.payload_type = 128), Some(ConfigError::PayloadType(128)));
    assert_eq!(with(|config| config.limits.max_frame_bytes = 0), Some(ConfigError::FrameBytes(0)));
    assert_eq!(
        with(|config| config.limits.max_frame_bytes = 1 << 25),
        Some(ConfigError::FrameBytes(1 << 25))
    );
    assert_eq!(with(|config| config.limits.max_frames = 0), Some(ConfigError::NothingHeld));
    assert_eq!(with(|config| config.limits.max_runs = 0), Some(ConfigError::NothingHeld));
    assert_eq!(with(|config| config.dimensions = Some((0, 8))), Some(ConfigError::Dimensions(0, 8)));
}
