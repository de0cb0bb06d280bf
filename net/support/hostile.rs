//! Parts of all tests with abusive peers.

use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

/// Sets a flag that ends the abusers and their victims, also when an assertion fails.
pub(crate) struct StopOnDrop<'a>(pub(crate) &'a AtomicBool);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Limits the address space of a process. Exceeding it fails the allocation, and with it the process.
pub(crate) fn limit_address_space(process: u32, bytes: u64) {
    let (process, limit) = (format!("--pid={process}"), format!("--as={bytes}"));
    // A program of util-linux, which unshare(1) also belongs to.
    assert!(Command::new("prlimit").args([process, limit]).status().unwrap().success());
}

/// A field of /proc/PID/status: `VmHWM` is the peak of the resident memory, `VmRSS` its current value, and `RssAnon` the
/// private part of that.
pub(crate) fn memory_bytes(process: u32, field: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
    let kib = line.expect("the process is alive").trim().trim_end_matches(" kB");
    kib.parse::<u64>().unwrap() << 10
}
