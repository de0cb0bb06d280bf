//! Sans-I/O core of RTP and RTCP (RFC 3550): packets, statistics of senders and receivers, report intervals, reordering.
//!
//! | does | does not |
//! |---|---|
//! | RTP packets with CSRCs, header extensions (RFC 8285) and padding: parsed as views, written to the caller's buffer | open sockets, read clocks, draw random numbers, spawn threads, lock |
//! | RTCP: SR, RR, SDES, BYE, APP, NACK and PLI (RFC 4585), FIR (RFC 5104), reduced size (RFC 5506) | parse other feedback (provided as bytes) and XR (RFC 3611; provided as unknown) |
//! | distinguish RTP and RTCP on one port (RFC 5761) | encrypt (SRTP) |
//! | validation, loss and jitter of a source (sections A.1, A.3, A.8), sender reports, round-trip time, wall clock | detect SSRC collisions and loops (section 8), which matter in large sessions without signalling |
//! | RTCP intervals (sections 6.2, 6.3, A.7), membership and timeouts | early feedback (RFC 4585 section 3.5), SSRC sampling in large groups |
//! | reorder packets in a bounded buffer and report missing ones | parse payload formats |
//!
//! The parts are independent; a program combines those that it needs. Their methods are getters, `handle_*` (events with their
//! times) and `poll`.
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
//! // A receiver parses it and updates its statistics.
//! let now = Instant::now();
//! assert_eq!(kind(&first), Kind::Rtp);
//! let packet = Packet::parse(&first)?;
//! let mut reception = Reception::new(now, &packet.header, 90_000);
//! assert!(matches!(reception.handle_packet(now, &packet.header), Arrival::Probation(_)));
//! let packet = Packet::parse(&second)?;
//! assert!(matches!(reception.handle_packet(now, &packet.header), Arrival::Valid(_)));
//! assert_eq!(packet.payload, b"two");
//!
//! // It reports periodically.
//! let mut datagram = [0; 1200];
//! let mut writer = CompoundWriter::new(&mut datagram);
//! writer.receiver_report(Ssrc(8), reception.report(now).as_slice());
//! let length = writer.finish();
//! let compound = Compound::parse(&datagram[..length], Rule::Compound)?;
//! let Some(RtcpPacket::ReceiverReport(mut report)) = compound.packets().next() else { panic!() };
//! assert_eq!(report.blocks.next().map(|block| block.highest_sequence), Some(65_536));
//! # Ok::<(), netdyno_rtp::Malformed>(())
//! ```
#![forbid(unsafe_code)]
// Tests need a start time.
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
pub use reorder::{InsertError, Ordered, ReorderBuffer, ReorderLimits};
pub use sending::{Sending, round_trip};
pub use ssrcs::Ssrcs;
pub use types::{NtpTime, Sequence, Ssrc, Timestamp};
