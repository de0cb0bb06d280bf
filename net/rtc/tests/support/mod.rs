//! Helpers for several tests.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used)]

use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use netdyno_rtc::core::DtlsVersions;
use netdyno_rtc::{ChannelId, Connection, Endpoint, Event, Handler, Kind, Message, Settings};

/// Long enough for slow machines; only a failing test waits this long.
pub const PATIENCE: Duration = Duration::from_secs(60);

pub fn settings() -> Settings {
    Settings::new().unwrap()
}

pub fn endpoint() -> Endpoint {
    Endpoint::bind("127.0.0.1:0".parse().unwrap(), settings()).unwrap()
}

/// A handler made of two functions.
pub struct On<E, M>(pub E, pub M);

impl<E, M> Handler for On<E, M>
where
    E: FnMut(&mut Connection<'_>, Event),
    M: FnMut(&mut Connection<'_>, Message),
{
    fn on_event(&mut self, connection: &mut Connection<'_>, event: Event) {
        (self.0)(connection, event);
    }

    fn on_message(&mut self, connection: &mut Connection<'_>, message: Message) {
        (self.1)(connection, message);
    }
}

/// Ignores everything.
pub struct Ignore;

impl Handler for Ignore {
    fn on_event(&mut self, _: &mut Connection<'_>, _: Event) {}
    fn on_message(&mut self, _: &mut Connection<'_>, _: Message) {}
}

/// Keeps the send buffer of every channel about this full.
pub struct Source {
    pub message: Vec<u8>,
    pub high_bytes: usize,
}

impl Source {
    pub fn fill(&self, connection: &mut Connection<'_>, channel: ChannelId) {
        while connection.buffered_amount(channel) < self.high_bytes {
            if connection.send(channel, Kind::Binary, &self.message).is_err() {
                return;
            }
        }
    }
}

impl Handler for Source {
    fn on_event(&mut self, connection: &mut Connection<'_>, event: Event) {
        match event {
            Event::Open(channel) => {
                connection.set_buffered_amount_low_threshold(channel, self.high_bytes / 2);
                self.fill(connection, channel);
            }
            Event::BufferedAmountLow(channel) => self.fill(connection, channel),
            Event::Writable => self.fill(connection, ChannelId(0)),
            Event::Failed(error) => panic!("{error}"),
            _ => {}
        }
    }

    fn on_message(&mut self, _: &mut Connection<'_>, _: Message) {}
}

/// Calls `step` until it returns a value.
pub fn until<T>(mut step: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(value) = step() {
            return value;
        }
        assert!(Instant::now() < deadline, "nothing came of it in time");
    }
}

/// The number of threads of this process with this name.
pub fn threads_named(name: &str) -> usize {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    let names = tasks.filter_map(|task| std::fs::read_to_string(task.ok()?.path().join("comm")).ok());
    names.filter(|found| found.trim_end() == name).count()
}

/// A relay between two endpoints on the loopback interface that can be paused.
pub struct Relay {
    sockets: [UdpSocket; 2],
    is_cut: AtomicBool,
    is_over: AtomicBool,
}

impl Relay {
    /// Starts the relay; dropping the result ends it.
    pub fn start() -> Running {
        let socket = |_| {
            let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
            socket.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
            socket
        };
        let relay = Arc::new(Self {
            sockets: [0, 1].map(socket),
            is_cut: AtomicBool::new(false),
            is_over: AtomicBool::new(false),
        });
        // The last sender seen by each socket.
        let heard: Arc<[Mutex<Option<SocketAddr>>; 2]> = Arc::default();
        for side in 0..2 {
            let (relay, heard) = (relay.clone(), heard.clone());
            thread::spawn(move || relay.carry(side, &heard));
        }
        Running(relay)
    }

    fn carry(&self, side: usize, heard: &[Mutex<Option<SocketAddr>>; 2]) {
        let mut bytes = vec![0; 65_536];
        while !self.is_over.load(Ordering::Relaxed) {
            let Ok((length, from)) = self.sockets[side].recv_from(&mut bytes) else { continue };
            *heard[side].lock().unwrap() = Some(from);
            let to = *heard[1 - side].lock().unwrap();
            if let Some(to) = to.filter(|_| !self.is_cut.load(Ordering::Relaxed)) {
                let _ = self.sockets[1 - side].send_to(&bytes[..length], to);
            }
        }
    }
}

/// A running relay.
pub struct Running(Arc<Relay>);

impl Running {
    /// Whether everything is dropped from now on.
    pub fn cut(&self, is_cut: bool) {
        self.0.is_cut.store(is_cut, Ordering::Relaxed);
    }

    /// A description of the endpoint on this port with the relay's address, for the other side. `side`: 0 for
    /// the one described to 1.
    pub fn describe(&self, side: usize, port: u16, description: &str) -> String {
        let ours = self.0.sockets[1 - side].local_addr().unwrap().port();
        let there = description.replace(&format!(" 127.0.0.1 {port} "), &format!(" 127.0.0.1 {ours} "));
        assert_ne!(there, description);
        there
    }
}

impl Running {
    /// A description without addresses other than the relay's.
    pub fn stands_in(&self, side: usize, description: &str) -> String {
        let ours = self.0.sockets[1 - side].local_addr().unwrap().port();
        let lines = description.lines().filter(|line| !line.starts_with("a=candidate"));
        let lines: Vec<String> = lines.map(|line| format!("{line}\r\n")).collect();
        format!("{}a=candidate:1 1 udp 2130706431 127.0.0.1 {ours} typ host\r\n", lines.concat())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.is_over.store(true, Ordering::Relaxed);
    }
}

/// A number from an environment variable.
pub fn number(name: &str, default: usize) -> usize {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(default)
}

/// The default settings with changes from environment variables.
pub fn tuned() -> Settings {
    let mut settings = settings();
    settings.receive_buffers = number("RECEIVE_BUFFERS", settings.receive_buffers);
    settings.sends_per_turn = number("SENDS_PER_TURN", settings.sends_per_turn);
    settings.segments_per_send = number("SEGMENTS_PER_SEND", settings.segments_per_send);
    let setup_spin = number("SETUP_SPIN_US", settings.setup_spin.as_micros() as usize);
    settings.setup_spin = Duration::from_micros(setup_spin as u64);
    let receive_rest = number("RECEIVE_REST_US", settings.receive_rest.as_micros() as usize);
    settings.receive_rest = Duration::from_micros(receive_rest as u64);
    settings.spin = Duration::from_micros(number("SPIN_US", 0) as u64);
    let mut peer = (*settings.peer).clone();
    peer.max_datagram_bytes = number("MAX_DATAGRAM_BYTES", peer.max_datagram_bytes);
    peer.sctp.limits.max_receive_window_bytes =
        number("MAX_WINDOW", peer.sctp.limits.max_receive_window_bytes);
    peer.sctp.limits.receive_window_bytes = number("WINDOW", peer.sctp.limits.receive_window_bytes);
    if number("CUBIC", 0) == 1 {
        peer.sctp.congestion = netdyno_rtc::core::sctp::Congestion::Cubic;
    }
    peer.dtls_versions = match number("DTLS", 0) {
        12 => DtlsVersions::Only12,
        13 => DtlsVersions::Only13,
        _ => DtlsVersions::Both,
    };
    settings.peer = peer.into();
    settings
}

/// Of sorted durations.
pub fn percentiles(sorted: &[Duration]) -> String {
    let at = |share: f64| sorted[((sorted.len() - 1) as f64 * share) as usize];
    format!("p50 {:?}, p90 {:?}, p99 {:?}, max {:?}", at(0.5), at(0.9), at(0.99), at(1.0))
}

/// CPU time of a process so far, in ticks of 10 ms; by its id, or "self".
pub fn processor_seconds(process: &str) -> f64 {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
    let fields: Vec<_> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    fields[11..13].iter().map(|ticks| ticks.parse::<f64>().unwrap() / 100.0).sum()
}
