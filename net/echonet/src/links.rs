//! The sockets of a controller or a device: one for each IP version, and one for the group on each interface.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6};
use std::time::Duration;

use netdyno_echonet_core::{MULTICAST_V4, MULTICAST_V6};
use netdyno_io::{DatagramOptions, DatagramSocket, Interface};

use crate::error::Error;
use crate::limits::INTERFACES_MAX;
use crate::settings::Settings;

/// Sockets that are bound and joined.
#[derive(Debug)]
pub(crate) struct Links {
    /// What is sent to an address of ours: at least one.
    pub(crate) unicast: Vec<DatagramSocket>,
    /// What is sent to all, an interface each.
    pub(crate) groups: Vec<DatagramSocket>,
    /// The interface of link-local addresses that come without one.
    scope: u32,
    port: u16,
}

impl Links {
    /// Opens them. `wait`: how long a receive waits; `None`: not at all.
    pub(crate) fn open(settings: &Settings, wait: Option<Duration>) -> Result<Self, Error> {
        let interfaces = interfaces(settings)?;
        if !settings.share_port && settings.address.is_none() {
            probe(settings)?;
        }
        let options = options(settings, wait);
        let mut links = Self { unicast: Vec::new(), groups: Vec::new(), scope: 0, port: settings.port };
        for address in unicast_addresses(settings) {
            let address = SocketAddr::new(address, settings.port);
            let socket = DatagramSocket::bind(address, &options).map_err(|error| Error::bind(address, error))?;
            links.unicast.push(socket);
        }
        for interface in &interfaces {
            for group in groups(settings) {
                let has_address = if group.is_ipv4() { interface.v4.is_some() } else { interface.v6.is_some() };
                if !has_address {
                    continue;
                }
                if group.is_ipv6() && links.scope == 0 {
                    links.scope = interface.index;
                }
                let socket = DatagramSocket::join(SocketAddr::new(group, settings.port), interface, &options)
                    .map_err(|source| Error::Join { group, interface: interface.to_string(), source })?;
                links.groups.push(socket);
            }
        }
        if links.groups.is_empty() {
            return Err(Error::no_interface(&interfaces));
        }
        Ok(links)
    }

    /// Sends to one node. A datagram that could not be sent is one that was lost.
    pub(crate) fn send(&self, node: IpAddr, datagram: &[u8]) {
        let Some(socket) = self.unicast.iter().find(|socket| socket.local_address().is_ipv4() == node.is_ipv4())
        else {
            return;
        };
        let _ = socket.send(self.destination(node), datagram);
    }

    /// Sends to all nodes, on each interface.
    pub(crate) fn send_to_all(&self, datagram: &[u8]) {
        for socket in &self.groups {
            let _ = socket.send(socket.local_address(), datagram);
        }
    }

    /// All sockets, those for unicast first.
    pub(crate) fn all(&self) -> impl Iterator<Item = &DatagramSocket> {
        self.unicast.iter().chain(&self.groups)
    }

    /// Whether the socket of this number in [`all`](Self::all) is one for the group.
    pub(crate) fn is_group(&self, number: usize) -> bool {
        number >= self.unicast.len()
    }

    /// Where a node listens: always at this port, wherever its datagrams come from.
    fn destination(&self, node: IpAddr) -> SocketAddr {
        match node {
            IpAddr::V6(v6) if v6.is_unicast_link_local() => SocketAddrV6::new(v6, self.port, 0, self.scope).into(),
            other => SocketAddr::new(other, self.port),
        }
    }
}

/// What the kernel is asked for.
pub(crate) fn options(settings: &Settings, wait: Option<Duration>) -> DatagramOptions {
    let mut options = DatagramOptions::default();
    options.receive_buffer_bytes = settings.receive_buffer_bytes;
    // The sockets of one program share the port too.
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

/// The groups to join.
pub(crate) fn groups(settings: &Settings) -> impl Iterator<Item = IpAddr> {
    let v4 = settings.family.has_v4().then_some(IpAddr::V4(MULTICAST_V4));
    v4.into_iter().chain(settings.family.has_v6().then_some(IpAddr::V6(MULTICAST_V6)))
}

/// Those that are asked for, or all that carry multicast; loopback where there is no other.
pub(crate) fn interfaces(settings: &Settings) -> Result<Vec<Interface>, Error> {
    let mut found = if settings.interfaces.is_empty() {
        let all = Interface::list()?;
        let usable = |one: &&Interface| {
            let v4 = settings.family.has_v4() && one.v4.is_some();
            one.is_multicast && !one.is_loopback && (v4 || settings.family.has_v6() && one.v6.is_some())
        };
        let real: Vec<_> = all.iter().filter(usable).cloned().collect();
        if real.is_empty() { all.into_iter().filter(|one| one.is_loopback).collect() } else { real }
    } else {
        let found: io::Result<_> = settings.interfaces.iter().map(|name| Interface::find(name)).collect();
        found.map_err(|source| match source.kind() {
            io::ErrorKind::NotFound => Error::Interface(source.to_string()),
            _ => Error::Io(source),
        })?
    };
    found.dedup_by_key(|one: &mut Interface| one.index);
    found.truncate(INTERFACES_MAX);
    Ok(found)
}

/// Whether another program has the port already: sockets that share it would not say so, and take each other's datagrams.
pub(crate) fn probe(settings: &Settings) -> Result<(), Error> {
    for address in unicast_addresses(settings) {
        let address = SocketAddr::new(address, settings.port);
        let mut options = DatagramOptions::default();
        (options.receive_buffer_bytes, options.send_buffer_bytes) = (1 << 12, 1 << 12);
        DatagramSocket::bind(address, &options).map_err(|error| Error::bind(address, error))?;
    }
    Ok(())
}
