//! The books of a role of the `echonet` workload, so that an adapter holds its library's calls and little else.
//!
//! | does | does not |
//! |---|---|
//! | read the parameters, answer the lab, count, fill the histogram | open a socket, or write or read a frame |
//! | say which read is next, and judge what comes back | find the device: that is the adapter |
//! | drive a library that reads by a call which returns the value ([`Controller::drive`]) | choose a runtime |
//!
//! A device: `let Role::Device(device) = connect()`, make and start the library's node with [`Device::identification`] as its 83,
//! and [`Device::serves`].
//!
//! A controller: [`Controller::await_device`], note [`crate::now_ns`], create and discover, [`Controller::found`]. Then either
//! [`Controller::drive`] with `outstanding` readers, or a loop of its own over [`Controller::reads`]:
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
//!         None => reads.look(now_ns()), // nothing for 100 ms
//!     }
//! }
//! # }
//! ```
//!
//! The lab is answered on the thread that reads stdin, and `stop` ends the process there. What an adapter itself tells it is
//! `ready`, `unsupported` and `failed`.

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

/// The port that both roles receive at.
pub const PORT: u16 = 3610;
/// The group that both roles are in.
pub const GROUP: std::net::Ipv4Addr = std::net::Ipv4Addr::new(224, 0, 23, 0);
/// How long a loop of its own waits for an answer before it looks whether one is lost.
pub const TICK: Duration = Duration::from_millis(100);
/// Reads that may be under way at once.
pub const MAX_OUTSTANDING: usize = 128;

/// The role of this process.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "there is one, in a static")]
pub enum Role {
    /// Finds the device and reads.
    Controller(Controller),
    /// Is found and answers.
    Device(Device),
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
