//! The Data Channel Establishment Protocol (RFC 8832): two messages, sent on the stream of the channel
//! itself.

use std::time::Duration;

use netdyno_sctp::Reliability;

/// DATA_CHANNEL_OPEN (RFC 8832 section 5.1):
///
/// ```text
///  0                   1                   2                   3
///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// | Message type  | Channel type  |           Priority            |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |                     Reliability parameter                     |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |         Length of label       |      Length of protocol       |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |                     Label, then protocol                      |
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Open<'a> {
    /// Whether messages are delivered in order.
    pub ordered: bool,
    /// When the sender abandons a message.
    pub reliability: Reliability,
    /// RFC 8831 section 6.4.
    pub priority: u16,
    /// Label of the channel.
    pub label: &'a str,
    /// Name of the subprotocol.
    pub protocol: &'a str,
}

/// A message of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dcep<'a> {
    /// The peer opens a channel.
    Open(Open<'a>),
    /// DATA_CHANNEL_ACK: the peer has opened it too (RFC 8832 section 5.2).
    Ack,
}

/// The one byte of a DATA_CHANNEL_ACK.
pub const ACK: [u8; 1] = [0x02];

const OPEN: u8 = 0x03;
const HEADER_BYTES: usize = 12;
/// Bit of the channel type: unordered delivery.
const UNORDERED: u8 = 0x80;

impl<'a> Dcep<'a> {
    /// Parses a message. `None`: malformed, or of an unknown type.
    pub fn parse(bytes: &'a [u8]) -> Option<Self> {
        match bytes {
            // One byte by RFC 8832 section 5.2; Pion sends four.
            [0x02, ..] => Some(Self::Ack),
            [OPEN, ..] => Open::parse(bytes).map(Self::Open),
            _ => None,
        }
    }
}

impl<'a> Open<'a> {
    fn parse(bytes: &'a [u8]) -> Option<Self> {
        let (header, names) = bytes.split_first_chunk::<HEADER_BYTES>()?;
        let [_, channel_type, p0, p1, r0, r1, r2, r3, l0, l1, n0, n1] = *header;
        let parameter = u32::from_be_bytes([r0, r1, r2, r3]);
        let reliability = match channel_type & !UNORDERED {
            // The parameter is ignored in this case.
            0 => Reliability::Reliable,
            // Exceeds the API's range: equivalent to 65,535.
            1 => Reliability::MaxRetransmits(u16::try_from(parameter).unwrap_or(u16::MAX)),
            2 => Reliability::MaxLifetime(Duration::from_millis(parameter.into())),
            _ => return None,
        };
        let (label_bytes, protocol_bytes) = (u16::from_be_bytes([l0, l1]), u16::from_be_bytes([n0, n1]));
        let (label, protocol) = names.split_at_checked(label_bytes.into())?;
        if protocol.len() != usize::from(protocol_bytes) {
            return None;
        }
        Some(Self {
            ordered: channel_type & UNORDERED == 0,
            reliability,
            priority: u16::from_be_bytes([p0, p1]),
            label: std::str::from_utf8(label).ok()?,
            protocol: std::str::from_utf8(protocol).ok()?,
        })
    }

    /// Serialises the message. Label and protocol are truncated to 65,535 bytes each.
    pub fn to_bytes(&self) -> Vec<u8> {
        let (channel_type, parameter) = match self.reliability {
            Reliability::Reliable => (0, 0),
            Reliability::MaxRetransmits(count) => (1, count.into()),
            Reliability::MaxLifetime(time) => (2, u32::try_from(time.as_millis()).unwrap_or(u32::MAX)),
        };
        let (label, protocol) = (cut(self.label), cut(self.protocol));
        let mut bytes = Vec::with_capacity(HEADER_BYTES + label.len() + protocol.len());
        bytes.extend([OPEN, channel_type | if self.ordered { 0 } else { UNORDERED }]);
        bytes.extend(self.priority.to_be_bytes());
        bytes.extend(parameter.to_be_bytes());
        bytes.extend((label.len() as u16).to_be_bytes());
        bytes.extend((protocol.len() as u16).to_be_bytes());
        bytes.extend(label);
        bytes.extend(protocol);
        bytes
    }
}

fn cut(name: &str) -> &[u8] {
    &name.as_bytes()[..name.floor_char_boundary(usize::from(u16::MAX))]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A hand-written message and its meaning.
    fn check(bytes: &[u8], open: Open<'_>) {
        assert_eq!(Dcep::parse(bytes), Some(Dcep::Open(open)));
        assert_eq!(open.to_bytes(), bytes);
    }

    #[test]
    fn opens_of_all_types() {
        let open = Open {
            ordered: true,
            reliability: Reliability::Reliable,
            priority: 256,
            label: "ab",
            protocol: "",
        };
        check(&[3, 0, 1, 0, 0, 0, 0, 0, 0, 2, 0, 0, b'a', b'b'], open);
        check(
            &[3, 0x80, 0, 128, 0, 0, 0, 0, 0, 2, 0, 1, b'a', b'b', b'p'],
            Open { ordered: false, priority: 128, protocol: "p", ..open },
        );
        let counted = Open { reliability: Reliability::MaxRetransmits(7), label: "\u{e9}", ..open };
        check(&[3, 1, 1, 0, 0, 0, 0, 7, 0, 2, 0, 0, 0xc3, 0xa9], counted);
        check(&[3, 0x81, 1, 0, 0, 0, 0, 7, 0, 2, 0, 0, 0xc3, 0xa9], Open { ordered: false, ..counted });
        let timed =
            Open { reliability: Reliability::MaxLifetime(Duration::from_millis(258)), label: "", ..open };
        check(&[3, 2, 1, 0, 0, 0, 1, 2, 0, 0, 0, 0], timed);
        check(&[3, 0x82, 1, 0, 0, 0, 1, 2, 0, 0, 0, 0], Open { ordered: false, ..timed });
    }

    #[test]
    fn a_count_beyond_what_the_api_can_say_is_its_largest() {
        let bytes = [3, 1, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0];
        let Some(Dcep::Open(open)) = Dcep::parse(&bytes) else { panic!("not an OPEN") };
        assert_eq!(open.reliability, Reliability::MaxRetransmits(u16::MAX));
    }

    #[test]
    fn an_acknowledgement_is_its_first_byte() {
        assert_eq!(Dcep::parse(&ACK), Some(Dcep::Ack));
        assert_eq!(Dcep::parse(&[2, 0, 0, 0]), Some(Dcep::Ack));
    }

    #[test]
    fn what_is_malformed() {
        for bytes in [
            &[][..],
            &[0],
            &[3],
            &[3, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0],
            // A label longer than the message.
            &[3, 0, 1, 0, 0, 0, 0, 0, 0, 3, 0, 0, b'a', b'b'],
            // A protocol longer than the message, and trailing bytes.
            &[3, 0, 1, 0, 0, 0, 0, 0, 0, 1, 0, 2, b'a', b'b'],
            &[3, 0, 1, 0, 0, 0, 0, 0, 0, 1, 0, 0, b'a', b'b'],
            // An unknown channel type, and a label that is not UTF-8.
            &[3, 3, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0],
            &[3, 0, 1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0xff],
        ] {
            assert_eq!(Dcep::parse(bytes), None, "{bytes:?}");
        }
    }

    /// Unlike any::<String>(), without a regular expression, which takes minutes under Miri.
    fn text() -> impl Strategy<Value = String> {
        prop::collection::vec(any::<char>(), 0..40).prop_map(String::from_iter)
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(
            ordered: bool,
            kind in 0..3u8,
            parameter: u16,
            priority: u16,
            label in text(),
            protocol in text(),
        ) {
            let reliability = match kind {
                0 => Reliability::Reliable,
                1 => Reliability::MaxRetransmits(parameter),
                _ => Reliability::MaxLifetime(Duration::from_millis(parameter.into())),
            };
            let open = Open { ordered, reliability, priority, label: &label, protocol: &protocol };
            let bytes = open.to_bytes();
            prop_assert_eq!(Dcep::parse(&bytes), Some(Dcep::Open(open)));
        }

        #[test]
        fn no_bytes_make_it_panic(bytes: Vec<u8>) {
            let _ = Dcep::parse(&bytes);
        }
    }
}
