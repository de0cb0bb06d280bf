//! What a user of an endpoint may set.

use std::net::IpAddr;
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use netdyno_io::SocketOptions;
use netdyno_rtc_core::{Certificate, Config};

use crate::error::Error;
use crate::servers::IceServer;

/// Settings of an endpoint. [`Settings::new`] is right for most.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Settings {
    /// Of every connection.
    pub peer: Arc<Config>,
    /// Addresses of this machine to offer as candidates; of an endpoint that is bound to one address, that one only. Empty: the
    /// one that the endpoint is bound to or, if that is all addresses, all of interfaces that are up, as they come and go (looked at every
    /// 10 s, and when a datagram cannot be sent), but no loopback and no link-local ones; 16 at the most. The
    /// address that a NAT shows to the world is none of them, but one of `public_addresses`: ICE knows no datagram that was sent there.
    pub addresses: Vec<IpAddr>,
    /// Addresses at which the world sees those of `addresses`, where a NAT leads each port there to the same one here (1:1, as of machines
    /// in a cloud, or by port forwarding). The first of a family stands for all addresses of that family. They are offered beside
    /// those, as server-reflexive candidates (by ICE lite, as host candidates).
    pub public_addresses: Vec<IpAddr>,
    /// Servers that help to find a way through NATs, at the most 8 (W3C iceServers). Each is asked as soon as the endpoint is
    /// bound, for as long as it is; what it says becomes candidates of all connections, told by [`Event::Candidate`](crate::Event::Candidate)
    /// to those that have described themselves already.
    pub ice_servers: Vec<IceServer>,
    /// Certificates in PEM of the authorities that may have signed those of TURN servers which are spoken to by TLS (`turns:`). None: whom
    /// the system trusts.
    pub server_roots: Option<String>,
    /// Takes no way but by a TURN server, so that the peer learns no address of this machine (W3C iceTransportPolicy `relay`).
    pub relay_only: bool,
    /// Whether names of multicast DNS in a peer's candidates, behind which browsers hide their addresses, are asked for on the links of this machine (those of
    /// the address that the endpoint is bound to, if it is one). True by default: a peer on the same link may be found by that alone. Not by ICE
    /// lite, and not with `relay_only`.
    pub resolve_names: bool,
    /// Whether the addresses of this machine stand in descriptions and candidates as names of multicast DNS, as browsers do it: random ones, a
    /// name for each address, which peers on the same link find out. False by default. Public addresses and those at TURN servers are told all the same.
    pub hide_addresses: bool,
    /// Checks a second, on and on, that all connections of the endpoint together send to addresses which have not answered any, so that whoever makes
    /// it offers cannot have it flood an address that is another's. 1,000 by default, which is 1 Mbit/s; 0 is taken as 1. What is beyond is
    /// not sent, and tried again by ICE after half a second and more. An answer to a check of the peer's own, one for one, is not counted: a peer that reaches
    /// us is never held up.
    pub stranger_checks_per_s: u32,
    /// So many of them may go out at once, after a time with fewer: 4,000 by default, 0 is taken as 1. A connection that has made many leaves up to half of that to others.
    pub stranger_checks_at_once: u32,
    /// The ports that [`Port::Own`](crate::Port::Own) and TURN by UDP take, for a firewall that lets only those through. None: the kernel
    /// chooses. The port of the endpoint itself is the one that it is bound to.
    pub ports: Option<RangeInclusive<u16>>,
    /// A TCP port at which peers may connect (ICE over TCP, RFC 6544, passive candidates), for browsers behind firewalls that let no UDP through; 0:
    /// whichever the kernel gives. It is offered beside UDP, which is preferred where it gets through; `public_addresses` hold for it too. Not the number of
    /// the endpoint's UDP port. Of several reactors each has its own: this one and those behind it. None: no TCP, as at first. Linux only.
    pub tcp_port: Option<u16>,
    /// Buffers of the sockets.
    pub socket: SocketOptions,
    /// How long to look for datagrams before going to sleep. Saves the time to wake a thread (5 to 50 us), costs a
    /// core. The Tokio face does not spin where a task drives it (Linux): its runtime does the waiting.
    pub spin: Duration,
    /// How long to look for the next datagram of a connection that is being set up, whose peer has answered the one before in that time; as
    /// `spin` for the first dozen. A set-up within one machine or one room takes half a dozen waits, and each would put a core to sleep
    /// that takes as long to wake as the datagram does to come. Zero: never.
    pub setup_spin: Duration,
    /// How long to leave datagrams where they are while they come fast, one by one, and nothing of ours goes out but acknowledgements: several are
    /// taken at once then, and whoever sends need not wake us for each. A quarter of a round trip at the most. Zero: never. Not on the
    /// Tokio face of Linux.
    pub receive_rest: Duration,
    /// How many threads (tasks, on the Tokio face) drive an endpoint of the blocking or the Tokio face, or a
    /// [`Reactors`](crate::Reactors); 0: one for each CPU that this process may use. Each has a UDP port of its own: with a port asked
    /// for, that one and those behind it; or all have one (`one_port`). A new connection goes where there are fewest, and stays there. An
    /// [`Endpoint`](crate::Endpoint) is one by itself.
    pub reactors: usize,
    /// Whether several reactors have one UDP port together, so that a firewall has to let through no more. The kernel deals out what comes by
    /// a secret of its own, so that it comes to the wrong reactor first, which hands it over (`steering_sockets`). And between one port of a peer and
    /// this endpoint there can be one connection then, not one to each reactor. Off by default: a port each costs nothing
    /// of that. Linux only; elsewhere each has a port of its own all the same.
    pub one_port: bool,
    /// With `one_port`: sockets, of all reactors together, that have the kernel bring what a peer sends to the right reactor. A connection gets one
    /// after a few hand-overs, as long as there are any left; what it costs is a file descriptor and some 3 KB in the kernel. For all others
    /// each batch that comes goes by way of another thread, which takes a copy and may have to wake one (5 to 50 us).
    pub steering_sockets: usize,
    /// Whether the first endpoint of a process connects two of its kind in memory before anything else, which takes about a millisecond,
    /// and takes more than half of one from the first connection.
    pub rehearse: bool,
    /// Connections at a time, of each reactor.
    pub max_connections: usize,
    /// 64 KiB buffers that one receive call may fill, 1 to 32. Of datagrams that the kernel does not put together it takes up to 32 in any case.
    pub receive_buffers: usize,
    /// Sends of up to 64 datagrams in one turn, of all connections together, before the socket is read again.
    pub sends_per_turn: usize,
    /// Datagrams that a connection may send before it is another one's turn, 1 to 64.
    pub segments_per_send: usize,
}

impl Settings {
    /// Who brings a certificate that has expired is told so (W3C RTCPeerConnection's constructor), though no peer looks at it.
    pub(crate) fn check_certificate(&self) -> Result<(), Error> {
        let expires = self.peer.certificate.expires();
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        match now.checked_sub(expires) {
            None => Ok(()),
            Some(since) => {
                let days = since.as_secs() / (24 * 3600);
                let why = format!("it expired {days} days ago: take a newer one, or Certificate::generate");
                Err(netdyno_rtc_core::Error::Certificate(why).into())
            }
        }
    }

    /// The defaults, with a new certificate.
    pub fn new() -> Result<Self, Error> {
        Ok(Self::with(Config::new(Arc::new(Certificate::generate()?))))
    }

    /// The defaults, with this configuration for every connection.
    pub fn with(peer: Config) -> Self {
        Self {
            peer: Arc::new(peer),
            addresses: Vec::new(),
            public_addresses: Vec::new(),
            ice_servers: Vec::new(),
            server_roots: None,
            relay_only: false,
            resolve_names: true,
            hide_addresses: false,
            stranger_checks_per_s: 1000,
            stranger_checks_at_once: 4000,
            ports: None,
            tcp_port: None,
            socket: SocketOptions::default(),
            spin: Duration::ZERO,
            setup_spin: Duration::from_micros(400),
            receive_rest: Duration::from_micros(50),
            reactors: 1,
            one_port: false,
            steering_sockets: 512,
            rehearse: true,
            max_connections: 65_536,
            receive_buffers: 4,
            sends_per_turn: 16,
            segments_per_send: netdyno_io::MAX_SEGMENTS,
        }
    }
}
