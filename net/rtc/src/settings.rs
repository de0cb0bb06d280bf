//! Settings of an endpoint.

use std::net::IpAddr;
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use netdyno_io::SocketOptions;
use netdyno_rtc_core::{Certificate, Config};

use crate::error::Error;
use crate::servers::IceServer;

/// Settings of an endpoint. [`Settings::new`] suits most applications.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Settings {
    /// The configuration of every connection.
    pub peer: Arc<Config>,
    /// Local addresses to offer as candidates. If the endpoint is bound to one address, only that one is
    /// allowed. Empty (the default): the bound address or, if that is unspecified, up to 16 addresses of
    /// interfaces that are up, without loopback and link-local ones. They are looked up every 10 s and after
    /// a failed send. Put an address that a NAT shows to the outside in `public_addresses` instead.
    pub addresses: Vec<IpAddr>,
    /// Public addresses of this machine behind a NAT that forwards each port to the same local port (1:1 NAT
    /// in a cloud, or port forwarding). The first address of a family stands for all local addresses of that
    /// family. They are offered in addition, as server-reflexive candidates (as host candidates with ICE
    /// lite).
    pub public_addresses: Vec<IpAddr>,
    /// STUN and TURN servers, at most 8 (W3C iceServers). They are queried as long as the endpoint is bound.
    /// Their answers become candidates of all connections; connections that already have a description are
    /// told by [`Event::Candidate`](crate::Event::Candidate).
    pub ice_servers: Vec<IceServer>,
    /// Certificates (PEM) of the authorities trusted for TURN servers with TLS (`turns:`). `None`: those that
    /// the system trusts.
    pub server_roots: Option<String>,
    /// Uses TURN relays only, so that the peer does not learn any address of this machine (W3C
    /// iceTransportPolicy `relay`).
    pub relay_only: bool,
    /// Whether to resolve mDNS names in a peer's candidates, behind which browsers hide their addresses, on
    /// the local links (those of the bound address, if it is specified). Default: true, because a peer on the
    /// same link may be reachable in no other way. Only UUIDs below "local" are queried. Has no effect with ICE lite or `relay_only`.
    pub resolve_names: bool,
    /// Whether local addresses are replaced by random mDNS names in descriptions and candidates, as browsers
    /// do. Peers on the same link can resolve them. Public and relayed addresses are still disclosed.
    /// Default: false.
    pub hide_addresses: bool,
    /// Checks per second that all connections of the endpoint together send to addresses which have not
    /// answered yet. It prevents a peer that makes offers from flooding a third party. Default: 1,000, about
    /// 1 Mbit/s; 0 counts as 1. ICE retries suppressed checks after 0.5 s or later. Replies to a peer's own
    /// checks are not counted.
    pub stranger_checks_per_s: u32,
    /// How many of these checks may be sent in one burst. Default: 4,000; 0 counts as 1. A connection that
    /// has sent many leaves up to half of the burst to others.
    pub stranger_checks_at_once: u32,
    /// The ports for [`Port::Own`](crate::Port::Own) and TURN over UDP, for a firewall that admits only
    /// those. `None`: chosen by the kernel. The endpoint's own port is the one it is bound to.
    pub ports: Option<RangeInclusive<u16>>,
    /// A TCP port on which peers may connect (ICE over TCP, RFC 6544, passive candidates), for browsers
    /// behind firewalls that block UDP; 0: chosen by the kernel. UDP is preferred where it works;
    /// `public_addresses` apply too. It must differ from the endpoint's UDP port. Several reactors use this
    /// port and those that follow. `None` (the default): no TCP. Linux only.
    pub tcp_port: Option<u16>,
    /// Socket buffers.
    pub socket: SocketOptions,
    /// How long to poll for datagrams before sleeping. It saves the time to wake a thread (5 to 50 us) and
    /// occupies a core. Has no effect on the Tokio interface on Linux, where the runtime waits.
    pub spin: Duration,
    /// How long to poll for the next datagram of a connection that is being set up, if its peer has answered
    /// the previous one within that time; at most for the first 12 batches. It avoids sleeping in each of the
    /// half dozen round trips of a set-up on a fast network, and occupies a core meanwhile. Zero: never (the
    /// default).
    pub setup_spin: Duration,
    /// How long to leave datagrams in the socket while they arrive fast, one by one, and only
    /// acknowledgements are sent. Several are then received at once, with fewer wake-ups. At most a quarter
    /// of a round trip. Zero: never. Has no effect on the Tokio interface on Linux.
    pub receive_rest: Duration,
    /// How many threads (tasks with Tokio) drive an endpoint of the blocking or Tokio interface, or a
    /// [`Reactors`](crate::Reactors); 0: one for each CPU that this process may use. Each has its own UDP
    /// port, the bound one and those that follow, or all share one (`one_port`). A new connection goes to the
    /// reactor with the fewest connections and stays there. Has no effect on an
    /// [`Endpoint`](crate::Endpoint).
    pub reactors: usize,
    /// Whether several reactors share one UDP port, so that a firewall needs to admit only one. The kernel
    /// distributes datagrams by a secret hash; a reactor hands over what belongs to another (see
    /// `steering_sockets`). Between one port of a peer and this endpoint there can then be only one
    /// connection, not one for each reactor. Default: false, because separate ports have none of these costs.
    /// Linux only; has no effect elsewhere.
    pub one_port: bool,
    /// With `one_port`: how many sockets all reactors together may use to make the kernel deliver a peer's
    /// datagrams to the right reactor. A connection gets one after a few hand-overs, while any are left. Each
    /// costs a file descriptor and about 3 KB in the kernel. Datagrams of other connections are copied and
    /// passed to another thread.
    pub steering_sockets: usize,
    /// Whether the first endpoint of a process connects two peers in memory when it is bound. That takes
    /// about a millisecond and makes the first real connection faster. Default: false.
    pub rehearse: bool,
    /// Maximum number of connections of each reactor.
    pub max_connections: usize,
    /// Buffers of 64 KiB that one receive call may fill, 1 to 32. Up to 32 datagrams that the kernel does not
    /// coalesce are received in any case.
    pub receive_buffers: usize,
    /// Sends of up to 64 datagrams in one turn, over all connections, before the socket is read again.
    pub sends_per_turn: usize,
    /// Datagrams that a connection may send before the next connection's turn, 1 to 64.
    pub segments_per_send: usize,
}

impl Settings {
    /// Rejects an expired certificate, as W3C's RTCPeerConnection constructor does, although no peer checks
    /// the date.
    pub(crate) fn check_certificate(&self) -> Result<(), Error> {
        let expires = self.peer.certificate.expires();
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        match now.checked_sub(expires) {
            None => Ok(()),
            Some(since) => {
                let days = since.as_secs() / (24 * 3600);
                let why = format!("it expired {days} days ago: use a newer one, or Certificate::generate");
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
            setup_spin: Duration::ZERO,
            receive_rest: Duration::from_micros(50),
            reactors: 1,
            one_port: false,
            steering_sockets: 512,
            rehearse: false,
            max_connections: 65_536,
            receive_buffers: 4,
            sends_per_turn: 16,
            segments_per_send: netdyno_io::MAX_SEGMENTS,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Applications pay for a faster setup only if they ask for it.
    #[test]
    fn by_default_no_cpu_time_is_spent_on_a_faster_setup() {
        let settings = Settings::new().unwrap();
        let polls = (settings.spin, settings.setup_spin);
        assert_eq!((polls, settings.rehearse), ((Duration::ZERO, Duration::ZERO), false));
    }
}
