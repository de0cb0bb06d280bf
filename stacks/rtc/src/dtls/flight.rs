//! Which handshake messages of epoch 0 can belong to our handshake, RFC 6347 sections 4.2.2 and 4.2.4.
//!
//! ```text
//! ClientHello                 0 -->
//!                                <-- 0 (HelloVerifyRequest: then all have one more)
//!                                <-- 0 ServerHello
//!                                <-- 1 Certificate
//!                                <-- 2 ServerKeyExchange
//!                                <-- 3 CertificateRequest
//!                                <-- 4 ServerHelloDone
//! Certificate                 1 -->
//! ClientKeyExchange           2 -->
//! CertificateVerify           3 -->
//! ChangeCipherSpec, Finished  4 -->
//!                                <-- 5 ChangeCipherSpec, Finished
//! ```

use super::Role;

/// Bytes before a fragment of a message: type, length of the message, its number, offset and length of the fragment.
const HEADER_BYTES: usize = 12;
/// The longest message: a chain of certificates.
const MESSAGE_BYTES_MAX: usize = 32_768;

/// Message types (RFC 5246 section 7.4).
const CLIENT_HELLO: u8 = 1;
const SERVER_HELLO: u8 = 2;
const HELLO_VERIFY_REQUEST: u8 = 3;
const CERTIFICATE: u8 = 11;
const SERVER_KEY_EXCHANGE: u8 = 12;
const CERTIFICATE_REQUEST: u8 = 13;
const SERVER_HELLO_DONE: u8 = 14;
const CERTIFICATE_VERIFY: u8 = 15;
const CLIENT_KEY_EXCHANGE: u8 = 16;
/// Never in epoch 0.
const FINISHED: u8 = 20;

/// One fragment of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Piece {
    kind: u8,
    number: u16,
    length: usize,
    start: usize,
    bytes: usize,
}

impl Piece {
    /// Splits the first off the fragment of a record. None: it is damaged.
    fn split(fragment: &[u8]) -> Option<(Self, &[u8])> {
        let (head, rest) = fragment.split_first_chunk::<HEADER_BYTES>()?;
        let &[kind, l0, l1, l2, n0, n1, s0, s1, s2, b0, b1, b2] = head;
        let number_of_three = |bytes: [u8; 3]| u32::from_be_bytes([0, bytes[0], bytes[1], bytes[2]]) as usize;
        let piece = Self {
            kind,
            number: u16::from_be_bytes([n0, n1]),
            length: number_of_three([l0, l1, l2]),
            start: number_of_three([s0, s1, s2]),
            bytes: number_of_three([b0, b1, b2]),
        };
        // An empty piece of a longer message says nothing.
        let says_something = piece.bytes > 0 || piece.length == 0;
        let fits = piece.length <= MESSAGE_BYTES_MAX && piece.start + piece.bytes <= piece.length;
        (says_something && fits).then_some(piece).zip(rest.get(piece.bytes..))
    }

    /// Whether the peer sends this message with this number.
    fn belongs(&self, role: Role, hello_verified: bool) -> bool {
        let number = match role {
            Role::Server => Some(self.number),
            Role::Client if self.kind == HELLO_VERIFY_REQUEST => return self.number == 0,
            Role::Client => self.number.checked_sub(u16::from(hello_verified)),
        };
        let expected: &[u16] = match (role, self.kind) {
            (Role::Server, CLIENT_HELLO) | (Role::Client, SERVER_HELLO) => &[0],
            (_, CERTIFICATE) => &[1],
            (Role::Server, CLIENT_KEY_EXCHANGE) | (Role::Client, SERVER_KEY_EXCHANGE) => &[2],
            (Role::Server, CERTIFICATE_VERIFY) | (Role::Client, CERTIFICATE_REQUEST) => &[3],
            // A server need not ask for a certificate.
            (Role::Client, SERVER_HELLO_DONE) => &[3, 4],
            _ => &[],
        };
        number.is_some_and(|number| expected.contains(&number))
    }
}

/// Whether every message in this fragment of a record can be the peer's.
pub(super) fn belongs(role: Role, hello_verified: bool, mut fragment: &[u8]) -> bool {
    if fragment.is_empty() {
        return false;
    }
    while !fragment.is_empty() {
        match Piece::split(fragment) {
            Some((piece, rest)) if piece.belongs(role, hello_verified) => fragment = rest,
            _ => return false,
        }
    }
    true
}

/// Whether it begins with a whole message.
pub(super) fn is_whole(fragment: &[u8]) -> bool {
    Piece::split(fragment).is_some_and(|(piece, _)| piece.bytes == piece.length)
}

/// Whether it begins with a HelloVerifyRequest.
pub(super) fn is_hello_verify(fragment: &[u8]) -> bool {
    Piece::split(fragment).is_some_and(|(piece, _)| piece.kind == HELLO_VERIFY_REQUEST)
}

/// Whether it begins with a Finished or a piece of one.
pub(super) fn is_finished(fragment: &[u8]) -> bool {
    Piece::split(fragment).is_some_and(|(piece, _)| piece.kind == FINISHED)
}

/// Whether it begins with the beginning of a Finished: once in each repetition of a flight.
pub(super) fn begins_finished(fragment: &[u8]) -> bool {
    Piece::split(fragment).is_some_and(|(piece, _)| piece.kind == FINISHED && piece.start == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(kind: u8, number: u8, length: u8, start: u8, bytes: u8) -> Vec<u8> {
        let mut message = vec![kind, 0, 0, length, 0, number, 0, 0, start, 0, 0, bytes];
        message.resize(HEADER_BYTES + usize::from(bytes), 7);
        message
    }

    #[test]
    fn only_what_belongs() {
        let (client, server) = (Role::Client, Role::Server);
        for (role, verified, fragment, expected) in [
            (server, false, message(CLIENT_HELLO, 0, 40, 0, 40), true),
            (server, false, message(CLIENT_HELLO, 0, 40, 20, 20), true),
            (server, false, message(CLIENT_HELLO, 1, 40, 0, 40), false),
            (server, false, message(CLIENT_HELLO, 0, 40, 21, 20), false),
            (server, false, message(CLIENT_HELLO, 0, 40, 40, 0), false),
            (server, false, message(CLIENT_HELLO, 0, 40, 0, 40)[..51].to_vec(), false),
            (
                server,
                false,
                [message(CERTIFICATE, 1, 9, 0, 9), message(CLIENT_KEY_EXCHANGE, 2, 9, 0, 9)].concat(),
                true,
            ),
            (server, false, [message(CERTIFICATE, 1, 9, 0, 9), vec![0]].concat(), false),
            (server, false, message(CERTIFICATE_VERIFY, 3, 9, 0, 9), true),
            (server, false, message(FINISHED, 4, 12, 0, 12), false),
            (server, false, message(SERVER_HELLO, 0, 9, 0, 9), false),
            (server, false, vec![], false),
            (client, false, message(SERVER_HELLO, 0, 9, 0, 9), true),
            (client, false, message(SERVER_HELLO, 1, 9, 0, 9), false),
            (client, true, message(SERVER_HELLO, 1, 9, 0, 9), true),
            (client, true, message(SERVER_HELLO, 0, 9, 0, 9), false),
            (client, true, message(HELLO_VERIFY_REQUEST, 0, 9, 0, 9), true),
            (client, false, message(SERVER_HELLO_DONE, 4, 0, 0, 0), true),
            (client, false, message(SERVER_HELLO_DONE, 3, 0, 0, 0), true),
            (client, false, message(SERVER_HELLO_DONE, 5, 0, 0, 0), false),
            (client, false, message(CLIENT_HELLO, 0, 9, 0, 9), false),
        ] {
            assert_eq!(belongs(role, verified, &fragment), expected, "{role:?} {verified} {fragment:?}");
        }
    }
}
