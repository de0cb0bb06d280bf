//! An RTSP server for one source and many clients, over UDP or TCP.
//!
//! | does | does not |
//! |---|---|
//! | read the source in its own thread and serve all clients in the caller's thread | start a thread per client |
//! | packetize a frame once and send the same packets (one SSRC, one sequence) to all clients, with RTCP reports | transcode, scale or drop frames on request of a client |
//! | pace UDP packets over the frame interval; send complete frames over TCP through a short queue in which new frames replace old ones | retransmit over UDP |
//! | disconnect clients that accept no data for [`ServerConfig::stall_timeout`]; end sessions without requests and RTCP | authenticate: bind an address that only trusted clients can reach |
//! | read files only while a client plays; read a live source all the time | record |
//!
//! ```no_run
//! use netdyno_mjpeg::server::{Server, ServerConfig, ServerEvent};
//! use netdyno_mjpeg::source::Files;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let source = Files::open(&["clip.mjpeg".into()], true)?;
//! let server = Server::bind(ServerConfig::default())?;
//! println!("rtsp://{}/stream", server.address());
//! let stopper = server.stopper();       // stopper.stop() from another thread
//! server.run(Box::new(source), |event| {
//!     if let ServerEvent::Started { peer, .. } = event {
//!         println!("{peer} started");
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
use netdyno_mjpeg_core::{ConfigError, InexactDimensions, Packetizer, PacketizerConfig};
use netdyno_rtp::{Sequence, Ssrc};
use netdyno_rtsp::SessionsConfig;

use crate::control::random;
use crate::error::OpenError;
use crate::ports;
use crate::source::Source;
use feeder::Feeder;
use limits::{INPUT_BYTES, KEEPALIVE, OUTPUT_BYTES, SHUTDOWN_TIMEOUT, SPARE_CONNECTIONS, UNSENT_BYTES};
use network::Network;
use player::UdpPair;

/// Settings of a server.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ServerConfig {
    /// Listening address of RTSP. Port 0 selects a free port. RTP and RTCP use two free UDP ports of the same address.
    pub listen: SocketAddr,
    /// Path of the stream's URI; starts with a slash.
    pub path: String,
    /// Frames per second of an on-demand source, above 0 and at most 1,000. Live sources keep their own rate.
    pub frames_per_s: f64,
    /// Maximum number of clients, 1 to 10,000. SETUP beyond it fails with 503.
    pub max_clients: usize,
    /// Maximum number of clients per [host](netdyno_rtsp::host_prefix), at least 1. SETUP beyond it fails with 503; connections
    /// beyond it and a small reserve are closed.
    pub max_clients_per_host: usize,
    /// Maximum packet length with the RTP header, 300 to 65,507.
    pub packet_bytes: usize,
    /// Time after which a UDP session ends without RTCP and requests from its client.
    pub session_timeout: Duration,
    /// Time after which a connection that accepts no data is closed.
    pub stall_timeout: Duration,
}

impl Default for ServerConfig {
    /// `rtsp://127.0.0.1:8554/stream`, 30 frames/s, 200 clients, 20 per host, packets of 1,400 bytes, timeouts of 60 s and 5 s.
    fn default() -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 8554)),
            path: "/stream".to_owned(),
            frames_per_s: 30.0,
            max_clients: 200,
            max_clients_per_host: 20,
            packet_bytes: 1_400,
            session_timeout: Duration::from_secs(60),
            stall_timeout: Duration::from_secs(5),
        }
    }
}

/// An error that prevents a server from starting or stops it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServerError {
    /// A setting is invalid.
    #[error("{0}")]
    Setting(&'static str),
    /// The packet size is invalid.
    #[error(transparent)]
    Packets(#[from] ConfigError),
    /// The RTSP address cannot be bound.
    #[error("cannot listen for RTSP at {address}: {error}; choose another address or port")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The system's error.
        #[source]
        error: io::Error,
    },
    /// The UDP ports for RTP and RTCP cannot be bound.
    #[error(transparent)]
    Udp(#[from] OpenError),
    /// Too many consecutive pictures could not be read or sent.
    #[error("the source failed for {failures} consecutive pictures; the last error: {last}")]
    Source {
        /// Number of failures.
        failures: u32,
        /// The last failure with its remedy.
        last: String,
    },
    /// Another operation of the system failed, such as reading random numbers or starting a thread.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// An event of a server.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum ServerEvent {
    /// A client started to play.
    Started {
        /// The client's address.
        peer: SocketAddr,
        /// Whether it uses UDP rather than TCP.
        is_udp: bool,
        /// Number of playing clients, including this one.
        clients: usize,
    },
    /// A client stopped playing.
    Stopped {
        /// The client's address.
        peer: SocketAddr,
        /// The reason.
        reason: StopReason,
        /// Frames sent completely.
        frames: u64,
        /// Frames that were skipped because the client or the network was too slow.
        skipped_frames: u64,
        /// Lost packets according to the client's last receiver report.
        lost_packets: Option<i32>,
        /// Number of remaining clients.
        clients: usize,
    },
    /// A picture was skipped.
    PictureSkipped {
        /// The cause and its remedy.
        cause: String,
        /// Number of skipped pictures, including this one.
        count: u64,
    },
    /// The dimensions of the pictures changed to values that not all clients support.
    InexactDimensions(InexactDimensions),
    /// A connection was refused, throttled or closed because of its behaviour. At most 10 of these events are reported per
    /// second; [`ServerStats::rejections`] counts all of them.
    Rejected {
        /// The remote address.
        peer: SocketAddr,
        /// The cause.
        cause: Rejection,
    },
    /// Counters since the start, once per second while a client plays.
    Stats(ServerStats),
}

/// The reason why a client stopped playing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum StopReason {
    /// It sent PAUSE.
    Paused,
    /// It sent TEARDOWN.
    Teardown,
    /// Its connection was closed by the client or the network.
    Disconnected,
    /// It sent neither requests nor RTCP for [`ServerConfig::session_timeout`].
    TimedOut,
    /// It accepted no data for [`ServerConfig::stall_timeout`].
    Stalled,
    /// The server stopped.
    ServerStopped,
}

impl From<netdyno_rtsp::StopReason> for StopReason {
    fn from(reason: netdyno_rtsp::StopReason) -> Self {
        match reason {
            netdyno_rtsp::StopReason::Paused => Self::Paused,
            netdyno_rtsp::StopReason::Teardown => Self::Teardown,
            netdyno_rtsp::StopReason::TimedOut => Self::TimedOut,
            netdyno_rtsp::StopReason::Disconnected => Self::Disconnected,
        }
    }
}

/// The cause of a rejection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Rejection {
    /// Its host has the maximum number of connections. The connection was closed.
    #[error("too many connections from this host")]
    ConnectionLimit,
    /// It sent an invalid message or one that exceeds a limit. The connection was closed after a response with this status.
    #[error("invalid message (status {0})")]
    InvalidMessage(u16),
    /// It sent more messages than are handled at once. Its further messages are delayed. Reported once per connection.
    #[error("message flood; throttled")]
    Flood,
    /// It was closed without a complete message.
    #[error("connection without a request")]
    NoRequest,
    /// It accepted no data for [`ServerConfig::stall_timeout`]. The connection was closed.
    #[error("accepted no data; disconnected")]
    Stalled,
}

/// Counters of a server since its start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct ServerStats {
    /// Number of playing clients.
    pub clients: usize,
    /// Frames of the stream.
    pub frames: u64,
    /// Frames sent to all present and former clients.
    pub frames_sent: u64,
    /// Frames skipped for slow clients.
    pub skipped_frames: u64,
    /// Bytes of the stream's RTP packets, counted once for all clients.
    pub stream_bytes: u64,
    /// Pictures that could not be read or sent.
    pub skipped_pictures: u64,
    /// Connections that were refused, throttled or closed because of their behaviour.
    pub rejections: u64,
    /// RTCP datagrams over UDP from addresses without a session.
    pub foreign_datagrams: u64,
}

/// Stops a server from another thread.
#[derive(Debug, Clone)]
pub struct Stopper {
    is_requested: Arc<AtomicBool>,
    waker: Waker,
}

impl Stopper {
    /// Requests the server to stop. It completes the current frame and sends BYE.
    pub fn stop(&self) {
        self.is_requested.store(true, Ordering::Release);
        self.waker.wake();
    }

    fn is_requested(&self) -> bool {
        self.is_requested.load(Ordering::Acquire)
    }
}

/// A server with bound sockets.
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
    /// Binds the sockets. Clients can connect; they are served by [`run`](Self::run).
    ///
    /// # Errors
    /// A setting is out of range, or an address cannot be bound.
    pub fn bind(config: ServerConfig) -> Result<Self, ServerError> {
        let is_path = config.path.starts_with('/') && config.path.bytes().all(|byte| byte.is_ascii_graphic());
        if !is_path || config.path.contains(['?', '#']) {
            return Err(ServerError::Setting(
                "invalid path; use / followed by URI path characters, such as /stream",
            ));
        }
        if !(config.frames_per_s > 0.0 && config.frames_per_s <= 1000.0) {
            return Err(ServerError::Setting(
                "invalid frame rate; use more than 0 and at most 1000 frames per second",
            ));
        }
        if !(1..=10_000).contains(&config.max_clients) {
            return Err(ServerError::Setting("invalid number of clients; use 1 to 10000"));
        }
        if config.max_clients_per_host == 0 {
            return Err(ServerError::Setting("invalid number of clients per host; use 1 or more"));
        }
        let mut packets = PacketizerConfig::default();
        packets.max_packet_bytes = config.packet_bytes;
        let (ssrc, first) = (Ssrc(u32::from_ne_bytes(random()?)), Sequence(u16::from_ne_bytes(random()?)));
        let packetizer = Packetizer::new(packets, ssrc, first)?;
        let mut limits = Limits::default();
        limits.connections = config.max_clients + SPARE_CONNECTIONS;
        limits.input_bytes = INPUT_BYTES;
        limits.output_bytes = OUTPUT_BYTES;
        limits.flush_time = SHUTDOWN_TIMEOUT;
        limits.linger_time = SHUTDOWN_TIMEOUT;
        let mut reactor = TcpReactor::new(Backend::Epoll, limits)?;
        reactor.set_unsent_bytes(UNSENT_BYTES)?;
        reactor.set_keepalive(Some(KEEPALIVE))?;
        let listener = reactor
            .listen(config.listen, &ListenOptions::default())
            .map_err(|error| ServerError::Listen { address: config.listen, error })?;
        let address = reactor.local_address(listener);
        let mut options = SocketOptions::default();
        // Packets to the RTP port are discarded.
        options.receive_buffer_bytes = 0;
        let (rtp, rtcp) = ports::bind(SocketAddr::new(address.ip(), 0), &options)?;
        let sockets = UdpPair { rtp, rtcp };
        let stopper = Stopper { is_requested: Arc::new(AtomicBool::new(false)), waker: reactor.waker() };
        Ok(Self { config, address, reactor, sockets, stopper, packetizer, ssrc })
    }

    /// The listening address with the actual port.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// A handle that stops the server.
    pub fn stopper(&self) -> Stopper {
        self.stopper.clone()
    }

    /// Serves until the source ends or [`Stopper::stop`] is called. `on_event` is called in this thread and must not block.
    ///
    /// # Errors
    /// The source failed too often, or an operation of the system failed.
    pub fn run(
        self,
        source: Box<dyn Source>,
        mut on_event: impl FnMut(ServerEvent),
    ) -> Result<ServerStats, ServerError> {
        let feeder = Feeder::start(source, self.packetizer.clone(), self.reactor.waker())?;
        let mut sessions = SessionsConfig::default();
        sessions.path.clone_from(&self.config.path);
        sessions.max_sessions = self.config.max_clients;
        sessions.max_sessions_per_host = self.config.max_clients_per_host;
        sessions.timeout = self.config.session_timeout;
        let (rtp, rtcp) = (self.sockets.rtp.local_address(), self.sockets.rtcp.local_address());
        sessions.ports = Some((rtp.port(), rtcp.port()));
        sessions.server = concat!("netdyno-mjpeg/", env!("CARGO_PKG_VERSION")).to_owned();
        let mut network = Network::new(self, feeder, sessions, random()?);
        let result = network.run(&mut on_event);
        network.end(&mut on_event);
        result
    }
}
