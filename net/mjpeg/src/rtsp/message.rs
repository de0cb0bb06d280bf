//! What a connection sends: requests (RFC 2326 section 6) and interleaved packets (section 10.12), one after the other.
//!
//! Read as views of the input, by a few passes over at most [`MAX_HEAD_BYTES`]. (The crate rtsp-types was looked at: its `Transport`
//! panics on some inputs, as `dest_addr="\"/"`, and it cannot say which rule was broken.)

use std::str;

use super::limits::{MAX_BODY_BYTES, MAX_HEAD_BYTES};

/// Bytes in front of an interleaved packet.
pub const INTERLEAVED_HEADER_BYTES: usize = 4;

/// The first thing in an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit<'a> {
    /// It is not whole yet.
    Incomplete,
    /// A request, whole.
    Request(Request<'a>),
    /// A packet, whole.
    Interleaved {
        /// The channel's number.
        channel: u8,
        /// An RTP or RTCP packet.
        packet: &'a [u8],
    },
    /// Nothing to deal with: an answer, though nothing was asked.
    Ignored,
    /// No request, or too long: what comes after it cannot be found. Answer, and close.
    Broken(Status),
}

/// Gives the first unit of an input and how many bytes it takes. Empty lines before it are skipped; of
/// an incomplete one they are all that is taken.
pub fn next_unit(input: &[u8]) -> (usize, Unit<'_>) {
    let skipped = input.iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
    let input = &input[skipped..];
    if let [b'$', rest @ ..] = input {
        let [channel, high, low, rest @ ..] = rest else { return (skipped, Unit::Incomplete) };
        let length = usize::from(u16::from_be_bytes([*high, *low]));
        return match rest.get(..length) {
            Some(packet) => {
                let unit = Unit::Interleaved { channel: *channel, packet };
                (skipped + INTERLEAVED_HEADER_BYTES + length, unit)
            }
            None => (skipped, Unit::Incomplete),
        };
    }
    let Some(head_bytes) = head_length(&input[..input.len().min(MAX_HEAD_BYTES)]) else {
        let is_too_long = input.len() >= MAX_HEAD_BYTES;
        return (skipped, if is_too_long { Unit::Broken(Status::BadRequest) } else { Unit::Incomplete });
    };
    let Some((line, headers)) = head(&input[..head_bytes]) else {
        return (0, Unit::Broken(Status::BadRequest));
    };
    let body_bytes = match headers.get("Content-Length").map(str::parse::<usize>) {
        None => 0,
        Some(Ok(length)) if length <= MAX_BODY_BYTES => length,
        Some(Ok(_)) => return (0, Unit::Broken(Status::TooLarge)),
        Some(Err(_)) => return (0, Unit::Broken(Status::BadRequest)),
    };
    let Some(body) = input[head_bytes..].get(..body_bytes) else { return (skipped, Unit::Incomplete) };
    let unit = match Request::new(line, headers, body) {
        Some(request) => Unit::Request(request),
        None if line.starts_with("RTSP/") => Unit::Ignored,
        None => return (0, Unit::Broken(Status::BadRequest)),
    };
    (skipped + head_bytes + body_bytes, unit)
}

/// What goes before a packet on a channel; none if the packet is longer than the length can tell.
pub fn interleaved_header(channel: u8, packet_bytes: usize) -> Option<[u8; INTERLEAVED_HEADER_BYTES]> {
    let [high, low] = u16::try_from(packet_bytes).ok()?.to_be_bytes();
    Some([b'$', channel, high, low])
}

/// Bytes up to and with the first empty line.
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

/// The first line, and the headers after it; none if it is no text, or a header has no name. Lines that go on in the next
/// are not taken: nobody sends them any more (RFC 9112 section 5.2).
fn head(head: &[u8]) -> Option<(&str, Headers<'_>)> {
    let text = str::from_utf8(head).ok()?;
    let (line, lines) = text.split_once('\n')?;
    let headers = Headers { lines };
    let is_plain = |text: &str| !text.chars().any(|c| c.is_control() && c != '\t');
    let line = line.strip_suffix('\r').unwrap_or(line);
    let is_header = |line: &str| {
        let name = line.split_once(':').map_or("", |(name, _)| name);
        is_plain(line) && !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_graphic())
    };
    (is_plain(line) && headers.lines().all(is_header)).then_some((line, headers))
}

/// The headers of a request, as they came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Headers<'a> {
    lines: &'a str,
}

impl<'a> Headers<'a> {
    fn lines(&self) -> impl Iterator<Item = &'a str> {
        self.lines
            .split('\n')
            .map(|line| line.strip_suffix('\r').unwrap_or(line))
            .filter(|line| !line.is_empty())
    }

    /// The value of the first header of a name, in whatever case it is written.
    fn get(&self, name: &str) -> Option<&'a str> {
        let values = self.lines().filter_map(|line| line.split_once(':'));
        values.into_iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim())
    }
}

/// A request: its text, as it came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request<'a> {
    /// What is asked for.
    pub method: Method,
    /// Of what: an absolute URI, or `*`.
    pub uri: &'a str,
    /// Whether it is RTSP 1.0, the only one that we speak.
    pub is_version_1: bool,
    headers: Headers<'a>,
    /// What follows the headers.
    pub body: &'a [u8],
}

impl<'a> Request<'a> {
    fn new(line: &'a str, headers: Headers<'a>, body: &'a [u8]) -> Option<Self> {
        let mut parts = line.split(' ');
        let (method, uri, version) = (parts.next()?, parts.next()?, parts.next()?);
        let is_token = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic());
        let fits = parts.next().is_none() && is_token(method) && is_token(uri);
        let version = version.strip_prefix("RTSP/").filter(|_| fits && !method.starts_with("RTSP/"))?;
        let method = Method::from_name(method);
        Some(Self { method, uri, is_version_1: version == "1.0", headers, body })
    }

    /// The value of the first header of this name, in whatever case it is written.
    pub fn header(&self, name: &str) -> Option<&'a str> {
        self.headers.get(name)
    }
}

macro_rules! named {
    ($(#[$doc:meta])* $kind:ident { $($variant:ident = $text:literal,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum $kind {
            $(#[doc = concat!("`", $text, "`")] $variant,)*
            /// Another.
            Other,
        }

        impl $kind {
            /// Those that have names, in the order above.
            pub const ALL: &[(Self, &str)] = &[$((Self::$variant, $text),)*];

            fn from_name(name: &str) -> Self {
                Self::ALL.iter().find(|(_, text)| *text == name).map_or(Self::Other, |(kind, _)| *kind)
            }
        }
    };
}

named! {
    /// What a request asks for (RFC 2326 section 10).
    Method {
        Options = "OPTIONS",
        Describe = "DESCRIBE",
        Setup = "SETUP",
        Play = "PLAY",
        Pause = "PAUSE",
        Teardown = "TEARDOWN",
        GetParameter = "GET_PARAMETER",
        SetParameter = "SET_PARAMETER",
        Announce = "ANNOUNCE",
        Record = "RECORD",
        Redirect = "REDIRECT",
    }
}

macro_rules! statuses {
    ($($variant:ident = $code:literal $reason:literal,)*) => {
        /// What an answer says (RFC 2326 section 7.1.1).
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Status {
            $(#[doc = concat!(stringify!($code), ": ", $reason)] $variant,)*
        }

        impl Status {
            /// Its number, three digits.
            pub fn code(self) -> u16 {
                match self {
                    $(Self::$variant => $code,)*
                }
            }

            /// Its words.
            pub fn reason(self) -> &'static str {
                match self {
                    $(Self::$variant => $reason,)*
                }
            }
        }
    };
}

statuses! {
    Ok = 200 "OK",
    BadRequest = 400 "Bad Request",
    NotFound = 404 "Not Found",
    MethodNotAllowed = 405 "Method Not Allowed",
    NotAcceptable = 406 "Not Acceptable",
    TooLarge = 413 "Request Entity Too Large",
    ParameterNotUnderstood = 451 "Parameter Not Understood",
    SessionNotFound = 454 "Session Not Found",
    NotValidInThisState = 455 "Method Not Valid in This State",
    AggregateNotAllowed = 459 "Aggregate Operation Not Allowed",
    UnsupportedTransport = 461 "Unsupported Transport",
    NotImplemented = 501 "Not Implemented",
    Unavailable = 503 "Service Unavailable",
    VersionNotSupported = 505 "RTSP Version Not Supported",
    OptionNotSupported = 551 "Option Not Supported",
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(text: &str) -> Option<Request<'_>> {
        match next_unit(text.as_bytes()) {
            (length, Unit::Request(request)) if length == text.len() => Some(request),
            _ => None,
        }
    }

    #[test]
    fn a_request_is_read_as_it_is() {
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
            assert_eq!(next_unit(&text.as_bytes()[..length]), (length.min(2), Unit::Incomplete), "{length}");
        }
    }

    #[test]
    fn lines_may_end_without_return() {
        assert_eq!(request("OPTIONS * RTSP/1.0\nCSeq: 1\n\n").unwrap().header("CSeq"), Some("1"));
    }

    #[test]
    fn what_is_no_request_is_told() {
        use Status::{BadRequest, TooLarge};
        for (text, expected) in [
            ("GET / HTTP/1.1\r\n\r\n", Unit::Broken(BadRequest)),
            ("OPTIONS *\r\n\r\n", Unit::Broken(BadRequest)),
            ("OPTIONS  * RTSP/1.0\r\n\r\n", Unit::Broken(BadRequest)),
            ("OPTIONS * RTSP/1.0\r\nno header\r\n\r\n", Unit::Broken(BadRequest)),
            ("OPTIONS * RTSP/1.0\r\nCSeq: 1\r\n more\r\n\r\n", Unit::Broken(BadRequest)),
            ("OPTIONS * RTSP/1.0\r\nCSeq: 1\rX: 2\r\n\r\n", Unit::Broken(BadRequest)),
            ("OPTIONS * RTSP/1.0\r\nContent-Length: -1\r\n\r\n", Unit::Broken(BadRequest)),
            ("OPTIONS * RTSP/1.0\r\nContent-Length: 8193\r\n\r\n", Unit::Broken(TooLarge)),
            ("OPTIONS * RTSP/1.0\r\nContent-Length: 8192\r\n\r\n", Unit::Incomplete),
            ("RTSP/1.0 200 OK\r\nCSeq: 1\r\n\r\n", Unit::Ignored),
            ("\r\n\r\n", Unit::Incomplete),
        ] {
            assert_eq!(next_unit(text.as_bytes()).1, expected, "{text:?}");
        }
        assert_eq!(next_unit(b"OPTIONS * RTSP/1.0\r\nX: \xff\r\n\r\n").1, Unit::Broken(BadRequest));
        assert_eq!(next_unit(&[b'a'; MAX_HEAD_BYTES - 1]).1, Unit::Incomplete);
        assert_eq!(next_unit(&[b'a'; MAX_HEAD_BYTES]).1, Unit::Broken(BadRequest));
        assert!(!request("OPTIONS * RTSP/2.0\r\n\r\n").unwrap().is_version_1);
    }

    #[test]
    fn packets_stand_between_requests() {
        let mut input = interleaved_header(3, 5).unwrap().to_vec();
        input.extend(b"12345OPTIONS * RTSP/1.0\r\n\r\n");
        assert_eq!(next_unit(&input), (9, Unit::Interleaved { channel: 3, packet: b"12345" }));
        assert_eq!(next_unit(&input[..8]), (0, Unit::Incomplete));
        assert_eq!(next_unit(&input[..2]), (0, Unit::Incomplete));
        assert!(matches!(next_unit(&input[9..]).1, Unit::Request(_)));
        assert_eq!(interleaved_header(0, 65_536), None);
    }
}
