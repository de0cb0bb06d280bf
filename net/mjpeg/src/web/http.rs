//! Requests, and the heads of answers (RFC 9112). No I/O.

use std::net::{IpAddr, SocketAddr};

/// Header fields of a request; one with more is refused.
const MAX_FIELDS: usize = 64;

/// What is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Asked {
    /// Something that is always the same.
    Text(&'static Text),
    /// The stream of pictures.
    Pictures,
    /// The stream of statistics.
    Statistics,
    /// A request that is not answered as it wants: status, and why.
    Refused(&'static str, &'static str),
}

/// A request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Request {
    pub(super) asked: Asked,
    /// Only the head of the answer is wanted.
    pub(super) is_head: bool,
}

/// A part of the page.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Text {
    path: &'static str,
    pub(super) kind: &'static str,
    pub(super) text: &'static str,
}

const TEXTS: [Text; 4] = [
    Text { path: "/", kind: "text/html; charset=utf-8", text: include_str!("page.html") },
    Text { path: "/page.css", kind: "text/css; charset=utf-8", text: include_str!("page.css") },
    Text { path: "/page.js", kind: "text/javascript; charset=utf-8", text: include_str!("page.js") },
    Text { path: "/icon.svg", kind: "image/svg+xml", text: include_str!("icon.svg") },
];

/// What all answers have. The page gets nothing from elsewhere, and nothing elsewhere gets at it.
const FIELDS: &str = "\
    Connection: close\r\n\
    Cache-Control: no-store\r\n\
    Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
    base-uri 'none'; form-action 'none'; frame-ancestors 'none'\r\n\
    Cross-Origin-Opener-Policy: same-origin\r\n\
    Cross-Origin-Resource-Policy: same-origin\r\n\
    Referrer-Policy: no-referrer\r\n\
    X-Content-Type-Options: nosniff\r\n";

/// The request that the input begins with; `None` if more of it is to come.
pub(super) fn parse(input: &[u8]) -> Option<Request> {
    let mut fields = [httparse::EMPTY_HEADER; MAX_FIELDS];
    let mut request = httparse::Request::new(&mut fields);
    let asked = match request.parse(input) {
        Ok(httparse::Status::Partial) => return None,
        Ok(httparse::Status::Complete(_)) => asked(&request),
        Err(_) => Asked::Refused("400 Bad Request", "This is no HTTP request."),
    };
    Some(Request { asked, is_head: request.method == Some("HEAD") })
}

fn asked(request: &httparse::Request<'_, '_>) -> Asked {
    let mut hosts = request.headers.iter().filter(|field| field.name.eq_ignore_ascii_case("host"));
    let host = hosts.next().and_then(|field| str::from_utf8(field.value).ok());
    if hosts.next().is_some() || !host.is_some_and(is_address) {
        let reason = "This is shown by its address alone, such as http://127.0.0.1:8080/, not by a name: so no other site gets at it.";
        return Asked::Refused("421 Misdirected Request", reason);
    }
    if !matches!(request.method, Some("GET" | "HEAD")) {
        return Asked::Refused("405 Method Not Allowed", "There is nothing but GET and HEAD.");
    }
    let path = request.path.unwrap_or_default().split('?').next().unwrap_or_default();
    match path {
        "/pictures" => Asked::Pictures,
        "/statistics" => Asked::Statistics,
        _ => match TEXTS.iter().find(|text| text.path == path) {
            Some(text) => Asked::Text(text),
            None => Asked::Refused("404 Not Found", "There is nothing by this name."),
        },
    }
}

/// Whether a host is given as an address or `localhost`, with or without a port: none of these can be made to lead here by
/// somebody's name server.
fn is_address(host: &str) -> bool {
    let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
    let unbracketed = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    host.parse::<SocketAddr>().is_ok()
        || unbracketed.unwrap_or(host).parse::<IpAddr>().is_ok()
        || name.eq_ignore_ascii_case("localhost")
}

/// Appends the head of an answer with a body of `length` bytes, or of as many as come until the connection ends.
pub(super) fn head(out: &mut Vec<u8>, status: &str, kind: &str, length: Option<usize>) {
    out.extend_from_slice(format!("HTTP/1.1 {status}\r\nContent-Type: {kind}\r\n").as_bytes());
    if let Some(length) = length {
        out.extend_from_slice(format!("Content-Length: {length}\r\n").as_bytes());
    }
    out.extend_from_slice(FIELDS.as_bytes());
    out.extend_from_slice(b"\r\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn get(path: &str, host: &str) -> Asked {
        parse(format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n").as_bytes()).unwrap().asked
    }

    fn status(asked: Asked) -> &'static str {
        match asked {
            Asked::Refused(status, _) => &status[..3],
            _ => "200",
        }
    }

    #[test]
    fn what_is_there() {
        assert!(
            matches!(get("/", "127.0.0.1:8080"), Asked::Text(text) if text.text.contains("<!doctype html>"))
        );
        assert!(
            matches!(get("/page.js?1", "127.0.0.1"), Asked::Text(text) if text.kind.contains("javascript"))
        );
        assert_eq!(get("/pictures?17", "localhost:1"), Asked::Pictures);
        assert_eq!(get("/statistics", "[::1]:8080"), Asked::Statistics);
        assert_eq!(status(get("/favicon.ico", "127.0.0.1")), "404");
        assert_eq!(status(get("/../etc/passwd", "127.0.0.1")), "404");
    }

    #[test]
    fn names_are_refused() {
        for host in [
            "127.0.0.1",
            "127.0.0.1:80",
            "[::1]",
            "[::1]:80",
            "192.168.1.7:8080",
            "localhost",
            "LOCALHOST:80",
        ] {
            assert_eq!(status(get("/", host)), "200", "{host}");
        }
        for host in [
            "",
            "example.com",
            "127.0.0.1.example.com",
            "localhost.example.com:80",
            "example.com:80",
            "a:b:c",
            ":80",
        ] {
            assert_eq!(status(get("/", host)), "421", "{host}");
        }
        let status_of = |text: &str| status(parse(text.as_bytes()).unwrap().asked);
        assert_eq!(status_of("GET / HTTP/1.0\r\n\r\n"), "421", "none at all");
        assert_eq!(status_of("GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nhost: example.com\r\n\r\n"), "421", "two");
    }

    #[test]
    fn other_requests() {
        let whole = b"HEAD / HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: */*\r\n\r\n";
        for end in 0..whole.len() {
            assert_eq!(parse(&whole[..end]), None);
        }
        assert!(
            parse(whole).is_some_and(|request| request.is_head && matches!(request.asked, Asked::Text(_)))
        );
        assert_eq!(status(parse(b"POST / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n").unwrap().asked), "405");
        assert_eq!(status(parse(b"\x16\x03\x01\x02\x00").unwrap().asked), "400", "TLS");
        let many = format!("GET / HTTP/1.1\r\n{}\r\n", "A: b\r\n".repeat(MAX_FIELDS + 1));
        assert_eq!(status(parse(many.as_bytes()).unwrap().asked), "400");
    }

    #[test]
    fn the_page_needs_nothing_from_elsewhere() {
        for Text { path, text, .. } in &TEXTS {
            for outside in ["http:", "https:", "//cdn", "@import", "url("] {
                let found = text.replace("http://www.w3.org/2000/svg", "").contains(outside);
                assert!(!found, "{path} has {outside}");
            }
            // The policy forbids these.
            assert!(!text.contains("style=\"") && !text.contains("onclick"), "{path}");
        }
    }
}
