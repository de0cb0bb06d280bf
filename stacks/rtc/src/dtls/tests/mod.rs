//! Two peers and a network in memory.

mod anything;
mod handshake;
mod hostile;
mod measure;
mod records;
mod thirteen;

use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use dimpl::crypto::{Dtls12CipherSuite, Dtls13CipherSuite};
use dimpl::{Config, DtlsCertificate, NamedGroup, Output};

use super::engine::sealed;
use super::record::{content, plain};
use super::*;

/// One-way delay.
const LATENCY: Duration = Duration::from_millis(10);

static CERTIFICATES: LazyLock<[Arc<Certificate>; 2]> =
    LazyLock::new(|| [(); 2].map(|()| Arc::new(Certificate::generate().unwrap())));

/// What the tests require of either kind of peer.
trait Peer {
    fn receive(&mut self, now: Instant, datagram: Vec<u8>);
    fn transmit(&mut self) -> Option<Vec<u8>>;
    fn deadline(&self) -> Option<Instant>;
    fn timeout(&mut self, now: Instant);
    fn is_connected(&self) -> bool;
    /// A datagram with one record of data.
    fn data(&mut self, data: &[u8]) -> Vec<u8>;
    fn received(&self) -> &[Vec<u8>];
    fn error(&self) -> String;
}

struct Ours {
    dtls: Dtls,
    received: Vec<Vec<u8>>,
    events: Vec<DtlsEvent>,
}

impl Ours {
    fn new(versions: Versions, role: Role, now: Instant) -> Self {
        let (us, them) = if role == Role::Client { (0, 1) } else { (1, 0) };
        Self::with(&CERTIFICATES[us], versions, role, *CERTIFICATES[them].fingerprint(), now)
    }

    fn with(
        certificate: &Arc<Certificate>,
        versions: Versions,
        role: Role,
        peer: Fingerprint,
        now: Instant,
    ) -> Self {
        let dtls = Dtls::new(certificate, versions, role, peer, now).unwrap();
        Self { dtls, received: Vec::new(), events: Vec::new() }
    }

    fn poll_events(&mut self) {
        while let Some(event) = self.dtls.poll_event() {
            self.events.push(event);
        }
    }

    /// The record of epoch 1 with this content, encrypted with the next number.
    fn sealed(&mut self, content: u8, text: &[u8]) -> Vec<u8> {
        match &mut self.dtls.state {
            State::Connected(connection) => sealed(&mut connection.protection, content, text),
            State::Connected13(session) => session.protection.write.sealed(content, text),
            _ => panic!("not connected"),
        }
    }
}

impl Peer for Ours {
    fn receive(&mut self, now: Instant, mut datagram: Vec<u8>) {
        let received = &mut self.received;
        self.dtls.handle_datagram(now, &mut datagram, &mut |text| received.push(text.to_vec()));
        self.poll_events();
    }

    fn transmit(&mut self) -> Option<Vec<u8>> {
        let mut out = vec![0; certificate::HANDSHAKE_DATAGRAM_BYTES];
        let length = self.dtls.poll_transmit(&mut out)?;
        out.truncate(length);
        Some(out)
    }

    fn deadline(&self) -> Option<Instant> {
        self.dtls.next_deadline()
    }

    fn timeout(&mut self, now: Instant) {
        let received = &mut self.received;
        self.dtls.handle_timeout(now, &mut |text| received.push(text.to_vec()));
        self.poll_events();
    }

    fn is_connected(&self) -> bool {
        self.dtls.is_connected()
    }

    fn data(&mut self, data: &[u8]) -> Vec<u8> {
        let mut buffer = vec![0; self.dtls.headroom()];
        buffer.extend_from_slice(data);
        buffer.resize(data.len() + self.dtls.overhead(), 0);
        let length = self.dtls.seal(&mut buffer, data.len());
        buffer.truncate(length);
        buffer
    }

    fn received(&self) -> &[Vec<u8>] {
        &self.received
    }

    fn error(&self) -> String {
        format!("{:?}", self.events)
    }
}

/// `dimpl` alone, with its own cryptography and record layer: an independent peer.
struct Raw {
    dimpl: dimpl::Dtls,
    connected: bool,
    /// It does not report the end of a client's handshake, so its packets are fetched immediately.
    packets: std::collections::VecDeque<Vec<u8>>,
    deadline: Option<Instant>,
    received: Vec<Vec<u8>>,
    error: Option<dimpl::Error>,
    closed: bool,
}

/// Settings of a raw peer.
#[derive(Clone)]
struct RawConfig {
    versions: Versions,
    mtu: usize,
    suites: Vec<Dtls12CipherSuite>,
    suites_13: Vec<Dtls13CipherSuite>,
    /// None: all.
    groups: Vec<NamedGroup>,
    cookie: bool,
    certificates: bool,
}

impl Default for RawConfig {
    fn default() -> Self {
        let suites = vec![Dtls12CipherSuite::ECDHE_ECDSA_AES128_GCM_SHA256];
        let suites_13 = vec![Dtls13CipherSuite::AES_128_GCM_SHA256];
        let versions = Versions::Only12;
        Self { versions, mtu: 1150, suites, suites_13, groups: vec![], cookie: false, certificates: true }
    }
}

impl Raw {
    /// It has the certificate that `Ours` of the other role expects.
    fn new(role: Role, config: &RawConfig, now: Instant) -> Self {
        let us = if role == Role::Client { 0 } else { 1 };
        let certificate = &CERTIFICATES[us];
        let owned = DtlsCertificate {
            certificate: certificate.der.clone(),
            private_key: certificate.key_pair.to_pkcs8v1().unwrap().as_ref().to_vec(),
        };
        let new = match config.versions {
            Versions::Only12 => dimpl::Dtls::new_12,
            Versions::Only13 => dimpl::Dtls::new_13,
            Versions::Both => dimpl::Dtls::new_auto,
        };
        let mut builder = Config::builder();
        if !config.groups.is_empty() {
            builder = builder.kx_groups(&config.groups);
        }
        let config = builder
            .mtu(config.mtu)
            .dtls12_cipher_suites(&config.suites)
            .dtls13_cipher_suites(&config.suites_13)
            .use_server_cookie(config.cookie)
            .require_client_certificate(config.certificates)
            .flight_start_rto(Duration::from_millis(100))
            .build()
            .unwrap();
        let mut dimpl = new(Arc::new(config), owned, now);
        dimpl.set_active(role == Role::Client);
        let (packets, received) = Default::default();
        let mut raw =
            Self { dimpl, connected: false, packets, deadline: None, received, error: None, closed: false };
        raw.timeout(now);
        raw
    }

    fn drain(&mut self) {
        let mut buffer = vec![0; 20_000];
        loop {
            match self.dimpl.poll_output(&mut buffer) {
                Output::Packet(packet) => self.packets.push_back(packet.to_vec()),
                Output::Timeout(at) => {
                    self.deadline = Some(at);
                    return;
                }
                Output::Connected => self.connected = true,
                Output::ApplicationData(data) => self.received.push(data.to_vec()),
                Output::CloseNotify => self.closed = true,
                _ => {}
            }
        }
    }

    fn note(&mut self, result: Result<(), dimpl::Error>) {
        self.drain();
        if let Err(error) = result {
            // Its timer would remain set forever.
            self.deadline = None;
            self.error = self.error.take().or(Some(error));
        }
    }
}

impl Peer for Raw {
    fn receive(&mut self, now: Instant, datagram: Vec<u8>) {
        let result = self.dimpl.handle_timeout(now).and_then(|()| self.dimpl.handle_packet(&datagram));
        self.note(result);
    }

    fn transmit(&mut self) -> Option<Vec<u8>> {
        self.packets.pop_front()
    }

    fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    fn timeout(&mut self, now: Instant) {
        let result = self.dimpl.handle_timeout(now);
        self.note(result);
    }

    fn is_connected(&self) -> bool {
        self.connected
    }

    fn data(&mut self, data: &[u8]) -> Vec<u8> {
        self.drain();
        assert!(self.packets.is_empty());
        self.dimpl.send_application_data(data).unwrap();
        self.drain();
        self.packets.pop_front().unwrap()
    }

    fn received(&self) -> &[Vec<u8>] {
        &self.received
    }

    fn error(&self) -> String {
        format!("{:?}", self.error)
    }
}

/// The fate of a datagram: when its copies arrive.
type Fate = Vec<Duration>;

fn on_time() -> Fate {
    vec![LATENCY]
}

struct Network<A, B> {
    now: Instant,
    a: A,
    b: B,
    /// In transit: arrival, whether to `b`, bytes. In the order of sending.
    flying: Vec<(Instant, bool, Vec<u8>)>,
    /// Datagrams so far.
    sent: usize,
}

impl<A: Peer, B: Peer> Network<A, B> {
    fn new(now: Instant, a: A, b: B) -> Self {
        Self { now, a, b, flying: Vec::new(), sent: 0 }
    }

    fn send(&mut self, to_b: bool, datagram: Vec<u8>, fate: Fate) {
        self.flying.extend(fate.into_iter().map(|delay| (self.now + delay, to_b, datagram.clone())));
        self.sent += 1;
    }

    fn flush(&mut self, fate: &mut impl FnMut(usize, &[u8]) -> Fate) {
        while let Some(datagram) = self.a.transmit() {
            let fate = fate(self.sent, &datagram);
            self.send(true, datagram, fate);
        }
        while let Some(datagram) = self.b.transmit() {
            let fate = fate(self.sent, &datagram);
            self.send(false, datagram, fate);
        }
    }

    /// Runs to the next arrival or timer, until `done` or the time limit.
    fn run(
        &mut self,
        limit: Duration,
        mut fate: impl FnMut(usize, &[u8]) -> Fate,
        done: impl Fn(&Self) -> bool,
    ) {
        let end = self.now + limit;
        self.flush(&mut fate);
        while !(done(self) && self.flying.is_empty()) {
            let next = (0..self.flying.len()).min_by_key(|&index| self.flying[index].0);
            let arrival = next.map(|index| self.flying[index].0);
            let timers = [self.a.deadline(), self.b.deadline()];
            let Some(at) = timers.into_iter().flatten().chain(arrival).min().filter(|&at| at <= end) else {
                self.now = end;
                return;
            };
            self.now = self.now.max(at);
            if let Some(index) = next.filter(|_| arrival == Some(at)) {
                let (_, to_b, datagram) = self.flying.remove(index);
                if to_b {
                    self.b.receive(self.now, datagram);
                } else {
                    self.a.receive(self.now, datagram);
                }
            } else {
                if timers[0].is_some_and(|deadline| deadline <= self.now) {
                    self.a.timeout(self.now);
                }
                if timers[1].is_some_and(|deadline| deadline <= self.now) {
                    self.b.timeout(self.now);
                }
            }
            self.flush(&mut fate);
        }
    }

    /// Advances to the next timer, if there is one.
    fn tick(&mut self) {
        if let Some(at) = [self.a.deadline(), self.b.deadline()].into_iter().flatten().min() {
            self.now = self.now.max(at);
            self.a.timeout(self.now);
            self.b.timeout(self.now);
        }
    }

    /// Connects them, and sends data in both directions.
    fn connect(&mut self, fate: impl FnMut(usize, &[u8]) -> Fate) -> Result<(), String> {
        let start = self.now;
        self.run(Duration::from_secs(20), fate, |net| net.a.is_connected() && net.b.is_connected());
        if !self.a.is_connected() || !self.b.is_connected() {
            let connected = (self.a.is_connected(), self.b.is_connected());
            return Err(format!("connected: {connected:?}, {:?} {:?}", self.a.error(), self.b.error()));
        }
        let to_b = self.a.data(b"from a");
        self.b.receive(self.now, to_b);
        let to_a = self.b.data(b"from b");
        self.a.receive(self.now, to_a);
        if self.b.received() != [b"from a"] || self.a.received() != [b"from b"] {
            return Err("data lost".into());
        }
        let took = self.now - start;
        if took > Duration::from_millis(900) { Err(format!("took {took:?}")) } else { Ok(()) }
    }
}

/// A peer limited to 1.2.
fn ours(role: Role, now: Instant) -> Ours {
    Ours::new(Versions::Only12, role, now)
}

/// A connected pair of ours: client and server.
fn connected() -> Network<Ours, Ours> {
    connected_with(Versions::Only12)
}

fn connected_with(versions: Versions) -> Network<Ours, Ours> {
    let now = Instant::now();
    let [a, b] = [Role::Client, Role::Server].map(|role| Ours::new(versions, role, now));
    let mut net = Network::new(now, a, b);
    net.run(Duration::from_secs(1), |_, _| on_time(), |net| net.a.is_connected() && net.b.is_connected());
    assert_eq!(
        (&net.a.events[..], &net.b.events[..]),
        (&[DtlsEvent::Connected][..], &[DtlsEvent::Connected][..])
    );
    net
}

/// Content types and epochs of the records of a datagram.
fn shape(datagram: &[u8]) -> Vec<(u8, u16)> {
    let (mut copy, mut shape) = (datagram.to_vec(), Vec::new());
    let mut rest = &mut copy[..];
    while let Some((header, _, tail)) = split(rest) {
        shape.push((header.content, header.epoch()));
        rest = tail;
    }
    shape
}

/// A peer limited to 1.2 on either side, in large and in small datagrams, with each datagram disturbed in
/// turn.
fn in_small_pieces(ours: fn(Role, Instant) -> Ours) {
    for mtu in [1150, 300] {
        let config = RawConfig { mtu, ..RawConfig::default() };
        handshake::each_datagram_once("client", |now| {
            Network::new(now, ours(Role::Client, now), Raw::new(Role::Server, &config, now))
        });
        handshake::each_datagram_once("server", |now| {
            Network::new(now, Raw::new(Role::Client, &config, now), ours(Role::Server, now))
        });
    }
}

/// The effect of one side's authentic alert on the other.
fn says(mut net: Network<Ours, Ours>, alert: &[u8], expected: Option<&DtlsEvent>) {
    let record = net.a.sealed(content::ALERT, alert);
    net.b.receive(net.now, record);
    assert_eq!(net.b.events.get(1), expected);
    assert_eq!(net.b.is_connected(), expected.is_none());
}
