//! Building blocks for load generators and servers of the `kv` workload.
//!
//! | does | does not |
//! |---|---|
//! | encode requests, parse answers, compute keys and values | implement RESP3, or commands other than SET and GET |
//! | run the role of a server for a library or an external program ([`Server`]) | implement a server |
//! | connect, and run `verify` over blocking sockets ([`verify`]) | generate the load of the measured phases |
//! | run the I/O of many connections on one thread (`turns`, with the feature `kv-io`) | choose what a connection sends |

mod answer;
mod job;
mod limits;
mod links;
mod request;
mod server;
#[cfg(feature = "kv-io")]
pub mod turns;
mod value;
mod verify;

pub use answer::{Answer, parse};
pub use job::{Distribution, Job, Pacing};
pub use links::{connect, raise_file_limit};
pub use request::{
    GET_BYTES, GET_SETUP, KEY_BYTES, KEY_DIGITS, NULL, SETUP_KEY, append_command, append_get, append_set,
    key_name, write_digits,
};
pub use server::{Place, Server, version_of};
pub use value::{LEAD_BYTES, Values, split_mix};
pub use verify::{Verified, verify};
