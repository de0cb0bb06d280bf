//! Motion JPEG over RTP (RFC 2435), as a core without I/O: pictures to packets, packets to pictures.
//!
//! | does | does not |
//! |---|---|
//! | walk a JPEG file: every segment checked, restart markers counted; say what RFC 2435 cannot carry, and why | decode or encode pictures; transcode optimised Huffman tables: refused |
//! | packets of headers and slices of the file: no scan data are copied; as few as the size allows | open sockets, read clocks, spawn, lock; pace: that is the sender's part |
//! | tables as Q 1 to 99 where they are the computed ones, once a session (128 to 254), or with every frame (255) | align restart intervals with packets, which would cost packets |
//! | 8 and 16 bits a table value, restart intervals, sizes above 2,040 by SDP | types of one's own (128 to 255), interlaced fields put together: each is a frame, and says which it is |
//! | find the pictures of a stream: JPEG files one after the other, multipart streams | |
//! | frames put together under loss, reordering, duplicates and wraps, in order, whole or told as lost | show parts of a frame: a hole is a lost frame |
//!
//! ```
//! use std::time::Instant;
//!
//! use netdyno_mjpeg_core::{Depacketizer, DepacketizerConfig, Event, Jpeg, Packetizer, PacketizerConfig};
//! use netdyno_mjpeg_core::{JpegHeaders, QuantTables, Sampling};
//! use netdyno_rtp::{Packet, Sequence, Ssrc, Timestamp};
//!
//! // A file, as a camera or an encoder gives it: here headers, and data that mean nothing.
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
//!     // With `packet` in place of `append` the data stay where they are, and sendmsg(2) gathers them.
//!     let mut datagram = Vec::new();
//!     frame.append(index, &mut datagram);
//!     depacketizer.handle_packet(now, &Packet::parse(&datagram)?);
//! }
//! let Some(Event::Frame(frame)) = depacketizer.poll_event(now) else { panic!("the frame is whole") };
//! assert_eq!(frame.jpeg(), file);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]
// Tests begin at some moment.
#![cfg_attr(test, allow(clippy::disallowed_methods))]

mod depacketizer;
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
pub use error::{ConfigError, FrameError, JpegError, Unsupported};
pub use headers::JpegHeaders;
pub use jpeg::{Jpeg, Sampling, Split, Splitter};
pub use limits::DepacketizerLimits;
pub use packetizer::{CLOCK_RATE_HZ, FramePackets, PAYLOAD_TYPE, Packetizer, PacketizerConfig};
pub use tables::{QuantTable, QuantTables};
