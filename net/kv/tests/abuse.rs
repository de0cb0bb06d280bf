//! Abusive clients against a server with a memory limit: the memory stays below a bound, CLIENT LIST identifies the
//! abusers, and honest clients keep at least half of their rate.
//!
//! The rate is not asserted beside floods of commands. They keep the server busy, so that the wall-clock time depends on
//! how many other processes share the CPUs.
#![allow(clippy::unwrap_used, missing_docs)]

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Limit on the address space of the server, in KiB.
const ADDRESS_SPACE_KIB: u32 = 2 << 20;
/// Bound on the resident memory of the server. The clients of the table may hold about 3 MiB each: 1 MiB of input, 1 MiB
/// of unread replies and one reply of 1 MB.
const RESIDENT_BYTES: usize = 256 << 20;
/// Requests of the honest client per measurement, and per round trip.
const REQUESTS: usize = 6_400;
const PIPELINED: usize = 64;
/// Attempts to measure the rate: other load on the machine affects some of them.
const ATTEMPTS: usize = 7;

struct Program {
    child: Child,
    address: SocketAddr,
}

impl Program {
    fn start() -> Self {
        let mut shell = Command::new("sh");
        shell.args([
            "-c",
            &format!("ulimit -v {ADDRESS_SPACE_KIB}; exec \"$0\" --port 0"),
            env!("CARGO_BIN_EXE_netdyno-kv"),
        ]);
        let mut child = shell.stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
        let line = lines.find(|line| line.contains("listening on")).unwrap();
        std::thread::spawn(move || lines.for_each(drop));
        let address = line.split(' ').find_map(|word| word.trim_end_matches(';').parse().ok()).unwrap();
        Self { child, address }
    }

    fn peak_bytes(&self) -> usize {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        line.trim().trim_end_matches(" kB").trim().parse::<usize>().unwrap() << 10
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

struct Honest(BufReader<TcpStream>);

impl Honest {
    fn connect(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        Self(BufReader::new(stream))
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.0.read_line(&mut line).unwrap();
        line
    }

    fn bulk(&mut self, request: &str) -> String {
        self.0.get_mut().write_all(request.as_bytes()).unwrap();
        let length: usize = self.line().trim_start_matches('$').trim_end().parse().unwrap();
        let mut text = vec![0; length + 2];
        self.0.read_exact(&mut text).unwrap();
        String::from_utf8(text).unwrap()
    }

    /// The shortest time for the requests, of several attempts.
    fn duration(&mut self) -> Duration {
        let batch = b"*3\r\n$3\r\nSET\r\n$3\r\nkey\r\n$5\r\nvalue\r\n".repeat(PIPELINED);
        let attempt = |_| {
            let begin = Instant::now();
            for _ in 0..REQUESTS / PIPELINED {
                self.0.get_mut().write_all(&batch).unwrap();
                (0..PIPELINED).for_each(|_| assert_eq!(self.line(), "+OK\r\n"));
            }
            begin.elapsed()
        };
        (0..ATTEMPTS).map(attempt).min().unwrap()
    }
}

/// Abusive connections, driven by one thread without blocking.
struct Abuser {
    addresses: Vec<SocketAddr>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

/// What a kind of abuser sends, and whether it reads the replies.
struct Abuse {
    what: &'static str,
    connections: usize,
    /// Sent once.
    opening: Vec<u8>,
    /// Sent repeatedly, in parts of this many bytes.
    repeated: Vec<u8>,
    part_bytes: usize,
    reads: bool,
    /// Keeps the server busy.
    is_flood: bool,
    /// The field of CLIENT LIST that identifies each of them, and its minimum.
    field: &'static str,
    least: usize,
}

impl Abuser {
    fn start(address: SocketAddr, abuse: &Abuse) -> Self {
        let connect = |_| {
            let mut stream = TcpStream::connect(address).unwrap();
            stream.write_all(&abuse.opening).unwrap();
            stream.set_nonblocking(true).unwrap();
            (stream, 0)
        };
        let mut streams: Vec<(TcpStream, usize)> = (0..abuse.connections).map(connect).collect();
        let addresses = streams.iter().map(|(stream, _)| stream.local_addr().unwrap()).collect();
        let stop = Arc::new(AtomicBool::new(false));
        let (repeated, part_bytes, reads) = (abuse.repeated.clone(), abuse.part_bytes, abuse.reads);
        let stopped = stop.clone();
        let thread = std::thread::spawn(move || {
            let mut input = vec![0; 64 << 10];
            while !stopped.load(Ordering::Relaxed) {
                let mut moved = false;
                for (stream, at) in &mut streams {
                    if !repeated.is_empty() {
                        let end = repeated.len().min(*at + part_bytes);
                        match stream.write(&repeated[*at..end]) {
                            Ok(count) => {
                                *at = (*at + count) % repeated.len();
                                moved |= part_bytes > 1;
                            }
                            Err(error) => assert_eq!(error.kind(), ErrorKind::WouldBlock, "{error}"),
                        }
                    }
                    if reads {
                        while stream.read(&mut input).is_ok_and(|count| count > 0) {
                            moved = true;
                        }
                    }
                }
                if !moved {
                    std::thread::sleep(Duration::from_millis(1));
                }
            }
        });
        Self { addresses, stop, thread: Some(thread) }
    }
}

impl Drop for Abuser {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let _ = self.thread.take().unwrap().join();
    }
}

/// The value of a field of each client in CLIENT LIST, by address.
fn clients(list: &str, field: &str) -> Vec<(SocketAddr, usize)> {
    let value = |line: &str, name: &str| {
        let found = line.split(' ').find_map(|word| word.strip_prefix(name)?.strip_prefix('='));
        found.unwrap_or_default().to_owned()
    };
    let lines = list.lines().filter(|line| line.contains("addr="));
    lines
        .map(|line| (value(line, "addr").parse().unwrap(), value(line, field).parse().unwrap_or(0)))
        .collect()
}

fn table() -> Vec<Abuse> {
    let pipelined = |frame: &[u8]| frame.repeat((64 << 10) / frame.len());
    let gets = b"*2\r\n$3\r\nGET\r\n$3\r\nbig\r\n".repeat(1000);
    let announced = b"*1048576\r\n$536870912\r\n".to_vec();
    let base = Abuse {
        what: "",
        connections: 8,
        opening: Vec::new(),
        repeated: Vec::new(),
        part_bytes: 16 << 10,
        reads: true,
        is_flood: false,
        field: "qbuf",
        least: 1,
    };
    vec![
        Abuse {
            is_flood: true,
            what: "a flood of inline commands",
            repeated: pipelined(b"PING\r\n"),
            least: 4096,
            ..base
        },
        Abuse {
            is_flood: true,
            what: "a flood of short commands",
            opening: Vec::new(),
            repeated: pipelined(b"*1\r\n$4\r\nPING\r\n"),
            least: 4096,
            ..base
        },
        Abuse {
            is_flood: true,
            what: "a flood of commands whose replies are not read",
            opening: Vec::new(),
            repeated: pipelined(b"*1\r\n$4\r\nPING\r\n"),
            reads: false,
            field: "omem",
            least: 64 << 10,
            ..base
        },
        Abuse {
            what: "large replies that are not read",
            connections: 32,
            opening: Vec::new(),
            repeated: gets,
            reads: false,
            field: "omem",
            least: 1 << 20,
            ..base
        },
        Abuse {
            what: "announced lengths, and then byte by byte",
            connections: 200,
            opening: announced,
            repeated: b"x".to_vec(),
            part_bytes: 1,
            ..base
        },
        Abuse {
            what: "one byte of a command at a time",
            connections: 200,
            opening: b"*2\r\n$4\r\nECHO\r\n$100000000\r\n".to_vec(),
            repeated: b"y".to_vec(),
            part_bytes: 1,
            ..base
        },
        Abuse {
            what: "half-open connections with an incomplete command",
            connections: 500,
            opening: b"*3\r\n$3\r\nSET\r\n$3\r\nhal".to_vec(),
            ..base
        },
    ]
}

#[test]
fn honest_clients_keep_their_rate_beside_abusive_ones() {
    for abuse in table() {
        let what = abuse.what;
        let program = Program::start();
        let mut honest = Honest::connect(program.address);
        let big = format!("*3\r\n$3\r\nSET\r\n$3\r\nbig\r\n$1000000\r\n{}\r\n", "x".repeat(1_000_000));
        honest.0.get_mut().write_all(big.as_bytes()).unwrap();
        assert_eq!(honest.line(), "+OK\r\n");
        let alone = honest.duration();
        let abuser = Abuser::start(program.address, &abuse);
        let beside = honest.duration();
        println!("{what}: {alone:?} alone, {beside:?} beside it");
        assert!(
            abuse.is_flood || beside < alone * 2,
            "{what}: {REQUESTS} requests take {alone:?} alone and {beside:?} beside it"
        );
        let (begin, mut identified) = (Instant::now(), BTreeSet::new());
        while !abuser.addresses.iter().all(|address| identified.contains(address)) {
            let list = honest.bulk("CLIENT LIST\r\n");
            let found = clients(&list, abuse.field).into_iter().filter(|(_, value)| *value >= abuse.least);
            identified.extend(found.map(|(address, _)| address));
            assert!(
                begin.elapsed() < Duration::from_secs(60),
                "{what}: not identified by {}: {list}",
                abuse.field
            );
        }
        drop(abuser);
        let peak = program.peak_bytes();
        println!("{what}: at most {} MiB", peak >> 20);
        assert!(peak < RESIDENT_BYTES, "{what}: {} MiB", peak >> 20);
    }
}
