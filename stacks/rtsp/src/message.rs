//! Messages on a connection: requests (RFC 2326 section 6) and interleaved packets (section 10.12).
//!
//! Messages are views of the input. Parsing makes a fixed number of passes over at most [`MAX_HEAD_BYTES`].

use super::limits::{MAX_BODY_BYTES, MAX_HEAD_BYTES};
use super::request::{Request, parse_head};
use super::status::Status;

/// Length of the header in front of an interleaved packet.
pub const INTERLEAVED_HEADER_BYTES: usize = 4;

/// The first message of an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Message<'a> {
    /// The message is incomplete: append more input and parse it again.
    Incomplete,
    /// A complete request.
    Request(Request<'a>),
    /// A complete interleaved packet.
    Interleaved {
        /// Its channel.
        channel: u8,
        /// An RTP or RTCP packet.
        packet: &'a [u8],
    },
    /// A response. This server sends no requests; ignore it.
    Response,
    /// Not a message, or one that exceeds a limit. The start of the next message is unknown: respond with
    /// [`Sessions::handle_invalid`](super::Sessions::handle_invalid), then close the connection.
    Invalid(Status),
}

/// Parses the first message of an input and returns it with the number of bytes to remove. Empty lines before a message are
/// skipped. If the message is incomplete, only they are removed.
pub fn next_message(input: &[u8]) -> (usize, Message<'_>) {
    let skipped = input.iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
    let input = &input[skipped..];
    if let [b'$', rest @ ..] = input {
        let [channel, high, low, rest @ ..] = rest else { return (skipped, Message::Incomplete) };
        let length = usize::from(u16::from_be_bytes([*high, *low]));
        return match rest.get(..length) {
            Some(packet) => {
                let message = Message::Interleaved { channel: *channel, packet };
                (skipped + INTERLEAVED_HEADER_BYTES + length, message)
            }
            None => (skipped, Message::Incomplete),
        };
    }
    let Some(head_bytes) = head_length(&input[..input.len().min(MAX_HEAD_BYTES)]) else {
        let is_too_long = input.len() >= MAX_HEAD_BYTES;
        return (
            skipped,
            if is_too_long { Message::Invalid(Status::BadRequest) } else { Message::Incomplete },
        );
    };
    let Some((line, headers)) = parse_head(&input[..head_bytes]) else {
        return (0, Message::Invalid(Status::BadRequest));
    };
    let body_bytes = match headers.get("Content-Length").map(str::parse::<usize>) {
        None => 0,
        Some(Ok(length)) if length <= MAX_BODY_BYTES => length,
        Some(Ok(_)) => return (0, Message::Invalid(Status::TooLarge)),
        Some(Err(_)) => return (0, Message::Invalid(Status::BadRequest)),
    };
    let Some(body) = input[head_bytes..].get(..body_bytes) else { return (skipped, Message::Incomplete) };
    let message = match Request::new(line, headers, body) {
        Some(request) => Message::Request(request),
        None if line.starts_with("RTSP/") => Message::Response,
        None => return (0, Message::Invalid(Status::BadRequest)),
    };
    (skipped + head_bytes + body_bytes, message)
}

/// The header of an interleaved packet; `None` if the packet exceeds
/// [`MAX_INTERLEAVED_BYTES`](super::limits::MAX_INTERLEAVED_BYTES).
pub fn interleaved_header(channel: u8, packet_bytes: usize) -> Option<[u8; INTERLEAVED_HEADER_BYTES]> {
    let [high, low] = u16::try_from(packet_bytes).ok()?.to_be_bytes();
    Some([b'$', channel, high, low])
}

/// Bytes up to and including the first empty line.
fn head_length(input: &[u8]) -> Option<usize> {
    let mut length = 0;
    for line in input.split_inclusive(|byte| *byte == b'\n') {
        length += line.len();
        if matches!(line, b"\r\n" | b"\n") {
            return Some(length);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Method;

    fn request(text: &str) -> Option<Request<'_>> {
        match next_message(text.as_bytes()) {
            (length, Message::Request(request)) if length == text.len() => Some(request),
            _ => None,
        }
    }

    #[test]
    fn request_with_body_is_parsed_and_every_prefix_is_incomplete() {
        let text =
            "\r\nSET_PARAMETER rtsp://h/s RTSP/1.0\r\ncseq:  7 \r\nContent-Length: 3\r\nX: a:b\r\n\r\nabc";
        let request = request(text).unwrap();
        assert_eq!(
            (request.method, request.uri, request.body),
            (Method::SetParameter, "rtsp://h/s", &b"abc"[..])
        );
        assert_eq!((request.header("CSeq"), request.header("x")), (Some("7"), Some("a:b")));
        assert_eq!(request.header("Session"), None);
        assert!(request.is_version_1);
        for length in 0..text.len() {
            assert_eq!(
                next_message(&text.as_bytes()[..length]),
                (length.min(2), Message::Incomplete),
                "{length}"
            );
        }
    }

    #[test]
    fn lines_may_end_with_lf_only() {
        assert_eq!(request("OPTIONS * RTSP/1.0\nCSeq: 1\n\n").unwrap().header("CSeq"), Some("1"));
    }

    #[test]
    fn invalid_messages_are_rejected_with_a_status() {
        use Status::{BadRequest, TooLarge};
        for (text, expected) in [
            ("GET / HTTP/1.1\r\n\r\n", Message::Invalid(BadRequest)),
            ("OPTIONS *\r\n\r\n", Message::Invalid(BadRequest)),
            ("OPTIONS  * RTSP/1.0\r\n\r\n", Message::Invalid(BadRequest)),
            ("OPTIONS * RTSP/1.0\r\nno header\r\n\r\n", Message::Invalid(BadRequest)),
            ("OPTIONS * RTSP/1.0\r\nCSeq: 1\r\n more\r\n\r\n", Message::Invalid(BadRequest)),
            ("OPTIONS * RTSP/1.0\r\nCSeq: 1\rX: 2\r\n\r\n", Message::Invalid(BadRequest)),
            ("OPTIONS * RTSP/1.0\r\nContent-Length: -1\r\n\r\n", Message::Invalid(BadRequest)),
            ("OPTIONS * RTSP/1.0\r\nContent-Length: 8193\r\n\r\n", Message::Invalid(TooLarge)),
            ("OPTIONS * RTSP/1.0\r\nContent-Length: 8192\r\n\r\n", Message::Incomplete),
            ("RTSP/1.0 200 OK\r\nCSeq: 1\r\n\r\n", Message::Response),
            ("\r\n\r\n", Message::Incomplete),
        ] {
            assert_eq!(next_message(text.as_bytes()).1, expected, "{text:?}");
        }
        assert_eq!(next_message(b"OPTIONS * RTSP/1.0\r\nX: \xff\r\n\r\n").1, Message::Invalid(BadRequest));
        assert_eq!(next_message(&[b'a'; MAX_HEAD_BYTES - 1]).1, Message::Incomplete);
        assert_eq!(next_message(&[b'a'; MAX_HEAD_BYTES]).1, Message::Invalid(BadRequest));
        assert!(!request("OPTIONS * RTSP/2.0\r\n\r\n").unwrap().is_version_1);
    }

    #[test]
    fn interleaved_packets_are_separated_from_requests() {
        let mut input = interleaved_header(3, 5).unwrap().to_vec();
        input.extend(b"12345OPTIONS * RTSP/1.0\r\n\r\n");
        assert_eq!(next_message(&input), (9, Message::Interleaved { channel: 3, packet: b"12345" }));
        assert_eq!(next_message(&input[..8]), (0, Message::Incomplete));
        assert_eq!(next_message(&input[..2]), (0, Message::Incomplete));
        assert!(matches!(next_message(&input[9..]).1, Message::Request(_)));
        assert_eq!(interleaved_header(0, 65_536), None);
    }
}
