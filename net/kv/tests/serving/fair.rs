//! Clients whose commands cost little do not wait for those whose commands cost much.

use netdyno_kv::Server;

use super::support::{Peer, backends, command, start, with};

/// Clients that cost much, and the length of their replies: with the limit for all clients per iteration, the replies take
/// more than ten iterations.
const COSTLY: usize = 60;
const LENGTH: usize = 1 << 20;

/// Lets clients send while the server executes nothing, and then a modest client. Returns how many of the others were
/// served before it.
fn served_before(server: &Server, costly: &mut [Peer], modest: &mut Peer) -> usize {
    modest.send(&command(&[b"SET", b"served", b"0"]));
    modest.expect(b"+OK\r\n");
    server.with_engine(|_| {
        for peer in &mut *costly {
            peer.send(&[command(&[b"INCR", b"served"]), command(&[b"GET", b"big"])].concat());
        }
        modest.send(&command(&[b"INCR", b"served"]));
    });
    let place: usize = modest.line().trim_start_matches(':').trim_end().parse().expect("a number");
    let reply = [format!("${LENGTH}\r\n").as_bytes(), &[b'x'; LENGTH], b"\r\n"].concat();
    for peer in costly {
        assert!(peer.line().starts_with(':'));
        peer.expect(&reply);
    }
    place - 1
}

#[test]
fn modest_clients_do_not_wait_for_costly_ones() {
    for backend in backends() {
        let server = start(with(backend));
        let mut modest = Peer::connect(&server);
        modest.send(&command(&[b"SET", b"big", &[b'x'; LENGTH]]));
        modest.expect(b"+OK\r\n");
        let mut costly: Vec<_> = (0..COSTLY).map(|_| Peer::connect(&server)).collect();
        while server.clients() <= COSTLY {
            std::thread::yield_now();
        }
        for kind in ["new", "in debt for large replies"] {
            let before = served_before(&server, &mut costly, &mut modest);
            assert!(before < COSTLY / 2, "{before} of {COSTLY} clients that are {kind} came first");
        }
    }
}
