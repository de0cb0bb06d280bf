//! What a NAT does, found out from behind it, as RFC 5780 does: which address and port it shows to whom, and whom it lets in.

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use crate::bed::{Bed, Node, PUBLIC};

/// Not to hang; datagrams are not lost here.
const PATIENCE: Duration = Duration::from_secs(10);
/// For a NAT that lets nothing through.
const SHORT: Duration = Duration::from_secs(1);
/// By two addresses and two ports: the first address' first port, its second, the second address' first.
const SERVERS: [(Ipv4Addr, u16); 3] = [(PUBLIC[0], 3490), (PUBLIC[0], 3491), (PUBLIC[1], 3490)];

/// Whether the port that is shown depends on the peer (RFC 4787, 4.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mapping {
    Independent,
    Dependent,
}

/// Who is let in at a port that is shown (RFC 4787, 5).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Filtering {
    Independent,
    Address,
    AddressAndPort,
}

/// What a host finds out of the NATs before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Behaviour {
    mapping: Mapping,
    filtering: Filtering,
}

impl Behaviour {
    pub(crate) const fn new(mapping: Mapping, filtering: Filtering) -> Self {
        Self { mapping, filtering }
    }

    /// Whether two that try as ICE does get through to each other: from one to the address and port that the other shows to a server, and back.
    pub(crate) fn meets(self, other: Self) -> bool {
        let passes = |from: Self, to: Self| {
            to.mapping == Mapping::Independent
                && (to.filtering != Filtering::AddressAndPort || from.mapping == Mapping::Independent)
        };
        passes(self, other) || passes(other, self)
    }
}

/// Answers on the public segment, as long as this process lives.
pub(crate) fn serve(bed: &Bed) {
    let sockets: Arc<[UdpSocket]> =
        bed.public.enter(|| SERVERS.map(|at| UdpSocket::bind(at).unwrap())).into();
    for at in 0..sockets.len() {
        let sockets = Arc::clone(&sockets);
        thread::spawn(move || {
            let mut request = [0; 8];
            while let Ok((length, from)) = sockets[at].recv_from(&mut request) {
                // A byte for each socket to answer from, in this order; the answer says which, and whom it is for.
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

/// The answers, by whom and what they say, up to that of the server that was asked.
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

/// What this host is behind of; none if no UDP gets through.
pub(crate) fn behaviour(host: &Node) -> Option<Behaviour> {
    host.enter(|| {
        let mapped = socket();
        mapped.set_read_timeout(Some(SHORT)).unwrap();
        let shown = |server: usize| Some(ask(&mapped, server, &[server as u8])?.last()?.1);
        let first = shown(0)?;
        mapped.set_read_timeout(Some(PATIENCE)).unwrap();
        let is_same = (1..SERVERS.len()).all(|server| shown(server).unwrap() == first);
        let mapping = if is_same { Mapping::Independent } else { Mapping::Dependent };

        // Whoever was not spoken to answers first; what is let in has come before the second answer.
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

/// Whether one host reaches the other at the address and port that it shows to the world, and is seen there by its own (RFC 4787, 6).
pub(crate) fn hairpins(from: &Node, to: &Node) -> bool {
    let [(here, shows), (there, at)] = [from, to].map(|host| {
        host.enter(|| {
            let socket = socket();
            let shown = ask(&socket, 0, &[0]).unwrap()[0].1;
            (socket, shown)
        })
    });
    // So that no NAT before the other keeps it out.
    there.send_to(b"opens", shows).unwrap();
    here.send_to(b"over", at).unwrap();
    // What was let in is there before an answer to a later question.
    there.send_to(&[0], SERVERS[0]).unwrap();
    let (_, seen) = there.recv_from(&mut [0; 100]).unwrap();
    seen == shows
}

/// Waits until the world sees this host at another address, by a flow that was there before too.
pub(crate) fn changes_address(host: &Node, change: impl FnOnce() + Send) {
    host.enter(|| {
        let socket = socket();
        let before = ask(&socket, 0, &[0]).unwrap();
        change();
        socket.set_read_timeout(Some(Duration::from_millis(10))).unwrap();
        // What goes to the old address is lost.
        let deadline = Instant::now() + PATIENCE;
        while ask(&socket, 0, &[0]).is_none_or(|now| now == before) {
            assert!(Instant::now() < deadline, "the world sees the host at its old address");
        }
    });
}
