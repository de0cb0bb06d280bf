//! Socket pairs with adjacent ports for RTP and RTCP (RFC 3550 section 11).

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use netdyno_io::{DatagramOptions, DatagramSocket, Interface, SocketOptions, UdpSocket};

use crate::error::OpenError;
use crate::limits::PORT_ATTEMPTS;

/// The unspecified address of the same IP version.
pub(crate) fn any(like: IpAddr) -> IpAddr {
    match like {
        IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    }
}

/// The interface for a multicast group: the configured one, or the one selected by the routing table.
pub(crate) fn interface_towards(group: SocketAddr, named: Option<&Interface>) -> io::Result<Interface> {
    match named {
        Some(interface) => Ok(interface.clone()),
        None => {
            let any = SocketAddr::new(any(group.ip()), 0);
            Interface::find(&UdpSocket::source_towards(any, group)?.to_string())
        }
    }
}

/// Binds sockets for unicast. Port 0 selects a free even port whose successor is free.
pub(crate) fn bind(
    address: SocketAddr,
    options: &SocketOptions,
) -> Result<(UdpSocket, DatagramSocket), OpenError> {
    let failed = |error| OpenError::Bind { address, error };
    for _ in 0..PORT_ATTEMPTS {
        let rtp = bind_one(address, options)?;
        let local = rtp.local_address();
        if address.port() == 0 && local.port() % 2 == 1 {
            continue;
        }
        match DatagramSocket::bind(after(local), &control_options()) {
            Ok(rtcp) => return Ok((rtp, rtcp)),
            Err(error) if address.port() == 0 && error.kind() == io::ErrorKind::AddrInUse => {}
            Err(error) => return Err(failed(error)),
        }
    }
    Err(failed(io::ErrorKind::AddrInUse.into()))
}

/// Binds a socket for RTP only.
pub(crate) fn bind_one(address: SocketAddr, options: &SocketOptions) -> Result<UdpSocket, OpenError> {
    UdpSocket::bind(address, options).map_err(|error| OpenError::Bind { address, error })
}

/// Binds sockets to a multicast group.
pub(crate) fn join(
    group: SocketAddr,
    interface: Option<&Interface>,
    options: &SocketOptions,
) -> Result<(UdpSocket, DatagramSocket), OpenError> {
    let failed = |error| OpenError::Group { group, error };
    let interface = interface_towards(group, interface).map_err(failed)?;
    // Several programs may receive from the group.
    let mut options = options.clone();
    options.reuse_address = true;
    let rtp = UdpSocket::bind(group, &options).map_err(failed)?;
    rtp.join(group.ip(), Some(&interface)).map_err(failed)?;
    let mut options = control_options();
    options.reuse_address = true;
    let rtcp = DatagramSocket::join(after(rtp.local_address()), &interface, &options).map_err(failed)?;
    Ok((rtp, rtcp))
}

/// The RTCP address for an RTP address.
pub(crate) fn after(rtp: SocketAddr) -> SocketAddr {
    SocketAddr::new(rtp.ip(), rtp.port().wrapping_add(1).max(1))
}

/// Options of the RTCP socket: default buffers, because reports are few and short.
fn control_options() -> DatagramOptions {
    let mut options = DatagramOptions::default();
    (options.receive_buffer_bytes, options.send_buffer_bytes) = (0, 0);
    options
}
