//! The sockets of a controller or a device: one for each IP version, and one for each multicast group and
//! interface.

use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use netdyno_echonet_core::{
    Destination, MESSAGE_BYTES_MAX, MULTICAST_V4, MULTICAST_V6, NodeAddress, PORT, Source, SourceLimit,
};
use netdyno_io::{DatagramBatch, DatagramOptions, DatagramSocket, Interface, Poller, SendBatch};

use crate::error::Error;
use crate::limits::{BACKLOG_DATAGRAMS, BATCHES_PER_TURN, INTERFACES_MAX, SLACK, WAIT};
use crate::on_link::OnLink;
use crate::settings::Settings;

/// Bound sockets that have joined their groups.
#[derive(Debug)]
pub(crate) struct Links {
    /// Sockets for unicast messages; at least one.
    pub(crate) unicast: Vec<DatagramSocket>,
    /// Sockets for multicast messages, one for each interface.
    pub(crate) groups: Vec<DatagramSocket>,
    /// The interface of link-local addresses without a scope.
    scope: u32,
    own: Vec<NodeAddress>,
    /// Whether multicast messages are sent from the unicast socket, because there is a single IPv6 address.
    /// With a single IPv4 address, the multicast sockets have it too.
    from_unicast: bool,
    arrivals: Mutex<Arrivals>,
}

/// State about the sources of datagrams.
#[derive(Debug)]
struct Arrivals {
    on_link: OnLink,
    limit: SourceLimit,
}

impl Arrivals {
    /// Without a limit of the rate.
    fn new(settings: &Settings) -> Mutex<Self> {
        Mutex::new(Self { on_link: OnLink::new(settings), limit: SourceLimit::new(0, 1) })
    }
}

impl Links {
    /// Opens the sockets. `wait`: how long a receive call blocks; `None`: not at all.
    pub(crate) fn open(settings: &Settings, wait: Option<Duration>) -> Result<Self, Error> {
        let interfaces = interfaces(settings)?;
        if !settings.share_port && settings.address.is_none() {
            probe(settings)?;
        }
        let options = options(settings, wait);
        let mut unicast = Vec::new();
        for address in unicast_addresses(settings) {
            let address = SocketAddr::new(address, PORT);
            let socket =
                DatagramSocket::bind(address, &options).map_err(|error| Error::bind(address, error))?;
            if let (Some(_), Some(first)) = (settings.address, interfaces.first()) {
                socket.set_multicast_interface(first, &options)?;
            }
            unicast.push(socket);
        }
        let groups = join(settings, &interfaces, &options)?;
        let own = match settings.address {
            Some(address) => vec![address.into()],
            None => interfaces.iter().flat_map(own_addresses).collect(),
        };
        let has_v6 = interfaces.iter().find(|interface| interface.v6.is_some());
        let scope = has_v6.map_or(0, |interface| interface.index);
        let from_unicast = settings.address.is_some_and(|address| address.is_ipv6());
        Ok(Self { unicast, groups, scope, own, from_unicast, arrivals: Arrivals::new(settings) })
    }

    /// Limits the datagrams of each source, as a device does.
    pub(crate) fn limit_sources(&self, per_s: u32) {
        self.lock_arrivals().limit = SourceLimit::new(per_s, 1);
    }

    fn lock_arrivals(&self) -> MutexGuard<'_, Arrivals> {
        self.arrivals.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Without sockets.
    #[cfg(test)]
    pub(crate) fn none() -> Self {
        let (unicast, groups, own) = (Vec::new(), Vec::new(), Vec::new());
        let arrivals = Arrivals::new(&Settings::default());
        Self { unicast, groups, scope: 0, own, from_unicast: false, arrivals }
    }

    /// A poller for the multicast sockets, each keyed by its number; unicast sockets are usually read
    /// directly.
    pub(crate) fn poller(&self) -> io::Result<Poller> {
        let poller = Poller::new()?;
        (0..).zip(self.all()).skip(self.unicast.len()).try_for_each(|(key, one)| poller.add(one, key))?;
        Ok(poller)
    }

    /// Sends a datagram; a multicast one on each interface.
    ///
    /// # Errors
    ///
    /// The system cannot send it, for a lasting reason. Temporary failures are treated as packet loss.
    pub(crate) fn send(&self, to: Destination, datagram: &[u8]) -> io::Result<()> {
        let result = match to {
            Destination::Multicast => {
                let send = |group: &DatagramSocket| {
                    let from = if self.from_unicast { &self.unicast[0] } else { group };
                    from.send(group.local_address(), datagram)
                };
                self.groups.iter().map(send).fold(Ok(()), io::Result::and)
            }
            Destination::Node(node) => {
                let to = self.destination(node);
                self.socket_to(to).ok_or(ErrorKind::Unsupported)?.send(to, datagram)
            }
            // Not a datagram.
            Destination::Connection(_) => Ok(()),
        };
        unless_passing(result)
    }

    /// Adds a reply to a batch, or sends it.
    pub(crate) fn gather(&self, answers: &mut SendBatch, to: Destination, datagram: &[u8]) -> io::Result<()> {
        let Destination::Node(node) = to else { return self.send(to, datagram) };
        if answers.is_full() {
            return self.send(to, datagram);
        }
        answers.push(self.destination(node), datagram);
        Ok(())
    }

    /// Sends the replies to the datagrams of one socket, which are all of one IP version. `unsent` is called
    /// for the errors that [`send`](Self::send) would return.
    pub(crate) fn send_gathered(
        &self,
        answers: &mut SendBatch,
        mut unsent: impl FnMut(Destination, ErrorKind),
    ) {
        let report = |remote: SocketAddr, error| {
            if let Err(error) = unless_passing(Err(error)) {
                unsent(Destination::Node(remote.into()), error.kind());
            }
        };
        match answers.first().and_then(|to| self.socket_to(to)) {
            Some(socket) => socket.send_batch(answers, report),
            None => answers.clear(),
        }
    }

    fn socket_to(&self, to: SocketAddr) -> Option<&DatagramSocket> {
        self.unicast.iter().find(|socket| socket.local_address().is_ipv4() == to.is_ipv4())
    }

    /// Waits for unicast datagrams, at most for `left`: one system call if the time is long and there is a
    /// single socket, or if datagrams are pending. Returns the number of the socket that received them.
    pub(crate) fn wait(&self, batch: &mut DatagramBatch, left: Duration) -> io::Result<Option<usize>> {
        if self.unicast.len() == 1 && left + SLACK >= WAIT {
            return Ok((self.unicast[0].receive_batch(batch)? > 0).then_some(0));
        }
        for (number, socket) in self.unicast.iter().enumerate() {
            if socket.receive_batch_now(batch)? > 0 {
                return Ok(Some(number));
            }
        }
        let Some(number) = DatagramSocket::wait_any(&self.unicast, left)? else { return Ok(None) };
        Ok((self.unicast[number].receive_batch_now(batch)? > 0).then_some(number))
    }

    /// Receives the pending datagrams of the socket with this number, within the limit for one turn.
    /// Persistent errors are returned again.
    pub(crate) fn drain(
        &self,
        number: usize,
        batch: &mut DatagramBatch,
        mut take: impl FnMut(&DatagramBatch),
    ) {
        let Some(socket) = self.all().nth(number) else { return };
        for _ in 0..BATCHES_PER_TURN {
            if !socket.receive_batch_now(batch).is_ok_and(|taken| taken > 0) {
                break;
            }
            take(batch);
            if !batch.is_full() {
                break;
            }
        }
    }

    /// The datagrams received by the socket with this number, their sources, and whether to handle them.
    pub(crate) fn sources<'a>(
        &self,
        now: Instant,
        number: usize,
        batch: &'a DatagramBatch,
    ) -> impl Iterator<Item = (&'a [u8], Source, bool)> {
        let multicast = number >= self.unicast.len();
        let has_backlog = batch.len() >= BACKLOG_DATAGRAMS;
        let mut arrivals = self.lock_arrivals();
        batch.iter().map(move |(datagram, sender)| {
            let source = Source::unicast(sender);
            let is_off_link = arrivals.on_link.is_beyond(source.address);
            let source = Source { multicast, is_off_link, ..source };
            (datagram, source, arrivals.limit.admits(now, source, has_backlog))
        })
    }

    /// The source addresses of our own datagrams, which are looped back to us.
    pub(crate) fn own_addresses(&self) -> Vec<NodeAddress> {
        self.own.clone()
    }

    /// All sockets, the unicast ones first.
    pub(crate) fn all(&self) -> impl Iterator<Item = &DatagramSocket> {
        self.unicast.iter().chain(&self.groups)
    }

    /// The socket address of a node. A link-local address without a scope is on the first interface.
    pub(crate) fn destination(&self, node: NodeAddress) -> SocketAddr {
        match node.ip {
            IpAddr::V6(v6) if node.scope_id == 0 && v6.is_unicast_link_local() => {
                NodeAddress { scope_id: self.scope, ..node }.socket_address()
            }
            _ => node.socket_address(),
        }
    }
}

/// The result of sending; temporary failures are treated as packet loss.
pub(crate) fn unless_passing(result: io::Result<()>) -> io::Result<()> {
    result.or_else(|error| match error.kind() {
        ErrorKind::WouldBlock | ErrorKind::OutOfMemory | ErrorKind::Interrupted => Ok(()),
        _ => Err(error),
    })
}

/// A buffer for a message.
pub(crate) fn buffer() -> Box<[u8]> {
    vec![0; MESSAGE_BYTES_MAX].into_boxed_slice()
}

fn own_addresses(interface: &Interface) -> impl Iterator<Item = NodeAddress> {
    let v6 = interface.v6.map(|ip| {
        let scope_id = if ip.is_unicast_link_local() { interface.index } else { 0 };
        NodeAddress { ip: ip.into(), scope_id }
    });
    interface.v4.map(|ip| NodeAddress::from(IpAddr::V4(ip))).into_iter().chain(v6)
}

/// The socket options.
pub(crate) fn options(settings: &Settings, wait: Option<Duration>) -> DatagramOptions {
    let mut options = DatagramOptions::default();
    options.receive_buffer_bytes = settings.receive_buffer_bytes;
    // The sockets of one program also share the port.
    options.reuse_address = true;
    options.multicast_loop = settings.multicast_loop;
    options.wait = wait;
    options
}

/// The addresses that unicast sockets are bound to.
pub(crate) fn unicast_addresses(settings: &Settings) -> Vec<IpAddr> {
    match settings.address {
        Some(address) => vec![address],
        None => {
            let v4 = settings.family.has_v4().then_some(IpAddr::V4(Ipv4Addr::UNSPECIFIED));
            let v6 = settings.family.has_v6().then_some(IpAddr::V6(Ipv6Addr::UNSPECIFIED));
            v4.into_iter().chain(v6).collect()
        }
    }
}

/// Whether an interface has an address of this IP version.
pub(crate) fn supports(interface: &Interface, is_v4: bool) -> bool {
    if is_v4 { interface.v4.is_some() } else { interface.v6.is_some() }
}

/// Opens a socket for each group on each interface with an address of its IP version. With a single address,
/// IPv4 multicasts are sent from that address.
pub(crate) fn join(
    settings: &Settings,
    interfaces: &[Interface],
    options: &DatagramOptions,
) -> Result<Vec<DatagramSocket>, Error> {
    let mut sockets = Vec::new();
    for interface in interfaces {
        let mut from = interface.clone();
        if let Some(IpAddr::V4(own)) = settings.address {
            from.v4 = Some(own);
        }
        for group in groups(settings).filter(|group| supports(interface, group.is_ipv4())) {
            let socket = DatagramSocket::join(SocketAddr::new(group, PORT), &from, options)
                .map_err(|source| Error::Join { group, interface: interface.to_string(), source })?;
            sockets.push(socket);
        }
    }
    if sockets.is_empty() { Err(Error::no_interface(interfaces)) } else { Ok(sockets) }
}

/// The groups to join.
fn groups(settings: &Settings) -> impl Iterator<Item = IpAddr> {
    let has = |is_v4: bool| match settings.address {
        Some(address) => address.is_ipv4() == is_v4,
        None => {
            if is_v4 {
                settings.family.has_v4()
            } else {
                settings.family.has_v6()
            }
        }
    };
    let v4 = has(true).then_some(IpAddr::V4(MULTICAST_V4));
    v4.into_iter().chain(has(false).then_some(IpAddr::V6(MULTICAST_V6)))
}

/// The selected interfaces, or all that support multicast; loopback if there is no other.
pub(crate) fn interfaces(settings: &Settings) -> Result<Vec<Interface>, Error> {
    let mut selected = if settings.interfaces.is_empty() {
        let all = Interface::list()?;
        let usable = |one: &&Interface| {
            let v4 = settings.family.has_v4() && one.v4.is_some();
            one.is_multicast && !one.is_loopback && (v4 || settings.family.has_v6() && one.v6.is_some())
        };
        let real: Vec<_> = all.iter().filter(usable).cloned().collect();
        if real.is_empty() { all.into_iter().filter(|one| one.is_loopback).collect() } else { real }
    } else {
        let named: io::Result<_> = settings.interfaces.iter().map(|name| Interface::find(name)).collect();
        named.map_err(|source| match source.kind() {
            io::ErrorKind::NotFound => Error::Interface(source.to_string()),
            _ => Error::Io(source),
        })?
    };
    selected.dedup_by_key(|one: &mut Interface| one.index);
    selected.truncate(INTERFACES_MAX);
    Ok(selected)
}

/// Fails if another program uses the port. Sockets that share it would not report that, and would take each
/// other's datagrams.
pub(crate) fn probe(settings: &Settings) -> Result<(), Error> {
    unicast_addresses(settings).into_iter().try_for_each(|address| probe_at(SocketAddr::new(address, PORT)))
}

/// Checks that an address is assigned to this machine: datagrams sent from another one would be lost without
/// an error.
pub(crate) fn probe_own(address: IpAddr) -> Result<(), Error> {
    match probe_at(SocketAddr::new(address, 0)) {
        // A link-local address can only be bound with its interface.
        Err(Error::Bind { source, .. }) if source.kind() != io::ErrorKind::AddrNotAvailable => Ok(()),
        result => result,
    }
}

fn probe_at(address: SocketAddr) -> Result<(), Error> {
    let mut options = DatagramOptions::default();
    (options.receive_buffer_bytes, options.send_buffer_bytes) = (1 << 12, 1 << 12);
    DatagramSocket::bind(address, &options).map(drop).map_err(|error| Error::bind(address, error))
}
