//! What the kernel knows of the connections to the server: how many there are, and how many bytes have been read from them.
//!
//! Asked by netlink (sock_diag(7)), as `ss` does: `struct inet_diag_req_v2` out, for each socket `struct inet_diag_msg` with `struct tcp_info`
//! back. Numbers are in the machine's byte order, ports in the network's.

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
/// Where in `inet_diag_msg` the bytes stand that have come and were not read; how long it is.
const UNREAD_AT: usize = 56;
const MESSAGE_BYTES: usize = 72;
/// Where in `tcp_info` the bytes stand that have come.
const RECEIVED_AT: usize = 128;

/// What was seen at once.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Seen {
    /// Connections to the server that are open, or being opened.
    pub connections: u64,
    /// Bytes that were read from them.
    pub read_bytes: u64,
}

/// A way to ask.
#[derive(Debug)]
pub struct Sockets {
    netlink: OwnedFd,
    request: Vec<u8>,
}

impl Sockets {
    /// Of this server.
    pub fn new(server: SocketAddr) -> Result<Self, String> {
        let netlink = socket_with(
            AddressFamily::NETLINK,
            SocketType::RAW,
            SocketFlags::CLOEXEC,
            Some(netlink::SOCK_DIAG),
        );
        let netlink =
            netlink.map_err(|e| format!("the kernel does not tell of its connections (sock_diag): {e}"))?;
        set_socket_timeout(&netlink, Timeout::Recv, Some(DIAG_TIMEOUT)).map_err(|e| told(&e))?;
        Ok(Self { netlink, request: request(server) })
    }

    /// What there is now.
    pub fn look(&self) -> Result<Seen, String> {
        send(&self.netlink, &self.request, SendFlags::empty()).map_err(|e| told(&e))?;
        let (mut seen, mut space) = (Seen::default(), vec![0; DIAG_BYTES]);
        loop {
            let (length, _) =
                recv(&self.netlink, space.as_mut_slice(), RecvFlags::empty()).map_err(|e| told(&e))?;
            if take(&space[..length], &mut seen)? {
                return Ok(seen);
            }
        }
    }
}

fn told(error: &rustix::io::Errno) -> String {
    format!("the kernel does not tell of its connections (sock_diag): {error}")
}

/// All connections in these states to the server's port.
fn request(server: SocketAddr) -> Vec<u8> {
    let mut out = Vec::with_capacity(REQUEST_BYTES);
    out.extend((REQUEST_BYTES as u32).to_ne_bytes());
    out.extend(BY_FAMILY.to_ne_bytes());
    out.extend(FLAGS.to_ne_bytes());
    // Sequence and sender: nobody else uses this socket.
    out.extend([0; 8]);
    out.extend([if server.is_ipv4() { AF_INET } else { AF_INET6 }, TCP, 1 << (INFO - 1), 0]);
    out.extend(STATES.to_ne_bytes());
    out.extend([0; 2]);
    out.extend(server.port().to_be_bytes());
    out.resize(REQUEST_BYTES, 0);
    out
}

/// Adds what the messages of one datagram tell; true after the last one.
fn take(mut bytes: &[u8], seen: &mut Seen) -> Result<bool, String> {
    while bytes.len() >= HEADER_BYTES {
        let length = u32_at(bytes, 0) as usize;
        if length < HEADER_BYTES || length > bytes.len() {
            return Err(format!("sock_diag: a message of {length} bytes in {}", bytes.len()));
        }
        let body = &bytes[HEADER_BYTES..length];
        match u16_at(bytes, 4) {
            DONE => return Ok(true),
            ERROR => {
                return Err(
                    "sock_diag: the kernel refuses the question: is the module tcp_diag missing?".to_owned()
                );
            }
            BY_FAMILY if body.len() >= MESSAGE_BYTES => {
                let received = received(&body[MESSAGE_BYTES..])
                    .ok_or("sock_diag: no count of received bytes: the kernel is older than 4.1")?;
                seen.connections += 1;
                seen.read_bytes += received.saturating_sub(u64::from(u32_at(body, UNREAD_AT)));
            }
            _ => {}
        }
        bytes = &bytes[aligned(length).min(bytes.len())..];
    }
    Ok(false)
}

/// The bytes that have come on a socket, by its attributes.
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

/// The caller has seen that they are there.
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
    fn bytes_that_were_read_are_counted_and_others_not() {
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
    fn what_the_kernel_does_not_send_is_an_error_or_nothing() {
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
