//! What a receiver makes of packets that are lost, doubled, late, wrapped, contradictory, or of another kind.
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

/// Packets of three frames, four each, whose numbers wrap within the first; timestamps wrap after it.
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

/// A picture whose tables no Q computes, with 1,500 bytes of data that mean nothing.
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

/// Such frames take four of these.
const PACKET_BYTES: usize = 450;

fn four_packets(config: &mut PacketizerConfig) {
    config.max_packet_bytes = PACKET_BYTES;
}

fn depacketizer(set: impl FnOnce(&mut DepacketizerConfig)) -> Depacketizer {
    let mut config = DepacketizerConfig::default();
    set(&mut config);
    Depacketizer::new(config).unwrap()
}

/// What comes out, as text: a frame by its number, `-` for a lost one with what is missing of it, `?` for packets of which
/// nothing is known.
fn shown(event: &Event) -> String {
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
        _ => "something else".into(),
    }
}

fn poll(depacketizer: &mut Depacketizer, now: Instant) -> Vec<String> {
    std::iter::from_fn(|| depacketizer.poll_event(now)).map(|event| shown(&event)).collect()
}

fn handle(depacketizer: &mut Depacketizer, now: Instant, datagram: &[u8]) {
    depacketizer.handle_packet(now, &Packet::parse(datagram).unwrap());
}

/// Packets `(frame, packet)` in this order, a millisecond apart, then the end; the events of all.
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

/// All packets of the three frames, but for some.
fn all_but(left_out: &[(usize, usize)]) -> Vec<(usize, usize)> {
    let all = (0..3).flat_map(|frame| (0..4).map(move |packet| (frame, packet)));
    all.filter(|packet| !left_out.contains(packet)).collect()
}

#[test]
fn loss_reordering_and_duplicates() {
    // Two milliseconds of patience: two packets. What waits at the end comes behind the bar.
    let rows = [
        ("all", all_but(&[]), "0 1 2 |"),
        ("without the first packet", all_but(&[(1, 0)]), "0 -1(1) 2 |"),
        ("without one in the middle", all_but(&[(1, 2)]), "0 -1(1) 2 |"),
        ("without the marker", all_but(&[(1, 3)]), "0 -1(1) 2 |"),
        ("without first and marker", all_but(&[(1, 0), (1, 3)]), "0 -1(2) 2 |"),
        ("without a whole frame", all_but(&[(1, 0), (1, 1), (1, 2), (1, 3)]), "0 ?(4) 2 |"),
        ("without the last marker", all_but(&[(2, 3)]), "0 1 | -2(0)"),
        ("without the last frame's middle", all_but(&[(2, 2)]), "0 1 | -2(1)"),
        ("joined in a frame", all_but(&[(0, 0), (0, 1)]), "-0(Joined) 1 2 |"),
        ("joined between frames", all_but(&[(0, 0), (0, 1), (0, 2), (0, 3)]), "1 2 |"),
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
            "backwards within a frame",
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
        ("twice each", all_but(&[]).into_iter().flat_map(|packet| [packet, packet]).collect(), "0 1 2 |"),
        ("too late", [all_but(&[(0, 1)]), vec![(0, 1)]].concat(), "-0(1) 1 2 |"),
    ];
    for (what, order, expected) in rows {
        assert_eq!(run(|config| config.max_wait = Duration::from_millis(2), &order), expected, "{what}");
    }
}

#[test]
fn patience() {
    let late = |by: usize| {
        let mut order = all_but(&[(0, 1)]);
        order.insert(3 + by, (0, 1));
        order
    };
    for (what, max_wait_ms, by, expected) in [
        ("in time", 5, 4, "0 1 2 |"),
        ("just too late", 4, 4, "-0(1) 1 2 |"),
        ("no patience: what comes out of order is lost, once", 0, 0, "-0(1) 1 2 |"),
    ] {
        let order = late(by);
        assert_eq!(
            run(|config| config.max_wait = Duration::from_millis(max_wait_ms), &order),
            expected,
            "{what}"
        );
    }
    // However long the wait, no more frames are held than may be.
    let few = |config: &mut DepacketizerConfig| {
        config.max_wait = Duration::from_secs(9);
        config.limits.max_frames = 1;
    };
    assert_eq!(run(few, &all_but(&[(0, 1)])), "-0(1) 1 2 |");
    let one_run = |config: &mut DepacketizerConfig| config.limits.max_runs = 1;
    assert_eq!(run(one_run, &all_but(&[(1, 1)])), "0 | -1(TooManyPieces) 2");
}

#[test]
fn a_deadline_is_told_and_kept() {
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
    // What comes of it later is late, and no second loss.
    for packet in [1, 3] {
        handle(&mut depacketizer, deadline, &stream[0][packet]);
        assert_eq!(poll(&mut depacketizer, deadline), [""; 0]);
    }
    assert_eq!(depacketizer.stats().late, 2);
    stream[1].iter().for_each(|datagram| handle(&mut depacketizer, deadline, datagram));
    assert_eq!(poll(&mut depacketizer, deadline), ["1"]);
}

/// Frames given one after the other, each whole: what comes of them.
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
fn static_tables_are_remembered_and_missed() {
    let told_once = |config: &mut PacketizerConfig| {
        config.max_packet_bytes = PACKET_BYTES;
        config.static_tables_every = std::num::NonZeroU32::new(2);
    };
    let stream = stream(told_once);
    let texts = |events: Vec<Event>| events.iter().map(shown).collect::<Vec<_>>().join(" ");
    assert_eq!(texts(frames(|_| {}, &stream)), "0 1 2");
    // Joined after they were told: the third frame tells them again.
    assert_eq!(texts(frames(|_| {}, &stream[1..])), "-1(TablesUnknown(128)) 2");
    // A frame that told them is lost, but not the packet that did.
    let mut first_is_lost = stream.clone();
    first_is_lost[0].remove(2);
    let wait = |config: &mut DepacketizerConfig| config.max_wait = Duration::ZERO;
    assert_eq!(texts(frames(wait, &first_is_lost)), "-0(1) 1 2");
}

#[test]
fn senders_of_other_kinds() {
    let stream = stream(four_packets);
    // Changes in the payload's headers, in all packets of the first frame.
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
    for (what, frame, expected) in [
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
        assert_eq!(events.iter().map(shown).collect::<Vec<_>>().join(" "), expected, "{what}");
    }
    let small = |config: &mut DepacketizerConfig| config.limits.max_frame_bytes = 1_000;
    let events = frames(small, &stream[..1]);
    assert_eq!(events.iter().map(shown).collect::<Vec<_>>(), ["-0(TooLarge)"]);
    // Width and height by SDP.
    let told = |config: &mut DepacketizerConfig| config.dimensions = Some((64, 48));
    let mut frame = changed(6, 0);
    frame.iter_mut().for_each(|datagram| datagram[19] = 0);
    let events = frames(told, &[frame]);
    let Event::Frame(frame) = &events[0] else { panic!("{events:?}") };
    assert_eq!((frame.info().headers.width, frame.info().headers.height), (64, 48));
}

/// Bytes behind the scan, as some hardware sends them, and EOI sent or not: the file ends with EOI once.
#[test]
fn ends_of_scans() {
    let file = plain(16, 16);
    let jpeg = Jpeg::parse(&file).unwrap();
    let datagram = datagrams(&packetizer(|_| {}).packets(&jpeg, Timestamp(0)).unwrap()).remove(0);
    for (what, behind, scan) in [
        ("nothing", &b""[..], jpeg.scan().to_vec()),
        ("EOI", &[0xff, 0xd9], jpeg.scan().to_vec()),
        ("EOI and padding", &[0xff, 0xd9, 0, 0], [jpeg.scan(), &[0xff, 0xd9, 0, 0]].concat()),
        ("half an EOI", &[0xff], [jpeg.scan(), &[0xff]].concat()),
    ] {
        let events = frames(|_| {}, &[vec![[&datagram[..], behind].concat()]]);
        let Event::Frame(frame) = &events[0] else { panic!("{what}: {events:?}") };
        assert_eq!(frame.scan(), scan, "{what}");
        assert_eq!(frame.jpeg(), [frame.headers(), &scan, &[0xff, 0xd9]].concat(), "{what}");
        assert_eq!(Jpeg::parse(frame.jpeg()).unwrap().scan(), jpeg.scan(), "{what}");
    }
}

#[test]
fn frames_of_one_timestamp_are_told_apart() {
    let mut stream = stream(four_packets);
    for datagram in stream.iter_mut().flatten() {
        datagram[4..8].copy_from_slice(&(u32::MAX - 2_999).to_be_bytes());
    }
    let events = frames(|_| {}, &stream);
    assert_eq!(events.iter().map(shown).collect::<Vec<_>>(), ["0", "0", "0"]);
    let jpegs: Vec<_> =
        events.iter().map(|event| if let Event::Frame(frame) = event { frame.jpeg() } else { &[] }).collect();
    assert!(jpegs[0] != jpegs[1] && jpegs[1] != jpegs[2]);
    // What comes behind a frame's end is another's, though that one's beginning is lost.
    let (late, start) = (stream[0][1].clone(), &stream[1][1..]);
    let order = [vec![stream[0][0].clone()], stream[0][2..].to_vec(), start.to_vec(), vec![late]];
    let events = frames(|_| {}, &order);
    assert_eq!(events.iter().map(shown).collect::<Vec<_>>(), ["0", "-0(1)"]);
    // One is lost; the others are not taken for the rest of it.
    stream[0].remove(3);
    stream[0].remove(1);
    let events = frames(|config| config.max_wait = Duration::ZERO, &stream);
    assert_eq!(events.iter().map(shown).collect::<Vec<_>>(), ["-0(1)", "?(1)", "0", "0"]);
}

#[test]
fn sources_change_and_restart() {
    let (stream, start) = (stream(four_packets), now());
    let of = |ssrc: u8, datagram: &[u8]| {
        let mut datagram = datagram.to_vec();
        datagram[11] = ssrc;
        datagram
    };
    let mut receiver = depacketizer(|_| {});
    stream[0].iter().for_each(|datagram| handle(&mut receiver, start, datagram));
    handle(&mut receiver, start, &of(8, &stream[1][0]));
    assert_eq!((poll(&mut receiver, start), receiver.stats().foreign), (vec!["0".to_string()], 1));
    // Another takes over once the first is silent, half a frame of which is held.
    handle(&mut receiver, start, &stream[1][0]);
    let later = start + Duration::from_secs(2);
    stream[2].iter().for_each(|datagram| handle(&mut receiver, later, &of(8, datagram)));
    assert_eq!(poll(&mut receiver, later), ["restarted", "2"]);
    assert_eq!(receiver.reception().unwrap().ssrc(), Ssrc(8));
    // A named source has no successor.
    let mut receiver = depacketizer(|config| config.ssrc = Some(Ssrc(7)));
    handle(&mut receiver, start, &of(8, &stream[0][0]));
    stream[0].iter().for_each(|datagram| handle(&mut receiver, later, datagram));
    assert_eq!((poll(&mut receiver, later), receiver.stats().foreign), (vec!["0".to_string()], 1));
    // Numbers leap: the first packet is not believed, the next ones are.
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
fn reports_are_of_the_source() {
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

/// A caller that never polls is not flooded; one that gives frames back has their memory used again.
#[test]
fn memory_is_bounded_and_used_again() {
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
    let mut places = Vec::new();
    for number in 10..14 {
        send(&mut receiver, number);
        receiver.flush();
        while let Some(event) = receiver.poll_event(now) {
            if let Event::Frame(frame) = event {
                places.push(frame.jpeg().as_ptr());
                let _: &Frame = &frame;
                receiver.recycle(frame);
            }
        }
    }
    assert_eq!(places.len(), 4);
    assert!(places.windows(2).all(|pair| pair[0] == pair[1]));
}

#[test]
fn settings_that_cannot_work() {
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
