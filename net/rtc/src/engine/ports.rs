//! The sockets of an endpoint, and what waits for room in one.

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
    /// What comes here came for this one: itself, or the shared one if the socket is one for a single peer.
    pub(crate) stands_for: u32,
    /// Datagrams that did not fit into the socket's buffer.
    backlog: Option<(Transmit, Vec<u8>)>,
    /// Connections that wait for that.
    pub(crate) stalled: Vec<u32>,
    /// Queued to be received from.
    pub(crate) readable: bool,
    /// What comes here comes from a TURN server, for the relay with this number.
    pub(crate) relay: Option<u32>,
    /// Sends that had failed when it was looked at last.
    errors: u64,
    /// What comes here is of multicast DNS.
    pub(crate) is_of_names: bool,
    /// The connection that has it for itself.
    pub(crate) owner: Option<u32>,
}

impl Port {
    /// Whether nothing can be sent until the socket is writable.
    pub(crate) fn is_blocked(&self) -> bool {
        self.backlog.is_some()
    }
}

/// All sockets; index 0 is the one that connections share.
#[derive(Debug)]
pub(crate) struct Ports {
    slab: Slab<Port>,
    poller: Arc<Poller>,
    options: SocketOptions,
    bound: SocketAddr,
    /// Those to take, if not whichever the kernel gives, and the one to begin with.
    range: Option<(RangeInclusive<u16>, u16)>,
    /// Something could not be sent, for another reason than a full buffer.
    has_failed: bool,
    /// One that none is to have.
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

    /// No socket is to have this number from now on.
    pub(crate) fn leave_out(&mut self, port: Option<u16>) {
        self.left_out = port;
    }

    /// Where the socket is, or was, that connections share.
    pub(crate) fn bound(&self) -> SocketAddr {
        self.bound
    }

    /// Opens one more, beside the shared one, on a port that the kernel chooses, or the next in the range that is free.
    pub(crate) fn open_own(&mut self) -> io::Result<u32> {
        let bind = |port| UdpSocket::bind(SocketAddr::new(self.bound.ip(), port), &self.options);
        let Some((range, next)) = &mut self.range else {
            let mut socket = bind(0)?;
            if Some(socket.local_address().port()) == self.left_out {
                // It is open until there is another, so that the kernel gives that.
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
            "all UDP ports from {} to {} are in use: allow more by `ports`",
            range.start(),
            range.end()
        );
        Err(io::Error::new(io::ErrorKind::AddrInUse, why))
    }

    /// Opens one towards a TURN server, as the one before.
    ///
    /// # Errors
    ///
    /// The same, and where the endpoint is bound to an address of the other family.
    pub(crate) fn open_relay(&mut self, server: SocketAddr, relay: u32) -> io::Result<u32> {
        if !self.reaches(server) {
            return Err(io::ErrorKind::AddrNotAvailable.into());
        }
        let index = self.open_own()?;
        self.slab[index as usize].relay = Some(relay);
        Ok(index)
    }

    /// Whether a server's address is of a family that we are bound to.
    pub(crate) fn reaches(&self, server: SocketAddr) -> bool {
        let is_dual = self.bound.is_ipv6() && self.bound.ip().is_unspecified();
        self.bound.is_ipv4() == server.is_ipv4() || is_dual
    }

    pub(crate) fn poller(&self) -> &Poller {
        &self.poller
    }

    /// Opens one for what a peer sends to the shared one.
    pub(crate) fn open_for_peer(&mut self, local: SocketAddr, remote: SocketAddr) -> io::Result<u32> {
        let socket = UdpSocket::for_peer(local, remote, &self.options)?;
        self.add(socket, Some(0))
    }

    /// Takes one for multicast DNS.
    pub(crate) fn add_names(&mut self, socket: UdpSocket) -> io::Result<u32> {
        let index = self.add(socket, None)?;
        self.slab[index as usize].is_of_names = true;
        Ok(index)
    }

    /// Whether something could not be sent since this was asked last.
    pub(crate) fn take_failed(&mut self) -> bool {
        std::mem::take(&mut self.has_failed)
    }

    /// Closes all.
    pub(crate) fn close(&mut self) {
        // The kernel forgets a closed socket by itself.
        self.slab.clear();
    }

    /// Something is likely to come within so long.
    pub(crate) fn expect_within(&self, time: Duration) {
        self.poller.spin_at_least(time);
    }

    /// What comes may be left in the sockets for so long.
    pub(crate) fn rest_for(&self, time: Duration) {
        self.poller.sleep_at_least(time);
    }

    /// Closes one that a connection has for itself.
    pub(crate) fn close_own(&mut self, index: u32) {
        if index != 0
            && let Some(port) = self.slab.try_remove(index as usize)
        {
            // The kernel forgets a closed socket by itself.
            let _ = self.poller.remove(&port.socket);
        }
    }

    pub(crate) fn get(&self, index: u32) -> Option<&Port> {
        self.slab.get(index as usize)
    }

    pub(crate) fn get_mut(&mut self, index: u32) -> Option<&mut Port> {
        self.slab.get_mut(index as usize)
    }

    /// Sends, or keeps what there is no room for; then the port is blocked.
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

    /// As a send would leave it that found no room.
    #[cfg(test)]
    pub(crate) fn block(&mut self, index: u32, transmit: Transmit, datagrams: Vec<u8>) {
        self.slab[index as usize].backlog = Some((transmit, datagrams));
    }

    /// There is room again: sends what waited. Gives the connections that were held up, unless it blocked again.
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

/// Addresses to offer as candidates for a socket bound to `bound`: the ones asked for, or its own, or those that
/// this machine would use to reach the world, and behind them all others that it has. No datagram is sent to find out.
pub(crate) fn candidate_addresses(bound: IpAddr, asked: &[IpAddr]) -> Vec<IpAddr> {
    if !asked.is_empty() {
        return asked.to_vec();
    }
    if !bound.is_unspecified() {
        return vec![bound];
    }
    // Addresses for documentation (RFC 5737, RFC 3849): any that leads out will do.
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
    fn what_found_no_room_goes_first_once_there_is() {
        let (poller, address) = (Arc::new(Poller::new().unwrap()), "127.0.0.1:0".parse().unwrap());
        let mut ports = Ports::bind(address, &Settings::new().unwrap(), poller.clone(), None).unwrap();
        let receiver = UdpSocket::bind(address, &SocketOptions::default()).unwrap();
        let (local, remote) = (ports.bound(), receiver.local_address());
        // As a send would leave it that found room for none of three datagrams.
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
