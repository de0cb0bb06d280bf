//! Datagrams of a peer connection as text, for the log.

/// One line for a datagram: its protocol (RFC 7983), and the type of a STUN message.
pub(super) fn describe(datagram: &[u8]) -> String {
    let what = match datagram {
        [0..=3, ..] => describe_stun(datagram),
        [20, ..] => "DTLS ChangeCipherSpec".to_owned(),
        [21, ..] => "DTLS alert".to_owned(),
        [22, ..] => "DTLS handshake".to_owned(),
        [23, ..] => "DTLS data".to_owned(),
        _ => "unknown".to_owned(),
    };
    format!("{} bytes: {what}", datagram.len())
}

fn describe_stun(datagram: &[u8]) -> String {
    let kind = match datagram {
        [0, 1, ..] => "Binding request",
        [1, 1, ..] => "Binding success",
        [1, 0x11, ..] => "Binding error",
        [0, 0x11, ..] => "Binding indication",
        _ => "other",
    };
    let mut text = format!("STUN {kind}");
    let mut rest = datagram.get(20..).unwrap_or_default();
    // Type and length of each attribute; the value is padded to a multiple of 4.
    while let [high, low, length_high, length_low, value @ ..] = rest {
        let length = usize::from(u16::from_be_bytes([*length_high, *length_low]));
        match u16::from_be_bytes([*high, *low]) {
            0x0025 => text += " USE-CANDIDATE",
            0x8029 => text += " controlled",
            0x802A => text += " controlling",
            0x0009 => text += &format!(" code {:?}", value.get(2..4)),
            _ => {}
        }
        rest = value.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    text
}
