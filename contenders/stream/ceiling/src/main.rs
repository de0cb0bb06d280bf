//! The upper bound of the `stream` workload: the minimal implementation of the contract.
//!
//! | does | does not |
//! |---|---|
//! | send and receive many messages with each system call | use io_uring, or zero-copy sends |
//! | write each header in place; check each message in place | copy a message in user space |
//! | segment and coalesce UDP datagrams in the kernel (GSO, GRO) | limit its rate to what the receiver can take |

mod tcp;
mod udp;

use netdyno_contender::lock_version;
use netdyno_contender_stream::{self as stream, Role, Transport};

fn main() {
    let role = stream::connect();
    let job = role.job();
    job.lab.ready(
        "ceiling",
        lock_version(include_str!("../Cargo.lock"), "netdyno-stream-ceiling"),
        "threads",
    );
    let started = match (role, job.transport) {
        (Role::Sender(sender), Transport::Tcp) => tcp::send(sender),
        (Role::Sender(sender), Transport::Udp) => udp::send(sender),
        (Role::Receiver(receiver), Transport::Tcp) => tcp::receive(receiver),
        (Role::Receiver(receiver), Transport::Udp) => udp::receive(receiver),
    };
    started.unwrap_or_else(|error| job.lab.failed(error));
    stream::wait_for_stop();
}
