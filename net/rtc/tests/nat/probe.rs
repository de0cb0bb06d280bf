//! Determines the behaviour of NATs from behind them, as RFC 5780 does: the mapped address and port for each
//! destination, and which sources are admitted.

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use crate::bed::{Bed, Node, PUBLIC};

/// A guard against hanging; datagrams are not lost here.
const PATIENCE: Duration = Duration::from_secs(10);
/// For a NAT that blocks everything.
const SHORT: Duration = Duration::from_secs(1);
/// Two addresses and two ports: the first address with the first and the second port, and the second address
/// with the first port.
const SERVERS: [(Ipv4Addr, u16); 3] = [(PUBLIC[0], 3490), (PUBLIC[0], 3491), (PUBLIC[1], 3490)];

/// Whether the mapped port depends on the destination (RFC 4787, 4.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mapping {
    Independent,
    Dependent,
}

/// Which sources are admitted at a mapped port (RFC 4787, 5).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Filtering {
    Independent,
    Address,
    AddressAndPort,
}

/// The combined behaviour of the NATs in front of a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Behaviour {
    mapping: Mapping,
    filtering: Filtering,
}

impl Behaviour {
    pub(crate) const fn new(mapping: Mapping, filtering: Filtering) -> Self {
        Self { mapping, filtering }
    }

    /// Whether two hosts get through to each other as ICE tries: from one host to the address and port that
    /// the other shows to a server, and back.
    pub(crate) fn meets(self, other: Self) -> bool {
        let passes = |from: Self, to: Self| {
            to.mapping == Mapping::Independent
                && (to.filtering != Filtering::AddressAndPort || from.mapping == Mapping::Independent)
        };
        passes(self, other) || passes(other, self)
    }
}

/// Answers on the public segment while this process lives.
pub(crate) fn serve(bed: &Bed) {
    let sockets: Arc<[UdpSocket]> =
        bed.public.enter(|| SERVERS.map(|at| UdpSocket::bind(at).unwrap())).into();
    for at in 0..sockets.len() {
        let sockets = Arc::clone(&sockets);
        thread::spawn(move || {
            let mut request = [0; 8];
            while let Ok((length, from)) = sockets[at].recv_from(&mut request) {
                // One byte for each socket to answer from, in this order; the answer names the socket and the
                // destination.
                for by in &request[..length] {
                    let answer = format!("{by} {from}");
                    sockets[usize::from(*by)].send_to(answer.as_bytes(), from).unwrap();
                }
            }
        });
    }
}

fn socket() -> UdpSocket {
    let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    socket
}

/// The answers with their sources, up to that of the queried server.
fn ask(socket: &UdpSocket, server: usize, by: &[u8]) -> Option<Vec<(usize, SocketAddr)>> {
    socket.send_to(by, SERVERS[server]).unwrap();
    let mut answers = Vec::new();
    while answers.last().is_none_or(|(by, _)| *by != server) {
        let mut answer = [0; 100];
        let length = socket.recv(&mut answer).ok()?;
        let (by, shown) = std::str::from_utf8(&answer[..length]).unwrap().split_once(' ').unwrap();
        answers.push((by.parse().unwrap(), shown.parse().unwrap()));
    }
    Some(answers)
}

/// The NATs in front of this host; `None` if no UDP gets through.
pub(crate) fn behaviour(host: &Node) -> Option<Behaviour> {
    host.enter(|| {
        let mapped = socket();
        mapped.set_read_timeout(Some(SHORT)).unwrap();
        let shown = |server: usize| Some(ask(&mapped, server, &[server as u8])?.last()?.1);
        let first = shown(0)?;
        mapped.set_read_timeout(Some(PATIENCE)).unwrap();
        let is_same = (1..SERVERS.len()).all(|server| shown(server).unwrap() == first);
        let mapping = if is_same { Mapping::Independent } else { Mapping::Dependent };

        // Sources that were not addressed answer first; what is admitted arrives before the second answer.
        let filtered = socket();
        let mut heard = ask(&filtered, 0, &[2, 1, 0]).unwrap();
        heard.extend(ask(&filtered, 0, &[0]).unwrap());
        let has_heard = |server: usize| heard.iter().any(|(by, _)| *by == server);
        let filtering = match (has_heard(1), has_heard(2)) {
            (true, true) => Filtering::Independent,
            (true, false) => Filtering::Address,
            (false, false) => Filtering::AddressAndPort,
            (false, true) => panic!("a NAT that knows ports but no addresses"),
        };
        Some(Behaviour { mapping, filtering })
    })
}

/// Whether one host reaches the other at its mapped address and port, and is seen there with its own mapped
/// ones (RFC 4787, 6).
pub(crate) fn hairpins(from: &Node, to: &Node) -> bool {
    let [(here, shows), (there, at)] = [from, to].map(|host| {
        host.enter(|| {
            let socket = socket();
            let shown = ask(&socket, 0, &[0]).unwrap()[0].1;
            (socket, shown)
        })
    });
    // So that no NAT in front of the other blocks it.
    there.send_to(b"opens", shows).unwrap();
    here.send_to(b"over", at).unwrap();
    // What was admitted arrives before the answer to a later request.
    there.send_to(&[0], SERVERS[0]).unwrap();
    let (_, seen) = there.recv_from(&mut [0; 100]).unwrap();
    seen == shows
}

/// Waits until this host is mapped to another address, for an existing flow too.
pub(crate) fn changes_address(host: &Node, change: impl FnOnce() + Send) {
    host.enter(|| {
        let socket = socket();
        let before = ask(&socket, 0, &[0]).unwrap();
        change();
        socket.set_read_timeout(Some(Duration::from_millis(10))).unwrap();
        // Datagrams to the old address are lost.
        let deadline = Instant::now() + PATIENCE;
        while ask(&socket, 0, &[0]).is_none_or(|now| now == before) {
            assert!(Instant::now() < deadline, "the world sees the host at its old address");
        }
    });
}
