//! Repeats interrupted receives.
//!
//! The lab freezes roles alternately, which interrupts calls with a timeout. The library stops receiving on any error except a timeout, so it
//! would not survive the first freeze. This is the only change of its behaviour.

use std::ffi::{c_int, c_void};
use std::io;

use libc::{SYS_recvfrom, sockaddr, socklen_t, ssize_t};

/// Replaces the function of the C library with its system call.
///
/// # Safety
/// The requirements are those of `recvfrom(2)`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn recvfrom(
    fd: c_int,
    buffer: *mut c_void,
    length: usize,
    flags: c_int,
    address: *mut sockaddr,
    address_length: *mut socklen_t,
) -> ssize_t {
    loop {
        // SAFETY: the requirements of the system call are those of this function.
        let got = unsafe { libc::syscall(SYS_recvfrom, fd, buffer, length, flags, address, address_length) };
        if got >= 0 || io::Error::last_os_error().kind() != io::ErrorKind::Interrupted {
            return got as ssize_t;
        }
    }
}
