//! The sockets of an endpoint, and datagrams that wait for them.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::Duration;

use netdyno_io::{Interface, Poller, SocketOptions, UdpSocket};
use netdyno_rtc_core::Transmit;
use slab::Slab;

use crate::limits::LOCAL_ADDRESSES;
use crate::settings::Settings;
use crate::switch::PortMember;

/// One socket.
#[derive(Debug)]
pub(crate) struct Port {
    pub(crate) socket: UdpSocket,
    /// The port for which its datagrams count: itself, or the shared port if it is connected to a single
    /// peer.
    pub(crate) stands_for: u32,
    /// Datagrams that did not fit in the socket's buffer.
    backlog: Option<(Transmit, Vec<u8>)>,
    /// Connections waiting for space.
    pub(crate) stalled: Vec<u32>,
    /// Queued to be received from.
    pub(crate) readable: bool,
    /// If it belongs to a TURN relay, the relay's index.
    pub(crate) relay: Option<u32>,
    /// Failed sends at the last check.
    errors: u64,
    /// Whether it receives mDNS messages.
    pub(crate) is_of_names: bool,
    /// The connection that owns it.
    pub(crate) owner: Option<u32>,
}

impl Port {
    /// Whether nothing can be sent until the socket is writable.
    pub(crate) fn is_blocked(&self) -> bool {
        self.backlog.is_some()
    }
}

/// All sockets; index 0 is the shared one.
#[derive(Debug)]
pub(crate) struct Ports {
    slab: Slab<Port>,
    poller: Arc<Poller>,
    options: SocketOptions,
    bound: SocketAddr,
    /// The range of ports to use, if not chosen by the kernel, and the next one to try.
    range: Option<(RangeInclusive<u16>, u16)>,
    /// A send failed for another reason than a full buffer.
    has_failed: bool,
    /// A port that must not be used.
    left_out: Option<u16>,
}

impl Ports {
    /// Binds the shared socket.
    pub(crate) fn bind(
        address: SocketAddr,
        settings: &Settings,
        poller: Arc<Poller>,
        member: Option<&PortMember>,
    ) -> io::Result<Self> {
        let options = settings.socket.clone();
        let socket = match member {
            Some(member) => member.bind(address, &options)?,
            None => UdpSocket::bind(address, &options)?,
        };
        let bound = socket.local_address();
        let range = settings.ports.clone().map(|range| (range.clone(), *range.start()));
        let mut ports =
            Self { slab: Slab::new(), poller, options, bound, range, has_failed: false, left_out: None };
        ports.add(socket, None)?;
        Ok(ports)
    }

    /// Excludes a port from now on.
    pub(crate) fn leave_out(&mut self, port: Option<u16>) {
        self.left_out = port;
    }

    /// The address of the shared socket, even if it is closed.
    pub(crate) fn bound(&self) -> SocketAddr {
        self.bound
    }

    /// Opens another socket, on a port chosen by the kernel or on the next free one in the range.
    pub(crate) fn open_own(&mut self) -> io::Result<u32> {
        let bind = |port| UdpSocket::bind(SocketAddr::new(self.bound.ip(), port), &self.options);
        let Some((range, next)) = &mut self.range else {
            let mut socket = bind(0)?;
            if Some(socket.local_address().port()) == self.left_out {
                // The first socket is still open, so that the kernel chooses another port.
                socket = bind(0)?;
            }
            return self.add(socket, None);
        };
        for _ in range.clone() {
            let port = *next;
            *next = if port == *range.end() { *range.start() } else { port + 1 };
            if Some(port) == self.left_out {
                continue;
            }
            match bind(port) {
                Err(error) if error.kind() == io::ErrorKind::AddrInUse => {}
                bound => {
                    let socket = bound?;
                    return self.add(socket, None);
                }
            }
        }
        let why = format!(
            "all UDP ports from {} to {} are in use: allow more with `ports`",
            range.start(),
            range.end()
        );
        Err(io::Error::new(io::ErrorKind::AddrInUse, why))
    }

    /// Opens a socket towards a TURN server, like `open_own`.
    ///
    /// # Errors
    ///
    /// As `open_own`, and if the endpoint is bound to an address of the other family.
    pub(crate) fn open_relay(&mut self, server: SocketAddr, relay: u32) -> io::Result<u32> {
        if !self.reaches(server) {
            return Err(io::ErrorKind::AddrNotAvailable.into());
        }
        let index = self.open_own()?;
        self.slab[index as usize].relay = Some(relay);
        Ok(index)
    }

    /// Whether the endpoint is bound to the address family of a server.
    pub(crate) fn reaches(&self, server: SocketAddr) -> bool {
        let is_dual = self.bound.is_ipv6() && self.bound.ip().is_unspecified();
        self.bound.is_ipv4() == server.is_ipv4() || is_dual
    }

    pub(crate) fn poller(&self) -> &Poller {
        &self.poller
    }

    /// Opens a socket connected to a peer, for datagrams to the shared port.
    pub(crate) fn open_for_peer(&mut self, local: SocketAddr, remote: SocketAddr) -> io::Result<u32> {
        let socket = UdpSocket::for_peer(local, remote, &self.options)?;
        self.add(socket, Some(0))
    }

    /// Adds the mDNS socket.
    pub(crate) fn add_names(&mut self, socket: UdpSocket) -> io::Result<u32> {
        let index = self.add(socket, None)?;
        self.slab[index as usize].is_of_names = true;
        Ok(index)
    }

    /// Whether a send has failed since the last call.
    pub(crate) fn take_failed(&mut self) -> bool {
        std::mem::take(&mut self.has_failed)
    }

    /// Closes all sockets.
    pub(crate) fn close(&mut self) {
        // The kernel removes a closed socket from the poller.
        self.slab.clear();
    }

    /// Something is likely to arrive within this time.
    pub(crate) fn expect_within(&self, time: Duration) {
        self.poller.spin_at_least(time);
    }

    /// Arriving datagrams may stay in the sockets for this time.
    pub(crate) fn rest_for(&self, time: Duration) {
        self.poller.sleep_at_least(time);
    }

    /// Closes a socket other than the shared one.
    pub(crate) fn close_own(&mut self, index: u32) {
        if index != 0
            && let Some(port) = self.slab.try_remove(index as usize)
        {
            // The kernel removes a closed socket from the poller.
            let _ = self.poller.remove(&port.socket);
        }
    }

    pub(crate) fn get(&self, index: u32) -> Option<&Port> {
        self.slab.get(index as usize)
    }

    pub(crate) fn get_mut(&mut self, index: u32) -> Option<&mut Port> {
        self.slab.get_mut(index as usize)
    }

    /// Sends, or keeps what does not fit; the port is then blocked.
    pub(crate) fn send(&mut self, index: u32, transmit: Transmit, datagrams: &[u8]) -> io::Result<()> {
        let Some(port) = self.slab.get_mut(index as usize) else { return Ok(()) };
        let sent = port.socket.send(transmit.local, transmit.remote, datagrams, transmit.segment_bytes);
        let errors = port.socket.send_errors();
        self.has_failed |= errors != std::mem::replace(&mut port.errors, errors);
        if sent < datagrams.len() {
            port.backlog = Some((transmit, datagrams[sent..].to_vec()));
            self.poller.set_writable(&port.socket, index, true)?;
        }
        Ok(())
    }

    /// Leaves the state of a send that did not fit.
    #[cfg(test)]
    pub(crate) fn block(&mut self, index: u32, transmit: Transmit, datagrams: Vec<u8>) {
        self.slab[index as usize].backlog = Some((transmit, datagrams));
    }

    /// Sends the backlog of a writable socket. Returns the stalled connections, unless it is blocked again.
    pub(crate) fn resume(&mut self, index: u32) -> io::Result<Vec<u32>> {
        let Some(port) = self.slab.get_mut(index as usize) else { return Ok(Vec::new()) };
        if let Some((transmit, datagrams)) = port.backlog.take() {
            self.poller.set_writable(&port.socket, index, false)?;
            self.send(index, transmit, &datagrams)?;
        }
        let port = self.slab.get_mut(index as usize).filter(|port| !port.is_blocked());
        Ok(port.map(|port| std::mem::take(&mut port.stalled)).unwrap_or_default())
    }

    fn add(&mut self, socket: UdpSocket, stands_for: Option<u32>) -> io::Result<u32> {
        let entry = self.slab.vacant_entry();
        let index = u32::try_from(entry.key()).map_err(|_| io::ErrorKind::OutOfMemory)?;
        self.poller.add(&socket, index)?;
        let stands_for = stands_for.unwrap_or(index);
        entry.insert(Port {
            socket,
            stands_for,
            backlog: None,
            stalled: Vec::new(),
            readable: false,
            relay: None,
            errors: 0,
            is_of_names: false,
            owner: None,
        });
        Ok(index)
    }
}

/// Addresses to offer as candidates for a socket bound to `bound`: those in the settings, or the bound one,
/// or the source addresses of routes to the internet, followed by all other local addresses. No datagram is
/// sent to find out.
pub(crate) fn candidate_addresses(bound: IpAddr, asked: &[IpAddr]) -> Vec<IpAddr> {
    if !asked.is_empty() {
        return asked.to_vec();
    }
    if !bound.is_unspecified() {
        return vec![bound];
    }
    // Addresses for documentation (RFC 5737, RFC 3849); any global address serves.
    let mut worlds = vec![(IpAddr::V4(Ipv4Addr::UNSPECIFIED), IpAddr::from([192, 0, 2, 1]))];
    if bound.is_ipv6() {
        let world = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1);
        worlds.push((IpAddr::V6(Ipv6Addr::UNSPECIFIED), IpAddr::V6(world)));
    }
    let mut found: Vec<_> =
        worlds.into_iter().filter_map(|(from, to)| source_towards(from, to).ok()).collect();
    for other in Interface::addresses().unwrap_or_default() {
        if found.len() < LOCAL_ADDRESSES && !found.contains(&other) && (bound.is_ipv6() || other.is_ipv4()) {
            found.push(other);
        }
    }
    if found.is_empty() { vec![IpAddr::V4(Ipv4Addr::LOCALHOST)] } else { found }
}

fn source_towards(from: IpAddr, to: IpAddr) -> io::Result<IpAddr> {
    UdpSocket::source_towards(SocketAddr::new(from, 0), SocketAddr::new(to, 9))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_backlog_is_sent_first() {
        let (poller, address) = (Arc::new(Poller::new().unwrap()), "127.0.0.1:0".parse().unwrap());
        let mut ports = Ports::bind(address, &Settings::new().unwrap(), poller.clone(), None).unwrap();
        let receiver = UdpSocket::bind(address, &SocketOptions::default()).unwrap();
        let (local, remote) = (ports.bound(), receiver.local_address());
        // The state of a send that fitted none of three datagrams.
        let transmit = Transmit { local, remote, length: 2500, segment_bytes: 1000 };
        let port = ports.get_mut(0).unwrap();
        (port.backlog, port.stalled) = (Some((transmit, vec![7; 2500])), vec![3, 5]);
        poller.set_writable(&port.socket, 0, true).unwrap();

        let (mut events, mut batch) = (netdyno_io::Events::default(), netdyno_io::ReceiveBatch::default());
        poller.wait(&mut events, None).unwrap();
        assert!(events.iter().all(|ready| ready.key == 0 && ready.writable));
        assert_eq!(ports.resume(0).unwrap(), [3, 5]);
        assert!(!ports.get(0).unwrap().is_blocked() && ports.resume(0).unwrap().is_empty());
        poller.wait(&mut events, Some(Duration::ZERO)).unwrap();
        assert!(events.is_empty(), "room is of no interest any more");
        receiver.receive(&mut batch).unwrap();
        assert_eq!(batch.iter().map(|received| received.datagrams.len()).sum::<usize>(), 2500);
    }

    #[test]
    fn candidates_are_real_addresses() {
        let (v4, v6): (IpAddr, IpAddr) = ("192.0.2.7".parse().unwrap(), "::".parse().unwrap());
        assert_eq!(candidate_addresses(v4, &[]), [v4]);
        assert_eq!(candidate_addresses(v6, &[v4]), [v4]);
        for bound in [v6, IpAddr::V4(Ipv4Addr::UNSPECIFIED)] {
            let found = candidate_addresses(bound, &[]);
            assert!(!found.is_empty() && found.iter().all(|address| !address.is_unspecified()), "{found:?}");
        }
    }
}
