//! A minimal client, and a Redis to compare with.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::Duration;

use netdyno_resp::{ReplyLimits, ReplyParser, Value};

/// The contents of a server: type, deadline and value by database and key.
pub(crate) type Everything = BTreeMap<(u32, Vec<u8>), Vec<Vec<u8>>>;

/// Asserts equal contents, and names the first difference.
pub(crate) fn assert_same(found: &Everything, expected: &Everything) {
    let other = expected.iter().find(|(key, value)| found.get(key) != Some(value));
    let Some(((db, key), value)) = other else { return assert_eq!(found.len(), expected.len()) };
    let key = (*db, key.clone());
    let none = Vec::new();
    let pairs = found.get(&key).unwrap_or(&none).iter().zip(value);
    let differ = pairs.filter(|(a, b)| a != b).map(|(a, b)| {
        format!("{:.80} for {:.80}", a.escape_ascii().to_string(), b.escape_ascii().to_string())
    });
    panic!(
        "{db} {}: {} elements for {}: {:?}",
        key.1.escape_ascii(),
        found.get(&key).map_or(0, Vec::len),
        value.len(),
        differ.take(3).collect::<Vec<_>>()
    );
}

/// Prints a missing requirement; with `NETDYNO_REQUIRE=all` it is a failure.
pub(crate) fn skip(reason: &str) {
    assert!(std::env::var("NETDYNO_REQUIRE").as_deref() != Ok("all"), "needs {reason}");
    println!("skipped: needs {reason}");
}

/// A connection. Waiting for longer than a minute is a failure.
pub(crate) struct Client {
    stream: TcpStream,
    parser: ReplyParser,
    input: Vec<u8>,
}

impl Client {
    pub(crate) fn connect(address: SocketAddr) -> Self {
        let begin = std::time::Instant::now();
        let stream = loop {
            match TcpStream::connect(address) {
                Ok(stream) => break stream,
                Err(error) => assert!(begin.elapsed() < Duration::from_secs(60), "{error}"),
            }
            std::thread::sleep(Duration::from_millis(5));
        };
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        stream.set_nodelay(true).unwrap();
        Self { stream, parser: ReplyParser::new(ReplyLimits::default()), input: Vec::new() }
    }

    pub(crate) fn send(&mut self, words: &[&[u8]]) {
        let mut out = Vec::new();
        netdyno_resp::write_command(&mut out, words);
        self.stream.write_all(&out).unwrap();
    }

    /// All texts and numbers of the next reply; an error starts with `-`, a null is `(null)`.
    pub(crate) fn answer(&mut self) -> Vec<Vec<u8>> {
        let mut found = Vec::new();
        loop {
            while let Some((value, done)) = self.parser.next(&self.input).unwrap() {
                match value {
                    Value::Simple(text) | Value::Bulk(text) => found.push(text.to_vec()),
                    Value::Error(text) => found.push([b"-", text].concat()),
                    Value::Integer(number) => found.push(number.to_string().into_bytes()),
                    Value::Null => found.push(b"(null)".to_vec()),
                    _ => {}
                }
                self.input.drain(..done);
                if self.parser.is_whole() {
                    return found;
                }
            }
            let mut part = [0; 65_536];
            let read = match self.stream.read(&mut part) {
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                read => read.unwrap(),
            };
            assert!(read > 0, "the connection has ended");
            self.input.extend_from_slice(&part[..read]);
        }
    }

    pub(crate) fn ask(&mut self, words: &[&[u8]]) -> Vec<Vec<u8>> {
        self.send(words);
        self.answer()
    }

    /// Sends the words of a line and returns the first element of the reply.
    pub(crate) fn line(&mut self, line: &str) -> String {
        let words: Vec<&[u8]> = line.split(' ').map(str::as_bytes).collect();
        let first = self.ask(&words).into_iter().next().unwrap_or_default();
        String::from_utf8_lossy(&first).into_owned()
    }

    /// All keys of databases 0 to 3 with types, deadlines and values; unordered values are sorted.
    pub(crate) fn everything(&mut self) -> Everything {
        let mut all = BTreeMap::new();
        for db in 0..4 {
            self.line(&format!("SELECT {db}"));
            for key in self.ask(&[b"KEYS", b"*"]) {
                let kind = self.ask(&[b"TYPE", &key]).remove(0);
                let mut value = match &kind[..] {
                    b"string" => self.ask(&[b"GET", &key]),
                    b"list" => self.ask(&[b"LRANGE", &key, b"0", b"-1"]),
                    b"zset" => {
                        let pairs = self.ask(&[b"ZRANGE", &key, b"0", b"-1", b"WITHSCORES"]);
                        // A number can have several textual forms.
                        let score = |text: &[u8]| std::str::from_utf8(text).unwrap().parse::<f64>().unwrap();
                        pairs
                            .chunks_exact(2)
                            .map(|p| [&p[0][..], &score(&p[1]).to_be_bytes()].concat())
                            .collect()
                    }
                    b"set" => self.ask(&[b"SMEMBERS", &key]),
                    _ => {
                        let pairs = self.ask(&[b"HGETALL", &key]);
                        pairs.chunks_exact(2).map(|pair| pair.join(&b" => "[..])).collect()
                    }
                };
                if matches!(&kind[..], b"set" | b"hash") {
                    value.sort_unstable();
                }
                value.push(kind);
                value.append(&mut self.ask(&[b"PEXPIRETIME", &key]));
                all.insert((db, key), value);
            }
        }
        self.line("SELECT 0");
        all
    }
}

/// A port for a program that is started later. It is outside the kernel's ephemeral range, so that no socket
/// of another test is given it meanwhile. The port is not probed by listening: a process that another test
/// forks at that moment would inherit the listener.
pub(crate) fn free_port() -> u16 {
    const FIRST: u16 = 10_000;
    const COUNT: u16 = 20_000;
    static TAKEN: AtomicU16 = AtomicU16::new(0);
    // Tests of several checkouts may run at the same time.
    let begin = std::process::id() * 64 % u32::from(COUNT);
    loop {
        let number = begin + u32::from(TAKEN.fetch_add(1, Ordering::Relaxed));
        let port = FIRST + u16::try_from(number % u32::from(COUNT)).unwrap();
        if TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_err() {
            return port;
        }
    }
}

/// A Redis on its own port; dropping this value ends it.
pub(crate) struct Redis {
    process: Child,
    pub(crate) address: SocketAddr,
}

impl Redis {
    /// `None`, with a message, if Redis is not installed.
    pub(crate) fn start(directory: &Path, options: &[&str]) -> Option<Self> {
        let port = free_port();
        let process = Command::new("redis-server")
            .args([
                "--bind",
                "127.0.0.1",
                "--save",
                "",
                "--enable-debug-command",
                "yes",
                "--port",
                &port.to_string(),
            ])
            .args(options)
            .arg("--dir")
            .arg(directory)
            .stdout(Stdio::null())
            .spawn();
        match process {
            Ok(process) => Some(Self { process, address: (Ipv4Addr::LOCALHOST, port).into() }),
            Err(error) => {
                skip(&format!("redis-server: {error}"));
                None
            }
        }
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
