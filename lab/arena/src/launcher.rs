//! Starts this program's hidden verbs.

use std::fmt::Debug;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

/// A hidden verb of this program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verb {
    /// Starts, meters and relays one contender.
    Agent,
    /// Keeps the private network of an arena.
    Holder,
}

impl Verb {
    /// As it stands on the command line.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::Holder => "holder",
        }
    }
}

/// A way to run this same binary somewhere.
///
/// The command that it answers is started with stdin and stdout piped; both must be the verb's own, byte for byte, and
/// the verb's stdin must end when the lab's end of it does. `ssh host netdyno agent` is of this shape.
pub trait Launcher: Debug + Send + Sync {
    /// The command that runs `netdyno <verb>` there.
    fn command(&self, verb: Verb) -> Command;

    /// Whether what it starts runs on this host, so that the lab can clean up after an agent that was killed.
    fn is_local(&self) -> bool;
}

/// Runs the binary on this host.
#[derive(Debug, Clone)]
pub struct LocalLauncher {
    executable: PathBuf,
}

impl LocalLauncher {
    /// Runs this executable instead of our own; for tests, whose own executable has no verbs.
    #[must_use]
    pub fn with_executable(executable: impl Into<PathBuf>) -> Self {
        Self { executable: executable.into() }
    }
}

impl Default for LocalLauncher {
    /// Our own executable, even if its file has been replaced since we started.
    fn default() -> Self {
        Self::with_executable("/proc/self/exe")
    }
}

impl Launcher for LocalLauncher {
    fn command(&self, verb: Verb) -> Command {
        let mut command = Command::new(&self.executable);
        // In a process group of its own: Ctrl-C on the terminal reaches the lab alone, which then ends things in order.
        command.arg0("netdyno").arg(verb.as_str()).process_group(0);
        command
    }

    fn is_local(&self) -> bool {
        true
    }
}
