//! The upper bound of the `datachannel` workload: messages sealed with AES-128-GCM over segmented UDP.
//!
//! | does | does not |
//! |---|---|
//! | carry, seal, open, check and count every message | SCTP, DTLS, ICE, SDP, DCEP: the key comes from the seed |
//! | keep its order, and what is in flight within the receiver's socket buffer | send anything again, or adapt its rate |
//!
//! One thread runs all connections of a role. It is no protocol to use: its only point is what a WebRTC stack
//! cannot do better than on the same machine.

mod answerer;
mod greeting;
mod link;
mod offerer;
mod packer;
mod wire;

use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use mio::{Events, Poll, Token, Waker};
use netdyno_contender::datachannel::{self, Job, Order};
use netdyno_contender::{Lab, lock_version};

use answerer::Answerer;
use offerer::Offerer;
use wire::Cipher;

/// Longest message of the workload.
const MAX_MESSAGE_BYTES: usize = 262_144;
/// Readiness events taken by one system call.
const MAX_EVENTS: usize = 1024;
const ORDERS: Token = Token(usize::MAX);

/// What the loop drives. An error ends the process.
trait Role {
    /// The lab wants something.
    fn on_order(&mut self, order: Order) -> Result<(), String>;
    /// Something arrived at this connection's socket since it was last empty.
    fn on_readable(&mut self, connection: usize) -> Result<(), String>;
    /// Does a bounded amount of work; true if there is more to do at once.
    fn work(&mut self) -> Result<bool, String>;
}

fn main() {
    let (lab, setup, events) = Lab::connect();
    let job = Job::new(lab, &setup, MAX_MESSAGE_BYTES);
    let run = || -> Result<(), String> {
        let poll = Poll::new().map_err(|error| error.to_string())?;
        let waker = Waker::new(poll.registry(), ORDERS).map_err(|error| error.to_string())?;
        let registry = poll.registry().try_clone().map_err(|error| error.to_string())?;
        let cipher = Cipher::new(setup.seed)?;
        let (queue, orders) = channel();
        job.serve(events, move |order| {
            // Either fails only when the loop below has ended, and the process with it.
            let _ = queue.send(order).is_ok() && waker.wake().is_ok();
        });
        lab.ready(
            "ceiling",
            lock_version(include_str!("../Cargo.lock"), "netdyno-datachannel-ceiling"),
            "mio",
        );
        match job.role {
            datachannel::Role::Offerer => {
                drive(poll, &orders, Offerer::new(job.clone(), cipher, setup.peer, &registry)?)
            }
            datachannel::Role::Answerer => {
                drive(poll, &orders, Answerer::new(job.clone(), cipher, setup.peer, registry))
            }
        }
    };
    if let Err(reason) = run() {
        lab.failed(reason);
    }
}

/// Runs until the process exits, or something failed.
fn drive(mut poll: Poll, orders: &Receiver<Order>, mut role: impl Role) -> Result<(), String> {
    let mut events = Events::with_capacity(MAX_EVENTS);
    let mut busy = false;
    loop {
        match poll.poll(&mut events, busy.then_some(Duration::ZERO)) {
            Err(error) if error.kind() != std::io::ErrorKind::Interrupted => return Err(error.to_string()),
            _ => {}
        }
        for event in &events {
            match event.token() {
                ORDERS => orders.try_iter().try_for_each(|order| role.on_order(order))?,
                Token(connection) => role.on_readable(connection)?,
            }
        }
        busy = role.work()?;
    }
}
