//! What DESCRIBE gives (RFC 8866): one medium, of which most is known without it.

use std::fmt::Write;
use std::net::IpAddr;

use netdyno_mjpeg_core::limits::MAX_HEADER_DIMENSION;
use netdyno_mjpeg_core::{CLOCK_RATE_HZ, PAYLOAD_TYPE};

use super::sessions::Stream;

/// The medium's part of its URI, after the presentation's.
pub(super) const MEDIUM: &str = "video";

/// The description, with the address that the client has called. None while no picture is known.
pub(super) fn describe(stream: &Stream, local: IpAddr) -> Option<String> {
    let (width, height) = stream.dimensions?;
    let (family, any) = if local.is_ipv4() { ("IP4", "0.0.0.0") } else { ("IP6", "::") };
    let mut text = format!(
        "v=0\r\n\
         o=- {id} 1 IN {family} {local}\r\n\
         s=Motion JPEG\r\n\
         c=IN {family} {any}\r\n\
         t=0 0\r\n\
         a=control:*\r\n\
         a=range:npt=now-\r\n\
         m=video 0 RTP/AVP {PAYLOAD_TYPE}\r\n\
         a=rtpmap:{PAYLOAD_TYPE} JPEG/{CLOCK_RATE_HZ}\r\n\
         a=control:{MEDIUM}\r\n",
        id = stream.ssrc.0
    );
    if let Some(rate) = stream.frames_per_s {
        let _ = write!(text, "a=framerate:{rate}\r\n");
    }
    if width > MAX_HEADER_DIMENSION || height > MAX_HEADER_DIMENSION {
        // RFC 2435 has no place for them: as GStreamer tells and asks for them.
        let _ = write!(text, "a=x-dimensions:{width},{height}\r\n");
    }
    Some(text)
}
