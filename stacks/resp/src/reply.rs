//! Writes replies in the protocol of the connection.

use std::fmt::Display;
use std::io::Write;

use crate::{Protocol, write_double};

/// Appends values to a connection's output. In RESP2, RESP3 types are converted as in Redis: a map becomes an
/// array of twice its length, a double a bulk string, and so on.
///
/// An aggregate consists of its header ([`array`](Self::array) and similar methods) and as many values as
/// announced.
pub struct Reply<'a> {
    out: &'a mut Vec<u8>,
    protocol: Protocol,
}

/// The position of an aggregate's header whose length is not known yet; see [`Reply::later`].
#[must_use = "the head is still missing"]
pub struct Later {
    at: usize,
}

impl<'a> Reply<'a> {
    /// Appends values to `out`.
    pub fn new(out: &'a mut Vec<u8>, protocol: Protocol) -> Self {
        Self { out, protocol }
    }

    /// The protocol.
    pub fn protocol(&self) -> Protocol {
        self.protocol
    }

    /// The output, including what was there before.
    pub fn out(&mut self) -> &mut Vec<u8> {
        self.out
    }

    /// `+OK`.
    #[inline]
    pub fn ok(&mut self) {
        self.out.extend_from_slice(b"+OK\r\n");
    }

    /// A short text. Line breaks are replaced by spaces.
    pub fn simple(&mut self, text: impl AsRef<[u8]>) {
        self.line(b'+', text.as_ref());
    }

    /// An error: an upper-case code, a space, and a message (`ERR no such key`). Line breaks are replaced by
    /// spaces, so that text from a client cannot form a second reply.
    pub fn error(&mut self, text: impl AsRef<[u8]>) {
        self.line(b'-', text.as_ref());
    }

    /// An error from a displayable value.
    pub fn error_display(&mut self, text: impl Display) {
        self.out.push(b'-');
        let start = self.out.len();
        // Writing to a `Vec` fails only if `Display` does; then the text so far is used.
        let _ = write!(self.out, "{text}");
        spaces_for_breaks(&mut self.out[start..]);
        self.out.extend_from_slice(b"\r\n");
    }

    /// An integer.
    #[inline]
    pub fn integer(&mut self, value: i64) {
        if let digit @ 0..=9 = value {
            self.out.extend_from_slice(&[b':', b'0' + digit as u8, b'\r', b'\n']);
            return;
        }
        self.head_signed(b':', value);
    }

    /// A byte string.
    #[inline]
    pub fn bulk(&mut self, bytes: &[u8]) {
        self.out.reserve(bytes.len() + HEAD_BYTES);
        self.head(b'$', bytes.len());
        self.out.extend_from_slice(bytes);
        self.out.extend_from_slice(b"\r\n");
    }

    /// An integer as a bulk string.
    pub fn bulk_integer(&mut self, value: i64) {
        self.bulk(itoa::Buffer::new().format(value).as_bytes());
    }

    /// A double as a bulk string, in both protocols.
    pub fn bulk_double(&mut self, value: f64) {
        self.measured(b'$', |out| write_double(out, value));
    }

    /// A displayable value as a bulk string.
    pub fn bulk_display(&mut self, value: impl Display) {
        self.measured(b'$', |out| {
            // See `error_display`.
            let _ = write!(out, "{value}");
        });
    }

    /// A null; in RESP2 the null bulk string.
    pub fn null(&mut self) {
        self.out.extend_from_slice(match self.protocol {
            Protocol::Resp2 => b"$-1\r\n",
            Protocol::Resp3 => b"_\r\n",
        });
    }

    /// A null; in RESP2 the null array.
    pub fn null_array(&mut self) {
        self.out.extend_from_slice(match self.protocol {
            Protocol::Resp2 => b"*-1\r\n",
            Protocol::Resp3 => b"_\r\n",
        });
    }

    /// The header of an array; `length` values follow.
    pub fn array(&mut self, length: usize) {
        self.head(b'*', length);
    }

    /// The header of a map; `pairs` keys with their values follow.
    pub fn map(&mut self, pairs: usize) {
        match self.protocol {
            Protocol::Resp2 => self.head(b'*', pairs.saturating_mul(2)),
            Protocol::Resp3 => self.head(b'%', pairs),
        }
    }

    /// The header of a set; `length` values follow.
    pub fn set(&mut self, length: usize) {
        let kind = self.kind(b'*', b'~');
        self.head(kind, length);
    }

    /// The header of a push message; `length` values follow.
    pub fn push(&mut self, length: usize) {
        let kind = self.kind(b'*', b'>');
        self.head(kind, length);
    }

    /// A double; a bulk string in RESP2.
    pub fn double(&mut self, value: f64) {
        if self.protocol == Protocol::Resp2 {
            return self.bulk_double(value);
        }
        self.out.push(b',');
        write_double(self.out, value);
        self.out.extend_from_slice(b"\r\n");
    }

    /// A boolean; 1 or 0 in RESP2.
    pub fn boolean(&mut self, value: bool) {
        self.out.extend_from_slice(match (self.protocol, value) {
            (Protocol::Resp2, true) => b":1\r\n",
            (Protocol::Resp2, false) => b":0\r\n",
            (Protocol::Resp3, true) => b"#t\r\n",
            (Protocol::Resp3, false) => b"#f\r\n",
        });
    }

    /// A text with its three-letter format (`txt`, `mkd`); a bulk string in RESP2.
    pub fn verbatim(&mut self, format: &str, text: &[u8]) {
        debug_assert_eq!(format.len(), 3, "three letters");
        if self.protocol == Protocol::Resp2 {
            return self.bulk(text);
        }
        self.head(b'=', text.len() + format.len() + 1);
        self.out.extend_from_slice(format.as_bytes());
        self.out.push(b':');
        self.out.extend_from_slice(text);
        self.out.extend_from_slice(b"\r\n");
    }

    /// An integer of any length, in digits; a bulk string in RESP2.
    pub fn big_number(&mut self, digits: &str) {
        match self.protocol {
            Protocol::Resp2 => self.bulk(digits.as_bytes()),
            Protocol::Resp3 => self.line(b'(', digits.as_bytes()),
        }
    }

    /// Bytes that are already encoded.
    pub fn raw(&mut self, resp: &[u8]) {
        self.out.extend_from_slice(resp);
    }

    /// Starts an aggregate of unknown length: write its values, then call
    /// [`finish_array`](Self::finish_array), [`finish_set`](Self::finish_set) or
    /// [`finish_map`](Self::finish_map). Finishing moves the values, so [`array`](Self::array) is cheaper if
    /// the length is known.
    pub fn later(&mut self) -> Later {
        Later { at: self.out.len() }
    }

    /// Makes the values since `later` an array.
    pub fn finish_array(&mut self, later: Later, length: usize) {
        self.insert_head(later.at, b'*', length);
    }

    /// Makes the values since `later` a set.
    pub fn finish_set(&mut self, later: Later, length: usize) {
        let kind = self.kind(b'*', b'~');
        self.insert_head(later.at, kind, length);
    }

    /// Makes the values since `later` a map.
    pub fn finish_map(&mut self, later: Later, pairs: usize) {
        match self.protocol {
            Protocol::Resp2 => self.insert_head(later.at, b'*', pairs.saturating_mul(2)),
            Protocol::Resp3 => self.insert_head(later.at, b'%', pairs),
        }
    }

    fn kind(&self, resp2: u8, resp3: u8) -> u8 {
        match self.protocol {
            Protocol::Resp2 => resp2,
            Protocol::Resp3 => resp3,
        }
    }

    #[inline]
    fn head(&mut self, kind: u8, length: usize) {
        if length < 10 {
            self.out.extend_from_slice(&[kind, b'0' + length as u8, b'\r', b'\n']);
            return;
        }
        self.out.push(kind);
        self.out.extend_from_slice(itoa::Buffer::new().format(length).as_bytes());
        self.out.extend_from_slice(b"\r\n");
    }

    fn head_signed(&mut self, kind: u8, value: i64) {
        self.out.push(kind);
        self.out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
        self.out.extend_from_slice(b"\r\n");
    }

    fn insert_head(&mut self, at: usize, kind: u8, length: usize) {
        let end = self.out.len();
        self.head(kind, length);
        let head = self.out.len() - end;
        self.out[at..].rotate_right(head);
    }

    /// Writes a value with its length as a prefix.
    fn measured(&mut self, kind: u8, write: impl FnOnce(&mut Vec<u8>)) {
        let at = self.out.len();
        write(self.out);
        let length = self.out.len() - at;
        self.insert_head(at, kind, length);
        self.out.extend_from_slice(b"\r\n");
    }

    fn line(&mut self, kind: u8, text: &[u8]) {
        self.out.reserve(text.len() + 3);
        self.out.push(kind);
        let start = self.out.len();
        self.out.extend_from_slice(text);
        spaces_for_breaks(&mut self.out[start..]);
        self.out.extend_from_slice(b"\r\n");
    }
}

/// Exceeds the header and end of a bulk string.
const HEAD_BYTES: usize = 25;

fn spaces_for_breaks(text: &mut [u8]) {
    if memchr::memchr2(b'\r', b'\n', text).is_some() {
        text.iter_mut().filter(|byte| matches!(byte, b'\r' | b'\n')).for_each(|byte| *byte = b' ');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(write: impl Fn(&mut Reply<'_>), resp2: &str, resp3: &str) {
        for (protocol, expected) in [(Protocol::Resp2, resp2), (Protocol::Resp3, resp3)] {
            let mut out = b"before".to_vec();
            write(&mut Reply::new(&mut out, protocol));
            assert_eq!(String::from_utf8_lossy(&out[6..]), expected, "{protocol:?}");
            assert!(out.starts_with(b"before"));
        }
    }

    #[test]
    fn every_type_of_value() {
        check(|reply| reply.ok(), "+OK\r\n", "+OK\r\n");
        check(|reply| reply.simple("a\r\nb"), "+a  b\r\n", "+a  b\r\n");
        check(|reply| reply.error("ERR '\r\n+OK'"), "-ERR '  +OK'\r\n", "-ERR '  +OK'\r\n");
        check(|reply| reply.error_display("ERR a\nb"), "-ERR a b\r\n", "-ERR a b\r\n");
        check(|reply| reply.integer(7), ":7\r\n", ":7\r\n");
        check(|reply| reply.integer(-1), ":-1\r\n", ":-1\r\n");
        check(|reply| reply.integer(i64::MIN), ":-9223372036854775808\r\n", ":-9223372036854775808\r\n");
        check(|reply| reply.bulk(b""), "$0\r\n\r\n", "$0\r\n\r\n");
        check(
            |reply| reply.bulk(b"0123456789\r\n"),
            "$12\r\n0123456789\r\n\r\n",
            "$12\r\n0123456789\r\n\r\n",
        );
        check(|reply| reply.bulk_integer(-10), "$3\r\n-10\r\n", "$3\r\n-10\r\n");
        check(|reply| reply.bulk_display(format_args!("{}-{}", 5, 1)), "$3\r\n5-1\r\n", "$3\r\n5-1\r\n");
        check(|reply| reply.null(), "$-1\r\n", "_\r\n");
        check(|reply| reply.null_array(), "*-1\r\n", "_\r\n");
        check(|reply| reply.array(12), "*12\r\n", "*12\r\n");
        check(|reply| reply.map(2), "*4\r\n", "%2\r\n");
        check(|reply| reply.set(2), "*2\r\n", "~2\r\n");
        check(|reply| reply.push(3), "*3\r\n", ">3\r\n");
        check(|reply| reply.double(1.5), "$3\r\n1.5\r\n", ",1.5\r\n");
        check(|reply| reply.double(f64::INFINITY), "$3\r\ninf\r\n", ",inf\r\n");
        check(|reply| reply.boolean(true), ":1\r\n", "#t\r\n");
        check(|reply| reply.boolean(false), ":0\r\n", "#f\r\n");
        check(|reply| reply.verbatim("txt", b"hi"), "$2\r\nhi\r\n", "=6\r\ntxt:hi\r\n");
        check(|reply| reply.big_number("123"), "$3\r\n123\r\n", "(123\r\n");
    }

    #[test]
    fn deferred_headers() {
        check(
            |reply| {
                let outer = reply.later();
                reply.integer(1);
                let inner = reply.later();
                (0..12).for_each(|_| reply.integer(2));
                reply.finish_set(inner, 12);
                reply.finish_array(outer, 2);
            },
            &format!("*2\r\n:1\r\n*12\r\n{}", ":2\r\n".repeat(12)),
            &format!("*2\r\n:1\r\n~12\r\n{}", ":2\r\n".repeat(12)),
        );
        check(
            |reply| {
                let later = reply.later();
                reply.bulk(b"k");
                reply.null();
                reply.finish_map(later, 1);
            },
            "*2\r\n$1\r\nk\r\n$-1\r\n",
            "%1\r\n$1\r\nk\r\n_\r\n",
        );
    }
}
