//! A minimal client.
#![allow(dead_code, clippy::unwrap_used)]

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use netdyno_kv::{Backend, Builder, Server};

/// The backends that this kernel supports.
pub(crate) fn backends() -> Vec<Backend> {
    let has_uring = with(Backend::Uring).bind((Ipv4Addr::LOCALHOST, 0)).start().is_ok();
    if !has_uring {
        println!("skipped: needs io_uring for its half");
    }
    if has_uring { vec![Backend::Epoll, Backend::Uring] } else { vec![Backend::Epoll] }
}

pub(crate) fn with(backend: Backend) -> Builder {
    Server::builder().backend(backend)
}

pub(crate) fn start(builder: Builder) -> Server {
    builder.bind((Ipv4Addr::LOCALHOST, 0)).start().unwrap()
}

pub(crate) fn command(words: &[&[u8]]) -> Vec<u8> {
    let mut out = Vec::new();
    netdyno_resp::write_command(&mut out, words);
    out
}

/// A connection. Waiting for longer than a minute is a failure.
pub(crate) struct Peer {
    pub(crate) stream: BufReader<TcpStream>,
}

impl Peer {
    pub(crate) fn connect(server: &Server) -> Self {
        Self::at(server.addresses()[0])
    }

    pub(crate) fn at(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        Self { stream: BufReader::new(stream) }
    }

    pub(crate) fn send(&mut self, bytes: &[u8]) {
        self.stream.get_ref().write_all(bytes).unwrap();
    }

    pub(crate) fn another_hand(&self) -> TcpStream {
        self.stream.get_ref().try_clone().unwrap()
    }

    pub(crate) fn end(&self) {
        self.stream.get_ref().shutdown(Shutdown::Write).unwrap();
    }

    /// Closing a socket with unread data makes the kernel reset the connection.
    pub(crate) fn reset(&mut self) {
        self.send(b"PING\r\n");
        let mut byte = [0];
        while self.stream.get_ref().peek(&mut byte).is_err_and(|error| error.kind() == ErrorKind::Interrupted)
        {
        }
    }

    pub(crate) fn expect(&mut self, expected: &[u8]) {
        let mut got = vec![0; expected.len()];
        let result = self.stream.read_exact(&mut got);
        assert!(
            got == expected,
            "{:.300} instead of {:.300}, {result:?}",
            got.escape_ascii().to_string(),
            expected.escape_ascii().to_string()
        );
    }

    /// `None` at the end of the connection.
    pub(crate) fn try_line(&mut self) -> Option<String> {
        let mut line = String::new();
        self.stream.read_line(&mut line).ok().filter(|_| line.ends_with('\n')).map(|_| line)
    }

    pub(crate) fn line(&mut self) -> String {
        let mut line = String::new();
        self.stream.read_line(&mut line).unwrap();
        line
    }

    pub(crate) fn expect_end(&mut self) {
        let mut rest = Vec::new();
        // A connection that is closed with unread input is reset.
        let _ = self.stream.read_to_end(&mut rest);
        assert!(rest.is_empty(), "{}", rest.escape_ascii());
    }
}

/// Waits for a condition.
pub(crate) fn until(is_so: impl Fn() -> bool, what: &str) {
    let begin = Instant::now();
    while !is_so() {
        assert!(begin.elapsed() < Duration::from_secs(60), "timeout after one minute: {what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}
