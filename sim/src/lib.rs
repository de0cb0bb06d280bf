//! A seeded network in memory, and the promises that every protocol core keeps on it.
//!
//! | does | does not |
//! |---|---|
//! | delay, lose, reorder, copy, corrupt, cut off and readdress datagrams between two cores, in virtual time | open sockets, read clocks |
//! | check what every core promises ([`contract`]), and what associations and peer connections promise | measure speed: the lab does |
//! | give the same run for the same seed | |
//!
//! A run that fails names its seed. NETDYNO_SIM_SEED runs that one again, NETDYNO_SIM_LOG with it shows each
//! datagram, NETDYNO_SIM_SEEDS says how many to run, and NETDYNO_SIM_FIRST_SEED from which one on.
//!
//! ```
//! use std::time::Instant;
//!
//! use netdyno_sim::{Network, Profile, Side};
//!
//! let start = Instant::now();
//! let mut network = Network::new(1, start, Profile::named("wifi").expect("it is in the table"));
//! network.send(start, Side::A, Side::B.address(), b"hello");
//! let arrival = network.next_delivery().expect("this seed does not lose the first datagram");
//! assert_eq!(network.poll_delivery(arrival).map(|delivery| delivery.bytes), Some(b"hello".to_vec()));
//! ```

pub mod contract;
mod core;
mod failure;
pub mod network;
pub mod profile;
pub mod random;
pub mod rtc;
pub mod sctp;
pub mod seeds;
mod stage;

pub use self::core::{Core, Outgoing};
pub use failure::Failure;
pub use network::{Network, Side};
pub use profile::Profile;
pub use stage::{LOG, Stage};
