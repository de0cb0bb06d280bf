//! The number of connections to the server, and of the bytes read from them, as reported by the kernel.
//!
//! The query uses netlink (sock_diag(7)) like `ss`: it sends `struct inet_diag_req_v2` and receives a `struct inet_diag_msg` with
//! `struct tcp_info` for each socket. Numbers are in host byte order, ports in network byte order.

use std::net::SocketAddr;
use std::os::fd::OwnedFd;

use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink, recv, send, socket_with,
};

use crate::limits::{DIAG_BYTES, DIAG_TIMEOUT};

const HEADER_BYTES: usize = 16;
const REQUEST_BYTES: usize = 72;
/// `NLM_F_REQUEST | NLM_F_DUMP`
const FLAGS: u16 = 0x301;
/// `SOCK_DIAG_BY_FAMILY`, `NLMSG_ERROR`, `NLMSG_DONE`
const BY_FAMILY: u16 = 20;
const ERROR: u16 = 2;
const DONE: u16 = 3;
const AF_INET: u8 = 2;
const AF_INET6: u8 = 10;
const TCP: u8 = 6;
/// `TCP_ESTABLISHED` and `TCP_SYN_SENT`, as bits.
const STATES: u32 = 1 << 1 | 1 << 2;
/// The attribute with `tcp_info`.
const INFO: u16 = 2;
/// The offset of the number of unread bytes in `inet_diag_msg`, and the length of that structure.
const UNREAD_AT: usize = 56;
const MESSAGE_BYTES: usize = 72;
/// The offset of the number of received bytes in `tcp_info`.
const RECEIVED_AT: usize = 128;

/// A snapshot of the connections.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Seen {
    /// Connections to the server that are open or being opened.
    pub connections: u64,
    /// Bytes that were read from these connections.
    pub read_bytes: u64,
}

/// A netlink socket for queries.
#[derive(Debug)]
pub struct Sockets {
    netlink: OwnedFd,
    request: Vec<u8>,
}

impl Sockets {
    /// Creates queries for the connections to this server.
    pub fn new(server: SocketAddr) -> Result<Self, String> {
        let netlink = socket_with(
            AddressFamily::NETLINK,
            SocketType::RAW,
            SocketFlags::CLOEXEC,
            Some(netlink::SOCK_DIAG),
        );
        let netlink = netlink.map_err(|e| format!("cannot query connections (sock_diag): {e}"))?;
        set_socket_timeout(&netlink, Timeout::Recv, Some(DIAG_TIMEOUT)).map_err(|e| describe(&e))?;
        Ok(Self { netlink, request: request(server) })
    }

    /// Takes a snapshot.
    pub fn look(&self) -> Result<Seen, String> {
        send(&self.netlink, &self.request, SendFlags::empty()).map_err(|e| describe(&e))?;
        let (mut seen, mut space) = (Seen::default(), vec![0; DIAG_BYTES]);
        loop {
            let (length, _) =
                recv(&self.netlink, space.as_mut_slice(), RecvFlags::empty()).map_err(|e| describe(&e))?;
            if take(&space[..length], &mut seen)? {
                return Ok(seen);
            }
        }
    }
}

fn describe(error: &rustix::io::Errno) -> String {
    format!("cannot query connections (sock_diag): {error}")
}

/// The request for all connections in these states to the server's port.
fn request(server: SocketAddr) -> Vec<u8> {
    let mut out = Vec::with_capacity(REQUEST_BYTES);
    out.extend((REQUEST_BYTES as u32).to_ne_bytes());
    out.extend(BY_FAMILY.to_ne_bytes());
    out.extend(FLAGS.to_ne_bytes());
    // Sequence and sender are zero, because the socket has a single user.
    out.extend([0; 8]);
    out.extend([if server.is_ipv4() { AF_INET } else { AF_INET6 }, TCP, 1 << (INFO - 1), 0]);
    out.extend(STATES.to_ne_bytes());
    out.extend([0; 2]);
    out.extend(server.port().to_be_bytes());
    out.resize(REQUEST_BYTES, 0);
    out
}

/// Adds the messages of a datagram to the snapshot. Returns true after the last one.
fn take(mut bytes: &[u8], seen: &mut Seen) -> Result<bool, String> {
    while bytes.len() >= HEADER_BYTES {
        let length = u32_at(bytes, 0) as usize;
        if length < HEADER_BYTES || length > bytes.len() {
            return Err(format!("sock_diag: message of {length} bytes in {}", bytes.len()));
        }
        let body = &bytes[HEADER_BYTES..length];
        match u16_at(bytes, 4) {
            DONE => return Ok(true),
            ERROR => {
                return Err(
                    "sock_diag: the kernel rejects the query; is the module tcp_diag missing?".to_owned()
                );
            }
            BY_FAMILY if body.len() >= MESSAGE_BYTES => {
                let received = received(&body[MESSAGE_BYTES..])
                    .ok_or("sock_diag: no count of received bytes; Linux 4.1 or later is required")?;
                seen.connections += 1;
                seen.read_bytes += received.saturating_sub(u64::from(u32_at(body, UNREAD_AT)));
            }
            _ => {}
        }
        bytes = &bytes[aligned(length).min(bytes.len())..];
    }
    Ok(false)
}

/// Returns the number of received bytes from the attributes of a socket.
fn received(mut attributes: &[u8]) -> Option<u64> {
    while attributes.len() >= 4 {
        let length = usize::from(u16_at(attributes, 0));
        let value = attributes.get(4..length)?;
        if u16_at(attributes, 2) == INFO {
            let bytes = value.get(RECEIVED_AT..RECEIVED_AT + 8)?;
            return Some(u64::from_ne_bytes(bytes.try_into().ok()?));
        }
        attributes = attributes.get(aligned(length)..)?;
    }
    None
}

fn aligned(length: usize) -> usize {
    length.next_multiple_of(4)
}

/// The caller checks the length.
fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_ne_bytes([bytes[at], bytes[at + 1]])
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_ne_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn only_read_bytes_are_counted() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let sockets = Sockets::new(address).unwrap();
        assert_eq!(sockets.look(), Ok(Seen::default()));
        let mut links: Vec<(TcpStream, TcpStream)> =
            (0..20).map(|_| (TcpStream::connect(address).unwrap(), listener.accept().unwrap().0)).collect();
        for (at, (ours, theirs)) in links.iter_mut().enumerate() {
            theirs.write_all(&[b'x'; 100]).unwrap();
            ours.read_exact(&mut vec![0; 3 * at]).unwrap();
            ours.write_all(b"the other direction does not count").unwrap();
        }
        let read_bytes = 3 * (0..20).sum::<u64>();
        assert_eq!(sockets.look(), Ok(Seen { connections: 20, read_bytes }));
        links.truncate(5);
        assert_eq!(sockets.look(), Ok(Seen { connections: 5, read_bytes: 30 }));
    }

    #[test]
    fn malformed_messages_are_errors_or_ignored() {
        let message = |length: u32, kind: u16, body: &[u8]| {
            [&length.to_ne_bytes()[..], &kind.to_ne_bytes(), &[0; 10], body].concat()
        };
        let rows: [(Vec<u8>, Option<bool>); 6] = [
            (vec![], Some(false)),
            (message(16, DONE, &[]), Some(true)),
            (message(15, DONE, &[]), None),
            (message(17, DONE, &[]), None),
            (message(20, ERROR, &[0; 4]), None),
            // Without its attributes.
            (message(88, BY_FAMILY, &[0; 72]), None),
        ];
        for (bytes, wanted) in rows {
            assert_eq!(take(&bytes, &mut Seen::default()).ok(), wanted, "{bytes:?}");
        }
        for attributes in [&[][..], &[0; 8], &[3, 0, 2, 0, 0], &[8, 0, 2, 0, 0, 0, 0, 0], &[255, 255, 1, 0]] {
            assert_eq!(received(attributes), None, "{attributes:?}");
        }
    }
}
