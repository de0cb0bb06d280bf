//! Motion JPEG over RTP (RFC 2435): a sender, an RTSP server and a receiver over UDP and TCP, and a command-line tool.
//!
//! | does | does not |
//! |---|---|
//! | send JPEG files to one address or group ([`Sender`]): packets paced, segmented sends, no copy of scan data | need a receiver: nobody has to be there |
//! | take pictures of files, folders, streams and cameras ([`source`]) | encode pictures that exist, or change them |
//! | receive, from one address or group ([`Receiver`]): whole frames in order, losses told, statistics | show them |
//! | serve by RTSP, to many clients from one source ([`server`]) | ask clients for names or passwords |
//! | RTCP: sender and receiver reports, SDES, BYE | change its rate by what reports say |
//! | write and read descriptions (SDP, [`Description`]) for players and from senders | encrypt (SRTP) |
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
//! // A picture: here headers, and data that mean nothing.
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
pub mod rtsp;
mod sdp;
mod sender;
pub mod server;
pub mod source;
mod stream;
#[cfg(all(feature = "web", target_os = "linux"))]
pub mod web;

pub use error::{OpenError, PictureError, SdpError};
pub use netdyno_io::Interface;
pub use netdyno_mjpeg_core as core;
pub use netdyno_rtp as rtp;
pub use pace::{Pacer, Schedule, spread};
pub use receiver::{Receiver, ReceiverConfig, ReceiverStats};
pub use sdp::Description;
pub use sender::{PeerReport, Sender, SenderConfig, SenderStats, Sent};
pub use stream::{Step, Stream};
