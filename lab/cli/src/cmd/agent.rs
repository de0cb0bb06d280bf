//! `netdyno agent`: starts, meters and relays one contender.

use std::process::ExitCode;

/// Runs until its stdin ends.
#[must_use]
pub fn run() -> ExitCode {
    match netdyno_lab_arena::run_agent() {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("netdyno agent: {e}");
            ExitCode::FAILURE
        }
    }
}
