//! State and counters of an `rtt` role. An adapter adds little more than the calls of its runtime.
//!
//! | does | does not |
//! |---|---|
//! | read the parameters, answer the lab, count, fill the histograms | open a socket |
//! | decide what a lane sends and when, and classify echoes ([`Lane`]) | choose a runtime, a task or a timer |
//! | run a lane over the adapter's socket and timer ([`drive`], [`drive_blocking`]) | run pong's loop, which the adapter provides |
//!
//! The thread that reads stdin answers the lab, independently of the runtime, and ends the process on `stop`. An adapter
//! itself sends only `ready`, `unsupported` and `failed`.

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

/// The longest time that a UDP wire waits for a message before it returns none, so that losses are detected.
pub const TICK: Duration = Duration::from_millis(100);
/// Pause of a background task after each computation.
pub const WORK_PAUSE: Duration = Duration::from_millis(1);
/// The interval at which a lane polls for the start of its phase.
pub const PHASE_POLL: Duration = Duration::from_millis(1);
/// The maximum length of a datagram.
pub const MAX_DATAGRAM_BYTES: usize = 65_535;

/// The role of this process.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "there is one, in a static")]
pub enum Role {
    /// Sends requests and receives the echoes.
    Ping(Ping),
    /// Returns each message.
    Pong(Pong),
}

/// Reads the setup and starts serving the lab. Call it once, at the start of `main`. Another workload or an unknown role
/// is `unsupported`.
pub fn connect() -> &'static Role {
    // The lab is served until the process ends, so the role must have a static lifetime.
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

    /// The parameters of both roles.
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

/// Converts the time `at_ns` of `CLOCK_MONOTONIC` for timers with absolute deadlines.
pub fn instant(at_ns: u64) -> Instant {
    // The standard library uses the same clock but does not document it, so both are read once to get the offset.
    static ORIGIN: OnceLock<(u64, Instant)> = OnceLock::new();
    let (origin_ns, origin) = *ORIGIN.get_or_init(|| (now_ns(), Instant::now()));
    origin + Duration::from_nanos(at_ns.saturating_sub(origin_ns))
}

/// Converts the end of an echo loop over TCP: a connection that the peer closed is not an error. The lab stops ping
/// first, so pong may observe the close.
pub fn until_hang_up(ended: io::Result<()>) -> io::Result<()> {
    match ended {
        Err(error) if matches!(error.kind(), UnexpectedEof | ConnectionReset | BrokenPipe) => Ok(()),
        other => other,
    }
}
