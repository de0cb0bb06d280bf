//! What DESCRIBE gives: the stream's description, and what the medium is called.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use super::stream::Stream;
use crate::sdp::Description;

/// The medium's part of its URI, after the presentation's.
pub(super) const MEDIUM: &str = "video";

/// The description; none while no picture is known. Address and port are what SETUP settles (RFC 2326 section C.1.3).
pub(super) fn describe(stream: &Stream) -> Option<String> {
    let unsettled = SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0);
    let mut description = Description::new(unsettled);
    description.dimensions = Some(stream.dimensions?);
    description.framerate = stream.frames_per_s;
    // The one medium comes last: this is of it.
    Some(description.write(stream.ssrc.0) + "a=control:" + MEDIUM + "\r\n")
}
