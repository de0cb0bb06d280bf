//! The `rtt` workload on mio: one thread with one `Poll` for all sockets of a role. mio has no tasks and no timers: background
//! tasks are threads, and waiting until a request is due uses the timeout of `Poll`.

mod link;
mod ping;
mod pong;

use std::io;

use mio::Poll;
use netdyno_contender::lock_version;
use netdyno_contender::rtt::{self, Role, Transport};

/// Maximum number of events per poll, as in the library's examples.
const EVENTS: usize = 1024;

fn main() {
    let role = rtt::connect();
    let job = role.job();
    rtt::background_threads(job);
    job.lab.ready("mio", lock_version(include_str!("../Cargo.lock"), "mio"), "mio");
    if let Err(error) = run(role) {
        job.lab.failed(error);
    }
}

/// Returns only with an error.
fn run(role: &'static Role) -> io::Result<()> {
    let poll = Poll::new()?;
    match (role, role.job().transport) {
        (Role::Ping(ping), Transport::Udp) => ping::over_udp(ping, poll),
        (Role::Ping(ping), Transport::Tcp) => ping::over_tcp(ping, poll),
        (Role::Pong(pong), Transport::Udp) => pong::over_udp(pong, poll),
        (Role::Pong(pong), Transport::Tcp) => pong::over_tcp(pong, poll),
    }
}
