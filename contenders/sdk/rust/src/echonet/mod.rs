//! State and counters of an `echonet` role. An adapter adds little more than the calls of its library.
//!
//! | does | does not |
//! |---|---|
//! | read the parameters, answer the lab, count, fill the histogram | open a socket, or encode or parse a frame |
//! | decide which read is next, and check the answers | discover the device, which is the adapter's task |
//! | drive a library whose read call returns the value ([`Controller::drive`]) | choose a runtime |
//!
//! A device gets its role by `let Role::Device(device) = connect()`, starts the library's node with
//! [`Device::identification`] as its 83, and calls [`Device::serves`].
//!
//! A controller calls [`Controller::await_device`], reads [`crate::now_ns`], creates the library's controller, discovers the
//! device, and calls [`Controller::found`]. Then it calls [`Controller::drive`] with `outstanding` readers, or runs a loop
//! over [`Controller::reads`]:
//!
//! ```no_run
//! # use netdyno_contender::{echonet::{Controller, Property}, now_ns};
//! # fn send(_: u16, _: Property) {}
//! # fn receive() -> Option<(u16, Option<&'static [u8]>)> { None }
//! # fn example(controller: &'static Controller) {
//! let mut reads = controller.reads();
//! loop {
//!     while let Some(read) = reads.next() {
//!         reads.sent(read.tid, now_ns());
//!         send(read.tid, read.property);
//!     }
//!     match receive() {
//!         Some((tid, value)) => drop(reads.answered(tid, value, now_ns())),
//!         None => reads.expire(now_ns()), // nothing received for 100 ms
//!     }
//! }
//! # }
//! ```
//!
//! The thread that reads stdin answers the lab and ends the process on `stop`. An adapter itself sends only `ready`,
//! `unsupported` and `failed`.

mod controller;
mod device;
mod drive;
mod reads;
#[cfg(test)]
mod tests;
mod values;

use std::sync::OnceLock;
use std::time::Duration;

use crate::{Event, Lab, Setup};

pub use controller::{Controller, Unanswered};
pub use device::Device;
pub use drive::Reader;
pub use reads::{Read, Reads};
pub use values::{IDENTIFIER_BYTES, LIGHTING, NODE_PROFILE, Property, READS, ROUND, identifier};

/// The port at which both roles receive.
pub const PORT: u16 = 3610;
/// The multicast group of both roles.
pub const GROUP: std::net::Ipv4Addr = std::net::Ipv4Addr::new(224, 0, 23, 0);
/// How long an adapter's loop waits for an answer before it checks for lost reads.
pub const TICK: Duration = Duration::from_millis(100);
/// The maximum number of outstanding reads.
pub const MAX_OUTSTANDING: usize = 128;

/// The role of this process.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "there is one, in a static")]
pub enum Role {
    /// Discovers the device and reads its properties.
    Controller(Controller),
    /// Is discovered and answers reads.
    Device(Device),
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
        if setup.workload != "echonet" {
            lab.unsupported(format!("the workload `{}`", setup.workload));
        }
        match setup.role.as_str() {
            "controller" => Self::Controller(Controller::new(lab, setup)),
            "device" => Self::Device(Device::new(lab, setup)),
            other => lab.unsupported(format!("the role `{other}`")),
        }
    }

    /// For `ready`, `unsupported` and `failed`.
    pub fn lab(&self) -> Lab {
        match self {
            Self::Controller(controller) => controller.lab,
            Self::Device(device) => device.lab,
        }
    }

    fn handle(&'static self, event: Event) {
        match self {
            Self::Controller(controller) => controller.handle(event),
            Self::Device(device) => device.handle(event),
        }
    }
}
