//! Ports with TLS: a rustls client and redis-cli.

#![allow(clippy::unwrap_used)]

#[path = "../serving/support.rs"]
mod support;

use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use netdyno_kv::{AuthClients, Limits, ReplicaTlsSettings, Server, TlsSettings};
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use support::{Peer, backends, command, until, with};

/// A certificate authority and its certificates.
struct Files(tempfile::TempDir);

impl Files {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.distinguished_name.push(DnType::CommonName, "the authority");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let write = |name: &str, text: String| fs::write(directory.path().join(name), text).unwrap();
        write("ca.crt", authority.pem());
        for (name, usage) in
            [("kv", ExtendedKeyUsagePurpose::ServerAuth), ("client", ExtendedKeyUsagePurpose::ClientAuth)]
        {
            let mut params = CertificateParams::new(vec!["localhost".into(), "127.0.0.1".into()]).unwrap();
            params.distinguished_name.push(DnType::CommonName, name);
            params.extended_key_usages = vec![usage];
            let key = KeyPair::generate().unwrap();
            write(&format!("{name}.crt"), params.signed_by(&key, &authority).unwrap().pem());
            write(&format!("{name}.key"), key.serialize_pem());
        }
        Self(directory)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn settings(&self, auth_clients: AuthClients) -> TlsSettings {
        let mut settings = TlsSettings::new(self.path("kv.crt"), self.path("kv.key"));
        settings.ca_cert_file = Some(self.path("ca.crt"));
        settings.auth_clients = auth_clients;
        settings
    }

    fn start(&self, auth_clients: AuthClients) -> Server {
        let builder = with(Default::default()).tls((Ipv4Addr::LOCALHOST, 0), self.settings(auth_clients));
        builder.start().unwrap()
    }

    fn connect(&self, server: &Server, with_certificate: bool) -> Secure {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_file(self.path("ca.crt")).unwrap()).unwrap();
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        let config = config.unwrap().with_root_certificates(roots);
        let config = if with_certificate {
            let chain = vec![CertificateDer::from_pem_file(self.path("client.crt")).unwrap()];
            let key = PrivateKeyDer::from_pem_file(self.path("client.key")).unwrap();
            config.with_client_auth_cert(chain, key).unwrap()
        } else {
            config.with_no_client_auth()
        };
        let name = "localhost".try_into().unwrap();
        let socket = TcpStream::connect(server.tls_addresses()[0]).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        StreamOwned::new(ClientConnection::new(Arc::new(config), name).unwrap(), socket)
    }
}

type Secure = StreamOwned<ClientConnection, TcpStream>;

fn expect(peer: &mut Secure, expected: &[u8]) {
    let mut got = vec![0; expected.len()];
    let result = peer.read_exact(&mut got);
    assert!(got == expected, "{:.300} {result:?}", got.escape_ascii().to_string());
}

#[test]
fn a_pipeline_a_long_value_and_close_notify() {
    let files = Files::new();
    for backend in backends() {
        let builder = with(backend).bind((Ipv4Addr::LOCALHOST, 0));
        let builder = builder.tls((Ipv4Addr::LOCALHOST, 0), files.settings(AuthClients::Yes));
        let server = builder.start().unwrap();
        let mut peer = files.connect(&server, true);
        peer.write_all(&command(&[b"INCR", b"n"]).repeat(10_000)).unwrap();
        for n in 1..=10_000 {
            expect(&mut peer, format!(":{n}\r\n").as_bytes());
        }
        let value: Vec<u8> = (0..3_000_000_u32).map(|n| (n % 251) as u8).collect();
        peer.write_all(&[command(&[b"SET", b"k", &value]), command(&[b"GET", b"k"])].concat()).unwrap();
        expect(&mut peer, &[b"+OK\r\n$3000000\r\n", &value[..], b"\r\n"].concat());
        // The plain port serves the same keys.
        let mut plain = Peer::connect(&server);
        plain.send(b"GET n\r\n");
        plain.expect(b"$5\r\n10000\r\n");
        peer.write_all(b"QUIT\r\n").unwrap();
        let mut rest = Vec::new();
        // Without close_notify this returns an error.
        peer.read_to_end(&mut rest).unwrap();
        assert_eq!(rest, b"+OK\r\n");
        until(|| server.clients() == 1, "it is forgotten");
    }
}

#[test]
fn replies_are_sent_after_close_notify() {
    let files = Files::new();
    let server = files.start(AuthClients::No);
    let mut peer = files.connect(&server, false);
    peer.write_all(b"PING\r\n").unwrap();
    peer.conn.send_close_notify();
    peer.flush().unwrap();
    let mut rest = Vec::new();
    peer.read_to_end(&mut rest).unwrap();
    assert_eq!(rest, b"+PONG\r\n");
}

#[test]
fn client_certificates() {
    let files = Files::new();
    for (auth, with_certificate, served) in [
        (AuthClients::Yes, true, true),
        (AuthClients::Yes, false, false),
        (AuthClients::Optional, true, true),
        (AuthClients::Optional, false, true),
        (AuthClients::No, false, true),
    ] {
        let server = files.start(auth);
        let mut peer = files.connect(&server, with_certificate);
        let _ = peer.write_all(b"PING\r\n");
        let mut answer = [0; 7];
        assert_eq!(peer.read_exact(&mut answer).is_ok(), served, "{auth:?} {with_certificate}");
    }
}

#[test]
fn a_plaintext_client_receives_an_error() {
    let files = Files::new();
    let server = files.start(AuthClients::No);
    let mut peer = Peer::at(server.tls_addresses()[0]);
    peer.send(b"*1\r\n$4\r\nPING\r\n");
    assert!(peer.line().starts_with("-ERR this port requires TLS"));
    peer.expect_end();
    // A client that sends an invalid handshake is disconnected.
    let mut peer = Peer::at(server.tls_addresses()[0]);
    peer.send(&[22, 3, 1, 0, 5, 1, 0, 0, 1, 9]);
    let mut rest = Vec::new();
    let _ = peer.stream.read_to_end(&mut rest);
    assert_eq!(rest.first(), Some(&21), "an alert");
    until(|| server.clients() == 0, "they are forgotten");
}

/// `cargo test -p netdyno-kv --test tls silent -- --ignored`
#[test]
#[ignore = "takes the ten seconds that it is about"]
fn a_silent_handshake_is_closed() {
    let files = Files::new();
    let server = files.start(AuthClients::No);
    let begin = Instant::now();
    let mut peer = Peer::at(server.tls_addresses()[0]);
    peer.send(&[22, 3, 1]);
    peer.expect_end();
    assert!((9..15).contains(&begin.elapsed().as_secs()));
    until(|| server.clients() == 0, "it is forgotten");
}

#[test]
fn the_client_limit_is_reported_after_the_handshake() {
    let files = Files::new();
    let mut limits = Limits::default();
    limits.clients = 1;
    let settings = files.settings(AuthClients::No);
    let server =
        with(Default::default()).limits(limits).tls((Ipv4Addr::LOCALHOST, 0), settings).start().unwrap();
    let mut first = files.connect(&server, false);
    first.write_all(b"PING\r\n").unwrap();
    expect(&mut first, b"+PONG\r\n");
    let mut second = files.connect(&server, false);
    let mut rest = Vec::new();
    second.read_to_end(&mut rest).unwrap();
    assert_eq!(rest, b"-ERR max number of clients reached\r\n");
}

#[test]
fn a_slow_reader_is_not_read_from() {
    let files = Files::new();
    let server = files.start(AuthClients::No);
    let mut deaf = files.connect(&server, false);
    let value = vec![b'x'; 100_000];
    deaf.write_all(&command(&[b"SET", b"big", &value])).unwrap();
    expect(&mut deaf, b"+OK\r\n");
    deaf.sock.set_nonblocking(true).unwrap();
    // One gigabyte of replies in total: at some point the server stops reading. The kernel's buffers hold the requests, so
    // that the client can send them all before it reads.
    let (gets, mut idle) = (command(&[b"GET", b"big"]).repeat(10_000), 0);
    let mut at = 0;
    while idle < 50 && at < gets.len() {
        match deaf.conn.writer().write(&gets[at..]) {
            Ok(count) => at += count,
            Err(error) => panic!("{error}"),
        }
        match deaf.conn.write_tls(&mut deaf.sock) {
            Ok(_) => idle = 0,
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::WouldBlock);
                idle += 1;
                std::thread::sleep(Duration::from_millis(10));
            }
        }
    }
    std::thread::sleep(Duration::from_millis(300));
    let resident = resident_bytes();
    assert!(resident < 300 << 20, "{resident} bytes");
    let mut other = files.connect(&server, false);
    other.write_all(b"PING\r\n").unwrap();
    expect(&mut other, b"+PONG\r\n");
    // The client receives its replies once it reads.
    deaf.sock.set_nonblocking(false).unwrap();
    let answer = [&b"$100000\r\n"[..], &value, b"\r\n"].concat();
    (0..100).for_each(|_| expect(&mut deaf, &answer));
}

fn resident_bytes() -> u64 {
    let statm = fs::read_to_string("/proc/self/statm").unwrap();
    statm.split(' ').nth(1).unwrap().parse::<u64>().unwrap() * 4096
}

#[test]
fn errors_name_the_file_and_the_fault() {
    let files = Files::new();
    fs::write(files.path("empty"), "").unwrap();
    let settings = |cert: &str, key: &str| {
        let mut settings = TlsSettings::new(files.path(cert), files.path(key));
        settings.auth_clients = AuthClients::No;
        settings
    };
    let mut bad_authority = files.settings(AuthClients::Yes);
    bad_authority.ca_cert_file = Some(files.path("kv.key"));
    let nobody = TlsSettings::new(files.path("kv.crt"), files.path("kv.key"));
    for (settings, parts) in [
        (settings("none", "kv.key"), ["none", "--tls-cert-file"]),
        (settings("empty", "kv.key"), ["contains no valid certificate", "--tls-cert-file"]),
        (settings("kv.crt", "none"), ["none", "--tls-key-file"]),
        (settings("kv.crt", "kv.crt"), ["contains no valid private key", "--tls-key-file"]),
        (settings("kv.crt", "client.key"), ["do not match", "--tls-key-file"]),
        (bad_authority, ["contains no valid certificate", "--tls-ca-cert-file"]),
        (nobody, ["there is no CA certificate", "--tls-auth-clients no"]),
    ] {
        let builder = with(Default::default()).tls((Ipv4Addr::LOCALHOST, 0), settings);
        let error = builder.start().err().unwrap().to_string();
        assert!(parts.iter().all(|part| error.contains(part)), "{error}");
    }
}

#[test]
fn redis_cli_connects_by_tls() {
    if Command::new("redis-cli").arg("--version").output().is_err() {
        println!("skipped: needs redis-cli");
        return;
    }
    let files = Files::new();
    let server = files.start(AuthClients::Yes);
    let port = server.tls_addresses()[0].port().to_string();
    let mut cli = Command::new("redis-cli");
    cli.args(["-h", "127.0.0.1", "-p", &port, "--tls"]);
    for (option, name) in [("--cacert", "ca.crt"), ("--cert", "client.crt"), ("--key", "client.key")] {
        cli.arg(option).arg(files.path(name));
    }
    let output = cli.args(["set", "greeting", "hello"]).output().unwrap();
    assert_eq!(output.stdout, b"OK\n", "{output:?}");
}

/// The value of one line of INFO.
fn info(server: &Server, name: &str) -> String {
    let mut peer = Peer::connect(server);
    peer.send(b"INFO replication\r\n");
    let length: usize = peer.line().trim_start_matches('$').trim_end().parse().unwrap();
    let mut text = vec![0; length];
    peer.stream.read_exact(&mut text).unwrap();
    let text = String::from_utf8(text).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    line.unwrap_or_default().to_owned()
}

#[test]
fn a_replica_connects_by_tls() {
    let (files, foreign) = (Files::new(), Files::new());
    let primary = files.start(AuthClients::Yes);
    primary.with_engine(|engine| {
        let now = netdyno_kv::core::Timestamp { unix_ms: 1, monotonic_us: 1 };
        let session = engine.open_trusted(now);
        engine.execute(now, session, &[b"SET", b"a", &[b'x'; 100_000]], &mut Vec::new());
        engine.close(session);
    });
    let settings = |ca: &Files, with_certificate: bool| {
        let mut settings = ReplicaTlsSettings::new(ca.path("ca.crt"));
        let pair = || (files.path("client.crt"), files.path("client.key"));
        settings.certificate = with_certificate.then(pair);
        settings
    };
    let replica = |settings: Option<ReplicaTlsSettings>| {
        let mut builder = with(Default::default()).bind((Ipv4Addr::LOCALHOST, 0));
        if let Some(settings) = settings {
            builder = builder.replica_tls(settings);
        }
        builder.replica_of(primary.tls_addresses()[0]).start().unwrap()
    };
    let server = replica(Some(settings(&files, true)));
    until(|| info(&server, "master_link_status") == "up", "the link is up");
    let mut peer = Peer::connect(&server);
    peer.send(b"STRLEN a\r\n");
    peer.expect(b":100000\r\n");
    for (what, settings, reason) in [
        ("an unknown CA", Some(settings(&foreign, true)), "invalid peer certificate"),
        ("no certificate", Some(settings(&files, false)), "CertificateRequired"),
        ("no TLS", None, "this port requires TLS"),
    ] {
        let server = replica(settings);
        until(|| info(&server, "master_link_trouble").contains(reason), what);
        assert_eq!(info(&server, "master_link_status"), "down", "{what}");
    }
}
