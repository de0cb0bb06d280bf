//! A private coturn for a test, whose log can be awaited.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used)]

use std::net::{SocketAddr, TcpListener, UdpSocket};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;
use std::{env, fs, io, thread};

use netdyno_rtc::{IceServer, Settings};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use tempfile::TempDir;

/// Ends coturn when dropped; prints its output after a panic.
pub struct Coturn {
    process: Child,
    address: SocketAddr,
    tls_port: u16,
    /// The authority of its certificate, in PEM.
    pub authority: String,
    log: Arc<(Mutex<String>, Condvar)>,
    /// Its certificate and database.
    _folder: TempDir,
}

impl Coturn {
    /// Starts one for "name" and "password" on the loopback interface, over UDP, TCP and TLS, on free ports.
    pub fn start(extra: &[&str]) -> Option<Self> {
        let address = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let extra = [&["--allow-loopback-peers"], extra].concat();
        Self::start_at(address, "name:password", &extra, |command| command.spawn())
    }

    /// Starts one for `user` ("name:password") that relays at its listening address, with `extra` options;
    /// `spawn` starts the process, in any network. If coturn is missing: `None` with a message, or a failed
    /// test if `NETDYNO_REQUIRE=all`.
    pub fn start_at(
        address: SocketAddr,
        user: &str,
        extra: &[&str],
        spawn: impl FnOnce(&mut Command) -> io::Result<Child>,
    ) -> Option<Self> {
        let tls_port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let folder = TempDir::with_prefix("netdyno-coturn-").unwrap();
        let path = |name: &str| folder.path().join(name);
        let (authority, certificate, key) = certified(&[&address.ip().to_string()]);
        fs::write(path("certificate"), certificate).unwrap();
        fs::write(path("key"), key).unwrap();
        let mut command = Command::new("turnserver");
        command
            .args(["-n", "--no-cli", "--no-dtls", "--lt-cred-mech", "--realm=netdyno"])
            .args(["--verbose", "--log-file=stdout", "--simple-log"])
            .arg(format!("--user={user}"))
            .arg(format!("--listening-ip={}", address.ip()))
            .arg(format!("--relay-ip={}", address.ip()))
            .arg(format!("--listening-port={}", address.port()))
            .arg(format!("--tls-listening-port={tls_port}"))
            .arg(format!("--cert={}", path("certificate").display()))
            .arg(format!("--pkey={}", path("key").display()))
            .arg(format!("--pidfile={}", path("pid").display()))
            .arg(format!("--db={}", path("db").display()))
            .args(extra)
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let Ok(mut process) = spawn(&mut command) else {
            let why = "turnserver (Debian and Ubuntu: apt-get install coturn)";
            assert!(env::var("NETDYNO_REQUIRE").as_deref() != Ok("all"), "needs {why}");
            eprintln!("skipped: needs {why}");
            return None;
        };
        let log = Arc::new((Mutex::new(String::new()), Condvar::new()));
        let (stdout, written) = (process.stdout.take().unwrap(), log.clone());
        thread::spawn(move || {
            for line in io::BufRead::lines(io::BufReader::new(stdout)).map_while(Result::ok) {
                *written.0.lock().unwrap() += &(line + "\n");
                written.1.notify_all();
            }
        });
        let server = Self { process, address, tls_port, authority, log, _folder: folder };
        assert!(server.logs("Total General servers"), "it did not start");
        Some(server)
    }

    /// Waits until its log contains this text; returns false if it never does.
    pub fn logs(&self, text: &str) -> bool {
        let guard = self.log.0.lock().unwrap();
        let wait = self.log.1.wait_timeout_while(guard, Duration::from_secs(30), |log| !log.contains(text));
        !wait.unwrap().1.timed_out()
    }

    /// Its process ID as text.
    pub fn process(&self) -> String {
        self.process.id().to_string()
    }

    /// Its port for UDP and TCP.
    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// Its port for TLS.
    pub fn tls_port(&self) -> u16 {
        self.tls_port
    }

    /// Its address for "udp", "tcp" or "tls".
    pub fn url(&self, transport: &str) -> String {
        match transport {
            "tls" => format!("turns:{}:{}?transport=tcp", self.address.ip(), self.tls_port),
            _ => format!("turn:{}?transport={transport}", self.address),
        }
    }

    /// Settings that use only this server.
    pub fn relayed(&self, password: &str) -> Settings {
        self.relayed_by(&self.url("udp"), password)
    }

    /// The same with this transport.
    pub fn relayed_by(&self, url: &str, password: &str) -> Settings {
        let mut settings = Settings::new().unwrap();
        settings.ice_servers = vec![IceServer::turn(url, "name", password)];
        settings.server_roots = Some(self.authority.clone());
        settings.relay_only = true;
        settings
    }
}

impl Drop for Coturn {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        if thread::panicking() {
            println!("coturn said:\n{}", self.log.0.lock().map(|log| log.clone()).unwrap_or_default());
        }
    }
}

/// An authority, and a certificate that it has issued for these hosts, with its key; in PEM.
pub fn certified(hosts: &[&str]) -> (String, String, String) {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    let hosts: Vec<String> = hosts.iter().map(ToString::to_string).collect();
    let key = KeyPair::generate().unwrap();
    let certificate = CertificateParams::new(hosts).unwrap().signed_by(&key, &authority).unwrap();
    (authority.pem(), certificate.pem(), key.serialize_pem())
}
