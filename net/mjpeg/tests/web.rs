//! The web server, with requests over plain sockets.
#![allow(clippy::unwrap_used, missing_docs)]
#![cfg(all(feature = "web", target_os = "linux"))]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use netdyno_mjpeg::web::{Statistics, Web};

/// Bounds a test if the server hangs.
const TIMEOUT: Duration = Duration::from_secs(60);

fn open() -> Web {
    Web::open("127.0.0.1:0".parse().unwrap()).unwrap()
}

fn request(web: &Web, method: &str, path: &str, host: &str) -> BufReader<TcpStream> {
    let mut stream = TcpStream::connect(web.address()).unwrap();
    stream.set_read_timeout(Some(TIMEOUT)).unwrap();
    write!(stream, "{method} {path} HTTP/1.1\r\nHost: {host}\r\n\r\n").unwrap();
    BufReader::new(stream)
}

fn get(web: &Web, path: &str) -> BufReader<TcpStream> {
    request(web, "GET", path, "127.0.0.1")
}

/// Reads the head of a response.
fn head(from: &mut impl BufRead) -> Vec<String> {
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        assert_ne!(from.read_line(&mut line).unwrap(), 0, "it ends within its head: {lines:?}");
        match line.trim_end() {
            "" => return lines,
            line => lines.push(line.to_owned()),
        }
    }
}

/// Reads the next picture of the stream.
fn picture(from: &mut impl BufRead) -> Vec<u8> {
    let head = head(from);
    assert_eq!(head[0], "Content-Type: image/jpeg");
    let mut picture = vec![0; head[1].strip_prefix("Content-Length: ").unwrap().parse().unwrap()];
    from.read_exact(&mut picture).unwrap();
    boundary(from);
    picture
}

fn boundary(from: &mut impl BufRead) {
    let mut lines = [String::new(), String::new()];
    for line in &mut lines {
        from.read_line(line).unwrap();
    }
    assert_eq!(lines, ["\r\n", "--netdyno\r\n"]);
}

#[test]
fn page_is_served_and_foreign_hosts_are_rejected() {
    let web = open();
    for (path, kind) in [("/", "text/html"), ("/page.css", "text/css"), ("/page.js", "text/javascript")] {
        let mut answer = get(&web, path);
        let head = head(&mut answer);
        assert_eq!(head[0], "HTTP/1.1 200 OK");
        assert!(head.iter().any(|line| line.starts_with(&format!("Content-Type: {kind}"))));
        assert!(head.iter().any(|line| line.starts_with("Content-Security-Policy: default-src 'none'; ")));
        let mut text = String::new();
        answer.read_to_string(&mut text).unwrap();
        assert!(head.contains(&format!("Content-Length: {}", text.len())));

        let mut only_head = String::new();
        request(&web, "HEAD", path, "localhost").read_to_string(&mut only_head).unwrap();
        assert!(only_head.ends_with("\r\n\r\n"));
    }
    for (method, path, host, status) in [
        ("GET", "/", "rebound.example:80", "421"),
        ("GET", "/pictures", "rebound.example", "421"),
        ("POST", "/", "127.0.0.1", "405"),
        ("GET", "/nothing", "127.0.0.1", "404"),
    ] {
        let mut answer = String::new();
        request(&web, method, path, host).read_to_string(&mut answer).unwrap();
        assert_eq!(answer.split(' ').nth(1), Some(status), "{answer}");
    }
}

#[test]
fn pictures_are_streamed_in_order() {
    let web = open();
    web.show(b"before anyone looked");
    let mut stream = get(&web, "/pictures");
    assert!(
        head(&mut stream).contains(&"Content-Type: multipart/x-mixed-replace; boundary=netdyno".to_owned())
    );
    boundary(&mut stream);
    assert_eq!(picture(&mut stream), b"before anyone looked");
    for number in 0..100 {
        // Wait for each picture, so that none is skipped.
        let sent = vec![number; 1 + 1000 * usize::from(number)];
        web.show(&sent);
        assert!(picture(&mut stream) == sent, "{number}");
    }
}

#[test]
fn slow_viewer_skips_pictures_without_delaying_others() {
    let web = open();
    let mut slow = get(&web, "/pictures");
    head(&mut slow);
    boundary(&mut slow);
    let mut quick = get(&web, "/pictures");
    head(&mut quick);
    boundary(&mut quick);
    // Ten times the capacity of the socket buffers.
    let count = 300_u16;
    for number in 0..count {
        let sent = vec![number as u8; 500_000];
        web.show(&sent);
        assert!(picture(&mut quick) == sent, "{number}");
    }
    web.show(b"the last");
    let mut got = 0;
    while picture(&mut slow) != b"the last" {
        got += 1;
    }
    assert!((1..count).contains(&got), "{got} of {count}");
}

#[test]
fn statistics_are_streamed() {
    let web = open();
    let mut stream = get(&web, "/statistics");
    assert!(head(&mut stream).contains(&"Content-Type: text/event-stream".to_owned()));
    assert_eq!(head(&mut stream), ["retry: 1000"]);
    let mut statistics = Statistics::default();
    (statistics.frames, statistics.lost_packets, statistics.frames_per_s) = (17, 3, 29.97);
    statistics.sender = "camera@\"here\"\n<b>".to_owned();
    web.update(&statistics);
    let event = head(&mut stream);
    let told: serde_json::Value = serde_json::from_str(event[0].strip_prefix("data: ").unwrap()).unwrap();
    assert_eq!(event.len(), 1);
    assert_eq!((&told["frames"], &told["lost_packets"]), (&17.into(), &3.into()));
    assert_eq!(told["sender"], statistics.sender);
}

#[test]
fn viewers_are_limited() {
    let web = open();
    for path in ["/pictures", "/statistics"] {
        let mut lookers: Vec<_> = (0..16).map(|_| get(&web, path)).collect();
        for looker in &mut lookers {
            assert_eq!(head(looker)[0], "HTTP/1.1 200 OK");
        }
        let mut answer = String::new();
        get(&web, path).read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 503 "), "{answer}");
        // After one viewer disconnects, another one is admitted.
        lookers.pop();
        while head(&mut get(&web, path))[0] != "HTTP/1.1 200 OK" {
            std::thread::yield_now();
        }
    }
}

#[test]
fn endless_request_is_rejected() {
    let web = open();
    let mut stream = TcpStream::connect(web.address()).unwrap();
    stream.set_read_timeout(Some(TIMEOUT)).unwrap();
    // The server may respond or close the connection first.
    let _ = stream.write_all(format!("GET / HTTP/1.1\r\nX: {}", "x".repeat(1 << 20)).as_bytes());
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    assert!(answer.is_empty());
}

#[test]
fn server_stops_when_dropped() {
    let web = open();
    let mut stream = get(&web, "/pictures");
    head(&mut stream);
    boundary(&mut stream);
    let address = web.address();
    drop(web);
    let mut rest = Vec::new();
    let _ = stream.read_to_end(&mut rest);
    assert!(rest.is_empty() && TcpStream::connect(address).is_err());
}
