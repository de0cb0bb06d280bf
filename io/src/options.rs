//! Socket options that both kinds of UDP socket set.

use std::io;
use std::net::SocketAddr;

use socket2::Socket;

/// Receives only multicast that this socket joined, and no IPv4 on an IPv6 socket. Call it before binding.
pub(crate) fn restrict_to_unicast(socket: &Socket, address: SocketAddr) -> io::Result<()> {
    if address.is_ipv6() {
        socket.set_only_v6(true)?;
        #[cfg(target_os = "linux")]
        socket.set_multicast_all_v6(false)?;
    } else {
        #[cfg(target_os = "linux")]
        socket.set_multicast_all_v4(false)?;
    }
    Ok(())
}

/// Sets the largest size up to `bytes` that the system grants. Some systems refuse sizes above their limit;
/// Linux clamps them. 0 sets none.
pub(crate) fn set_largest_size(bytes: usize, set: impl Fn(usize) -> io::Result<()>) -> io::Result<()> {
    let mut bytes = bytes;
    if bytes == 0 {
        return Ok(());
    }
    loop {
        match set(bytes) {
            Err(_) if bytes > 1 << 16 => bytes /= 2,
            done => return done,
        }
    }
}
