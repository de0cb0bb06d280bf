//! Requests (RFC 2326 section 6), as views of the input.

use std::str;

use super::method::Method;

/// Splits the head of a message into its first line and its headers. `None` if it is not UTF-8, contains control
/// characters or has a header without a name. Folded header lines are rejected, as in RFC 9112 section 5.2.
pub(super) fn parse_head(head: &[u8]) -> Option<(&str, Headers<'_>)> {
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

/// The header lines of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Headers<'a> {
    lines: &'a str,
}

impl<'a> Headers<'a> {
    fn lines(&self) -> impl Iterator<Item = &'a str> {
        self.lines
            .split('\n')
            .map(|line| line.strip_suffix('\r').unwrap_or(line))
            .filter(|line| !line.is_empty())
    }

    /// The value of the first header with this name; names are case-insensitive.
    pub(super) fn get(&self, name: &str) -> Option<&'a str> {
        let mut headers = self.lines().filter_map(|line| line.split_once(':'));
        headers.find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim())
    }
}

/// A request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request<'a> {
    /// Its method.
    pub method: Method,
    /// Its target: an absolute URI, or `*`.
    pub uri: &'a str,
    /// Whether its version is RTSP 1.0, the only supported one.
    pub is_version_1: bool,
    headers: Headers<'a>,
    /// The body; empty without `Content-Length`.
    pub body: &'a [u8],
}

impl<'a> Request<'a> {
    pub(super) fn new(line: &'a str, headers: Headers<'a>, body: &'a [u8]) -> Option<Self> {
        let mut parts = line.split(' ');
        let (method, uri, version) = (parts.next()?, parts.next()?, parts.next()?);
        let is_token = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic());
        let fits = parts.next().is_none() && is_token(method) && is_token(uri);
        let version = version.strip_prefix("RTSP/").filter(|_| fits && !method.starts_with("RTSP/"))?;
        let method = Method::from_name(method);
        Some(Self { method, uri, is_version_1: version == "1.0", headers, body })
    }

    /// The value of the first header with this name; names are case-insensitive.
    pub fn header(&self, name: &str) -> Option<&'a str> {
        self.headers.get(name)
    }
}
