//! Every test runs on both backends, with real sockets on loopback.

mod anything;
mod basics;
mod limits;
mod nested;
mod streams;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::{Backend, CloseReason, Event, Key, Limits, ListenOptions, TcpReactor};

/// Guards against hanging.
const GUARD: Duration = Duration::from_secs(60);

/// Runs a test on each available backend.
fn on_each(limits: &Limits, test: impl Fn(TcpReactor)) {
    test(TcpReactor::new(Backend::Epoll, limits.clone()).unwrap());
    match TcpReactor::new(Backend::Uring, limits.clone()) {
        Ok(reactor) => {
            println!("passed with epoll");
            test(reactor);
        }
        Err(error) if std::env::var_os("NETDYNO_REQUIRE").is_none() => println!("skipped: needs {error}"),
        Err(error) => panic!("{error}"),
    }
}

fn listen(reactor: &mut TcpReactor) -> SocketAddr {
    let listener = reactor.listen("127.0.0.1:0".parse().unwrap(), &ListenOptions::default()).unwrap();
    reactor.local_address(listener)
}

fn dial(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(GUARD)).unwrap();
    stream.set_write_timeout(Some(GUARD)).unwrap();
    stream
}

/// Performs turns until `done`; every event goes to `handle`.
fn turn_until(
    reactor: &mut TcpReactor,
    mut handle: impl FnMut(&mut TcpReactor, Event),
    mut done: impl FnMut(&TcpReactor) -> bool,
) {
    let begin = Instant::now();
    while !done(reactor) {
        assert!(begin.elapsed() < GUARD, "hangs");
        reactor.wait(Some(Duration::from_millis(5))).unwrap();
        while let Some(event) = reactor.next_event() {
            handle(reactor, event);
        }
        reactor.flush().unwrap();
    }
}

/// The first event for which `pick` returns a value.
fn next<T>(reactor: &mut TcpReactor, pick: impl Fn(Event) -> Option<T>) -> T {
    let begin = Instant::now();
    loop {
        assert!(begin.elapsed() < GUARD, "hangs");
        while let Some(event) = reactor.next_event() {
            if let Some(picked) = pick(event) {
                return picked;
            }
        }
        reactor.flush().unwrap();
        reactor.wait(Some(Duration::from_millis(5))).unwrap();
    }
}

fn accepted(event: Event) -> Option<Key> {
    if let Event::Accepted(key, _) = event { Some(key) } else { None }
}

fn closed(event: Event) -> Option<CloseReason> {
    if let Event::Closed(_, reason) = event { Some(reason) } else { None }
}

/// The events of a few turns in which nothing in particular is expected.
fn settle(reactor: &mut TcpReactor) -> Vec<Event> {
    let mut events = Vec::new();
    for _ in 0..10 {
        reactor.flush().unwrap();
        reactor.wait(Some(Duration::from_millis(2))).unwrap();
        events.extend(std::iter::from_fn(|| reactor.next_event()));
    }
    events
}

/// Sends every complete line back, and closes connections that the peer has ended.
fn echo_lines(reactor: &mut TcpReactor, event: Event) {
    match event {
        Event::Received(key) => {
            let (input, output) = reactor.buffers(key);
            let whole = input.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
            output.extend_from_slice(&input[..whole]);
            reactor.consume(key, whole);
        }
        Event::Ended(key) => reactor.close(key, true),
        _ => {}
    }
}

/// Joins a client thread while the reactor runs.
fn join<T>(reactor: &mut TcpReactor, client: JoinHandle<T>, handle: impl FnMut(&mut TcpReactor, Event)) -> T {
    turn_until(reactor, handle, |_| client.is_finished());
    client.join().unwrap()
}

/// A small seeded random number generator.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) % limit
    }
}

fn read_exactly(stream: &mut TcpStream, count: usize) -> Vec<u8> {
    let mut bytes = vec![0; count];
    stream.read_exact(&mut bytes).unwrap();
    bytes
}

fn read_to_end(stream: &mut TcpStream) -> Vec<u8> {
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).unwrap();
    bytes
}

fn ask(stream: &mut TcpStream, line: &[u8]) -> Vec<u8> {
    stream.write_all(line).unwrap();
    read_exactly(stream, line.len())
}
