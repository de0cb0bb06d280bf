//! A coturn on the loopback interface, for one test.

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::{TcpListener, UdpSocket};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::Duration;

use netdyno_rtc::{IceServer, Settings};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};

pub(crate) struct Coturn {
    process: Child,
    port: u16,
    tls_port: u16,
    /// Who has signed its certificate, in PEM.
    authority: String,
    log: Arc<(Mutex<String>, Condvar)>,
    folder: std::path::PathBuf,
}

impl Coturn {
    /// Starts one; None, and a word about it, or a failed test if `NETDYNO_REQUIRE=all`, where there is none.
    pub(crate) fn start(extra: &[&str]) -> Option<Self> {
        let port = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let tls_port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let folder = std::env::temp_dir().join(format!("netdyno-turn-{}-{port}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let (authority, certificate, key) = certified(&["127.0.0.1"]);
        fs::write(folder.join("certificate"), certificate).unwrap();
        fs::write(folder.join("key"), key).unwrap();
        let started = Command::new("turnserver")
            .args(["-n", "--no-cli", "--no-dtls", "--lt-cred-mech", "--realm=netdyno", "--verbose"])
            .args([
                "--user=name:password",
                "-L",
                "127.0.0.1",
                "--relay-ip=127.0.0.1",
                "--allow-loopback-peers",
            ])
            .args(["--log-file=stdout", "--simple-log"])
            .arg(format!("--pidfile={}", folder.join("pid").display()))
            .arg(format!("--db={}", folder.join("db").display()))
            .arg(format!("--cert={}", folder.join("certificate").display()))
            .arg(format!("--pkey={}", folder.join("key").display()))
            .arg(format!("--listening-port={port}"))
            .arg(format!("--tls-listening-port={tls_port}"))
            .args(extra)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn();
        let Ok(mut process) = started else {
            let _ = fs::remove_dir_all(&folder);
            let why = "turnserver (Debian and Ubuntu: apt-get install coturn)";
            assert!(std::env::var("NETDYNO_REQUIRE").as_deref() != Ok("all"), "needs {why}");
            eprintln!("skipped: needs {why}");
            return None;
        };
        let log = Arc::new((Mutex::new(String::new()), Condvar::new()));
        let (lines, written) = (BufReader::new(process.stdout.take().unwrap()).lines(), log.clone());
        thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                let mut text = written.0.lock().unwrap();
                text.push_str(&line);
                text.push('\n');
                written.1.notify_all();
            }
        });
        let server = Self { process, port, tls_port, authority, log, folder };
        assert!(server.logs("Total General servers"), "it did not start: {}", server.log.0.lock().unwrap());
        Some(server)
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// Waits until its log has this; false if it never has.
    pub(crate) fn logs(&self, text: &str) -> bool {
        let guard = self.log.0.lock().unwrap();
        let wait = self.log.1.wait_timeout_while(guard, Duration::from_secs(30), |log| !log.contains(text));
        !wait.unwrap().1.timed_out()
    }

    #[cfg(feature = "tls")]
    pub(crate) fn tls_port(&self) -> u16 {
        self.tls_port
    }

    /// Its address by "udp", "tcp" or "tls".
    pub(crate) fn url(&self, transport: &str) -> String {
        match transport {
            "tls" => format!("turns:127.0.0.1:{}?transport=tcp", self.tls_port),
            _ => format!("turn:127.0.0.1:{}?transport={transport}", self.port),
        }
    }

    /// Settings of one who goes by it alone.
    pub(crate) fn relayed(&self, password: &str) -> Settings {
        self.relayed_by(&self.url("udp"), password)
    }

    /// The same, by this way.
    pub(crate) fn relayed_by(&self, url: &str, password: &str) -> Settings {
        let mut settings = Settings::new().unwrap();
        settings.ice_servers = vec![IceServer::turn(url, "name", password)];
        settings.server_roots = Some(self.authority.clone());
        settings.relay_only = true;
        settings
    }
}

impl Drop for Coturn {
    fn drop(&mut self) {
        // Both end with the test at the latest.
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// An authority, and a certificate for these hosts that it has signed, with its key; in PEM.
pub(crate) fn certified(hosts: &[&str]) -> (String, String, String) {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    let hosts: Vec<String> = hosts.iter().map(ToString::to_string).collect();
    let key = KeyPair::generate().unwrap();
    let certificate = CertificateParams::new(hosts).unwrap().signed_by(&key, &authority).unwrap();
    (authority.pem(), certificate.pem(), key.serialize_pem())
}
