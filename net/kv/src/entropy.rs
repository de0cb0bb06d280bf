//! Secrets from the operating system's generator.

use std::io;

use netdyno_kv_core::Entropy;
use rustix::io::Errno;
use rustix::rand::{GetRandomFlags, getrandom};

/// The operating system's generator.
///
/// # Errors
///
/// The kernel has none.
pub(crate) fn system() -> io::Result<Entropy> {
    number()?;
    Ok(Entropy::new(fill))
}

/// A random number.
pub(crate) fn number() -> io::Result<u64> {
    let mut bytes = [0; 8];
    try_fill(&mut bytes)?;
    Ok(u64::from_le_bytes(bytes))
}

fn fill(bytes: &mut [u8]) {
    #[expect(clippy::expect_used, reason = "without it secrets would be predictable")]
    try_fill(bytes).expect("getrandom succeeds after it has succeeded once, at startup");
}

fn try_fill(bytes: &mut [u8]) -> io::Result<()> {
    let mut filled = 0;
    while filled < bytes.len() {
        match getrandom(&mut bytes[filled..], GetRandomFlags::empty()) {
            Ok(count) => filled += count,
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}
