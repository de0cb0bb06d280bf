//! Bytes in order: splits, slow readers, half-closed peers, pauses.

use std::net::Shutdown;
use std::thread;

use super::*;

fn lines(random: &mut Random, count: usize, longest: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    for _ in 0..count {
        // Mostly short ones.
        let limit = 1 << random.below(longest.ilog2().into());
        let length = random.below(limit);
        bytes.extend((0..length).map(|_| b'a' + random.below(26) as u8));
        bytes.push(b'\n');
    }
    bytes
}

#[test]
fn lines_are_echoed_with_any_segmentation() {
    let seed = 20_240_607;
    println!("seed {seed}");
    on_each(&Limits::default(), |mut reactor| {
        let address = listen(&mut reactor);
        let clients = thread::spawn(move || {
            let client = |number: u64| {
                thread::spawn(move || {
                    let mut random = Random(seed + number);
                    let (mut stream, sent) = (dial(address), lines(&mut random, 300, 1 << 17));
                    stream.set_nodelay(true).unwrap();
                    let (mut writer, bytes) = (stream.try_clone().unwrap(), sent.clone());
                    let writing = thread::spawn(move || {
                        let mut rest = &bytes[..];
                        while !rest.is_empty() {
                            let limit = 1 << random.below(16);
                            let part = (1 + random.below(limit) as usize).min(rest.len());
                            writer.write_all(&rest[..part]).unwrap();
                            rest = &rest[part..];
                        }
                        writer.shutdown(Shutdown::Write).unwrap();
                    });
                    let came = read_to_end(&mut stream);
                    writing.join().unwrap();
                    assert!(came == sent, "client {number}");
                })
            };
            let clients: Vec<_> = (0..8).map(client).collect();
            clients.into_iter().for_each(|client| client.join().unwrap());
        });
        join(&mut reactor, clients, echo_lines);
        turn_until(&mut reactor, echo_lines, |reactor| reactor.connections() == 0);
    });
}

/// Number of buffers that connections hold.
fn holding(reactor: &TcpReactor) -> usize {
    let connections = (0..reactor.connections() as u32)
        .filter_map(|index| reactor.shared.table.get(reactor.shared.table.key_at(index)?));
    connections.filter(|connection| connection.holds_buffers()).count()
}

#[test]
fn a_thousand_connections_hold_no_buffer_while_they_are_idle() {
    on_each(&Limits::default(), |mut reactor| {
        let address = listen(&mut reactor);
        let clients = thread::spawn(move || {
            let mut clients: Vec<_> = (0..1000).map(|_| dial(address)).collect();
            for round in 0..3 {
                let line = |number| format!("{round} of {number}\n").into_bytes();
                for (number, client) in clients.iter_mut().enumerate() {
                    client.write_all(&line(number)).unwrap();
                }
                for (number, client) in clients.iter_mut().enumerate() {
                    assert_eq!(read_exactly(client, line(number).len()), line(number));
                }
            }
            clients
        });
        let clients = join(&mut reactor, clients, echo_lines);
        settle(&mut reactor);
        assert_eq!((reactor.connections(), holding(&reactor)), (1000, 0));
        drop(clients);
        turn_until(&mut reactor, echo_lines, |reactor| reactor.connections() == 0);
    });
}

/// Bytes that differ by position: a block of odd length, repeated.
fn pattern(count: usize) -> Vec<u8> {
    let block: Vec<u8> = (0..10_007_u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let mut bytes = block.repeat(count.div_ceil(block.len()));
    bytes.truncate(count);
    bytes
}

#[test]
fn a_slow_reader_gets_all_of_a_large_output() {
    const BYTES: usize = 24 << 20;
    on_each(&Limits::default(), |mut reactor| {
        let mut client = dial(listen(&mut reactor));
        let key = next(&mut reactor, accepted);
        let expected = pattern(BYTES);
        reactor.output(key).extend_from_slice(&expected[..BYTES / 2]);
        settle(&mut reactor);
        assert!(reactor.pending_output(key) > 0, "more than the socket accepts");
        reactor.output(key).extend_from_slice(&expected[BYTES / 2..]);
        reactor.flush().unwrap();
        let client = thread::spawn(move || {
            let (mut came, mut random) = (Vec::with_capacity(BYTES), Random(1));
            let mut buffer = vec![0; 1 << 17];
            while came.len() < BYTES {
                let limit = random.below(1 << 17) as usize + 1;
                let count = client.read(&mut buffer[..limit]).unwrap();
                came.extend_from_slice(&buffer[..count]);
            }
            came
        });
        assert!(join(&mut reactor, client, |_, _| {}) == expected);
        settle(&mut reactor);
        assert_eq!((reactor.pending_output(key), holding(&reactor)), (0, 0));
    });
}

#[test]
fn output_precedes_the_close_with_any_input() {
    const BYTES: usize = 8 << 20;
    let limits = Limits { linger_time: Duration::from_millis(300), ..Limits::default() };
    on_each(&limits, |mut reactor| {
        let mut client = dial(listen(&mut reactor));
        let key = next(&mut reactor, accepted);
        // It keeps sending: unread data would cause a reset.
        let mut writer = client.try_clone().unwrap();
        writer.set_write_timeout(Some(Duration::from_millis(20))).unwrap();
        let talking = thread::spawn(move || while writer.write(&[0; 4096]).is_ok() {});
        reactor.output(key).extend_from_slice(&pattern(BYTES));
        reactor.close(key, true);
        assert!(reactor.input(key).is_empty(), "the key is no longer valid");
        let client = thread::spawn(move || {
            let came = read_exactly(&mut client, BYTES);
            let ended = client.read(&mut [0; 1]).unwrap();
            (came, ended)
        });
        let mut events = Vec::new();
        let (came, ended) = join(&mut reactor, client, |_, event| events.push(event));
        assert!(came == pattern(BYTES));
        assert_eq!((ended, events), (0, vec![Event::Closed(key, CloseReason::Requested)]));
        turn_until(&mut reactor, |_, _| {}, |reactor| reactor.connections() == 0);
        talking.join().unwrap();
    });
}

#[test]
fn a_half_closed_connection_gets_its_answers() {
    on_each(&Limits::default(), |mut reactor| {
        let mut client = dial(listen(&mut reactor));
        client.write_all(b"one\ntwo\nthr").unwrap();
        client.shutdown(Shutdown::Write).unwrap();
        let client = thread::spawn(move || read_to_end(&mut client));
        let mut events = Vec::new();
        let handle = |reactor: &mut TcpReactor, event| {
            events.push(event);
            echo_lines(reactor, event);
        };
        assert_eq!(join(&mut reactor, client, handle), b"one\ntwo\n");
        turn_until(&mut reactor, |_, event| events.push(event), |reactor| reactor.connections() == 0);
        let [Event::Accepted(key, _), Event::Received(_), Event::Ended(_), Event::Closed(last, reason)] =
            events[..]
        else {
            panic!("{events:?}")
        };
        assert_eq!((key, reason), (last, CloseReason::Requested));
    });
}

#[test]
fn a_paused_connection_is_not_read() {
    const BYTES: usize = 32 << 20;
    on_each(&Limits::default(), |mut reactor| {
        let mut client = dial(listen(&mut reactor));
        let key = next(&mut reactor, accepted);
        reactor.pause(key);
        settle(&mut reactor);
        client.write_all(b"not yet").unwrap();
        assert_eq!(settle(&mut reactor), []);
        reactor.resume(key);
        next(&mut reactor, |event| (event == Event::Received(key)).then_some(()));
        assert_eq!(reactor.input(key), b"not yet");
        reactor.consume(key, 100);

        let writing = thread::spawn(move || {
            client.write_all(&pattern(BYTES)).unwrap();
            client
        });
        // In the middle of the transfer.
        let mut came = Vec::new();
        let mut take = |reactor: &mut TcpReactor, event| {
            if let Event::Received(key) = event {
                came.extend_from_slice(reactor.input(key));
                let count = reactor.input(key).len();
                reactor.consume(key, count);
            }
        };
        for _ in 0..20 {
            settle(&mut reactor).into_iter().for_each(|event| take(&mut reactor, event));
            reactor.pause(key);
            settle(&mut reactor).into_iter().for_each(|event| take(&mut reactor, event));
            assert_eq!(settle(&mut reactor), []);
            reactor.resume(key);
            reactor.pause(key);
            reactor.resume(key);
        }
        let _client = join(&mut reactor, writing, &mut take);
        settle(&mut reactor).into_iter().for_each(|event| take(&mut reactor, event));
        assert!(came == pattern(BYTES), "{} bytes", came.len());
    });
}

#[test]
fn unconsumed_input_is_kept() {
    on_each(&Limits::default(), |mut reactor| {
        let mut client = dial(listen(&mut reactor));
        let key = next(&mut reactor, accepted);
        let mut expected = Vec::new();
        for round in 0..50 {
            let part = pattern(round * 37 + 1);
            client.write_all(&part).unwrap();
            expected.extend_from_slice(&part);
            while reactor.input(key).len() < expected.len() {
                settle(&mut reactor);
            }
            assert_eq!(reactor.input(key), expected);
            let count = expected.len() * (round % 4) / 4;
            reactor.consume(key, count);
            expected.drain(..count);
            assert_eq!(reactor.input(key), expected);
        }
    });
}

#[test]
fn a_reactor_may_be_dropped_with_operations_in_progress() {
    on_each(&Limits::default(), |mut reactor| {
        let address = listen(&mut reactor);
        let mut clients: Vec<_> = (0..20).map(|_| dial(address)).collect();
        let (mut keys, bytes) = (Vec::new(), pattern(4 << 20));
        turn_until(
            &mut reactor,
            |_, event| keys.extend(accepted(event)),
            |reactor| reactor.connections() == 20,
        );
        for (client, key) in clients.iter_mut().zip(keys) {
            client.write_all(b"hello").unwrap();
            reactor.output(key).extend_from_slice(&bytes);
        }
        reactor.flush().unwrap();
        reactor.wait(Some(Duration::from_millis(5))).unwrap();
        drop(reactor);
        for client in &mut clients {
            // Until the end, or the reset that unread bytes cause.
            let _ = client.read_to_end(&mut Vec::new());
        }
    });
}

#[test]
fn flushed_output_is_sent_before_the_reactor_is_dropped() {
    on_each(&Limits::default(), |mut reactor| {
        let mut client = dial(listen(&mut reactor));
        let key = next(&mut reactor, accepted);
        reactor.output(key).extend_from_slice(b"the last answer");
        reactor.flush().unwrap();
        drop(reactor);
        assert_eq!(read_to_end(&mut client), b"the last answer");
    });
}

#[test]
fn a_wait_ends_when_the_output_of_a_paused_connection_is_sent() {
    on_each(&Limits::default(), |mut reactor| {
        let mut client = dial(listen(&mut reactor));
        let key = next(&mut reactor, accepted);
        reactor.pause(key);
        reactor.output(key).resize(16 << 20, 0);
        settle(&mut reactor);
        let reading = thread::spawn(move || read_exactly(&mut client, 16 << 20).len());
        let begin = Instant::now();
        while reactor.pending_output(key) > 0 {
            reactor.wait(Some(GUARD)).unwrap();
            assert_eq!(reactor.next_event(), None);
        }
        assert!(begin.elapsed() < GUARD / 2, "reported by the timer alone");
        assert_eq!(reading.join().unwrap(), 16 << 20);
    });
}

/// Connections with long lines use another read path than those with short ones, and may switch at any time.
#[test]
fn alternating_long_and_short_frames() {
    on_each(&Limits::default(), |mut reactor| {
        let address = listen(&mut reactor);
        let client = thread::spawn(move || {
            let (mut random, mut stream) = (Random(7), dial(address));
            for round in 0..6 {
                for _ in 0..if round % 2 == 0 { 8 } else { 60 } {
                    let longest = if round % 2 == 0 { 300_000 } else { 300 };
                    let mut line = vec![b'a' + round as u8; 1 + random.below(longest) as usize];
                    line.push(b'\n');
                    assert!(ask(&mut stream, &line) == line);
                }
            }
        });
        let (mut was_long, mut was_short, mut paused) = (false, false, None);
        let handle = |reactor: &mut TcpReactor, event: Event| {
            if let Event::Received(key) = event {
                let long = reactor.shared.table.get(key).unwrap().long;
                (was_long, was_short) = (was_long || long, was_short || was_long && !long);
                // Some are paused for a moment.
                if let Some(key) = paused.take() {
                    reactor.resume(key);
                } else if long && reactor.input(key).len().is_multiple_of(3) {
                    reactor.pause(key);
                    paused = Some(key);
                }
                echo_lines(reactor, event);
                if let Some(key) = paused.take() {
                    reactor.resume(key);
                }
            } else {
                echo_lines(reactor, event);
            }
        };
        join(&mut reactor, client, handle);
        assert!(was_long && was_short, "both paths were used");
    });
}
