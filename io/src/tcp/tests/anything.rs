//! Randomised peers and callers, with invariants that must hold in every case.

use std::collections::BTreeMap;
use std::net::Shutdown;
use std::thread;

use super::*;

/// A peer that sends and reads in random portions and closes in a random way. What it reads must be a prefix
/// of what it sent.
fn peer(address: SocketAddr, mut random: Random) {
    let mut stream = dial(address);
    let (mut sent, mut came) = (Vec::new(), Vec::new());
    for _ in 0..random.below(30) {
        match random.below(8) {
            0..4 => {
                let length = 1 << random.below(17);
                let line: Vec<u8> = (0..length).map(|_| b'a' + random.below(26) as u8).collect();
                // Fails if the connection was closed.
                let limit = Some(Duration::from_millis(5));
                stream.set_write_timeout(limit).unwrap();
                let Ok(count) = stream.write(&line) else { break };
                sent.extend_from_slice(&line[..count]);
                if stream.write(b"\n").is_ok_and(|count| count == 1) {
                    sent.push(b'\n');
                }
            }
            4..7 => {
                stream.set_read_timeout(Some(Duration::from_millis(2))).unwrap();
                let mut buffer = vec![0; 1 << random.below(16)];
                if let Ok(count) = stream.read(&mut buffer) {
                    came.extend_from_slice(&buffer[..count]);
                }
            }
            _ => {
                let _ = stream.shutdown(Shutdown::Write);
            }
        }
    }
    if random.below(4) == 0 {
        rustix::net::sockopt::set_socket_linger(&stream, Some(Duration::ZERO)).unwrap();
    }
    assert!(sent.starts_with(&came), "{} bytes sent, {} received, others", sent.len(), came.len());
}

#[test]
fn every_connection_ends_once_and_peers_read_only_their_own_bytes() {
    for seed in [1, 2, 3] {
        println!("seed {seed}");
        let linger_time = Duration::from_millis(100);
        let limits = Limits { linger_time, flush_time: linger_time, connections: 12, ..Limits::default() };
        on_each(&limits, |mut reactor| {
            let address = listen(&mut reactor);
            let peers = thread::spawn(move || {
                let run = move |lane: u64| {
                    (0..8).for_each(|turn| peer(address, Random(seed << 32 | lane << 8 | turn)));
                };
                let lanes: Vec<_> = (0..20).map(|lane| thread::spawn(move || run(lane))).collect();
                lanes.into_iter().for_each(|lane| lane.join().unwrap());
            });
            let (mut random, mut open, mut closed) = (Random(seed), BTreeMap::new(), 0);
            let handle = |reactor: &mut TcpReactor, event| {
                match event {
                    Event::Accepted(key, _) => assert!(open.insert(key, false).is_none()),
                    Event::Closed(key, _) => {
                        open.remove(&key).expect("closed once");
                        closed += 1;
                    }
                    _ => echo_lines(reactor, event),
                }
                for (&key, paused) in open.iter_mut().take(2) {
                    match random.below(12) {
                        0 => reactor.pause(key),
                        1 => reactor.close(key, random.below(2) == 0),
                        2.. if *paused => reactor.resume(key),
                        _ => continue,
                    }
                    *paused = !*paused;
                }
            };
            join(&mut reactor, peers, handle);
            let mut done = false;
            while !done {
                while let Some((key, _)) = open.pop_first() {
                    reactor.close(key, false);
                }
                settle(&mut reactor).into_iter().filter_map(accepted).for_each(|key| {
                    open.insert(key, false);
                });
                done = open.is_empty() && reactor.connections() == 0;
            }
            assert!(closed > 0);
        });
    }
}
