//! A server on real sockets: limits on clients, and fairness between them.

mod fair;
mod ports;
mod support;

use std::io::{Read, Write};
use std::time::Duration;

use netdyno_kv::{Backend, Limits, core};
use support::{Peer, backends, command, start, until, with};

#[test]
fn replies_are_in_the_order_of_the_commands() {
    for backend in backends() {
        let server = start(with(backend));
        let mut peer = Peer::connect(&server);
        peer.send(b"*1\r\n$4\r\nPING\r\nPING\r\n*2\r\n$4\r\nECHO\r\n$3\r\nabc\r\nset k \"a b\"\r\nget k\r\n\r\nget none\r\n");
        peer.expect(b"+PONG\r\n+PONG\r\n$3\r\nabc\r\n+OK\r\n$3\r\na b\r\n$-1\r\n");
        server.stop().unwrap();
    }
}

#[test]
fn a_frame_split_at_every_byte() {
    for backend in backends() {
        let server = start(with(backend));
        let mut peer = Peer::connect(&server);
        let frame = command(&[b"ECHO", b"hello"]);
        for cut in 1..frame.len() {
            peer.send(&frame[..cut]);
            std::thread::sleep(Duration::from_millis(1));
            peer.send(&frame[cut..]);
            peer.expect(b"$5\r\nhello\r\n");
        }
    }
}

#[test]
fn a_deep_pipeline_with_unread_replies() {
    for backend in backends() {
        let server = start(with(backend));
        let value = vec![b'x'; 10_000];
        let mut deaf = Peer::connect(&server);
        deaf.send(&command(&[b"SET", b"big", &value]));
        deaf.expect(b"+OK\r\n");
        let mut writer = deaf.another_hand();
        let sender =
            std::thread::spawn(move || writer.write_all(&command(&[b"GET", b"big"]).repeat(10_000)).unwrap());
        std::thread::sleep(Duration::from_millis(100));
        // Other clients are served meanwhile.
        let mut other = Peer::connect(&server);
        for _ in 0..100 {
            other.send(b"PING\r\n");
            other.expect(b"+PONG\r\n");
        }
        // The client receives all replies once it reads.
        let answer = [&b"$10000\r\n"[..], &value, b"\r\n"].concat();
        for _ in 0..10_000 {
            deaf.expect(&answer);
        }
        sender.join().unwrap();
    }
}

#[test]
fn a_deep_pipeline_of_small_commands() {
    for backend in backends() {
        let server = start(with(backend));
        let mut peer = Peer::connect(&server);
        peer.send(&command(&[b"INCR", b"n"]).repeat(10_000));
        for n in 1..=10_000 {
            peer.expect(format!(":{n}\r\n").as_bytes());
        }
    }
}

#[test]
fn protocol_errors_are_reported_and_close_the_connection() {
    let server = start(with(Backend::Auto));
    for (sent, answer) in [
        (&b"*3000000000\r\n"[..], &b"-ERR Protocol error: invalid multibulk length\r\n"[..]),
        (b"*1\r\n$-10\r\n", b"-ERR Protocol error: invalid bulk length\r\n"),
        (b"*1\r\n$2000000000\r\n", b"-ERR Protocol error: invalid bulk length\r\n"),
        (b"*1\r\n*1\r\n*1\r\n", b"-ERR Protocol error: expected '$', got '*'\r\n"),
        (b"PING\r\n*x\r\n", b"+PONG\r\n-ERR Protocol error: invalid multibulk length\r\n"),
        (b"set \"a\r\n", b"-ERR Protocol error: unbalanced quotes in request\r\n"),
        (&[b'x'; 70_000], b"-ERR Protocol error: too big inline request\r\n"),
        (b"QUIT\r\nPING\r\n", b"+OK\r\n"),
        (b"POST / HTTP/1.1\r\nHost: x\r\n\r\nSET a b\r\n", b""),
        (b"Host: 127.0.0.1\r\n\r\nSET a b\r\n", b""),
    ] {
        let mut peer = Peer::connect(&server);
        peer.send(sent);
        peer.expect(answer);
        peer.expect_end();
    }
}

#[test]
fn an_announced_length_allocates_nothing() {
    let server = start(with(Backend::Auto));
    let mut peers: Vec<_> = (0..200).map(|_| Peer::connect(&server)).collect();
    for peer in &mut peers {
        peer.send(b"*1000000\r\n$536870912\r\nabc");
    }
    let mut other = Peer::connect(&server);
    other.send(b"PING\r\n");
    other.expect(b"+PONG\r\n");
}

#[test]
fn a_long_value_round_trips() {
    for backend in backends() {
        let server = start(with(backend));
        let value: Vec<_> = (0..20_000_000_u32).map(|n| (n % 251) as u8).collect();
        let mut peer = Peer::connect(&server);
        let mut writer = peer.another_hand();
        let sent = [command(&[b"SET", b"k", &value]), command(&[b"GET", b"k"])].concat();
        let sender = std::thread::spawn(move || writer.write_all(&sent).unwrap());
        peer.expect(b"+OK\r\n$20000000\r\n");
        peer.expect(&value);
        peer.expect(b"\r\n");
        sender.join().unwrap();
    }
}

#[test]
fn the_client_limit_is_enforced() {
    let mut limits = Limits::default();
    limits.clients = 3;
    let server = start(with(Backend::Auto).limits(limits));
    let mut peers: Vec<_> = (0..3).map(|_| Peer::connect(&server)).collect();
    for peer in &mut peers {
        peer.send(b"PING\r\n");
        peer.expect(b"+PONG\r\n");
    }
    let mut fourth = Peer::connect(&server);
    fourth.expect(b"-ERR max number of clients reached\r\n");
    fourth.expect_end();
    drop(peers.pop());
    until(|| server.clients() == 2, "one is gone");
    let mut fifth = Peer::connect(&server);
    fifth.send(b"PING\r\n");
    fifth.expect(b"+PONG\r\n");
}

#[test]
fn the_client_limit_spans_threads() {
    for backend in backends() {
        let server = start(with(backend).threads(3));
        let peers: Vec<_> = (0..50).map(|_| Peer::connect(&server)).collect();
        let hands: Vec<_> = peers
            .into_iter()
            .map(|mut peer| {
                std::thread::spawn(move || {
                    peer.send(&command(&[b"INCR", b"n"]).repeat(100));
                    for _ in 0..100 {
                        peer.line();
                    }
                })
            })
            .collect();
        hands.into_iter().for_each(|hand| hand.join().unwrap());
        let mut peer = Peer::connect(&server);
        peer.send(b"GET n\r\n");
        peer.expect(b"$4\r\n5000\r\n");
        server.stop().unwrap();
    }
}

#[test]
fn aborted_clients_leave_no_state() {
    for backend in backends() {
        let server = start(with(backend));
        for kind in 0..4 {
            for _ in 0..50 {
                let mut peer = Peer::connect(&server);
                // Makes sure that the server has accepted the connection.
                peer.send(b"PING\r\n");
                peer.expect(b"+PONG\r\n");
                match kind {
                    0 => peer.send(b"*2\r\n$3\r\nGET\r\n$10"),
                    1 => peer.send(&command(&[b"PING"]).repeat(1000)),
                    2 => peer.reset(),
                    _ => {}
                }
            }
            until(|| server.clients() == 0, &format!("{backend:?}: clients of kind {kind} are gone"));
        }
        let mut peer = Peer::connect(&server);
        peer.send(b"PING\r\n");
        peer.expect(b"+PONG\r\n");
    }
}

#[test]
fn replies_are_sent_after_a_half_close() {
    for backend in backends() {
        let server = start(with(backend));
        let mut peer = Peer::connect(&server);
        peer.send(&command(&[b"PING"]).repeat(5000));
        peer.end();
        let mut answers = Vec::new();
        peer.stream.read_to_end(&mut answers).unwrap();
        assert!(answers == b"+PONG\r\n".repeat(5000), "{} bytes", answers.len());
    }
}

/// In an iteration with large replies, some clients wait for the next one. Their commands are executed even if they have
/// closed their sending side.
#[test]
fn commands_before_a_half_close_are_executed_beside_large_replies() {
    for backend in backends() {
        let server = start(with(backend));
        let value = vec![b'x'; 1_000_000];
        let mut first = Peer::connect(&server);
        first.send(&command(&[b"SET", b"big", &value]));
        first.expect(b"+OK\r\n");
        let mut readers: Vec<_> = (0..8).map(|_| Peer::connect(&server)).collect();
        let mut last = Peer::connect(&server);
        for peer in readers.iter_mut().chain([&mut last]) {
            peer.send(&command(&[b"PING"]));
            peer.expect(b"+PONG\r\n");
        }
        // The server waits meanwhile, so that it receives all of it at once.
        server.with_engine(|_| {
            first.send(&command(&[b"PING"]));
            std::thread::sleep(Duration::from_millis(20));
            readers.iter_mut().for_each(|reader| reader.send(&command(&[b"GET", b"big"])));
            last.send(&command(&[b"ECHO", b"done"]));
            last.end();
            std::thread::sleep(Duration::from_millis(20));
        });
        last.expect(b"$4\r\ndone\r\n");
        last.expect_end();
        for reader in &mut readers {
            reader.expect(&[b"$1000000\r\n", &value[..], b"\r\n"].concat());
        }
    }
}

#[test]
fn messages_reach_clients_of_other_threads() {
    let server = start(with(Backend::Auto).threads(2));
    let mut listeners: Vec<_> = (0..10).map(|_| Peer::connect(&server)).collect();
    for peer in &mut listeners {
        peer.send(b"SUBSCRIBE news\r\n");
        peer.expect(b"*3\r\n$9\r\nsubscribe\r\n$4\r\nnews\r\n:1\r\n");
    }
    let mut speaker = Peer::connect(&server);
    speaker.send(b"PUBLISH news hello\r\n");
    speaker.expect(b":10\r\n");
    for peer in &mut listeners {
        peer.expect(b"*3\r\n$7\r\nmessage\r\n$4\r\nnews\r\n$5\r\nhello\r\n");
    }
}

#[test]
fn unauthenticated_clients_have_lower_limits() {
    let config = core::Config::default().with("requirepass", "secret").unwrap();
    let server = start(with(Backend::Auto).config(config));
    let long = vec![b'x'; 20_000];
    let mut peer = Peer::connect(&server);
    peer.send(b"GET k\r\n");
    assert!(peer.line().starts_with("-NOAUTH"));
    peer.send(&command(&[b"SET", b"k", &long]));
    peer.expect(b"-ERR Protocol error: unauthenticated bulk length\r\n");
    peer.expect_end();
    let mut peer = Peer::connect(&server);
    peer.send(b"*11\r\n");
    peer.expect(b"-ERR Protocol error: unauthenticated multibulk length\r\n");
    peer.expect_end();
    let mut peer = Peer::connect(&server);
    // Sent together: the command after AUTH is already authenticated.
    peer.send(&[command(&[b"AUTH", b"secret"]), command(&[b"SET", b"k", &long])].concat());
    peer.expect(b"+OK\r\n+OK\r\n");
}

#[test]
fn commands_wait_behind_a_blocking_command() {
    for backend in backends() {
        let server = start(with(backend).threads(2));
        let mut waiting: Vec<_> = (0..8).map(|_| Peer::connect(&server)).collect();
        for peer in &mut waiting {
            peer.send(&[command(&[b"BLPOP", b"list", b"0"]), command(&[b"ECHO", b"after"])].concat());
        }
        std::thread::sleep(Duration::from_millis(50));
        let mut other = Peer::connect(&server);
        other.send(&command(&[b"RPUSH", b"list", b"x", b"x", b"x", b"x", b"x", b"x", b"x", b"x"]));
        other.expect(b":8\r\n");
        for peer in &mut waiting {
            peer.expect(b"*2\r\n$4\r\nlist\r\n$1\r\nx\r\n$5\r\nafter\r\n");
        }
    }
}

#[test]
fn a_blocked_client_with_much_input_is_not_read() {
    let server = start(with(Backend::Auto));
    let mut peer = Peer::connect(&server);
    peer.send(b"BLPOP list 0\r\n");
    let mut writer = peer.another_hand();
    // More data than all buffers hold: it arrives only if reading resumes.
    let sender = std::thread::spawn(move || writer.write_all(&b"PING\r\n".repeat(3_000_000)).unwrap());
    std::thread::sleep(Duration::from_millis(100));
    assert!(!sender.is_finished());
    let mut other = Peer::connect(&server);
    other.send(b"RPUSH list x\r\n");
    other.expect(b":1\r\n");
    peer.expect(b"*2\r\n$4\r\nlist\r\n$1\r\nx\r\n");
    for _ in 0..3_000 {
        peer.expect(&b"+PONG\r\n".repeat(1000));
    }
    sender.join().unwrap();
}

#[test]
fn a_subscriber_that_does_not_read_is_disconnected() {
    let mut limits = Limits::default();
    limits.unread_message_bytes = 1 << 20;
    let server = start(with(Backend::Auto).limits(limits));
    let mut deaf = Peer::connect(&server);
    deaf.send(b"SUBSCRIBE news\r\n");
    deaf.expect(b"*3\r\n$9\r\nsubscribe\r\n$4\r\nnews\r\n:1\r\n");
    let mut speaker = Peer::connect(&server);
    let message = command(&[b"PUBLISH", b"news", &[b'x'; 100_000]]);
    for round in 0.. {
        speaker.send(&message);
        if speaker.line() == ":0\r\n" {
            break;
        }
        assert!(round < 1000, "100 MB were kept for it");
    }
    assert_eq!(server.clients(), 1);
}

#[test]
fn the_host_accesses_the_engine() {
    let server = start(with(Backend::Auto));
    let mut peer = Peer::connect(&server);
    peer.send(b"BLPOP list 0\r\n");
    std::thread::sleep(Duration::from_millis(20));
    server.with_engine(|engine| {
        let now = core::Timestamp { unix_ms: 1, monotonic_us: 1 };
        let session = engine.open(now, "here");
        engine.execute(now, session, &[b"RPUSH", b"list", b"x"], &mut Vec::new());
        engine.close(session);
    });
    peer.expect(b"*2\r\n$4\r\nlist\r\n$1\r\nx\r\n");
}

#[test]
fn idle_clients_are_disconnected() {
    let server = start(with(Backend::Auto).idle_timeout(Some(Duration::from_millis(200))));
    let mut peer = Peer::connect(&server);
    peer.send(b"PING\r\n");
    peer.expect(b"+PONG\r\n");
    peer.expect_end();
}

#[test]
fn limits_change_at_runtime() {
    for backend in backends() {
        let mut limits = Limits::default();
        limits.clients = 3;
        let server = start(with(backend).limits(limits));
        let mut first = Peer::connect(&server);
        first.send(b"CONFIG SET maxclients 1\r\n");
        first.expect(b"+OK\r\n");
        let mut second = Peer::connect(&server);
        second.expect(b"-ERR max number of clients reached\r\n");
        first.send(b"CONFIG SET maxclients 4\r\nCONFIG SET maxclients 2 timeout 1\r\n");
        first.expect(b"-ERR CONFIG SET failed (possibly related to argument 'maxclients') - The server was started for 3 clients: restart it with --maxclients 4\r\n+OK\r\n");
        let mut second = Peer::connect(&server);
        second.send(b"PING\r\n");
        second.expect(b"+PONG\r\n");
        // Both idle clients are closed.
        let mut nothing = Vec::new();
        assert_eq!(second.stream.read_to_end(&mut nothing).unwrap_or(0), 0);
        assert_eq!(first.stream.read_to_end(&mut nothing).unwrap_or(0), 0);
        until(|| server.clients() == 0, "silent clients are closed");
        server.stop().unwrap();
    }
}

#[test]
fn slow_commands_and_cpu_time_are_reported() {
    let server = start(with(Backend::Auto));
    let mut peer = Peer::connect(&server);
    peer.send(b"CONFIG SET slowlog-log-slower-than 0\r\nSLOWLOG RESET\r\nGET k\r\nSLOWLOG LEN\r\n");
    peer.expect(b"+OK\r\n+OK\r\n$-1\r\n:2\r\n");
    peer.send(b"INFO cpu\r\n");
    for part in
        ["$", "# Cpu", "used_cpu_sys:", "used_cpu_user:", "used_cpu_sys_children:", "used_cpu_user_children:"]
    {
        let line = peer.line();
        assert!(line.starts_with(part), "{line} instead of {part}");
    }
    server.stop().unwrap();
}

#[test]
fn client_list_describes_connections() {
    for backend in backends() {
        let server = start(with(backend));
        let (mut idle, mut peer) = (Peer::connect(&server), Peer::connect(&server));
        let info = |peer: &mut Peer, command: &str| {
            peer.send(format!("{command}\r\n").as_bytes());
            assert!(peer.line().starts_with('$'));
            let line = peer.line();
            peer.line();
            line
        };
        let line = info(&mut peer, "CLIENT INFO");
        let local = format!(" laddr={} ", server.addresses()[0]);
        assert!(line.contains(&local) && line.contains(" qbuf=13 ") && line.contains(" omem=0 "), "{line}");
        // Requests large replies and does not read them.
        idle.send(b"SET k v\r\nSETRANGE k 8000000 v\r\n");
        idle.expect(b"+OK\r\n:8000001\r\n");
        (0..4).for_each(|_| idle.send(b"GET k\r\n"));
        let omem = |line: &str| {
            let text = line.split(" omem=").nth(1).unwrap().split(' ').next().unwrap();
            text.parse::<usize>().unwrap()
        };
        let begin = std::time::Instant::now();
        while omem(&info(&mut peer, "CLIENT LIST ID 1")) < 1_000_000 {
            assert!(begin.elapsed().as_secs() < 60, "what is not taken is told");
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        let mut taken = vec![0; 4 * (10 + 8_000_001 + 2)];
        idle.stream.read_exact(&mut taken).unwrap();
        while omem(&info(&mut peer, "CLIENT LIST ID 1")) > 0 {
            assert!(begin.elapsed().as_secs() < 60, "and that it was taken");
        }
        server.stop().unwrap();
    }
}
