//! RTP and RTCP (RFC 3550), as a core without I/O: packets, the books of senders and receivers, when to report, order.
//!
//! | does | does not |
//! |---|---|
//! | RTP packets with CSRCs, header extensions (RFC 8285) and padding: read as views, written into the caller's buffer | open sockets, read clocks, draw randomness, spawn, lock |
//! | RTCP: SR, RR, SDES, BYE, APP, NACK and PLI (RFC 4585), FIR (RFC 5104), reduced size (RFC 5506) | other feedback: given as bytes; XR (RFC 3611): given as unknown |
//! | RTP and RTCP told apart on one port (RFC 5761) | encrypt: SRTP is a layer of its own |
//! | validation, loss and jitter of a source (sections A.1, A.3, A.8), sender reports, round trips, wall clock | collisions and loops of SSRCs (section 8): meant for sessions of two, or with signalling |
//! | when RTCP is due (sections 6.2, 6.3, A.7), members and their end | RFC 4585's early feedback (section 3.5), SSRC sampling in large groups |
//! | a bounded buffer that puts packets in order, and tells what is missing | payload formats |
//!
//! Parts, not one session: a program takes those that it needs. Methods are getters, `handle_*`, which take what happened
//! and when, and `poll`.
//!
//! ```
//! use std::time::Instant;
//!
//! use netdyno_rtp::rtcp::{Compound, CompoundWriter, Rule, RtcpPacket};
//! use netdyno_rtp::{Arrival, Header, Kind, Packet, Reception, Sequence, Ssrc, Timestamp, kind};
//!
//! // A sender writes the header in front of its payload.
//! let mut header = Header { payload_type: 26, ssrc: Ssrc(7), sequence: Sequence(65_535), ..Header::default() };
//! let first = [&header.to_bytes()[..], b"one"].concat();
//! header.sequence = header.sequence.next();
//! let second = [&header.to_bytes()[..], b"two"].concat();
//!
//! // A receiver reads it, and keeps books.
//! let now = Instant::now();
//! assert_eq!(kind(&first), Kind::Rtp);
//! let packet = Packet::parse(&first)?;
//! let mut books = Reception::new(now, &packet.header, 90_000);
//! assert!(matches!(books.handle_packet(now, &packet.header), Arrival::Probation(_)));
//! let packet = Packet::parse(&second)?;
//! assert!(matches!(books.handle_packet(now, &packet.header), Arrival::Valid(_)));
//! assert_eq!(packet.payload, b"two");
//!
//! // Now and then it says what it has received.
//! let mut datagram = [0; 1200];
//! let mut writer = CompoundWriter::new(&mut datagram);
//! writer.receiver_report(Ssrc(8), books.report(now).as_slice());
//! let length = writer.finish();
//! let compound = Compound::parse(&datagram[..length], Rule::Compound)?;
//! let Some(RtcpPacket::ReceiverReport(mut report)) = compound.packets().next() else { panic!() };
//! assert_eq!(report.blocks.next().map(|block| block.highest_sequence), Some(65_536));
//! # Ok::<(), netdyno_rtp::Malformed>(())
//! ```
#![forbid(unsafe_code)]
// Tests begin at some moment.
#![cfg_attr(test, allow(clippy::disallowed_methods))]

mod bytes;
mod clock;
mod demux;
mod error;
mod extend;
mod extension;
mod interval;
pub mod limits;
mod members;
mod packet;
mod reception;
mod reorder;
pub mod rtcp;
mod sending;
mod ssrcs;
mod types;

pub use clock::MediaClock;
pub use demux::{Kind, kind};
pub use error::{Malformed, WriteError};
pub use extend::{SequenceExtender, TimestampExtender};
pub use extension::{Element, Elements};
pub use interval::{Interval, IntervalConfig, reduced_minimum};
pub use members::Members;
pub use packet::{Extension, HEADER_BYTES, Header, Outgoing, Packet};
pub use reception::{Arrival, Reception, ReceptionStats};
pub use reorder::{NotTaken, Ordered, ReorderBuffer, ReorderLimits};
pub use sending::{Sending, round_trip};
pub use ssrcs::Ssrcs;
pub use types::{NtpTime, Sequence, Ssrc, Timestamp};
