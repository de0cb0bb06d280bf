//! The contender protocol of Netdyno (`contenders/PROTOCOL.md`) for programs written in Rust.
//!
//! | does | does not |
//! |---|---|
//! | read the lab's lines and print the answers ([`Lab`]) | open a socket or choose a runtime |
//! | generate, check and count the payload ([`payload`]) | depend on a measured library |
//! | state and counters of a `datachannel` role ([`datachannel`]; one task per connection with the feature `tokio`) | change how a library is used |
//! | state and counters of an `rtt` role, and loops that drive its lanes (feature `rtt`) | |
//! | counters of an `echonet` role, and checks of the values read (feature `echonet`) | |
//! | verification of a `kv` server, and I/O of many connections (features `kv` and `kv-io`) | |
//! | iteration over the clip of the `mjpeg` workload, and counters of its receiver (feature `mjpeg`) | |
//!
//! ```no_run
//! use netdyno_contender::{Event, Lab};
//!
//! let (lab, setup, events) = Lab::connect();
//! if setup.role != "server" {
//!     lab.unsupported("only the role `server`");
//! }
//! lab.ready("example", "1.0.0", "std");
//! for event in events {
//!     match event {
//!         Event::Mark { id } => lab.counters(id, &[("messages", 0)]),
//!         Event::Stop => return lab.result(&[("messages", 0)]),
//!         Event::Signal { .. } | Event::Start(_) => {}
//!     }
//! }
//! ```

#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod datachannel;
#[cfg(feature = "echonet")]
pub mod echonet;
#[cfg(any(feature = "echonet", feature = "kv", feature = "mjpeg", feature = "rtt"))]
mod histograms;
#[cfg(feature = "kv")]
pub mod kv;
mod lab;
#[cfg(feature = "mjpeg")]
pub mod mjpeg;
pub mod payload;
#[cfg(feature = "rtt")]
pub mod rtt;
mod tally;
#[cfg(feature = "tokio")]
pub mod tokio;

#[cfg(any(feature = "echonet", feature = "kv", feature = "mjpeg", feature = "rtt"))]
pub use histograms::Histograms;
pub use lab::{Event, Lab, Params, Phase, Setup};
pub use payload::{Digest, HEADER_BYTES, Receiver, fill, write_header};
pub use tally::{Counters, Gate, SetupTimes};

/// The time of `CLOCK_MONOTONIC` in nanoseconds. All processes of a host share this clock.
pub fn now_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid timespec for the call to write to; CLOCK_MONOTONIC cannot fail on Linux.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Ends the process at once with `_exit`: `exit` would run a C library's clean-up while its threads still use its state.
/// Nothing is lost, because each line is flushed when it is written.
pub fn end(code: i32) -> ! {
    // SAFETY: _exit takes no pointer and does not return.
    unsafe { libc::_exit(code) }
}

/// Returns the version of `package` in `lock_file` (the text of a `Cargo.lock`), or "unknown" if it is not listed.
///
/// Pass `include_str!("../Cargo.lock")`, so that the reported version is the one that was built.
pub fn lock_version<'a>(lock_file: &'a str, package: &str) -> &'a str {
    let name = format!("name = \"{package}\"");
    let mut lines = lock_file.lines();
    lines
        .find(|line| *line == name)
        .and_then(|_| lines.next())
        .and_then(|line| line.strip_prefix("version = \"")?.strip_suffix('"'))
        .unwrap_or("unknown")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lock_version_reads_the_named_package_only() {
        let lock = "[[package]]\nname = \"webrtc-util\"\nversion = \"0.1.0\"\n\n\
                    [[package]]\nname = \"webrtc\"\nversion = \"0.21.1\"\n";
        assert_eq!(lock_version(lock, "webrtc"), "0.21.1");
        assert_eq!(lock_version(lock, "rtc"), "unknown");
    }

    #[test]
    fn the_clock_does_not_run_backwards() {
        let before = now_ns();
        assert!(now_ns() >= before);
    }
}
