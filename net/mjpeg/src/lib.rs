//! Motion JPEG over RTP (RFC 2435): a sender, an RTSP server and a receiver over UDP and TCP, and a command-line tool.
#![forbid(unsafe_code)]

pub mod limits;
pub mod rtsp;
pub mod source;

pub use netdyno_mjpeg_core as core;
pub use netdyno_rtp as rtp;
