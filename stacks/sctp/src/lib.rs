//! SCTP over DTLS for WebRTC data channels (RFC 9260, RFC 8261, RFC 8831), as a sans-I/O core.
//!
//! | does | does not |
//! |---|---|
//! | sets up associations, transfers data with partial reliability, resets streams, discovers the path MTU, shuts down | open sockets, read clocks, draw randomness, spawn threads, lock |
//! | produces the bytes of each SCTP packet, one per call | encrypt them: that is the DTLS layer's task |
//! | DATA and I-DATA (RFC 8260), FORWARD-TSN (RFC 3758), RE-CONFIG for streams (RFC 6525) | TSN reset and stream addition: refused |
//! | zero checksums (RFC 9653), PAD (RFC 4820), path MTU discovery (RFC 8899) | ECN, SCTP authentication |
//! | a single path | multi-homing (forbidden by RFC 8831 section 5) |
//!
//! An [`Association`] has four kinds of method: getters; `handle_*`, which take an input and its time;
//! commands ([`connect`](Association::connect), [`send`](Association::send) and others); and `poll_*` with
//! [`next_deadline`](Association::next_deadline). They may be called in any order. After input or commands,
//! poll until nothing is returned, then sleep until the next deadline or input.
//!
//! ```
//! use std::sync::Arc;
//! use std::time::Instant;
//!
//! use netdyno_sctp::{Association, Config, Event, Ppid, SendOptions, StreamId};
//!
//! let now = Instant::now();
//! let config = Arc::new(Config::default());
//! let mut alice = Association::new(config.clone(), [1; 32], now)?;
//! let mut bob = Association::new(config, [2; 32], now)?;
//! alice.connect(now);
//! alice.send(now, StreamId(0), Ppid::STRING, b"hello", SendOptions::default())?;
//!
//! // In place of DTLS and a network. A driver also calls `handle_timeout` at `next_deadline`.
//! let mut packet = [0; 1163];
//! let heard = loop {
//!     while let Some(length) = alice.poll_transmit(now, &mut packet) {
//!         bob.handle_packet(now, &packet[..length]);
//!     }
//!     while let Some(length) = bob.poll_transmit(now, &mut packet) {
//!         alice.handle_packet(now, &packet[..length]);
//!     }
//!     if let Some(message) = bob.recv() {
//!         break message;
//!     }
//! };
//! assert_eq!((heard.ppid, &heard.data[..]), (Ppid::STRING, &b"hello"[..]));
//! assert_eq!(bob.poll_event(), Some(Event::Connected));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
// Tests read the clock and measure time.
#![cfg_attr(test, allow(clippy::disallowed_methods, clippy::disallowed_types))]

mod association;
mod block_length;
mod config;
mod error;
mod inbound;
mod limits;
mod outbound;
mod types;
pub mod wire;

pub use association::{Association, Event, State, Stats};
pub use config::{Config, Congestion, Schedule};
pub use error::{AssociationError, ConfigError, ProtocolViolation, ResetError, SendError};
pub use inbound::Message;
pub use limits::Limits;
pub use outbound::{Reliability, SendOptions};
pub use types::{Fsn, Mid, Ppid, Ssn, StreamId, Tsn};
