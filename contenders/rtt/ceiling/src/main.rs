//! The upper bound of the `rtt` workload: the minimal implementation of the contract.
//!
//! | does | does not |
//! |---|---|
//! | poll its sockets and the clock on one thread | sleep, regardless of `pacing` |
//! | one system call to receive a message, one to send it | batch, or use io_uring |
//! | run the background tasks on the same thread | create threads or tasks for them |

mod ping;
mod poller;
mod pong;
mod tasks;
mod wire;

use std::io;
use std::net::{TcpStream, UdpSocket};

use netdyno_contender::lock_version;
use netdyno_contender::rtt::{self, Role, Transport};

fn main() {
    let role = rtt::connect();
    let job = role.job();
    let version = lock_version(include_str!("../Cargo.lock"), "netdyno-rtt-ceiling");
    job.lab.ready("ceiling", version, "polling");
    if let Err(error) = run(role) {
        job.lab.failed(error);
    }
}

/// Returns only with an error.
fn run(role: &'static Role) -> io::Result<()> {
    match (role, role.job().transport) {
        (Role::Ping(ping), Transport::Udp) => ping::run::<UdpSocket>(ping),
        (Role::Ping(ping), Transport::Tcp) => ping::run::<TcpStream>(ping),
        (Role::Pong(pong), Transport::Udp) => pong::over_udp(pong),
        (Role::Pong(pong), Transport::Tcp) => pong::over_tcp(pong),
    }
}
