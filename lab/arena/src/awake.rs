//! Keeps idle CPUs awake, to exclude wake-up latency.

use std::fs::{File, OpenOptions};
use std::io::Write;

use super::ArenaError;

/// The kernel's interface for latency requests. A request is valid while the file is open.
const LATENCY_FILE: &str = "/dev/cpu_dma_latency";

/// The driver of the CPU idle states.
const DRIVER_FILE: &str = "/sys/devices/system/cpu/cpuidle/current_driver";

/// While this value exists, idle CPUs poll for work instead of entering an idle state.
#[derive(Debug)]
pub struct Awake {
    _request: File,
}

impl Awake {
    /// Requests a wake-up latency of 0 us on all CPUs. In a virtual machine whose kernel has the polling state, idle
    /// CPUs then also do not exit to the hypervisor.
    pub fn hold() -> Result<Awake, ArenaError> {
        let invalid = |rule: String| ArenaError::Invalid { field: "--awake", rule };
        let refused = |e: std::io::Error| {
            invalid(format!("{LATENCY_FILE}: {e}; it needs root and a kernel with CPU idle states"))
        };
        // Without a driver, the request would have no effect.
        let driver = std::fs::read_to_string(DRIVER_FILE).unwrap_or_default();
        if ["", "none"].contains(&driver.trim()) {
            return Err(invalid(format!(
                "no driver of CPU idle states here ({DRIVER_FILE}): nothing to keep from"
            )));
        }
        let mut file = OpenOptions::new().write(true).open(LATENCY_FILE).map_err(refused)?;
        // In us, 32 bits, native byte order (the kernel's pm_qos_interface).
        file.write_all(&0i32.to_ne_bytes()).map_err(refused)?;
        Ok(Awake { _request: file })
    }
}
