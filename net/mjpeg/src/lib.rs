//! Motion JPEG over RTP (RFC 2435): a sender, an RTSP server and a receiver over UDP and TCP, and a command-line tool.
#![forbid(unsafe_code)]

pub mod limits;
pub mod source;
#[cfg(all(feature = "web", target_os = "linux"))]
pub mod web;

pub use netdyno_mjpeg_core as core;
pub use netdyno_rtp as rtp;
