//! Fast WebRTC data channels, for servers and for programs that talk to each other or to browsers.
//!
//! | does | does not |
//! |---|---|
//! | any number of connections on one UDP port, segmented sends and coalesced receives | audio and video |
//! | backpressure both ways, on every face | queues without end |
//! | UDP, and TCP where a peer gets through by that alone ([`Settings::tcp_port`]) | connect by TCP to peers |
//! | offers and answers as text, to carry as you like; candidates from STUN servers, from TURN servers by UDP, TCP and TLS (the feature `tls`), and behind names of multicast DNS | be such a server, or one for signalling |
//! | statistics as W3C names them; with the feature `tracing` a log of why a connection did not come up | metrics of an exporter's kind |
//!
//! There are three faces of one engine:
//! - [`Endpoint`]: you call [`poll`](Endpoint::poll), and a [`Handler`] of yours is told what happens. One thread,
//!   no locks: the fastest, and right for a server.
//! - [`blocking`]: calls wait; a thread drives the endpoint.
//! - `tokio` (the feature `tokio`): the same names, awaited; a task drives the endpoint.
//!
//! One thread drives an endpoint, unless [`Settings::reactors`] says more: then each has a share of the connections, at a port of its own or, by
//! [`Settings::one_port`], all at one. [`Reactors`] is the first face on several threads.
//!
//! Two connected in one program, by the blocking face:
//!
//! ```
//! use netdyno_rtc::blocking::{Endpoint, PeerConnection};
//! use netdyno_rtc::{ChannelOptions, Settings};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let here = Endpoint::bind("127.0.0.1:0".parse()?, Settings::new()?)?;
//! let there = Endpoint::bind("127.0.0.1:0".parse()?, Settings::new()?)?;
//!
//! let offerer = PeerConnection::new(&here)?;
//! let channel = offerer.create_channel("greetings", ChannelOptions::default())?;
//! let offer = offerer.create_offer()?;
//!
//! // The offer travels to the other side, and the answer back, by any way you have.
//! let answerer = PeerConnection::new(&there)?;
//! let answer = answerer.accept_offer(&offer)?;
//! offerer.accept_answer(&answer)?;
//!
//! channel.send_text("hello")?;
//! let accepted = answerer.accept_channel()?;
//! assert_eq!(accepted.recv()?.data, "hello");
//! # Ok(())
//! # }
//! ```
//!
//! An echo server, by the fastest face:
//!
//! ```
//! use netdyno_rtc::{Connection, Endpoint, Event, Handler, Message, Settings};
//!
//! struct Echo;
//!
//! impl Handler for Echo {
//!     fn on_event(&mut self, _: &mut Connection<'_>, event: Event) {
//!         println!("{event:?}");
//!     }
//!     fn on_message(&mut self, connection: &mut Connection<'_>, message: Message) {
//!         // A server that cares keeps what finds no room, and reads no more meanwhile: see the example `echo`.
//!         let _ = connection.send(message.channel, message.kind, &message.data);
//!     }
//! }
//!
//! # fn main() -> Result<(), netdyno_rtc::Error> {
//! let mut endpoint = Endpoint::bind(([127, 0, 0, 1], 0).into(), Settings::new()?)?;
//! // For each offer that comes: `let (id, answer) = endpoint.answer(&offer)?`, and the answer goes back.
//! # let some_time = Some(std::time::Duration::ZERO);
//! for _ in 0..3 {
//!     endpoint.poll(some_time, &mut Echo)?;
//! }
//! # Ok(())
//! # }
//! ```
//!
//! Nothing in a datagram of DTLS tells which of several connections between the same two ports it is for. So a
//! program that makes many connections to one port of another takes a port of its own for each: see [`Port`]. A second
//! connection between two ports takes the place of the first, which fails and says so.
#![forbid(unsafe_code)]

pub mod blocking;
mod driver;
mod endpoint;
mod engine;
mod error;
mod handle;
mod limits;
mod reactor_set;
mod reactors;
mod rehearsal;
mod servers;
mod settings;
mod streams;
mod stun;
mod switch;
#[cfg(feature = "tokio")]
pub mod tokio;

pub use endpoint::Endpoint;
pub use engine::{Connection, ConnectionId, Handler, Port};
pub use error::{Error, RecvError};
pub use handle::{Channel, Peer};
pub use netdyno_io::{SocketOptions, Waker};
pub use netdyno_rtc_core as core;
pub use netdyno_rtc_core::{
    Bytes, Certificate, ChannelError, ChannelId, ChannelOptions, ChannelState, ChannelStats, Config, Event,
    Fingerprint, Kind, Message, PeerState, Reliability, Report, SelectedPair, SendError, SignalingError,
    Stats,
};
pub use reactors::{ReactorConnectionId, Reactors};
pub use servers::IceServer;
pub use settings::Settings;

/// The example of the README, compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
