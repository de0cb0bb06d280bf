//! Sans-I/O core of Motion JPEG over RTP (RFC 2435): a JPEG parser, a packetizer and a depacketizer.
//!
//! | does | does not |
//! |---|---|
//! | validate the segments and restart markers of a JPEG file; name the property that RFC 2435 cannot carry | decode or encode pictures; transcode optimised Huffman tables |
//! | packetize a frame into headers and slices of the file, without copying scan data, in the minimum number of packets | open sockets, read clocks, spawn threads, lock; pace packets |
//! | send quantisation tables as Q 1 to 99 if they are the computed ones, once per session (128 to 254) or with every frame (255) | align restart intervals with packets, which needs more packets |
//! | tables of 8 and 16 bits, restart intervals, sizes above 2,040 from SDP | dynamically assigned types (128 to 255); interlaced fields are delivered as separate frames, each with its field number |
//! | split concatenated JPEG files and multipart streams into pictures | |
//! | reassemble frames under loss, reordering, duplication and wraparound, and deliver them in order or report them as lost | deliver incomplete frames |
//! | write and parse session descriptions (SDP, [`Description`]) | |
//!
//! ```
//! use std::time::Instant;
//!
//! use netdyno_mjpeg_core::{Depacketizer, DepacketizerConfig, Event, Jpeg, Packetizer, PacketizerConfig};
//! use netdyno_mjpeg_core::{JpegHeaders, QuantTables, Sampling};
//! use netdyno_rtp::{Packet, Sequence, Ssrc, Timestamp};
//!
//! // A JPEG file: headers and arbitrary scan data.
//! let tables = QuantTables::computed(85).expect("85 is within 1 to 99");
//! let sampling = Sampling::Yuv420;
//! let mut file = Vec::new();
//! JpegHeaders { width: 1920, height: 1080, sampling, tables, restart_interval: 0 }.append(&mut file);
//! file.extend(vec![0x55; 200_000]);
//! file.extend([0xff, 0xd9]);
//!
//! let jpeg = Jpeg::parse(&file)?;
//! let mut packetizer = Packetizer::new(PacketizerConfig::default(), Ssrc(7), Sequence(65_530))?;
//! let frame = packetizer.packets(&jpeg, Timestamp(0))?;
//! assert_eq!(frame.count(), 145);
//!
//! let now = Instant::now();
//! let mut depacketizer = Depacketizer::new(DepacketizerConfig::default())?;
//! for index in 0..frame.count() {
//!     // `packet` avoids this copy: it returns slices for sendmsg(2).
//!     let mut datagram = Vec::new();
//!     frame.append(index, &mut datagram);
//!     depacketizer.handle_packet(now, &Packet::parse(&datagram)?);
//! }
//! let Some(Event::Frame(frame)) = depacketizer.poll_event(now) else { panic!("the frame is complete") };
//! assert_eq!(frame.jpeg(), file);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]
// Tests need a start time.
#![cfg_attr(test, allow(clippy::disallowed_methods))]

mod depacketizer;
mod description;
mod error;
mod headers;
mod huffman;
mod jpeg;
pub mod limits;
mod packetizer;
mod tables;
pub mod wire;

pub use depacketizer::{
    Depacketizer, DepacketizerConfig, DepacketizerStats, Event, Frame, FrameInfo, Lost, LostReason,
};
pub use description::Description;
pub use error::{ConfigError, FrameError, InexactDimensions, JpegError, SdpError, Unsupported};
pub use headers::JpegHeaders;
pub use jpeg::{Jpeg, Sampling, Split, Splitter};
pub use limits::DepacketizerLimits;
pub use packetizer::{CLOCK_RATE_HZ, FramePackets, PAYLOAD_TYPE, Packetizer, PacketizerConfig};
pub use tables::{QuantTable, QuantTables};
