//! The log explains why a connection failed or could not be established.
#![cfg(feature = "tracing")]
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]
#![allow(clippy::unwrap_used, missing_docs)]

mod common;

use std::io::{self, Write};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use common::{Net, config};
use netdyno_rtc_core::{Certificate, ChannelOptions, PeerState};
use tracing::Level;

/// The log output so far.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The log output of `run` from `level` on.
fn logged(level: Level, run: impl FnOnce()) -> String {
    let log = Log::default();
    let writer = log.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(level)
        .without_time()
        .with_ansi(false)
        .with_writer(move || writer.clone());
    tracing::subscriber::with_default(subscriber.finish(), run);
    let bytes = log.0.lock().unwrap().clone();
    String::from_utf8(bytes).unwrap()
}

fn with_channel() -> Net {
    let mut net = Net::new();
    net.peers[0].create_channel(net.now, "", ChannelOptions::default()).unwrap();
    net
}

#[track_caller]
fn has_all(log: &str, parts: &[&str]) {
    for part in parts {
        assert!(log.contains(part), "no {part:?} in:\n{log}");
    }
}

#[test]
fn nobody_answers() {
    let log = logged(Level::WARN, || {
        let mut net = with_channel();
        net.filter = Some(Box::new(|_| false));
        net.signal();
        net.run(Duration::from_secs(31));
        assert_eq!(net.state(0), PeerState::Failed);
    });
    has_all(
        &log,
        &["no candidate pair works", "no answer from 192.0.2.2:5000", "checks sent from 192.0.2.1:5000"],
    );
}

#[test]
fn logs_a_missing_peer() {
    let log = logged(Level::DEBUG, || {
        let mut net = with_channel();
        let offer = net.peers[0].create_offer(net.now, false).unwrap();
        let answer = net.peers[1].accept_offer(net.now, &offer).unwrap();
        let ours = net.peers[1].local_candidates()[0].clone();
        let ours = ours.split(" ufrag").next().unwrap();
        let tcp = ours.replace(" udp ", " tcp ") + " tcptype active";
        let name = ours.replace("192.0.2.2", "0a1b2c3d-1111-4222-8333-444455556666.local");
        let other = format!("{tcp}\r\na={name}");
        net.filter = Some(Box::new(|_| false));
        net.peers[0].accept_answer(net.now, &answer.replace(ours, &other)).unwrap();
        net.run(Duration::from_secs(31));
    });
    has_all(&log, &["ignored, not UDP", "ignored, mDNS name", "no check was sent"]);
}

#[test]
fn logs_a_wrong_certificate() {
    for versions in [netdyno_rtc_core::DtlsVersions::Only12, netdyno_rtc_core::DtlsVersions::Only13] {
        let log = logged(Level::WARN, || {
            let [mut here, mut there] = [config(0), config(1)];
            (here.dtls_versions, there.dtls_versions) = (versions, versions);
            let mut net = Net::with([here, there]);
            net.peers[0].create_channel(net.now, "", ChannelOptions::default()).unwrap();
            let offer = net.peers[0].create_offer(net.now, false).unwrap();
            let right = net.peers[1].local_fingerprint().to_string();
            let wrong = Certificate::generate().unwrap().fingerprint().to_string();
            let answer = net.peers[1].accept_offer(net.now, &offer).unwrap().replace(&right, &wrong);
            net.peers[0].accept_answer(net.now, &answer).unwrap();
            net.run(Duration::from_secs(2));
            assert!((0..2).all(|side| net.peers[side].is_over()));
        });
        has_all(
            &log,
            &[
                "fingerprint of the peer's certificate differs from its description",
                "the peer sent alert 42 (bad_certificate)",
            ],
        );
    }
}

#[test]
fn logs_a_lost_path() {
    let mut sessions = Vec::new();
    let log = logged(Level::INFO, || {
        let (mut net, _) = Net::connected(ChannelOptions::default());
        net.filter = Some(Box::new(|_| false));
        net.run(Duration::from_secs(100));
        sessions.extend(net.peers.iter().map(|peer| peer.session_id()));
    });
    has_all(
        &log,
        &[
            "state: Connected",
            "state: Disconnected",
            "the peer's consent was lost",
            "no answer from 192.0.2.2:5000 any more",
            "no ICE restart within restart_timeout",
        ],
    );
    for session in sessions {
        has_all(&log, &[&format!("session={session}")]);
    }
}

#[test]
fn logs_an_unanswered_handshake() {
    let log = logged(Level::DEBUG, || {
        let mut net = with_channel();
        // Only STUN is delivered.
        net.filter = Some(Box::new(|flying| flying.bytes[0] < 4));
        net.signal();
        net.run(Duration::from_secs(60));
        assert!((0..2).any(|side| net.peers[side].is_over()));
    });
    has_all(
        &log,
        &["first check to 192.0.2.2:5000", "answered a check", "DTLS handshake started", "failed: DTLS"],
    );
}

/// Neither does the agent's own log output.
#[test]
fn the_full_log_contains_no_password() {
    let mut passwords = Vec::new();
    let log = logged(Level::TRACE, || {
        let mut net = with_channel();
        let offer = net.peers[0].create_offer(net.now, false).unwrap();
        let answer = net.peers[1].accept_offer(net.now, &offer).unwrap();
        net.peers[0].accept_answer(net.now, &answer).unwrap();
        net.run(Duration::from_secs(1));
        assert_eq!(net.state(0), PeerState::Connected);
        for text in [&offer, &answer] {
            let line = text.lines().find_map(|line| line.strip_prefix("a=ice-pwd:"));
            passwords.push(line.unwrap().to_owned());
        }
    });
    has_all(&log, &["netdyno_rtc", "DTLS 1.3 connected", "is::agent"]);
    assert!(passwords.iter().all(|password| !log.contains(password)), "{log}");
}
