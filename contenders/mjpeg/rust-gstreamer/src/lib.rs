//! The RFC 2435 parser that the contenders with GStreamer share.

pub mod packets;
