//! `netdyno holder`: holds a private network.

use std::process::ExitCode;

/// Runs until its stdin ends.
#[must_use]
pub fn run() -> ExitCode {
    match netdyno_lab_arena::run_holder() {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("netdyno holder: {e}");
            ExitCode::FAILURE
        }
    }
}
