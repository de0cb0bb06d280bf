//! Taking messages, limits on them, events, streams that close, memory.

use super::*;

fn send(rig: &mut Rig, stream: u16, bytes: &[u8]) -> Result<(), SendError> {
    rig.out.send(rig.now, StreamId(stream), Ppid::BINARY, bytes, SendOptions::default())
}

#[test]
fn what_is_refused() {
    let mut rig = Rig::with(&Config::default(), FIRST_TSN, Peer { streams: 5, ..peer() });
    assert_eq!(send(&mut rig, 0, b""), Err(SendError::Empty));
    assert_eq!(send(&mut rig, 5, b"x"), Err(SendError::NoSuchStream(StreamId(5))));
    assert_eq!(send(&mut rig, 4, b"x"), Ok(()));
    rig.out.close_stream(StreamId(4));
    assert_eq!(send(&mut rig, 4, b"x"), Err(SendError::NoSuchStream(StreamId(4))));
    assert!(!rig.out.is_stream_drained(StreamId(4)));
    rig.deliver();
    assert!(!rig.out.is_stream_drained(StreamId(4)));
    rig.answer();
    assert!(rig.out.is_stream_drained(StreamId(4)));
    rig.out.reset_stream(StreamId(4));
    assert_eq!(send(&mut rig, 4, b"x"), Ok(()));
    // The number of the message begins at 0 again.
    assert_eq!(data_of(&rig.packets()[0]), [(1, 4, 0, 1)]);
}

#[test]
fn the_buffer_is_bounded_and_says_when_there_is_room() {
    for length in [1, 1000, 40_000] {
        let mut config = Config::default();
        config.limits.send_buffer_bytes = 200_000;
        let mut rig = Rig::with(&config, FIRST_TSN, peer());
        let message = vec![7; length];
        let mut count = 0;
        while send(&mut rig, 1, &message).is_ok() {
            count += 1;
        }
        assert_eq!(count, 200_000 / (length + MESSAGE_BYTES));
        assert_eq!(send(&mut rig, 2, &message), Err(SendError::WouldBlock));
        assert_eq!(rig.out.poll_event(), None);
        while rig.out.poll_event() != Some(OutboundEvent::Writable) {
            assert!(rig.out.held > 100_000 || rig.out.unsent_bytes > 64 << 10);
            rig.deliver();
            rig.wait(ms(1));
            rig.answer();
        }
        assert!(rig.out.held <= 100_000);
        assert_eq!(send(&mut rig, 1, &message), Ok(()));
        rig.drain();
        assert_eq!(rig.out.poll_event(), Some(OutboundEvent::BufferedAmountLow(StreamId(1))));
        assert_eq!(rig.out.poll_event(), None);
    }
}

/// Sends until there is no room. Gives how many messages were taken.
fn fill(rig: &mut Rig, message: &[u8]) -> usize {
    std::iter::repeat_with(|| send(rig, 1, message)).take_while(Result::is_ok).count()
}

/// A round trip of 20 ms. Gives whether there is room again.
fn round(rig: &mut Rig) -> bool {
    rig.deliver();
    rig.wait(ms(20));
    rig.answer();
    std::iter::from_fn(|| rig.out.poll_event()).any(|event| event == OutboundEvent::Writable)
}

#[test]
fn what_waits_follows_what_is_in_flight() {
    let mut rig = Rig::with(&newreno(), FIRST_TSN, peer());
    let message = [7; 1000];
    // At first a burst is taken, though nothing is in flight.
    assert_eq!(fill(&mut rig, &message), (1 << 20) / 1000);
    while !round(&mut rig) {}
    let (mut fills, mut longest) = (0, 0);
    for _ in 0..12 {
        let most = rig.out.room.most_in_flight();
        assert!(most >= longest, "the window grows");
        longest = most;
        fills += usize::from(fill(&mut rig, &message) > 0);
        let (waits, may_wait) = (rig.out.unsent_bytes, most.max(128 << 10));
        assert!(waits + 1000 > may_wait && waits <= may_wait, "{waits} of {may_wait}");
        // The window is always full: no stream runs dry.
        let is_writable = round(&mut rig);
        assert!(rig.out.unsent > 0 || is_writable);
    }
    assert!(fills > 10 && longest > 256 << 10, "{fills} {longest}");
    // An empty queue does not count as silence; a silence does.
    for (waits, burst) in [(ms(9), false), (ms(10), true)] {
        rig.drain();
        while rig.out.poll_event().is_some() {}
        rig.wait(waits);
        rig.out.room.most = [0; 2];
        assert_eq!(fill(&mut rig, &message) >= (1 << 20) / 1000, burst);
    }
}

#[test]
fn beside_a_long_message_another_waits() {
    let mut rig = Rig::with(&newreno(), FIRST_TSN, peer());
    let message = vec![7; 250_000];
    assert_eq!(fill(&mut rig, &message), 4);
    while !round(&mut rig) {}
    let before = rig.out.unsent_bytes;
    assert!(before <= 250_000);
    assert!(fill(&mut rig, &message) > 0);
    assert!((250_000..=500_000).contains(&rig.out.unsent_bytes), "{before} {}", rig.out.unsent_bytes);
}

#[test]
fn a_message_longer_than_the_buffer_goes_out_alone() {
    let mut config = Config::default();
    config.limits.send_buffer_bytes = 1000;
    let mut rig = Rig::with(&config, FIRST_TSN, peer());
    assert_eq!(send(&mut rig, 1, &[7; 5000]), Ok(()));
    assert_eq!(send(&mut rig, 1, &[7; 1]), Err(SendError::WouldBlock));
    rig.drain();
    assert_eq!(send(&mut rig, 1, &[7; 1]), Ok(()));
}

#[test]
fn the_low_threshold_is_told_once_each_time() {
    let mut rig = Rig::new();
    let stream = StreamId(1);
    let low = Some(OutboundEvent::BufferedAmountLow(stream));
    rig.out.set_buffered_amount_low_threshold(stream, 1500);
    (0..4).for_each(|_| rig.send(1, &[7; 1000]));
    assert_eq!(rig.out.buffered_amount(stream), 4000);
    for (left, event) in [(3000, None), (2000, None), (1000, low), (0, None)] {
        rig.packet();
        assert_eq!(rig.out.buffered_amount(stream), left);
        assert_eq!(rig.out.poll_event(), event, "{left}");
    }
    // It never rose above it.
    rig.send(1, &[7; 1000]);
    rig.packet();
    assert_eq!(rig.out.poll_event(), None);
    (0..2).for_each(|_| rig.send(1, &[7; 1000]));
    rig.packets();
    assert_eq!(rig.out.poll_event(), low);
    assert_eq!(rig.out.poll_event(), None);
    assert_eq!(rig.out.buffered_amount(StreamId(9)), 0);
}

#[test]
fn messages_may_come_before_the_association_is_open() {
    let config = Config::default();
    let mut out = Outbound::new(&config, FIRST_TSN);
    let now = Instant::now();
    for stream in [1, 7, 1] {
        out.send(now, StreamId(stream), Ppid::BINARY, b"early", retransmits(0)).unwrap();
    }
    let mut bytes = [0; 1163];
    assert!(!out.wants_to_send(now) && !out.write(now, &mut PacketWriter::new(&mut bytes, HEADER)));
    assert_eq!(out.next_deadline(), None);
    // The peer has five streams, and no FORWARD-TSN: what waits is reliable.
    out.open(Peer { streams: 5, forward_tsn: false, ..peer() });
    let mut rig = Rig { out, now, receiver: Receiver::new(FIRST_TSN, BIG_WINDOW) };
    rig.check();
    assert_eq!(data_of(&rig.packets()[0]), [(0, 1, 0, 5), (1, 1, 1, 5)]);
    while rig.out.stats().retransmission_timeouts == 0 {
        rig.sleep().unwrap();
    }
    rig.drain();
    assert_eq!(rig.receiver.ordered[&1].len(), 2);
}

#[test]
fn the_first_stream_may_be_one_that_the_peer_lacks() {
    let mut out = Outbound::new(&Config::default(), FIRST_TSN);
    let now = Instant::now();
    for stream in [9, 1] {
        out.send(now, StreamId(stream), Ppid::BINARY, b"early", SendOptions::default()).unwrap();
    }
    out.open(Peer { streams: 5, ..peer() });
    let mut rig = Rig { out, now, receiver: Receiver::new(FIRST_TSN, BIG_WINDOW) };
    rig.check();
    rig.drain();
    assert_eq!(rig.receiver.ordered[&1], [b"early"]);
}

#[test]
fn a_sack_is_asked_for_when_nothing_can_follow() {
    let mut rig = Rig::new();
    (0..3).for_each(|_| rig.send(1, &[7; 1000]));
    rig.deliver();
    assert_eq!(rig.receiver.immediate, 1);
    // Once a round trip.
    rig.send(1, &[7; 1000]);
    rig.deliver();
    assert_eq!(rig.receiver.immediate, 1);
    rig.answer();
    // Held back by the congestion window.
    (0..100).for_each(|_| rig.send(1, &[7; 1000]));
    rig.deliver();
    assert_eq!(rig.receiver.immediate, 2);
}

#[test]
fn packets_get_longer_and_shorter() {
    let mut rig = Rig::wide();
    rig.out.set_packet_bytes(4000);
    (0..2).for_each(|_| rig.send(1, &[7; 5000]));
    let lengths: Vec<usize> = rig.packets().iter().map(Vec::len).collect();
    assert_eq!(lengths, [4000, 4000, 2196]);
    rig.send(1, &[7; 2000]);
    // The path takes less again, from the middle of a flight on: chunks are short enough to be sent again one by one.
    rig.out.set_packet_bytes(1163);
    while rig.out.stats().retransmission_timeouts == 0 {
        rig.sleep().unwrap();
    }
    let lengths: Vec<usize> = rig.packets().iter().map(Vec::len).collect();
    assert!(lengths.iter().all(|&length| length <= 1163), "{lengths:?}");
    rig.drain();
    assert_eq!(rig.receiver.ordered[&1].len(), 3);
}

#[test]
fn a_steady_flow_allocates_nothing_and_an_idle_association_has_nothing() {
    let mut rig = Rig::wide();
    let mut sizes = Vec::new();
    for _ in 0..200 {
        (0..64).for_each(|_| rig.send(1, &[7; 1024]));
        rig.deliver();
        rig.wait(Duration::from_micros(100));
        rig.answer();
        rig.receiver.ordered.clear();
        sizes.push((rig.out.store.bytes(), rig.out.flight.slots()));
    }
    assert_eq!(sizes[20], sizes[199]);
    rig.drain();
    while rig.sleep().is_some() {}
    assert_eq!((rig.out.store.bytes(), rig.out.flight.slots()), (0, 0));
    assert!(size_of::<Outbound>() < 1500, "{}", size_of::<Outbound>());
    assert!(size_of::<chunk::Chunk>() <= 32, "{}", size_of::<chunk::Chunk>());
    // And it still works.
    rig.send(1, b"again");
    rig.drain();
}

#[test]
fn many_streams() {
    let mut rig = Rig::wide();
    for stream in (0..65_535).step_by(5) {
        rig.send(stream, b"hello");
    }
    rig.drain();
    assert_eq!(rig.receiver.ordered.len(), 13_107);
    rig.out.send(rig.now, StreamId(65_535), Ppid::BINARY, b"x", SendOptions::default()).unwrap_err();
}

#[test]
fn counters() {
    let mut rig = Rig::new();
    (0..5).for_each(|_| rig.send(1, &[7; 100]));
    rig.packets();
    let stats = rig.out.stats();
    assert_eq!((stats.messages_sent, stats.bytes_sent, stats.in_flight_bytes), (5, 500, 5 * 116));
    assert_eq!(rig.out.next_tsn(), FIRST_TSN.add(5));
    assert!(!rig.out.is_drained());
}
