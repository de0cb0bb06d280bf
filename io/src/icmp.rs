//! Errors that concern a datagram sent earlier.

use std::io;

use rustix::io::Errno;

/// Whether the error is an ICMP message about an earlier datagram. The kernel reports it once, on the next call,
/// and it says nothing about later datagrams (RFC 1122 section 4.1.3.3). Linux lists its conversions in
/// `icmp_err_convert` and `icmpv6_err_convert`.
pub(crate) fn is_about_earlier(error: &io::Error) -> bool {
    match Errno::from_io_error(error) {
        #[cfg(target_os = "linux")]
        Some(Errno::NONET) => true,
        Some(
            Errno::CONNREFUSED
            | Errno::CONNRESET
            | Errno::HOSTUNREACH
            | Errno::NETUNREACH
            | Errno::HOSTDOWN
            | Errno::NETDOWN
            | Errno::MSGSIZE
            | Errno::NOPROTOOPT
            | Errno::OPNOTSUPP
            | Errno::PROTO
            | Errno::ACCESS,
        ) => true,
        _ => false,
    }
}
