//! Handshake messages: which ones of epoch 0 can belong to our handshake. DTLS 1.2, RFC 6347 sections 4.2.2
//! and 4.2.4:
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
//!
//! In DTLS 1.3 epoch 0 has only ClientHello and ServerHello: number 0 or, if the server has requested another
//! ClientHello (HelloRetryRequest, in the form of a ServerHello), numbers 0 and 1 of each.

use super::Role;

/// Length of a fragment header: type, length of the message, its number, offset and length of the fragment.
const HEADER_BYTES: usize = 12;
/// Maximum length of a message: a chain of certificates.
const MESSAGE_BYTES_MAX: usize = 32_768;

/// Position of the random value in a ServerHello.
const SERVER_RANDOM: std::ops::Range<usize> = 2..34;
/// The random value of a HelloRetryRequest (RFC 8446 section 4.1.3).
const HELLO_RETRY: &[u8] = &[
    0xCF, 0x21, 0xAD, 0x74, 0xE5, 0x9A, 0x61, 0x11, 0xBE, 0x1D, 0x8C, 0x02, 0x1E, 0x65, 0xB8, 0x91, 0xC2,
    0xA2, 0x11, 0x16, 0x7A, 0xBB, 0x8C, 0x5E, 0x07, 0x9E, 0x09, 0xE2, 0xC8, 0xA8, 0x33, 0x9C,
];
/// The end of the random value of a server that supports DTLS 1.3 but negotiates 1.2 (RFC 8446 section
/// 4.1.3).
const DOWNGRADE: &[u8] = b"DOWNGRD\x01";

/// Message types (RFC 5246 section 7.4, RFC 8446 section 4).
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
pub(super) const NEW_SESSION_TICKET: u8 = 4;
pub(super) const KEY_UPDATE: u8 = 24;

/// The stage of the handshake.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// A client that offered both versions and has no answer yet.
    Undecided,
    /// DTLS 1.2, or a server that waits for the first ClientHello.
    Dtls12 { hello_verified: bool },
    /// DTLS 1.3, or a server that may have requested a second ClientHello.
    Dtls13 { retried: bool },
}

/// One fragment of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Piece {
    pub kind: u8,
    pub number: u16,
    pub length: usize,
    pub start: usize,
    pub bytes: usize,
}

impl Piece {
    /// Splits off the first message fragment of a record. `None`: it is malformed.
    pub(super) fn split(fragment: &[u8]) -> Option<(Self, &[u8])> {
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
        // An empty fragment of a longer message carries no information.
        let says_something = piece.bytes > 0 || piece.length == 0;
        let fits = piece.length <= MESSAGE_BYTES_MAX && piece.start + piece.bytes <= piece.length;
        (says_something && fits).then_some(piece).zip(rest.get(piece.bytes..))
    }

    /// Whether it is a complete message.
    pub(super) fn is_whole(&self) -> bool {
        self.bytes == self.length
    }

    /// Whether the peer sends this message with this number.
    fn belongs(&self, role: Role, stage: Stage) -> bool {
        let hello_verified = match (stage, role) {
            (Stage::Undecided, _) => false,
            (Stage::Dtls12 { hello_verified }, _) => hello_verified,
            // A client may repeat its first message while the answer is lost.
            (Stage::Dtls13 { retried }, Role::Server) => {
                return self.kind == CLIENT_HELLO && self.number <= u16::from(retried);
            }
            (Stage::Dtls13 { retried }, Role::Client) => {
                return self.kind == SERVER_HELLO && self.number == u16::from(retried);
            }
        };
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
            // A server need not request a certificate.
            (Role::Client, SERVER_HELLO_DONE) => &[3, 4],
            _ => &[],
        };
        number.is_some_and(|number| expected.contains(&number))
    }
}

/// Whether every message in this record fragment can be the peer's.
pub(super) fn belongs(role: Role, stage: Stage, mut fragment: &[u8]) -> bool {
    if fragment.is_empty() {
        return false;
    }
    while !fragment.is_empty() {
        match Piece::split(fragment) {
            Some((piece, rest)) if piece.belongs(role, stage) => fragment = rest,
            _ => return false,
        }
    }
    true
}

/// Whether it starts with a complete message.
pub(super) fn is_whole(fragment: &[u8]) -> bool {
    Piece::split(fragment).is_some_and(|(piece, _)| piece.is_whole())
}

/// Whether it determines the version for a client: it starts with a complete ServerHello or
/// HelloVerifyRequest.
pub(super) fn decides_version(fragment: &[u8]) -> bool {
    let decides =
        |piece: Piece| matches!(piece.kind, SERVER_HELLO | HELLO_VERIFY_REQUEST) && piece.is_whole();
    Piece::split(fragment).is_some_and(|(piece, _)| decides(piece))
}

/// Whether a ServerHello of DTLS 1.2 shows that the server supports 1.3, so that our offer was manipulated.
/// Also true if that is undetectable because the fragment is unreasonably short.
pub(super) fn is_downgrade(fragment: &[u8]) -> bool {
    let Some((Piece { kind: SERVER_HELLO, start: 0, bytes, .. }, _)) = Piece::split(fragment) else {
        return false;
    };
    let body = &fragment[HEADER_BYTES..][..bytes];
    body.get(SERVER_RANDOM).is_none_or(|random| random.ends_with(DOWNGRADE))
}

/// Whether it starts with a HelloRetryRequest.
pub(super) fn is_hello_retry(fragment: &[u8]) -> bool {
    decides_version(fragment) && fragment[HEADER_BYTES..].get(SERVER_RANDOM) == Some(HELLO_RETRY)
}

/// A message in a single fragment.
pub(super) fn write_message(kind: u8, number: u16, body: &[u8]) -> Vec<u8> {
    // Our messages are short.
    let [l0, l1] = (body.len() as u16).to_be_bytes();
    let [n0, n1] = number.to_be_bytes();
    [&[kind, 0, l0, l1, n0, n1, 0, 0, 0, 0, l0, l1], body].concat()
}

/// Whether it starts with a HelloVerifyRequest.
pub(super) fn is_hello_verify(fragment: &[u8]) -> bool {
    Piece::split(fragment).is_some_and(|(piece, _)| piece.kind == HELLO_VERIFY_REQUEST)
}

/// Whether it starts with a Finished or a fragment of one.
pub(super) fn is_finished(fragment: &[u8]) -> bool {
    Piece::split(fragment).is_some_and(|(piece, _)| piece.kind == FINISHED)
}

/// Whether it starts with the first fragment of a Finished: once in each transmission of a flight.
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
    fn only_expected_messages_are_accepted() {
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
            let stage = Stage::Dtls12 { hello_verified: verified };
            assert_eq!(belongs(role, stage, &fragment), expected, "{role:?} {verified} {fragment:?}");
        }
    }

    #[test]
    fn only_hellos_in_dtls_1_3() {
        let (client, server) = (Role::Client, Role::Server);
        for (role, kind, number, expected) in [
            (server, CLIENT_HELLO, 0, [true, true]),
            (server, CLIENT_HELLO, 1, [false, true]),
            (server, CLIENT_HELLO, 2, [false, false]),
            (server, CERTIFICATE, 1, [false, false]),
            (client, SERVER_HELLO, 0, [true, false]),
            (client, SERVER_HELLO, 1, [false, true]),
            (client, HELLO_VERIFY_REQUEST, 0, [false, false]),
            (client, CERTIFICATE, 1, [false, false]),
        ] {
            let fragment = message(kind, number, 40, 0, 40);
            let belongs = [false, true].map(|retried| belongs(role, Stage::Dtls13 { retried }, &fragment));
            assert_eq!(belongs, expected, "{role:?} {kind} {number}");
        }
    }

    #[test]
    fn what_a_client_derives_from_a_server_hello() {
        let mut hello = message(SERVER_HELLO, 0, 70, 0, 70);
        assert!(decides_version(&hello) && !is_downgrade(&hello));
        hello[HEADER_BYTES + 26..HEADER_BYTES + 34].copy_from_slice(DOWNGRADE);
        assert!(is_downgrade(&hello));
        hello[HEADER_BYTES + 2..HEADER_BYTES + 34].copy_from_slice(HELLO_RETRY);
        assert!(is_hello_retry(&hello) && !is_hello_retry(&message(SERVER_HELLO, 0, 9, 0, 9)));
        assert!(is_downgrade(&message(SERVER_HELLO, 0, 70, 0, 33)), "it cannot be told");
        assert!(!is_downgrade(&message(SERVER_HELLO, 0, 70, 34, 36)));
        assert!(!is_downgrade(&message(CERTIFICATE, 1, 70, 0, 20)));
        assert!(decides_version(&message(HELLO_VERIFY_REQUEST, 0, 9, 0, 9)));
        assert!(!decides_version(&message(SERVER_HELLO, 0, 70, 0, 60)));
        assert!(!decides_version(&message(CERTIFICATE, 1, 9, 0, 9)));
        let written = write_message(KEY_UPDATE, 7, &[1]);
        assert_eq!(written, [24, 0, 0, 1, 0, 7, 0, 0, 0, 0, 0, 1, 1]);
        assert!(is_whole(&written));
    }
}
