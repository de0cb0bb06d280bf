//! Limits on what a peer can make the reactor hold, and behaviour when the process reaches its own limits.

use std::io::ErrorKind;
use std::process::Command;

use super::*;

#[test]
fn too_much_input_or_output_ends_a_connection() {
    let limits = Limits { input_bytes: 100_000, output_bytes: 200_000, ..Limits::default() };
    on_each(&limits, |mut reactor| {
        let address = listen(&mut reactor);
        let mut client = dial(address);
        next(&mut reactor, accepted);
        for _ in 0..20 {
            let _ = client.write_all(&[0; 10_000]);
        }
        assert_eq!(next(&mut reactor, closed), CloseReason::InputLimit);

        let _client = dial(address);
        let key = next(&mut reactor, accepted);
        let reason = loop {
            reactor.output(key).extend_from_slice(&[0; 150_000]);
            let events = settle(&mut reactor);
            if let Some(reason) = events.into_iter().find_map(closed) {
                break reason;
            }
        };
        assert_eq!(reason, CloseReason::OutputLimit);
        turn_until(&mut reactor, |_, _| {}, |reactor| reactor.connections() == 0);
    });
}

#[test]
fn the_kernel_buffers_no_more_than_requested_for_a_slow_peer() {
    const OUTPUT: usize = 16 << 20;
    on_each(&Limits::default(), |mut reactor| {
        reactor.set_unsent_bytes(64 << 10).unwrap();
        let address = listen(&mut reactor);
        let mut client = dial(address);
        let key = next(&mut reactor, accepted);
        reactor.output(key).resize(OUTPUT, 7);
        settle(&mut reactor);
        // What the client's kernel accepted has been sent.
        let held = OUTPUT - reactor.pending_output(key);
        assert!(held < 1 << 20, "{held}; without a limit it is about 4 MB");
        let client = std::thread::spawn(move || read_exactly(&mut client, OUTPUT));
        assert!(join(&mut reactor, client, |_, _| {}).iter().all(|&byte| byte == 7));
    });
}

#[test]
fn an_excess_connection_waits() {
    let limits = Limits { connections: 3, ..Limits::default() };
    on_each(&limits, |mut reactor| {
        let address = listen(&mut reactor);
        let mut clients: Vec<_> = (0..3).map(|_| dial(address)).collect();
        turn_until(&mut reactor, echo_lines, |reactor| reactor.connections() == 3);
        settle(&mut reactor);
        clients.extend((0..3).map(|_| dial(address)));
        settle(&mut reactor);
        assert_eq!(reactor.connections(), 3);
        assert!(reactor.connect(address).is_err());
        for _ in 0..3 {
            drop(clients.remove(0));
            turn_until(&mut reactor, echo_lines, |reactor| reactor.connections() < 3);
            turn_until(&mut reactor, echo_lines, |reactor| reactor.connections() == 3);
        }
        for mut client in clients {
            client.write_all(b"hello\n").unwrap();
            let client = std::thread::spawn(move || read_exactly(&mut client, 6));
            assert_eq!(join(&mut reactor, client, echo_lines), b"hello\n");
        }
    });
}

#[test]
fn a_close_does_not_wait_without_end() {
    let time = Duration::from_millis(40);
    let limits = Limits { flush_time: time, linger_time: time, ..Limits::default() };
    on_each(&limits, |mut reactor| {
        let address = listen(&mut reactor);
        // One peer never reads, and one never closes.
        for (bytes, reason) in
            [(16 << 20, CloseReason::Lost(ErrorKind::TimedOut)), (10, CloseReason::Requested)]
        {
            let _client = dial(address);
            let key = next(&mut reactor, accepted);
            reactor.output(key).resize(bytes, 0);
            reactor.close(key, true);
            assert_eq!(next(&mut reactor, closed), reason);
            let begin = Instant::now();
            while reactor.connections() > 0 {
                assert!(begin.elapsed() < GUARD);
                reactor.wait(None).unwrap();
                assert_eq!(reactor.next_event(), None, "reported once");
            }
        }
    });
}

#[test]
fn more_receives_than_buffers_are_all_served() {
    use crate::tcp::limits::{URING_BUFFER_BYTES, URING_BUFFERS};
    const CLIENTS: usize = 40;
    let each = 2 * usize::from(URING_BUFFERS) * URING_BUFFER_BYTES / CLIENTS;
    on_each(&Limits::default(), |mut reactor| {
        let address = listen(&mut reactor);
        let mut clients: Vec<_> = (0..CLIENTS).map(|_| dial(address)).collect();
        turn_until(&mut reactor, |_, _| {}, |reactor| reactor.connections() == CLIENTS);
        settle(&mut reactor);
        for client in &mut clients {
            client.write_all(&vec![7; each]).unwrap();
        }
        let mut came = 0;
        let take = |reactor: &mut TcpReactor, event| {
            if let Event::Received(key) = event {
                let count = reactor.input(key).len();
                came += count;
                reactor.consume(key, count);
                if came == CLIENTS * each {
                    reactor.waker().wake();
                }
            }
        };
        let mut take = take;
        let mut woken = false;
        let begin = Instant::now();
        while !woken {
            assert!(begin.elapsed() < GUARD, "hangs");
            reactor.wait(Some(Duration::from_millis(5))).unwrap();
            while let Some(event) = reactor.next_event() {
                woken |= event == Event::Woken;
                take(&mut reactor, event);
            }
        }
    });
}

#[test]
fn closing_a_connection_in_each_turn_does_not_delay_others() {
    const CLIENTS: usize = 50;
    on_each(&Limits::default(), |mut reactor| {
        let address = listen(&mut reactor);
        let _clients: Vec<_> = (0..CLIENTS).map(|_| dial(address)).collect();
        let mut other = dial(address);
        let others = other.local_addr().unwrap();
        let mut keys = Vec::new();
        let accept = |_: &mut TcpReactor, event| {
            if let Event::Accepted(key, peer) = event {
                keys.extend((peer != others).then_some(key));
            }
        };
        turn_until(&mut reactor, accept, |reactor| reactor.connections() == CLIENTS + 1);
        settle(&mut reactor);
        other.write_all(b"hello").unwrap();
        let mut is_received = false;
        // Closed after the events have been taken, as by a server that serves its clients in turn.
        let turns = keys.into_iter().take_while(|&key| {
            reactor.close(key, false);
            reactor.wait(Some(Duration::from_millis(5))).unwrap();
            while let Some(event) = reactor.next_event() {
                is_received |= matches!(event, Event::Received(_));
            }
            !is_received
        });
        let turns = turns.count();
        assert!(is_received, "no input in {turns} turns");
    });
}

#[test]
fn long_frames_do_not_delay_other_connections() {
    use crate::tcp::limits::{LONG_BYTES, LONG_READ_BYTES, TURN_LONG_BYTES};
    const CLIENTS: usize = 64;
    const EACH: usize = 128 << 10;
    on_each(&Limits::default(), |mut reactor| {
        let address = listen(&mut reactor);
        let mut clients: Vec<_> = (0..CLIENTS).map(|_| dial(address)).collect();
        let mut short = dial(address);
        turn_until(&mut reactor, |_, _| {}, |reactor| reactor.connections() == CLIENTS + 1);
        // Input that is not consumed makes a connection one with long frames.
        for _ in 0..2 {
            for client in &mut clients {
                client.write_all(&[7; LONG_BYTES]).unwrap();
            }
            settle(&mut reactor);
        }
        let keys: Vec<_> =
            (0..=CLIENTS as u32).filter_map(|index| reactor.shared.table.key_at(index)).collect();
        keys.iter().for_each(|&key| reactor.consume(key, usize::MAX));

        let writers = clients.into_iter().map(|mut client| {
            client.set_nonblocking(true).unwrap();
            let sent = client.write(&[7; EACH]).unwrap();
            (client, sent)
        });
        let (_clients, sent): (Vec<_>, Vec<_>) = writers.unzip();
        short.write_all(b"hello").unwrap();
        let (expected, mut all, mut turns_of_short) = (sent.iter().sum::<usize>(), 0, None);
        let (begin, mut turns) = (Instant::now(), 0);
        while all < expected {
            assert!(begin.elapsed() < GUARD, "hangs");
            reactor.wait(Some(Duration::from_millis(5))).unwrap();
            let mut bytes = 0;
            while let Some(event) = reactor.next_event() {
                let Event::Received(key) = event else { continue };
                match reactor.input(key) {
                    b"hello" => turns_of_short = Some(turns),
                    input => bytes += input.len(),
                }
                reactor.consume(key, usize::MAX);
            }
            assert!(bytes < TURN_LONG_BYTES + LONG_READ_BYTES, "{bytes} bytes in a turn");
            (all, turns) = (all + bytes, turns + 1);
        }
        assert!(turns_of_short.is_some_and(|turn| 2 * turn < turns), "{turns_of_short:?} of {turns} turns");
    });
}

/// Runs in a separate process with few descriptors.
#[test]
#[ignore = "run by `without_descriptors_the_longest_waiting_are_refused`"]
fn with_few_descriptors() {
    on_each(&Limits::default(), |mut reactor| {
        let address = listen(&mut reactor);
        let mut clients = Vec::new();
        // As many as there are descriptors; each has both ends in this process.
        while let Ok(client) = std::net::TcpStream::connect(address) {
            clients.push(client);
            assert!(clients.len() < 1000, "the descriptor limit applies");
        }
        let (begin, mut turns) = (Instant::now(), 0);
        while begin.elapsed() < Duration::from_millis(300) {
            reactor.wait(Some(Duration::from_millis(20))).unwrap();
            while reactor.next_event().is_some() {}
            turns += 1;
        }
        assert!(turns < 100, "{turns} turns: busy loop");
        // Connections that could not be accepted were refused, and later ones are served.
        let refused = clients.iter().filter(|client| {
            client.set_nonblocking(true).unwrap();
            let mut client: &TcpStream = client;
            !matches!(client.read(&mut [0; 1]), Err(error) if error.kind() == ErrorKind::WouldBlock)
        });
        assert!(refused.count() > 0);
        drop(clients);
        turn_until(&mut reactor, echo_lines, |reactor| reactor.connections() == 0);
        let client = std::thread::spawn(move || ask(&mut dial(address), b"hello\n"));
        assert_eq!(join(&mut reactor, client, echo_lines), b"hello\n");
    });
}

#[test]
fn without_descriptors_the_longest_waiting_are_refused() {
    let me = std::env::current_exe().unwrap();
    let name = "tcp::tests::limits::with_few_descriptors";
    let script = format!("ulimit -n 60; exec \"$0\" --exact {name} --ignored --nocapture");
    let output = Command::new("sh").arg("-c").arg(script).arg(me).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}\n{}", String::from_utf8_lossy(&output.stderr));
    assert!(text.contains("1 passed"), "{text}");
}
