//! WebRTC data channels as a sans-I/O core: ICE, DTLS, SCTP, DCEP and SDP in one [`PeerConnection`].
//!
//! | does | does not |
//! |---|---|
//! | offer and answer, rollback, trickle ICE, ICE restart even after a failure, consent, data channels with backpressure in both directions, statistics, logging (feature `tracing`) | open sockets, read clocks, spawn threads, lock |
//! | accepts batches of received datagrams, fills batches to send; finds datagrams in byte streams ([`framing`]) | audio and video |
//! | host, server-reflexive, relayed and passive TCP candidates provided by the caller | query STUN and TURN servers, resolve names |
//!
//! Pass inputs and their times to a [`PeerConnection`] (`handle_*` and commands), then poll for output
//! (`poll_*`, `recv`) until nothing is returned, and sleep until [`PeerConnection::next_deadline`] or the
//! next datagram:
//!
//! ```
//! use std::{sync::Arc, time::{Duration, Instant}};
//! use netdyno_rtc_core::{Arena, Certificate, ChannelOptions, Config, Event, Kind, PeerConnection};
//!
//! let mut now = Instant::now();
//! let mut arena = Arena::default();
//! let config = Arc::new(Config::new(Arc::new(Certificate::generate()?)));
//! let mut peers = [
//!     PeerConnection::new(Arc::clone(&config), [1; 32], now)?,
//!     PeerConnection::new(config, [2; 32], now)?,
//! ];
//! peers[0].add_local_address(now, "192.0.2.1:5000".parse()?);
//! peers[1].add_local_address(now, "192.0.2.2:5000".parse()?);
//!
//! let channel = peers[0].create_channel(now, "chat", ChannelOptions::default())?;
//! let offer = peers[0].create_offer(now, false)?;
//! let answer = peers[1].accept_offer(now, &offer)?;
//! peers[0].accept_answer(now, &answer)?;
//!
//! let message = loop {
//!     now += Duration::from_millis(1);
//!     for side in 0..2 {
//!         peers[side].handle_timeout(now);
//!         // In place of a network.
//!         while let Some(transmit) = peers[side].poll_transmit(now, &mut arena, 64) {
//!             let mut datagrams = arena.filled(&transmit).to_vec();
//!             let (local, remote) = (transmit.remote, transmit.local);
//!             peers[1 - side].handle_datagrams(now, local, remote, &mut datagrams, transmit.segment_bytes);
//!         }
//!         while let Some(event) = peers[side].poll_event() {
//!             if event == Event::Open(channel) && side == 0 {
//!                 peers[0].send(now, channel, Kind::Text, b"hello")?;
//!             }
//!         }
//!     }
//!     if let Some(message) = peers[1].recv() {
//!         break message;
//!     }
//! };
//! assert_eq!(&message.data[..], b"hello");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Not implemented: active TCP candidates (a server accepts connections); mDNS resolution (the caller, who
//! has sockets, resolves names and passes the candidate with its address); several data sections, or a second
//! DTLS or SCTP association per peer connection (peers do not request them); `a=identity`.
// Tests read the clock and measure time.
#![cfg_attr(test, allow(clippy::disallowed_methods, clippy::disallowed_types))]

/// The simulated network is used by the unit tests and by `tests/`, and names this crate as the latter do.
#[cfg(test)]
extern crate self as netdyno_rtc_core;

mod config;
pub mod dcep;
pub mod dtls;
mod error;
pub mod framing;
mod ice;
mod limits;
mod log;
mod peer;
mod report;
pub mod sdp;
mod stats;
mod transmit;

pub use bytes::Bytes;
pub use config::Config;
pub use dtls::{Certificate, Fingerprint, Role as DtlsRole, Versions as DtlsVersions};
pub use error::{ChannelError, Error, SendError, SignalingError};
pub use ice::IceState;
pub use limits::Limits;
pub use netdyno_sctp as sctp;
pub use peer::{
    ChannelId, ChannelOptions, ChannelState, Event, Kind, Message, PeerConnection, PeerState, Reliability,
};
pub use report::{
    CandidatePairState, CandidatePairStats, CandidateStats, CertificateStats, DataChannelStats, DtlsState,
    IceRole, PeerConnectionStats, Report, SelectedPair, TransportStats,
};
pub use sdp::{CandidateKind, RelayProtocol};
pub use stats::{ChannelStats, Stats};
pub use transmit::{ARENA_BYTES, Arena, MAX_SEGMENTS, Transmit};
