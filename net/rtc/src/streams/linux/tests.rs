use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::ops::Range;
use std::thread;

use netdyno_io::Events;

use super::*;

/// The remote end reads only at the end: frames that do not fit are dropped, and accepted frames arrive
/// complete.
#[test]
fn frames_that_do_not_fit_are_dropped_and_the_stream_continues() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (poller, mut events, mut streams) = (Poller::new().unwrap(), Events::default(), Streams::default());
    let id = streams.open(&poller, None, listener.local_addr().unwrap(), None, Owner::Peer(7)).unwrap();
    let (mut other, _) = listener.accept().unwrap();
    let mut turn = |streams: &mut Streams| {
        poller.wait(&mut events, Some(Duration::from_millis(10))).unwrap();
        if events.iter().any(|ready| ready.key == STREAMS) {
            streams.are_ready();
        }
        streams.turn(Instant::now()).unwrap();
    };
    let frames = |number: u16| [&[0xfd, 0xe8][..], &number.to_be_bytes().repeat(32_500)].concat();
    streams.send(id, &frames(0)).unwrap();
    let news = loop {
        turn(&mut streams);
        if let Some(news) = streams.next_event() {
            break news;
        }
    };
    assert!(
        matches!(news, (Owner::Peer(7), of, StreamEvent::Open) if of == id),
        "nothing goes before it is open"
    );
    // 65 MB, more than any system buffers.
    for number in 1..=1000 {
        streams.send(id, &frames(number)).unwrap();
        assert!(streams.reactor.as_ref().unwrap().pending_output(id) <= STREAM_OUTPUT_BYTES);
    }
    let reader = thread::spawn(move || {
        let mut bytes = Vec::new();
        other.read_to_end(&mut bytes).unwrap();
        bytes
    });
    while streams.reactor.as_ref().unwrap().pending_output(id) > 0 {
        turn(&mut streams);
    }
    assert!(streams.owner(id).is_some() && streams.next_event().is_none());
    streams.close(id);
    // The reactor closes the stream once it is flushed.
    while !reader.is_finished() {
        turn(&mut streams);
    }
    let seen = reader.join().unwrap();
    let numbers: Vec<u16> = seen.chunks(65_002).map(|one| u16::from_be_bytes([one[2], one[3]])).collect();
    assert!(seen.chunks(65_002).zip(&numbers).all(|(one, &number)| one == frames(number)));
    assert!(numbers.len() >= 4 && numbers.len() < 1000 && numbers.is_sorted() && numbers[0] == 1);
}

/// Writes as much of these bytes as the socket takes; returns how many.
fn write_some(stream: &mut TcpStream, bytes: &[u8]) -> usize {
    match stream.write(bytes) {
        Ok(count) => count,
        Err(error) if error.kind() == ErrorKind::WouldBlock => 0,
        Err(error) => panic!("{error}"),
    }
}

/// Peers that flood with frames faster than they are processed: 32 streams, as many as two peers may have. Together
/// they may have more queued than the limit, and no stream may have two parts of its input queued.
#[test]
fn memory_of_queued_frames_is_bounded_and_none_is_lost() {
    const PER_STREAM: usize = 400_000;
    const STREAMS_FLOODING: usize = 32;
    for (name, frame) in [
        ("empty", vec![0, 0]),
        ("one byte", vec![0, 1, 7]),
        ("a packet", [&1200_u16.to_be_bytes()[..], &[7; 1200]].concat()),
        ("the longest", [&[0xff, 0xff][..], &[7; 65_535]].concat()),
    ] {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (poller, mut events, mut streams) =
            (Poller::new().unwrap(), Events::default(), Streams::default());
        let mut turn = |streams: &mut Streams| {
            let is_due = streams.next(Instant::now()).is_some_and(|next| next <= Instant::now());
            let timeout = if is_due { Duration::ZERO } else { Duration::from_millis(1) };
            poller.wait(&mut events, Some(timeout)).unwrap();
            if events.iter().any(|ready| ready.key == STREAMS) {
                streams.are_ready();
            }
            streams.turn(Instant::now()).unwrap();
        };
        let all = frame.repeat(PER_STREAM / frame.len());
        let mut senders: Vec<_> = (0..STREAMS_FLOODING)
            .map(|number| {
                streams.open(&poller, None, address, None, Owner::Peer(number as u32)).unwrap();
                let sender = listener.accept().unwrap().0;
                sender.set_nonblocking(true).unwrap();
                (sender, 0)
            })
            .collect();
        let mut received = 0;
        while received < STREAMS_FLOODING * all.len() {
            for (sender, sent) in &mut senders {
                *sent += write_some(sender, &all[*sent..]);
            }
            turn(&mut streams);
            let queued: usize = streams
                .events
                .iter()
                .map(|(_, _, event)| match event {
                    StreamEvent::Frames(frames) => {
                        frames.bytes.capacity() + frames.datagrams.capacity() * size_of::<Range<usize>>()
                    }
                    _ => 0,
                })
                .sum();
            assert!(queued <= 2 * STREAM_QUEUE_BYTES, "{name}: {queued} bytes are queued");
            let owners =
                streams.events.iter().filter(|(_, _, event)| matches!(event, StreamEvent::Frames(_)));
            let mut owners: Vec<_> = owners.map(|(_, id, _)| id.index()).collect();
            owners.sort_unstable();
            assert!(owners.windows(2).all(|pair| pair[0] != pair[1]), "{name}: one stream fills the queue");
            // The engine processes one event per turn.
            let Some((owner, id, event)) = streams.next_event() else { continue };
            match event {
                StreamEvent::Open => {}
                StreamEvent::Frames(mut frames) => {
                    assert!(frames.datagrams.len() <= STREAM_FRAMES, "{name}");
                    received += frames.datagrams.drain(..).map(|datagram| datagram.len() + 2).sum::<usize>();
                    streams.take_back(id, frames);
                }
                StreamEvent::Lost(loss) => panic!("{name}: {owner:?}: {loss:?}"),
            }
        }
        assert_eq!(streams.queued_bytes, 0, "{name}");
    }
}

/// A host that floods the port with silent connections displaces only its own.
#[test]
fn strangers_of_one_host_do_not_displace_others() {
    let (poller, mut events) = (Poller::new().unwrap(), Events::default());
    let (mut streams, mut flood, mut honest) = (Streams::default(), Streams::default(), Streams::default());
    let address = streams.listen(&poller, "127.0.0.1:0".parse().unwrap()).unwrap();
    // Their sockets are not waited for.
    let elsewhere = Poller::new().unwrap();
    let mut turn = |streams: &mut Streams| {
        poller.wait(&mut events, Some(Duration::from_millis(10))).unwrap();
        streams.are_ready();
        streams.turn(Instant::now()).unwrap();
    };
    let from = |ip: &str| Some(ip.parse().unwrap());
    honest.open(&elsewhere, from("127.0.0.2"), address, None, Owner::Peer(0)).unwrap();
    while streams.strangers.is_empty() {
        turn(&mut streams);
    }
    let (_, first) = streams.strangers[0];
    for _ in 0..2 * STRANGERS {
        flood.open(&elsewhere, from("127.0.0.3"), address, None, Owner::Peer(0)).unwrap();
        turn(&mut streams);
        assert!(streams.strangers.len() <= 1 + STRANGERS_PER_ADDRESS);
    }
    assert_eq!(streams.owner(first), Some(Owner::Stranger));
    assert_eq!(streams.strangers.len(), 1 + STRANGERS_PER_ADDRESS);
}

#[test]
fn hosts_are_told_apart_by_address_or_prefix() {
    for (one, other, is_same) in [
        ("192.0.2.1", "192.0.2.1", true),
        ("192.0.2.1", "192.0.2.2", false),
        ("2001:db8::1", "2001:db8::ffff:1", true),
        ("2001:db8::1", "2001:db8:0:1::1", false),
    ] {
        assert_eq!(
            host_of(one.parse().unwrap()) == host_of(other.parse().unwrap()),
            is_same,
            "{one} {other}"
        );
    }
}
