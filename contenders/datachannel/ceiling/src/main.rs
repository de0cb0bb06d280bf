//! The upper bound of the `datachannel` workload: messages sealed with AES-128-GCM over segmented UDP.
//!
//! | does | does not |
//! |---|---|
//! | send, encrypt, decrypt, check and count every message | SCTP, DTLS, ICE, SDP, DCEP: the key is derived from the seed |
//! | preserve order, and bound data in flight by the receiver's socket buffer | retransmit, or adapt its rate |
//!
//! One thread runs all connections of a role. The protocol is not meant for use: it only provides an upper bound for WebRTC
//! stacks on the same machine.

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

/// Maximum length of a message in the workload.
const MAX_MESSAGE_BYTES: usize = 262_144;
/// Maximum number of readiness events per poll.
const MAX_EVENTS: usize = 1024;
const ORDERS: Token = Token(usize::MAX);

/// A role, which the event loop drives. An error ends the process.
trait Role {
    /// Handles an order of the lab.
    fn on_order(&mut self, order: Order) -> Result<(), String>;
    /// Handles the readiness of a connection's socket (edge-triggered).
    fn on_readable(&mut self, connection: usize) -> Result<(), String>;
    /// Does a bounded amount of work. Returns true if more work is pending.
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
            // These fail only if the loop below has ended and the process is about to exit.
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

/// Runs until the process exits or an error occurs.
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
