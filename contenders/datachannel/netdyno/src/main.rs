//! The `datachannel` workload on netdyno-rtc: one thread, one endpoint and no lock for all connections of a role.

mod beside;
mod role;

use std::net::{IpAddr, SocketAddr};
use std::sync::mpsc::channel;
use std::time::Duration;

use netdyno_contender::datachannel::{Job, Order, Role};
use netdyno_contender::{Lab, lock_version};
use netdyno_rtc::core::sctp::Congestion;
use netdyno_rtc::{Endpoint, Settings};

use role::Connections;

/// The library's default maximum message size.
const MAX_MESSAGE_BYTES: usize = 262_144;

const ARGUMENTS: &str =
    "--max-datagram-bytes=BYTES, --setup-spin-us=US, --rehearse, --congestion=cubic, --beside-tcp=ALGORITHM";

fn main() {
    let (lab, setup, events) = Lab::connect();
    let job = Job::new(lab, &setup, MAX_MESSAGE_BYTES);
    let mut endpoint = match begin(&job, setup.peer) {
        Ok(endpoint) => endpoint,
        Err(error) => lab.failed(error),
    };
    let (orders, inbox) = channel::<Order>();
    let waker = endpoint.waker();
    job.serve(events, move |order| {
        // The send fails only if the other thread has ended and the process is about to exit.
        let _ = orders.send(order);
        let _ = waker.wake();
    });
    lab.ready("netdyno-rtc", lock_version(include_str!("../Cargo.lock"), "netdyno-rtc"), "one thread");

    let mut connections = match Connections::begin(&job, &mut endpoint) {
        Ok(connections) => connections,
        Err(error) => lab.failed(error),
    };
    let mut rest = None;
    loop {
        if let Err(error) = endpoint.poll(rest, &mut connections) {
            lab.failed(error);
        }
        for order in inbox.try_iter() {
            connections.on_order(&mut endpoint, order);
        }
        rest = connections.feed(&mut endpoint).then_some(Duration::ZERO);
    }
}

/// The library's defaults, except for the settings of the command line.
fn begin(job: &Job, peer_address: IpAddr) -> Result<Endpoint, Box<dyn std::error::Error>> {
    let mut peer = (*Settings::new()?.peer).clone();
    let (mut setup_spin, mut rehearse) = (Duration::ZERO, false);
    for argument in std::env::args().skip(1) {
        match argument.split_once('=') {
            None if argument == "--rehearse" => rehearse = true,
            Some(("--setup-spin-us", us)) => setup_spin = Duration::from_micros(us.parse()?),
            Some(("--max-datagram-bytes", bytes)) => peer.max_datagram_bytes = bytes.parse()?,
            Some(("--congestion", "cubic")) => peer.sctp.congestion = Congestion::Cubic,
            Some(("--beside-tcp", algorithm)) => match job.role {
                Role::Offerer => beside::send(peer_address, algorithm)?,
                Role::Answerer => beside::receive(job.local)?,
            },
            _ => return Err(format!("invalid argument {argument}; valid: {ARGUMENTS}").into()),
        }
    }
    let mut settings = Settings::with(peer);
    (settings.setup_spin, settings.rehearse) = (setup_spin, rehearse);
    Ok(Endpoint::bind(SocketAddr::new(job.local, 0), settings)?)
}
