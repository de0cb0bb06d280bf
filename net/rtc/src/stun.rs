//! The part of STUN (RFC 8489) that is needed to find the connection for a datagram. Nothing is trusted here:
//! the connection verifies the message's integrity.

/// Length of the header (section 5).
const HEADER_BYTES: usize = 20;
/// The magic cookie and its position.
const COOKIE: ([u8; 4], std::ops::Range<usize>) = ([0x21, 0x12, 0xa4, 0x42], 4..8);
/// The attribute USERNAME (section 14.3).
const USERNAME: u16 = 0x0006;
/// Upper bound of the length of USERNAME, exclusive (section 14.3).
const MAX_USERNAME_BYTES: usize = 509;

/// Chosen by the requester and repeated in the response.
pub(crate) type TransactionId = [u8; 12];

/// A STUN message of ICE.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Stun<'a> {
    /// A check for the connection with this username fragment.
    Request {
        /// The part of USERNAME before the colon (RFC 8445 section 7.2.2).
        ufrag: &'a str,
    },
    /// A Binding request or indication without USERNAME.
    Anonymous,
    /// The response to a check.
    Response(TransactionId),
}

/// Whether a datagram is STUN, by its first byte (RFC 7983, section 7).
pub(crate) fn is_stun(datagram: &[u8]) -> bool {
    datagram.first().is_some_and(|&first| first < 4)
}

/// Parses a datagram; `None` if it is not a Binding message.
pub(crate) fn read(datagram: &[u8]) -> Option<Stun<'_>> {
    let (header, attributes) = datagram.split_at_checked(HEADER_BYTES)?;
    if header[COOKIE.1] != COOKIE.0 {
        return None;
    }
    // The method is Binding (1); the class is in bits 4 and 8 of the type (section 5).
    match u16::from_be_bytes([header[0], header[1]]) {
        0x0001 => Some(username(attributes).map_or(Stun::Anonymous, |ufrag| Stun::Request { ufrag })),
        0x0011 => Some(Stun::Anonymous),
        0x0101 | 0x0111 => Some(Stun::Response(transaction(datagram)?)),
        _ => None,
    }
}

/// The transaction id of a request, to recognise its response.
pub(crate) fn request_transaction(datagram: &[u8]) -> Option<TransactionId> {
    (datagram.len() >= HEADER_BYTES && datagram[..2] == [0, 1] && datagram[COOKIE.1] == COOKIE.0)
        .then(|| transaction(datagram))?
}

fn transaction(datagram: &[u8]) -> Option<TransactionId> {
    datagram.get(8..HEADER_BYTES)?.try_into().ok()
}

/// The part of USERNAME before the colon. Attributes are padded to four bytes (section 14).
fn username(mut attributes: &[u8]) -> Option<&str> {
    loop {
        let (header, rest) = attributes.split_at_checked(4)?;
        let length = usize::from(u16::from_be_bytes([header[2], header[3]]));
        if u16::from_be_bytes([header[0], header[1]]) == USERNAME {
            let name = rest.get(..length).filter(|name| name.len() < MAX_USERNAME_BYTES)?;
            let end = name.iter().position(|&byte| byte == b':')?;
            return std::str::from_utf8(&name[..end]).ok();
        }
        attributes = rest.get(length.next_multiple_of(4)..)?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(kind: u16, attributes: &[(u16, &[u8])]) -> Vec<u8> {
        let mut bytes = [&kind.to_be_bytes()[..], &[0, 0], &COOKIE.0, b"transaction!"].concat();
        for (attribute, value) in attributes {
            bytes.extend(attribute.to_be_bytes());
            bytes.extend((value.len() as u16).to_be_bytes());
            bytes.extend(*value);
            bytes.resize(bytes.len().next_multiple_of(4), 0);
        }
        let length = (bytes.len() - HEADER_BYTES) as u16;
        bytes[2..4].copy_from_slice(&length.to_be_bytes());
        bytes
    }

    #[test]
    fn finds_the_addressee_of_a_message() {
        let priority: (u16, &[u8]) = (0x0024, &[1, 2, 3, 4]);
        let software: (u16, &[u8]) = (0x8022, b"odd");
        for (bytes, expected) in [
            (message(0x0001, &[(USERNAME, b"ours:theirs")]), Some(Stun::Request { ufrag: "ours" })),
            (message(0x0001, &[software, priority, (USERNAME, b"a:")]), Some(Stun::Request { ufrag: "a" })),
            (message(0x0001, &[(USERNAME, b"no colon")]), Some(Stun::Anonymous)),
            (message(0x0001, &[(USERNAME, b"\xff\xfe:x")]), Some(Stun::Anonymous)),
            (message(0x0001, &[(USERNAME, &[b'a'; 600])]), Some(Stun::Anonymous)),
            (message(0x0001, &[priority]), Some(Stun::Anonymous)),
            (message(0x0011, &[]), Some(Stun::Anonymous)),
            (message(0x0101, &[]), Some(Stun::Response(*b"transaction!"))),
            (message(0x0111, &[]), Some(Stun::Response(*b"transaction!"))),
            (message(0x0003, &[]), None),
            (vec![0; HEADER_BYTES], None),
        ] {
            assert_eq!(read(&bytes), expected);
            assert!(is_stun(&bytes));
        }
        let request = message(0x0001, &[]);
        assert_eq!(request_transaction(&request), Some(*b"transaction!"));
        assert_eq!(request_transaction(&message(0x0101, &[])), None);
        assert!(!is_stun(&[22, 254, 253]) && !is_stun(&[]));
    }

    #[test]
    fn truncated_and_corrupted_input_is_harmless() {
        let whole = message(0x0001, &[(0x8022, b"some software"), (USERNAME, b"ours:theirs")]);
        for length in 0..whole.len() {
            let _ = (read(&whole[..length]), request_transaction(&whole[..length]));
        }
        for at in 0..whole.len() {
            for value in 0..=255 {
                let mut bent = whole.clone();
                bent[at] = value;
                let _ = (read(&bent), request_transaction(&bent));
            }
        }
    }
}
