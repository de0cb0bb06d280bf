//! HTTP requests and response heads (RFC 9112), without I/O.

use std::net::{IpAddr, SocketAddr};

/// Maximum number of header fields of a request.
const MAX_FIELDS: usize = 64;

/// The resource that a request selects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Resource {
    /// A static text.
    Text(&'static Text),
    /// The stream of pictures.
    Pictures,
    /// The stream of statistics.
    Statistics,
    /// An error: its status and its text.
    Error(&'static str, &'static str),
}

/// A request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Request {
    pub(super) resource: Resource,
    /// Whether the method is HEAD.
    pub(super) is_head: bool,
}

/// A static part of the page.
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

/// Header fields of all responses. The page loads nothing from other sites, and other sites cannot embed it.
const FIELDS: &str = "\
    Connection: close\r\n\
    Cache-Control: no-store\r\n\
    Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
    base-uri 'none'; form-action 'none'; frame-ancestors 'none'\r\n\
    Cross-Origin-Opener-Policy: same-origin\r\n\
    Cross-Origin-Resource-Policy: same-origin\r\n\
    Referrer-Policy: no-referrer\r\n\
    X-Content-Type-Options: nosniff\r\n";

/// Parses the first request; `None` if it is incomplete.
pub(super) fn parse(input: &[u8]) -> Option<Request> {
    let mut fields = [httparse::EMPTY_HEADER; MAX_FIELDS];
    let mut request = httparse::Request::new(&mut fields);
    let resource = match request.parse(input) {
        Ok(httparse::Status::Partial) => return None,
        Ok(httparse::Status::Complete(_)) => resource(&request),
        Err(_) => Resource::Error("400 Bad Request", "Invalid HTTP request."),
    };
    Some(Request { resource, is_head: request.method == Some("HEAD") })
}

fn resource(request: &httparse::Request<'_, '_>) -> Resource {
    let mut hosts = request.headers.iter().filter(|field| field.name.eq_ignore_ascii_case("host"));
    let host = hosts.next().and_then(|field| str::from_utf8(field.value).ok());
    if hosts.next().is_some() || !host.is_some_and(is_address) {
        let reason = "Use an IP address or localhost as the host, for example http://127.0.0.1:8080/. Other names are rejected to prevent DNS rebinding.";
        return Resource::Error("421 Misdirected Request", reason);
    }
    if !matches!(request.method, Some("GET" | "HEAD")) {
        return Resource::Error("405 Method Not Allowed", "Only GET and HEAD are supported.");
    }
    let path = request.path.unwrap_or_default().split('?').next().unwrap_or_default();
    match path {
        "/pictures" => Resource::Pictures,
        "/statistics" => Resource::Statistics,
        _ => match TEXTS.iter().find(|text| text.path == path) {
            Some(text) => Resource::Text(text),
            None => Resource::Error("404 Not Found", "No such resource."),
        },
    }
}

/// Whether a host is an IP address or `localhost`, with or without a port. A foreign name server cannot redirect these.
fn is_address(host: &str) -> bool {
    let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
    let unbracketed = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    host.parse::<SocketAddr>().is_ok()
        || unbracketed.unwrap_or(host).parse::<IpAddr>().is_ok()
        || name.eq_ignore_ascii_case("localhost")
}

/// Appends the head of a response with a body of `length` bytes, or one that ends with the connection.
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

    fn get(path: &str, host: &str) -> Resource {
        parse(format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n").as_bytes()).unwrap().resource
    }

    fn status(resource: Resource) -> &'static str {
        match resource {
            Resource::Error(status, _) => &status[..3],
            _ => "200",
        }
    }

    #[test]
    fn resources_are_found_by_path() {
        assert!(
            matches!(get("/", "127.0.0.1:8080"), Resource::Text(text) if text.text.contains("<!doctype html>"))
        );
        assert!(
            matches!(get("/page.js?1", "127.0.0.1"), Resource::Text(text) if text.kind.contains("javascript"))
        );
        assert_eq!(get("/pictures?17", "localhost:1"), Resource::Pictures);
        assert_eq!(get("/statistics", "[::1]:8080"), Resource::Statistics);
        assert_eq!(status(get("/favicon.ico", "127.0.0.1")), "404");
        assert_eq!(status(get("/../etc/passwd", "127.0.0.1")), "404");
    }

    #[test]
    fn host_names_are_rejected() {
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
        let status_of = |text: &str| status(parse(text.as_bytes()).unwrap().resource);
        assert_eq!(status_of("GET / HTTP/1.0\r\n\r\n"), "421", "no host");
        assert_eq!(
            status_of("GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nhost: example.com\r\n\r\n"),
            "421",
            "two hosts"
        );
    }

    #[test]
    fn incomplete_and_invalid_requests() {
        let request = b"HEAD / HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: */*\r\n\r\n";
        for end in 0..request.len() {
            assert_eq!(parse(&request[..end]), None);
        }
        assert!(
            parse(request)
                .is_some_and(|request| request.is_head && matches!(request.resource, Resource::Text(_)))
        );
        assert_eq!(status(parse(b"POST / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n").unwrap().resource), "405");
        assert_eq!(status(parse(b"\x16\x03\x01\x02\x00").unwrap().resource), "400", "TLS");
        let many = format!("GET / HTTP/1.1\r\n{}\r\n", "A: b\r\n".repeat(MAX_FIELDS + 1));
        assert_eq!(status(parse(many.as_bytes()).unwrap().resource), "400");
    }

    #[test]
    fn page_loads_nothing_from_other_sites() {
        for Text { path, text, .. } in &TEXTS {
            for reference in ["http:", "https:", "//cdn", "@import", "url("] {
                let found = text.replace("http://www.w3.org/2000/svg", "").contains(reference);
                assert!(!found, "{path} has {reference}");
            }
            // The Content-Security-Policy forbids inline styles and handlers.
            assert!(!text.contains("style=\"") && !text.contains("onclick"), "{path}");
        }
    }
}
