//! Motion JPEG over RTP (RFC 2435): a sender, a receiver, an RTSP server and a command-line tool.
//!
//! | does | does not |
//! |---|---|
//! | send JPEG files to a unicast or multicast address ([`Sender`]): paced, segmented sends | need a receiver |
//! | read pictures from files, folders, streams and cameras ([`source`]) | encode or modify existing pictures |
//! | receive from a unicast or multicast address ([`Receiver`]): complete frames in order, losses, statistics | display frames |
//! | serve one source to many RTSP clients ([`server`]) | authenticate clients |
//! | RTCP: sender and receiver reports, SDES, BYE | adapt the rate to receiver reports |
//! | write and parse session descriptions (SDP, [`Description`](core::Description)) | encrypt (SRTP) |
//!
//! ```
//! use std::time::{Duration, Instant};
//!
//! use netdyno_mjpeg::core::{Event, JpegHeaders, QuantTables, Sampling};
//! use netdyno_mjpeg::{Receiver, ReceiverConfig, Sender, SenderConfig};
//!
//! let mut receiver = Receiver::open("127.0.0.1:0".parse()?, &ReceiverConfig::default())?;
//! let mut sender = Sender::open(receiver.local_address(), &SenderConfig::default())?;
//!
//! // A picture with arbitrary scan data.
//! let tables = QuantTables::computed(85).expect("85 is within 1 to 99");
//! let mut picture = Vec::new();
//! let headers = JpegHeaders { width: 640, height: 480, sampling: Sampling::Yuv420, tables, restart_interval: 0 };
//! headers.append(&mut picture);
//! picture.extend(vec![0x55; 50_000]);
//! picture.extend([0xff, 0xd9]);
//!
//! let sent = sender.send(&picture, Instant::now(), Duration::from_millis(5))?;
//! assert_eq!(sent.packets, 37);
//! let event = receiver.next(Instant::now() + Duration::from_secs(9))?;
//! let Some(Event::Frame(frame)) = event else { panic!("{event:?}") };
//! assert_eq!(frame.jpeg(), picture);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod control;
mod error;
pub mod limits;
mod pace;
mod ports;
mod receiver;
mod sender;
pub mod server;
pub mod source;
mod stream;
#[cfg(all(feature = "web", target_os = "linux"))]
pub mod web;

pub use error::{OpenError, PictureError};
pub use netdyno_io::Interface;
pub use netdyno_mjpeg_core as core;
pub use netdyno_rtp as rtp;
pub use pace::{Pacer, Schedule, spread};
pub use receiver::{Receiver, ReceiverConfig, ReceiverStats};
pub use sender::{PeerReport, Sender, SenderConfig, SenderStats, Sent};
pub use stream::{Step, Stream};
