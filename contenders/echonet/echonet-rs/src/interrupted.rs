//! A receive that was interrupted is asked for again.
//!
//! The lab freezes roles in turns, which interrupts a call that has a time limit. The library takes any error but a time-out as the end of its
//! receiving: as published it would not live to see its second turn. Nothing else interrupts it, and nothing else is changed.

use std::ffi::{c_int, c_void};
use std::io;

use libc::{SYS_recvfrom, sockaddr, socklen_t, ssize_t};

/// In the place of the C library's, of which it is the system call.
///
/// # Safety
/// As of `recvfrom(2)`.
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
        // SAFETY: the caller's promises are those of the call that it is handed on to, word for word.
        let got = unsafe { libc::syscall(SYS_recvfrom, fd, buffer, length, flags, address, address_length) };
        if got >= 0 || io::Error::last_os_error().kind() != io::ErrorKind::Interrupted {
            return got as ssize_t;
        }
    }
}
