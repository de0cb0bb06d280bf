//! coturn on the public segment, as STUN and TURN server.

use std::fs::{self, File};
use std::net::UdpSocket;
use std::process::{Child, Command};
use std::thread;
use std::time::{Duration, Instant};

use netdyno_rtc::IceServer;
use serde_json::{Value, json};

use crate::bed::{Bed, PUBLIC};

const USER: &str = "netdyno";
const PASSWORD: &str = "a test's password";
const PORT: u16 = 3478;
const LOG: &str = "/run/coturn.log";
const PATIENCE: Duration = Duration::from_secs(60);

/// Ends when dropped; tells what it said if that is because of a panic.
pub(crate) struct Coturn(Child);

impl Coturn {
    /// Starts it, and waits until it answers.
    pub(crate) fn start(bed: &Bed) -> Self {
        let address = PUBLIC[0].to_string();
        let user = format!("{USER}:{PASSWORD}");
        let log = File::create(LOG).unwrap();
        let mut command = Command::new("turnserver");
        command
            .args([
                "-n",
                "--listening-ip",
                &address,
                "--relay-ip",
                &address,
                "--lt-cred-mech",
                "--user",
                &user,
            ])
            .args([
                "--realm",
                "netdyno.example",
                "--no-cli",
                "--no-tls",
                "--no-dtls",
                "--fingerprint",
                "--verbose",
            ])
            .args(["--userdb", "/run/turndb", "--pidfile", "/run/turnserver.pid", "--log-file", "stdout"])
            .stdout(log.try_clone().unwrap())
            .stderr(log);
        let coturn = Self(bed.public.enter(|| command.spawn().unwrap()));
        let deadline = Instant::now() + PATIENCE;
        while !bed.public.enter(answers) {
            assert!(Instant::now() < deadline, "coturn does not answer");
        }
        coturn
    }
}

/// Whether a binding request (RFC 8489) has an answer at once.
fn answers() -> bool {
    let socket = UdpSocket::bind((PUBLIC[0], 0)).unwrap();
    socket.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
    let request = [&[0, 1, 0, 0, 0x21, 0x12, 0xa4, 0x42], &[7; 12][..]].concat();
    socket.send_to(&request, (PUBLIC[0], PORT)).is_ok() && socket.recv(&mut [0; 1000]).is_ok()
}

impl Drop for Coturn {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
        if thread::panicking() {
            println!("coturn said:\n{}", fs::read_to_string(LOG).unwrap_or_default());
        }
    }
}

/// The URLs by which it is known (RFC 7064, RFC 7065).
fn urls() -> [String; 2] {
    let place = format!("{}:{PORT}", PUBLIC[0]);
    [format!("stun:{place}"), format!("turn:{place}?transport=udp")]
}

/// For us.
pub(crate) fn servers() -> Vec<IceServer> {
    let [stun, turn] = urls();
    vec![IceServer::stun(stun), IceServer::turn(turn, USER, PASSWORD)]
}

/// For who gets no UDP through.
pub(crate) fn server_by_tcp() -> IceServer {
    IceServer::turn(format!("turn:{}:{PORT}?transport=tcp", PUBLIC[0]), USER, PASSWORD)
}

/// For a browser.
pub(crate) fn ice_servers() -> Value {
    json!([{ "urls": urls(), "username": USER, "credential": PASSWORD }])
}
