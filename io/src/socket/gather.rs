//! One system call for datagrams whose bytes lie in two places each.

use std::io::{self, IoSlice};
use std::net::SocketAddr;

/// Bytes of a datagram.
pub(super) fn length(parts: &[&[u8]; 2]) -> usize {
    parts[0].len() + parts[1].len()
}

/// Sends at most [`MAX_SEGMENTS`](super::MAX_SEGMENTS) datagrams, by UDP_SEGMENT if there are several.
#[cfg(target_os = "linux")]
pub(super) fn send(
    socket: &std::net::UdpSocket,
    destination: SocketAddr,
    datagrams: &[[&[u8]; 2]],
    segment_bytes: usize,
) -> io::Result<()> {
    use std::os::fd::AsRawFd;

    use nix::sys::socket::{ControlMessage, MsgFlags, SockaddrStorage, sendmsg};

    // On the stack: the number of parts is known to be at most that.
    let mut parts = datagrams.as_flattened().iter();
    let slices: [IoSlice<'_>; 2 * super::MAX_SEGMENTS] =
        std::array::from_fn(|_| IoSlice::new(parts.next().copied().unwrap_or_default()));
    let count = slices.len().min(2 * datagrams.len());
    // Longer than a datagram can be: the length does not matter, the system refuses it.
    let segment = u16::try_from(segment_bytes).unwrap_or(u16::MAX);
    let segments = [ControlMessage::UdpGsoSegments(&segment)];
    let control = if datagrams.len() > 1 { &segments[..] } else { &[] };
    let to = SockaddrStorage::from(destination);
    sendmsg(socket.as_raw_fd(), &slices[..count], control, MsgFlags::empty(), Some(&to))?;
    Ok(())
}

/// The same where there is no UDP_SEGMENT: one datagram, copied together.
#[cfg(not(target_os = "linux"))]
pub(super) fn send(
    socket: &std::net::UdpSocket,
    destination: SocketAddr,
    datagrams: &[[&[u8]; 2]],
    _segment_bytes: usize,
) -> io::Result<()> {
    datagrams.iter().try_for_each(|parts| socket.send_to(&parts.concat(), destination).map(|_| ()))
}
