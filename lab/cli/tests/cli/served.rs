//! A process of `netdyno serve`, and a client of it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddrV4, TcpStream};
use std::os::fd::AsRawFd;
use std::process::{Child, ChildStdout, Stdio};
use std::time::Duration;

use nix::sys::socket::{
    AddressFamily, SockFlag, SockType, SockaddrIn, bind, connect, setsockopt, socket, sockopt,
};

use crate::bench::{Bench, Seen};

/// A generous time limit for busy machines; only guards against hanging.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// A server that ends with the test.
pub(crate) struct Served {
    pub(crate) process: Child,
    stdout: BufReader<ChildStdout>,
    /// `127.0.0.1:4711`.
    pub(crate) address: String,
}

impl Served {
    pub(crate) fn start(bench: &Bench, more: &[&str]) -> Served {
        Served::listening(bench, "127.0.0.1:0", more)
    }

    pub(crate) fn listening(bench: &Bench, address: &str, more: &[&str]) -> Served {
        let arguments = [&["serve", "--listen", address], more].concat();
        let mut process =
            bench.command(&arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let stdout = BufReader::new(process.stdout.take().unwrap());
        let mut served = Served { process, stdout, address: String::new() };
        let line = served.line();
        served.address = line
            .strip_prefix("http://")
            .and_then(|l| l.strip_suffix('/'))
            .unwrap()
            .replace("0.0.0.0", "127.0.0.1");
        served
    }

    /// The next line of its output.
    pub(crate) fn line(&mut self) -> String {
        let mut line = String::new();
        self.stdout.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    pub(crate) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream
    }

    /// Connects from 127.0.0.`client`.
    pub(crate) fn connect_from(&self, client: u8) -> TcpStream {
        connect_from(Ipv4Addr::new(127, 0, 0, client), self.address.parse().unwrap(), None)
    }

    /// Sends a request with these headers in addition to `Host`, and a body.
    pub(crate) fn ask(&self, line: &str, heads: &str, body: &str) -> Answer {
        let mut stream = self.connect();
        let (length, host) = (body.len(), &self.address);
        let host = if heads.contains("Host:") { String::new() } else { format!("Host: {host}\r\n") };
        let length = if body.is_empty() { String::new() } else { format!("Content-Length: {length}\r\n") };
        // It may reply and close before the whole request was sent.
        let _ = write!(stream, "{line} HTTP/1.1\r\n{host}{heads}{length}\r\n{body}");
        Answer::of(stream)
    }

    pub(crate) fn get(&self, path: &str) -> Answer {
        self.ask(&format!("GET {path}"), "", "")
    }

    /// Asks it to end, like Ctrl-C.
    pub(crate) fn end(mut self) -> Seen {
        let pid = nix::unistd::Pid::from_raw(i32::try_from(self.process.id()).unwrap());
        nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGINT).unwrap();
        let code = self.process.wait().unwrap().code().unwrap_or(-1);
        let (mut stdout, mut stderr) = (String::new(), String::new());
        self.stdout.read_to_string(&mut stdout).unwrap();
        self.process.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
        Seen { code, stdout, stderr }
    }
}

/// Connects from a local address, with a receive buffer of this size.
pub(crate) fn connect_from(from: Ipv4Addr, to: SocketAddrV4, buffer_bytes: Option<usize>) -> TcpStream {
    let fd = socket(AddressFamily::Inet, SockType::Stream, SockFlag::SOCK_CLOEXEC, None).unwrap();
    if let Some(bytes) = buffer_bytes {
        setsockopt(&fd, sockopt::RcvBuf, &bytes).unwrap();
    }
    // The port is chosen when it connects: it can be in use for other destinations.
    setsockopt(&fd, sockopt::IpBindAddressNoPort, &true).unwrap();
    bind(fd.as_raw_fd(), &SockaddrIn::from(SocketAddrV4::new(from, 0))).unwrap();
    connect(fd.as_raw_fd(), &SockaddrIn::from(to)).unwrap();
    let stream = TcpStream::from(fd);
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    heads: Vec<String>,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn of(mut stream: TcpStream) -> Answer {
        let mut all = Vec::new();
        // A reset after the reply does not matter.
        let _ = stream.read_to_end(&mut all);
        let all = String::from_utf8_lossy(&all);
        let (head, body) = all.split_once("\r\n\r\n").unwrap_or((&all, ""));
        let mut lines = head.lines();
        let status = lines.next().and_then(|l| l.split(' ').nth(1)?.parse().ok()).unwrap_or(0);
        Answer { status, heads: lines.map(str::to_owned).collect(), body: body.to_owned() }
    }

    pub(crate) fn head(&self, name: &str) -> Option<&str> {
        self.heads.iter().find_map(|line| {
            let (n, value) = line.split_once(':')?;
            n.eq_ignore_ascii_case(name).then_some(value.trim())
        })
    }
}

pub(crate) fn with_a_run() -> (Bench, String) {
    let bench = Bench::new(&[("one", None), ("two", None)]);
    let seen = bench.netdyno(&["run", "dummy", "--max-blocks", "3", "--set", "seconds=0.1"]);
    assert_eq!(seen.code, 0, "{seen:?}");
    let id = bench.last()["run"]["id"].as_str().unwrap().to_owned();
    (bench, id)
}
