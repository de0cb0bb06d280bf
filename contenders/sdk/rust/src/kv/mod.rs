//! What a load and a server of the `kv` workload need, so that an adapter holds its program's calls and little else.
//!
//! | does | does not |
//! |---|---|
//! | write requests, read answers, name keys, know their values | speak RESP3, or any command but SET and GET |
//! | be a server that a library or a program of its own serves ([`Server`]) | serve |
//! | connect, and go through `verify` over blocking sockets ([`verify`]) | make the load of the measured phases |
//! | move the bytes of many connections in turns (`turns`, with the feature `kv-io`) | choose what a connection sends |

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
