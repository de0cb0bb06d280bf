//! The attacks. Each works until the measurement ends.

use std::collections::VecDeque;
use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddrV4, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use nix::sys::socket::{setsockopt, sockopt};

use crate::TOKEN;
use crate::served::connect_from;

/// The abuser's address.
const ABUSER: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 66);
/// Those of an abuser with many, and their common prefix.
const ABUSERS: [u8; 3] = [127, 0, 66];
/// More connections than the server serves.
const MANY: usize = 120;
/// Threads of a flood that waits for responses, more than one client can have connections. Each has one at a time.
const THREADS: usize = 24;
/// Threads of a flood that does not wait: few, so that they leave the processor to the server and to honest clients.
const WRITERS: usize = 2;
/// Pause between the steps of an attack that is not a flood.
const PAUSE: Duration = Duration::from_millis(2);
/// After this time without data, an abuser checks whether its attack is over.
const READ_TIMEOUT: Duration = Duration::from_millis(50);
/// Receive buffer of clients that do not read.
const SMALL_BUFFER_BYTES: usize = 2048;
/// Text that is sent repeatedly.
const PART_BYTES: usize = 64 << 10;

pub(crate) struct Attack {
    pub(crate) name: &'static str,
    /// Whether the server requires a token.
    pub(crate) has_token: bool,
    pub(crate) run: fn(&Target<'_>),
    /// The event in the log, and the address that it names, or the start of it.
    pub(crate) event: &'static str,
    pub(crate) client: &'static str,
}

const BASE: Attack =
    Attack { name: "", has_token: false, run: silent, event: "too many connections", client: "127.0.0.66" };
const FLOOD: &str = "a flood of connections";
const INVALID: &str = "invalid or too long request";

pub(crate) const ATTACKS: &[Attack] = &[
    Attack { name: "slow request heads", run: slow_heads, ..BASE },
    Attack { name: "slow login forms", has_token: true, run: slow_forms, ..BASE },
    Attack { name: "silent connections", run: silent, ..BASE },
    Attack {
        name: "silent connections from many addresses",
        run: silent_from_many,
        client: "127.0.66.",
        ..BASE
    },
    Attack { name: "responses that are not read", run: unread, ..BASE },
    Attack { name: "requests for the largest page", run: largest_page, ..BASE },
    Attack { name: "resets after requests for the largest page", run: resets, event: FLOOD, ..BASE },
    Attack { name: "connections without a request", run: port_scan, event: FLOOD, ..BASE },
    Attack { name: "request heads without an end", run: long_heads, event: INVALID, ..BASE },
    Attack { name: "header lines one by one", run: single_lines, event: INVALID, ..BASE },
    Attack { name: "pipelined garbage", run: garbage, event: INVALID, ..BASE },
    Attack { name: "HTTP/2 preface", run: http2, event: INVALID, ..BASE },
    Attack { name: "TLS handshakes", run: tls, event: INVALID, ..BASE },
    Attack {
        name: "wrong Host (DNS rebinding)",
        run: wrong_host,
        event: "a request for an unknown host name",
        ..BASE
    },
    Attack { name: "path traversal", run: traversal, event: FLOOD, ..BASE },
    Attack { name: "request bodies without an end", run: endless_bodies, event: FLOOD, ..BASE },
    Attack { name: "guessed tokens", has_token: true, run: guesses, event: "a wrong token", ..BASE },
    Attack { name: "followers of a run", run: followers, event: "too many clients follow runs", ..BASE },
    Attack { name: "followers of unknown runs", run: unknown_runs, event: FLOOD, ..BASE },
];

/// The server under attack.
pub(crate) struct Target<'a> {
    pub(crate) address: SocketAddrV4,
    /// Path of the largest page.
    pub(crate) largest: &'a str,
    /// Id of a current run.
    pub(crate) run: &'a str,
    pub(crate) stop: &'a AtomicBool,
}

impl Target<'_> {
    fn is_over(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    fn connect(&self) -> TcpStream {
        connect_from(ABUSER, self.address, None)
    }

    /// Holds many connections that sent an opening. `each` acts on all of them after every new one.
    fn hold(&self, open: impl Fn(u8) -> TcpStream, opening: &str, each: impl Fn(&mut TcpStream)) {
        let mut held = VecDeque::new();
        for number in (0..=u8::MAX).cycle() {
            if self.is_over() {
                return;
            }
            let mut stream = open(number);
            let _ = stream.write_all(opening.as_bytes());
            stream.set_nonblocking(true).unwrap();
            held.push_back(stream);
            if held.len() > MANY {
                held.pop_front();
            }
            held.iter_mut().for_each(&each);
            thread::sleep(PAUSE);
        }
    }

    /// Sends texts on a connection, and reads the response.
    fn visit(&self, texts: &[&str], repeats_last: bool) {
        let mut stream = self.connect();
        let last = if repeats_last { texts.last() } else { None };
        let mut rest = texts.iter().chain(last.into_iter().cycle());
        while !self.is_over() && rest.next().is_some_and(|text| stream.write_all(text.as_bytes()).is_ok()) {}
        stream.set_read_timeout(Some(READ_TIMEOUT)).unwrap();
        let mut part = vec![0; PART_BYTES];
        // A reset may follow the response, or replace it.
        while !self.is_over() {
            match stream.read(&mut part) {
                Ok(1..) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                _ => return,
            }
        }
    }

    /// Repeats a step on several threads without a pause.
    fn flood(&self, threads: usize, step: impl Fn() + Sync) {
        let repeat = || {
            while !self.is_over() {
                step();
            }
        };
        thread::scope(|scope| (0..threads).for_each(|_| drop(scope.spawn(repeat))));
    }
}

fn request(path: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n")
}

/// The connection ends with a reset, which leaves none in TIME_WAIT: the ports suffice.
fn reset(stream: &TcpStream) {
    setsockopt(stream, sockopt::Linger, &nix::libc::linger { l_onoff: 1, l_linger: 0 }).unwrap();
}

fn slow_heads(target: &Target<'_>) {
    target.hold(|_| target.connect(), "GET / HTTP/1.1\r\nX: ", |stream| drop(stream.write(b"x")));
}

fn slow_forms(target: &Target<'_>) {
    let head = "POST /login HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\ntoken=";
    target.hold(|_| target.connect(), head, |stream| drop(stream.write(b"x")));
}

fn silent(target: &Target<'_>) {
    target.hold(|_| target.connect(), "", |_| {});
}

fn silent_from_many(target: &Target<'_>) {
    let [a, b, c] = ABUSERS;
    target.hold(|number| connect_from(Ipv4Addr::new(a, b, c, number), target.address, None), "", |_| {});
}

fn unread(target: &Target<'_>) {
    let open = |_| connect_from(ABUSER, target.address, Some(SMALL_BUFFER_BYTES));
    target.hold(open, &request(target.largest), |_| {});
}

fn largest_page(target: &Target<'_>) {
    target.flood(THREADS, || target.visit(&[&request(target.largest)], false));
}

fn resets(target: &Target<'_>) {
    target.flood(THREADS, || {
        let mut stream = target.connect();
        let _ = stream.write_all(request(target.largest).as_bytes());
        reset(&stream);
        // The server reads the request before the reset.
        thread::sleep(PAUSE);
    });
}

fn port_scan(target: &Target<'_>) {
    target.flood(WRITERS, || reset(&target.connect()));
}

fn long_heads(target: &Target<'_>) {
    let part = "x".repeat(PART_BYTES);
    target.flood(WRITERS, || target.visit(&["GET / HTTP/1.1\r\nX: ", &part], true));
}

fn single_lines(target: &Target<'_>) {
    target.flood(WRITERS, || target.visit(&["GET / HTTP/1.1\r\n", "X: y\r\n"], true));
}

fn garbage(target: &Target<'_>) {
    target.flood(THREADS, || target.visit(&["\0\x01\x02\r\n\r\n", &request("/"), "\0\r\n\r\n"], false));
}

fn http2(target: &Target<'_>) {
    target.flood(THREADS, || target.visit(&["PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0"], false));
}

/// The start of a ClientHello.
fn tls(target: &Target<'_>) {
    target.flood(THREADS, || {
        target.visit(&["\x16\x03\x01\x02\0\x01\0\x01\x7c\x03\x03", &"\0".repeat(500)], false)
    });
}

fn wrong_host(target: &Target<'_>) {
    target.flood(THREADS, || target.visit(&["GET / HTTP/1.1\r\nHost: rebound.example\r\n\r\n"], false));
}

fn traversal(target: &Target<'_>) {
    target.flood(THREADS, || target.visit(&[&request("/studies/../../../../etc/passwd")], false));
}

fn endless_bodies(target: &Target<'_>) {
    let head = "POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n";
    let part = format!("{PART_BYTES:x}\r\n{}\r\n", "x".repeat(PART_BYTES));
    target.flood(WRITERS, || target.visit(&[head, &part], true));
}

fn guesses(target: &Target<'_>) {
    let wrong = TOKEN.replace('0', "1");
    let body = format!("token={wrong}");
    let head = format!("POST /login HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n", body.len());
    target.flood(THREADS, || target.visit(&[&head, &body], false));
}

fn followers(target: &Target<'_>) {
    let events = request(&format!("/runs/{}/events", target.run));
    target.hold(|_| target.connect(), &events, |_| {});
}

fn unknown_runs(target: &Target<'_>) {
    target.flood(THREADS, || target.visit(&[&request("/runs/unknown/events")], false));
}
