//! An RTSP server: one source of pictures, many clients, by UDP or on their connections.
//!
//! | does | does not |
//! |---|---|
//! | read the source in one thread, and serve all clients in another: the caller's | a thread a client |
//! | pack a frame once, and send all clients the same packets (one SSRC, one sequence), with RTCP reports | transcode, scale, or thin out a stream for one client |
//! | pace by UDP over a frame's time; whole frames by TCP, through a short queue whose oldest gives way | resend what UDP lost |
//! | close a connection that takes nothing for [`ServerConfig::stall`]; end a silent client's session in time | ask for a name or password: bind an address that only friends can reach |
//! | read files only while somebody plays; a live source always, dropping what nobody sees | record |
//!
//! ```no_run
//! use netdyno_mjpeg::server::{Server, ServerConfig, ServerEvent};
//! use netdyno_mjpeg::source::Files;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let source = Files::open(&["clip.mjpeg".into()], true)?;
//! let server = Server::bind(ServerConfig::default())?;
//! println!("rtsp://{}/stream", server.address());
//! let stopper = server.stopper();       // From another thread: stopper.stop()
//! server.run(Box::new(source), |event| {
//!     if let ServerEvent::Started { peer, .. } = event {
//!         println!("{peer} watches");
//!     }
//! })?;
//! # let _ = stopper;
//! # Ok(())
//! # }
//! ```

mod connection;
mod connections;
mod feeder;
mod frame;
mod limits;
mod network;
mod player;
mod timeline;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use netdyno_io::tcp::{Backend, Limits, ListenOptions, TcpReactor};
use netdyno_io::{SocketOptions, Waker};
use netdyno_mjpeg_core::{ConfigError, Packetizer, PacketizerConfig};
use netdyno_rtp::{Sequence, Ssrc};

use crate::control::random;
use crate::error::OpenError;
use crate::ports;
use crate::rtsp::SessionsConfig;
use crate::source::Source;
use feeder::Feeder;
use limits::{FAREWELL, INPUT_BYTES, KEEPALIVE, OUTPUT_BYTES, SPARE_CONNECTIONS, UNSENT_BYTES};
use network::Network;
use player::UdpPair;

/// What is served, where, and to how many.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ServerConfig {
    /// Where RTSP is listened for; RTP goes by two UDP ports of the same address, which the system chooses. Port 0: the system
    /// chooses this too.
    pub listen: SocketAddr,
    /// The path of the stream's URI; a slash at its beginning.
    pub path: String,
    /// Frames a second of a source that is asked whenever we want: above 0, at most 1,000. A live one has a rate of its own.
    pub frames_per_s: f64,
    /// Clients at a time, 1 to 10,000; a SETUP beyond them is answered by 503.
    pub max_clients: usize,
    /// And of one [host](crate::rtsp::host_of), 1 or more, so that nobody takes the place of all: a SETUP beyond them is answered by 503, and
    /// connections beyond them and a few are closed.
    pub max_clients_per_host: usize,
    /// Bytes of a packet, RTP header included: 300 to 65,507.
    pub packet_bytes: usize,
    /// For how long a session by UDP lives without a sign of its client, RTCP or a request.
    pub session_timeout: Duration,
    /// For how long a connection may take nothing of what it is sent.
    pub stall: Duration,
}

impl Default for ServerConfig {
    /// `rtsp://127.0.0.1:8554/stream`, 30 frames/s, 200 clients, 20 of a host, packets of 1,400 bytes, a minute, 5 s.
    fn default() -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 8554)),
            path: "/stream".to_owned(),
            frames_per_s: 30.0,
            max_clients: 200,
            max_clients_per_host: 20,
            packet_bytes: 1_400,
            session_timeout: Duration::from_secs(60),
            stall: Duration::from_secs(5),
        }
    }
}

/// Why there is no server, or no longer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServerError {
    /// A setting that cannot work: which, and what it may be.
    #[error("{0}")]
    Setting(&'static str),
    /// Packets that cannot be.
    #[error(transparent)]
    Packets(#[from] ConfigError),
    /// Nobody can be listened for at this address.
    #[error("no RTSP at {address}: {error}; name another address or port")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// What the system said.
        #[source]
        error: io::Error,
    },
    /// No ports for RTP and RTCP.
    #[error(transparent)]
    Udp(#[from] OpenError),
    /// The source has nothing that can be served.
    #[error(
        "the source was given up after {0} pictures in a row that could not be had or served; the last: {1}"
    )]
    Source(u32, String),
    /// Another thing that the system did not give: random numbers, a thread, events.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// What happened.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum ServerEvent {
    /// A client plays.
    Started {
        /// Its address.
        peer: SocketAddr,
        /// By UDP, or on its connection.
        is_udp: bool,
        /// Clients that play, this one included.
        clients: usize,
    },
    /// A client plays no more.
    Stopped {
        /// Its address.
        peer: SocketAddr,
        /// Why.
        why: Left,
        /// Frames that it was sent, whole.
        frames: u64,
        /// Frames that it was not sent, since it or the network did not take them in time.
        left_out: u64,
        /// Packets that it said it has not received, if it said so.
        lost_packets: Option<i32>,
        /// Clients that still play.
        clients: usize,
    },
    /// A picture was left out: why, and what helps; and how many were, this one included.
    Refused(String, u64),
    /// Told about once a second while somebody plays: what was done since the start.
    Figures(Figures),
}

/// Why a client plays no more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Left {
    /// It wants a pause.
    Paused,
    /// It ended its session.
    Ended,
    /// Its connection is closed, by it or by the network.
    Disconnected,
    /// It gave no sign for [`ServerConfig::session_timeout`].
    Silent,
    /// It took nothing for [`ServerConfig::stall`].
    Stalled,
    /// The server ends.
    Served,
}

/// What was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Figures {
    /// Clients that play.
    pub clients: usize,
    /// Frames of the stream.
    pub frames: u64,
    /// Frames sent to clients, each counted, of those that are gone too.
    pub frames_sent: u64,
    /// Frames left out for single clients.
    pub frames_left_out: u64,
    /// Bytes of RTP packets of the stream, once for all clients.
    pub stream_bytes: u64,
    /// Pictures that could not be had or served.
    pub refused: u64,
}

/// Ends a server from another thread.
#[derive(Debug, Clone)]
pub struct Stopper {
    is_wanted: Arc<AtomicBool>,
    waker: Waker,
}

impl Stopper {
    /// Has the server end: clients get the frame under way whole, then a goodbye.
    pub fn stop(&self) {
        self.is_wanted.store(true, Ordering::Release);
        self.waker.wake();
    }

    fn is_wanted(&self) -> bool {
        self.is_wanted.load(Ordering::Acquire)
    }
}

/// A server whose sockets are bound.
#[derive(Debug)]
pub struct Server {
    config: ServerConfig,
    address: SocketAddr,
    reactor: TcpReactor,
    sockets: UdpPair,
    stopper: Stopper,
    packetizer: Packetizer,
    ssrc: Ssrc,
}

impl Server {
    /// Binds the sockets: from then on clients can connect, who wait until [`run`](Self::run).
    ///
    /// # Errors
    /// A setting out of its range; an address that cannot be bound.
    pub fn bind(config: ServerConfig) -> Result<Self, ServerError> {
        let is_path = config.path.starts_with('/') && config.path.bytes().all(|byte| byte.is_ascii_graphic());
        if !is_path || config.path.contains(['?', '#']) {
            return Err(ServerError::Setting("a path that cannot be in a URI; it begins with /, as /stream"));
        }
        if !(config.frames_per_s > 0.0 && config.frames_per_s <= 1000.0) {
            return Err(ServerError::Setting("a rate out of range; above 0 and up to 1000 frames a second"));
        }
        if !(1..=10_000).contains(&config.max_clients) {
            return Err(ServerError::Setting("a number of clients out of range; 1 to 10000"));
        }
        if config.max_clients_per_host == 0 {
            return Err(ServerError::Setting("a number of clients of one host out of range; 1 or more"));
        }
        let mut packets = PacketizerConfig::default();
        packets.max_packet_bytes = config.packet_bytes;
        let (ssrc, first) = (Ssrc(u32::from_ne_bytes(random()?)), Sequence(u16::from_ne_bytes(random()?)));
        let packetizer = Packetizer::new(packets, ssrc, first)?;
        let mut limits = Limits::default();
        limits.connections = config.max_clients + SPARE_CONNECTIONS;
        limits.input_bytes = INPUT_BYTES;
        limits.output_bytes = OUTPUT_BYTES;
        limits.flush_time = FAREWELL;
        limits.linger_time = FAREWELL;
        let mut reactor = TcpReactor::new(Backend::Epoll, limits)?;
        reactor.set_unsent_bytes(UNSENT_BYTES)?;
        reactor.set_keepalive(Some(KEEPALIVE))?;
        let listener = reactor
            .listen(config.listen, &ListenOptions::default())
            .map_err(|error| ServerError::Listen { address: config.listen, error })?;
        let address = reactor.local_address(listener);
        let mut options = SocketOptions::default();
        // What comes for RTP is thrown away.
        options.receive_buffer_bytes = 0;
        let (rtp, rtcp) = ports::bind(SocketAddr::new(address.ip(), 0), &options)?;
        let sockets = UdpPair { rtp, rtcp };
        let stopper = Stopper { is_wanted: Arc::new(AtomicBool::new(false)), waker: reactor.waker() };
        Ok(Self { config, address, reactor, sockets, stopper, packetizer, ssrc })
    }

    /// Where it listens, with the port that it got.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// A way to end it.
    pub fn stopper(&self) -> Stopper {
        self.stopper.clone()
    }

    /// Serves until the source ends or [`Stopper::stop`] is called. `told` hears what happens, in this thread: it must not block.
    ///
    /// # Errors
    /// The source was given up, or the system fails.
    pub fn run(
        self,
        source: Box<dyn Source>,
        mut told: impl FnMut(ServerEvent),
    ) -> Result<Figures, ServerError> {
        let feeder = Feeder::start(source, self.packetizer.clone(), self.reactor.waker())?;
        let sessions = SessionsConfig {
            path: self.config.path.clone(),
            max_sessions: self.config.max_clients,
            max_sessions_per_host: self.config.max_clients_per_host,
            timeout: self.config.session_timeout,
            ports: Some((self.sockets.rtp.local_address().port(), self.sockets.rtcp.local_address().port())),
            ..SessionsConfig::default()
        };
        let mut network = Network::new(self, feeder, sessions, random()?);
        let result = network.run(&mut told);
        network.end(&mut told);
        result
    }
}
