//! The books of a role of the `rtt` workload, so that an adapter holds its runtime's calls and little else.
//!
//! | does | does not |
//! |---|---|
//! | read the parameters, answer the lab, count, fill the histograms | open a socket |
//! | say what a lane sends and when, and judge what comes back ([`Lane`]) | choose a runtime, a task or a timer |
//! | run a lane over the adapter's socket and timer ([`drive`], [`drive_blocking`]) | run pong's loop: that is the adapter |
//!
//! The lab is answered on the thread that reads stdin, whatever the runtime is busy with, and `stop` ends the process
//! there. All that an adapter itself tells the lab is `ready`, `unsupported` and `failed`.

mod drive_async;
mod drive_blocking;
mod inbox;
mod job;
mod lane;
mod ping;
mod pong;
mod schedule;
mod threads;
mod work;

use std::io;
use std::io::ErrorKind::{BrokenPipe, ConnectionReset, UnexpectedEof};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use crate::{Event, Lab, Setup, now_ns};

pub use drive_async::{Timer, Wire, background, drive, work};
pub use drive_blocking::{BlockingTimer, BlockingWire, background_blocking, drive_blocking, work_blocking};
pub use inbox::{Inbox, Ticks, ring};
pub use job::{Job, Pacing, Transport};
pub use lane::Lane;
pub use ping::Ping;
pub use pong::{Echo, Pong};
pub use threads::{Threads, background_threads, spawn_thread};
pub use work::Work;

/// How long a wire of UDP waits for a message before it says that there is none, so that a lost request is noticed.
pub const TICK: Duration = Duration::from_millis(100);
/// Pause of a background task after each of its computations.
pub const WORK_PAUSE: Duration = Duration::from_millis(1);
/// How often a lane looks whether the phase, or the turn, that it waits for has come.
pub const PHASE_POLL: Duration = Duration::from_millis(1);
/// The longest datagram there can be: room for whatever comes.
pub const MAX_DATAGRAM_BYTES: usize = 65_535;

/// The role of this process.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "there is one, in a static")]
pub enum Role {
    /// Sends requests and takes the echoes.
    Ping(Ping),
    /// Sends each message back.
    Pong(Pong),
}

/// Reads the setup and serves the lab from then on. Once a process, and first in `main`. Another workload or an unknown
/// role is `unsupported`.
pub fn connect() -> &'static Role {
    // The lab is served until the process ends, and so long lives what it asks about.
    static ROLE: OnceLock<Role> = OnceLock::new();
    let (lab, setup) = Lab::connect_with(|event| ROLE.wait().handle(event));
    ROLE.get_or_init(|| Role::new(lab, &setup))
}

impl Role {
    fn new(lab: Lab, setup: &Setup) -> Self {
        if setup.workload != "rtt" {
            lab.unsupported(format!("the workload `{}`", setup.workload));
        }
        match setup.role.as_str() {
            "ping" => Self::Ping(Ping::new(lab, setup)),
            "pong" => Self::Pong(Pong::new(lab, setup)),
            other => lab.unsupported(format!("the role `{other}`")),
        }
    }

    /// What both roles know.
    pub fn job(&'static self) -> &'static Job {
        match self {
            Self::Ping(ping) => &ping.job,
            Self::Pong(pong) => &pong.job,
        }
    }

    fn handle(&'static self, event: Event) {
        match self {
            Self::Ping(ping) => ping.handle(event),
            Self::Pong(pong) => pong.handle(event),
        }
    }
}

/// The moment `at_ns` of `CLOCK_MONOTONIC` as the standard library's, for timers that take an absolute one.
pub fn instant(at_ns: u64) -> Instant {
    // The standard library reads the same clock but does not say so: both are read once, one right after the other.
    static ORIGIN: OnceLock<(u64, Instant)> = OnceLock::new();
    let (origin_ns, origin) = *ORIGIN.get_or_init(|| (now_ns(), Instant::now()));
    origin + Duration::from_nanos(at_ns.saturating_sub(origin_ns))
}

/// How an echo loop over TCP ends: that the other role closed the connection is no error. Ping is stopped first, so that
/// pong may see it.
pub fn until_hang_up(ended: io::Result<()>) -> io::Result<()> {
    match ended {
        Err(error) if matches!(error.kind(), UnexpectedEof | ConnectionReset | BrokenPipe) => Ok(()),
        other => other,
    }
}
