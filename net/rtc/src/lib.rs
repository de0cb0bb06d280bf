//! Fast WebRTC data channels, for servers and for programs that talk to each other or to browsers.
//!
//! | does | does not |
//! |---|---|
//! | any number of connections on one UDP port, segmented sends and coalesced receives | audio and video |
//! | backpressure in both directions, in every interface | unbounded queues |
//! | UDP; TCP from peers that cannot use UDP ([`Settings::tcp_port`]) | connect to peers over TCP |
//! | offers and answers as text, for any signalling channel; candidates from STUN servers, from TURN servers over UDP, TCP and TLS (feature `tls`), and from mDNS names | act as a STUN, TURN or signalling server |
//! | statistics by W3C's names; with the feature `tracing`, log events that say why a connection failed | export metrics |
//!
//! One engine has three interfaces:
//! - [`Endpoint`]: the application calls [`poll`](Endpoint::poll), which calls its [`Handler`]. One thread,
//!   no locks: the fastest interface, suited to servers.
//! - [`blocking`]: calls wait; a background thread drives the endpoint.
//! - `tokio` (feature `tokio`): the same names, awaited; a task drives the endpoint.
//!
//! One thread drives an endpoint, unless [`Settings::reactors`] asks for more. Each reactor then has a share
//! of the connections, on a separate port or, with [`Settings::one_port`], on a shared one. [`Reactors`]
//! runs the first interface on several threads.
//!
//! Two connected peers in one program, with the blocking interface:
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
//! // Send the offer to the other side, and the answer back, over any channel you have.
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
//! An echo server, with the fastest interface:
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
//!         // A server should keep what cannot be sent and stop reading meanwhile: see the example `echo`.
//!         let _ = connection.send(message.channel, message.kind, &message.data);
//!     }
//! }
//!
//! # fn main() -> Result<(), netdyno_rtc::Error> {
//! let mut endpoint = Endpoint::bind(([127, 0, 0, 1], 0).into(), Settings::new()?)?;
//! // For each offer received: `let (id, answer) = endpoint.answer(&offer)?`, then send the answer back.
//! # let some_time = Some(std::time::Duration::ZERO);
//! for _ in 0..3 {
//!     endpoint.poll(some_time, &mut Echo)?;
//! }
//! # Ok(())
//! # }
//! ```
//!
//! A DTLS datagram does not say which of several connections between the same two ports it belongs to. A
//! program that makes many connections to one port of another program must therefore use a separate port for
//! each: see [`Port`]. A second connection between two ports replaces the first, which fails with an error
//! that says so.
#![forbid(unsafe_code)]

pub mod blocking;
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
pub use engine::{Connection, ConnectionId, Handler, Port, Refusals};
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

/// The README's example, compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
