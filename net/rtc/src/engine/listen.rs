//! The TCP port of an endpoint (ICE over TCP, RFC 6544).

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use super::ports::Ports;
use crate::error::Error;
use crate::streams::Streams;

/// Listens on this port at the address of the UDP socket. Returns the port in use.
pub(super) fn listen(streams: &mut Streams, ports: &Ports, port: u16) -> Result<u16, Error> {
    let bound = ports.bound();
    let at = |ip, port| SocketAddr::new(ip, port);
    let mut listen =
        |address| streams.listen(ports.poller(), address).map_err(|source| Error::listen(address, source));
    if port == bound.port() {
        // The port tells whether a datagram came over TCP or UDP, so the two must differ.
        return Err(Error::listen(at(bound.ip(), port), io::ErrorKind::AddrInUse.into()));
    }
    let mut taken = listen(at(bound.ip(), port))?.port();
    if taken == bound.port() {
        // The first listener stays open, so that the system chooses another port.
        taken = listen(at(bound.ip(), port))?.port();
    }
    if bound.is_ipv6() && bound.ip().is_unspecified() {
        listen(at(IpAddr::V4(Ipv4Addr::UNSPECIFIED), taken))?;
    }
    Ok(taken)
}
