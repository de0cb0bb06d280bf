//! A server process with limits, and its honest clients.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Stdio};
use std::time::Duration;

use super::abuse::{Evidence, request};
use super::child::ending_with_test;
use super::hostile::limit_address_space;

/// RLIMIT_AS of the server.
const ADDRESS_SPACE_BYTES: u64 = 1 << 30;
/// `maxclients` of the server.
pub(crate) const CLIENTS_MAX: usize = 2000;
const PASSWORD: &str = "right";
/// Guards against hanging.
pub(crate) const GUARD: Duration = Duration::from_secs(60);

/// Honest clients, and commands that each sends at once.
const HONEST: usize = 4;
const PIPELINED: usize = 16;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Options {
    pub(crate) password: bool,
    pub(crate) tls: bool,
}

pub(crate) struct TestServer {
    pub(crate) child: Child,
    pub(crate) address: SocketAddr,
    pub(crate) tls_address: Option<SocketAddr>,
    password: bool,
    _files: tempfile::TempDir,
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

impl TestServer {
    pub(crate) fn start(options: Options) -> Self {
        let files = tempfile::tempdir().unwrap();
        let mut command = ending_with_test(env!("CARGO_BIN_EXE_netdyno-kv"));
        // With a TLS port, port 0 would disable the plain port.
        let port = if options.tls { free_port() } else { 0 };
        command.args(["--maxmemory-clients", "64mb", "--maxclients", &CLIENTS_MAX.to_string()]);
        command.args(["--port", &port.to_string()]);
        if options.password {
            command.env("NETDYNO_KV_REQUIREPASS", PASSWORD);
        }
        if options.tls {
            let key = rcgen::generate_simple_self_signed(vec!["localhost".into()]).unwrap();
            let (certificate_file, key_file) = (files.path().join("kv.crt"), files.path().join("kv.key"));
            fs::write(&certificate_file, key.cert.pem()).unwrap();
            fs::write(&key_file, key.signing_key.serialize_pem()).unwrap();
            command.args(["--tls-port", "0", "--tls-auth-clients", "no", "--tls-cert-file"]);
            command.arg(certificate_file).arg("--tls-key-file").arg(key_file);
        }
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        limit_address_space(child.id(), ADDRESS_SPACE_BYTES);
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
        let line = lines.find(|line| line.contains("listening on")).unwrap();
        std::thread::spawn(move || lines.for_each(drop));
        let words = line.split([' ', ',', ';']).filter_map(|word| word.parse().ok());
        let addresses: Vec<SocketAddr> = words.collect();
        let (address, tls_address) = (addresses[0], addresses.get(1).copied());
        assert_eq!(tls_address.is_some(), options.tls, "{line}");
        Self { child, address, tls_address, password: options.password, _files: files }
    }

    pub(crate) fn connect(&self) -> Honest {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(GUARD)).unwrap();
        let mut honest = Honest(BufReader::new(stream));
        if self.password {
            assert_eq!(honest.ask(&[b"AUTH", PASSWORD.as_bytes()]), "+OK\r\n");
        }
        honest
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) struct Honest(BufReader<TcpStream>);

impl Honest {
    pub(crate) fn send(&mut self, bytes: &[u8]) {
        self.0.get_mut().write_all(bytes).unwrap();
    }

    /// The first line of a reply; empty if the server closed the connection.
    pub(crate) fn line(&mut self) -> String {
        let mut line = String::new();
        self.0.read_line(&mut line).unwrap();
        line
    }

    pub(crate) fn ask(&mut self, words: &[&[u8]]) -> String {
        self.send(&request(words));
        self.line()
    }

    /// The text of a bulk reply.
    fn bulk(&mut self, words: &[&[u8]]) -> String {
        let length: usize = self.ask(words).trim_start_matches('$').trim_end().parse().unwrap();
        let mut text = vec![0; length + 2];
        self.0.read_exact(&mut text).unwrap();
        String::from_utf8(text).unwrap()
    }

    /// Whether the server reports the abuser.
    pub(crate) fn finds(&mut self, evidence: Evidence) -> bool {
        if let Evidence::Info(name, least) = evidence {
            let text = self.bulk(&[b"INFO"]);
            let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
            return value.unwrap_or_else(|| panic!("no {name} in {text}")).parse::<u64>().unwrap() >= least;
        }
        let list = self.bulk(&[b"CLIENT", b"LIST"]);
        list.lines().filter(|line| line.contains(super::abuse::ADDRESS_TEXT)).any(|line| {
            let value = |name| line.split(' ').find_map(|word| word.strip_prefix(name)?.strip_prefix('='));
            match evidence {
                Evidence::Client(name, least) => value(name).unwrap().parse::<u64>().unwrap() >= least,
                Evidence::ClientText(name, part) => value(name).unwrap().contains(part),
                Evidence::Info(..) => false,
            }
        })
    }
}

/// The honest clients.
pub(crate) struct Crowd {
    clients: Vec<Honest>,
    batch: Vec<u8>,
    replies: Vec<u8>,
}

impl Crowd {
    pub(crate) fn connect(server: &TestServer) -> Self {
        let clients = (0..HONEST).map(|_| server.connect()).collect();
        let batch = request(&[b"SET", b"key", b"value"]).repeat(PIPELINED);
        Self { clients, batch, replies: b"+OK\r\n".repeat(PIPELINED) }
    }

    /// Every client sends its commands and receives the replies.
    pub(crate) fn round(&mut self) {
        for client in &mut self.clients {
            client.send(&self.batch);
        }
        let mut replies = vec![0; self.replies.len()];
        for client in &mut self.clients {
            client.0.read_exact(&mut replies).unwrap();
            assert_eq!(replies, self.replies);
        }
    }
}
