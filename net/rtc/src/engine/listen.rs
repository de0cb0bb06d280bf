//! The TCP port of an endpoint (ICE over TCP, RFC 6544).

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use super::ports::Ports;
use crate::error::Error;
use crate::streams::Streams;

/// Listens at this port of the address that the sockets have. Gives the port that it got.
pub(super) fn listen(streams: &mut Streams, ports: &Ports, port: u16) -> Result<u16, Error> {
    let bound = ports.bound();
    let at = |ip, port| SocketAddr::new(ip, port);
    let mut listen =
        |address| streams.listen(ports.poller(), address).map_err(|source| Error::listen(address, source));
    if port == bound.port() {
        // Which of the two a datagram came by is known by the port.
        return Err(Error::listen(at(bound.ip(), port), io::ErrorKind::AddrInUse.into()));
    }
    let mut taken = listen(at(bound.ip(), port))?.port();
    if taken == bound.port() {
        // It is kept, so that the system gives another.
        taken = listen(at(bound.ip(), port))?.port();
    }
    if bound.is_ipv6() && bound.ip().is_unspecified() {
        listen(at(IpAddr::V4(Ipv4Addr::UNSPECIFIED), taken))?;
    }
    Ok(taken)
}
