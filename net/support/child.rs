//! Processes that end with the test that started them.

use std::ffi::OsStr;
use std::process::Command;

/// A command whose process is killed when the thread that starts it ends, even if the test itself is killed.
pub(crate) fn ending_with_test(program: impl AsRef<OsStr>) -> Command {
    // A program of util-linux, which unshare(1) also belongs to. It executes the program, so the process ID stays the same.
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "KILL"]).arg(program);
    command
}
