//! A seeded network in memory, and the guarantees that every protocol core must give on it.
//!
//! | does | does not |
//! |---|---|
//! | delay, lose, reorder, copy, corrupt, cut off and readdress datagrams between two cores, in virtual time | open sockets, read clocks |
//! | check the contract of every core ([`contract`]), and the guarantees of associations and peer connections | measure speed: the lab does |
//! | repeat a run exactly from its seed | |
//!
//! A failing run prints its seed. NETDYNO_SIM_SEED repeats that run, NETDYNO_SIM_LOG additionally prints each
//! datagram, NETDYNO_SIM_SEEDS sets the number of runs, and NETDYNO_SIM_FIRST_SEED the first seed.
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
