//! Descriptions of a stream (SDP, RFC 8866), for players that get RTP without RTSP, and from senders.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use netdyno_mjpeg_core::PAYLOAD_TYPE;
use sdp_types::{Connection, Media, MediaType, Origin, Session, TransportProto};

use crate::error::SdpError;
use crate::limits::MAX_SDP_BYTES;

/// What a description says of a stream of JPEG.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Description {
    /// Where packets go: an address of the receiver, or a group. All zeros: the description does not say.
    pub address: IpAddr,
    /// Port of RTP.
    pub port: u16,
    /// Port of RTCP, where it is not the one after it.
    pub rtcp_port: Option<u16>,
    /// RTCP has RTP's own port (`a=rtcp-mux`, RFC 5761).
    pub rtcp_mux: bool,
    /// Payload type.
    pub payload_type: u8,
    /// Width and height, pixels (`a=x-dimensions`): packets cannot tell more than 2,040, or what is no multiple of 8.
    pub dimensions: Option<(u16, u16)>,
    /// Frames a second.
    pub framerate: Option<f64>,
    /// Routers that packets to a group may pass, and one more.
    pub hops: Option<u8>,
}

impl Description {
    /// Of a stream to an address.
    pub fn new(to: SocketAddr) -> Self {
        Self {
            address: to.ip(),
            port: to.port(),
            rtcp_port: None,
            rtcp_mux: false,
            payload_type: PAYLOAD_TYPE,
            dimensions: None,
            framerate: None,
            hops: None,
        }
    }

    /// Where a receiver of it listens: at the group, or at all addresses of this machine.
    pub fn listen_address(&self) -> SocketAddr {
        let ip = if self.address.is_multicast() { self.address } else { crate::ports::any(self.address) };
        SocketAddr::new(ip, self.port)
    }

    /// Writes it. `session` is a number of this stream's own.
    pub fn write(&self, session: u32) -> String {
        let hops = self.hops.filter(|_| self.address.is_multicast());
        let origin = Origin::with_ip_addr(session, 0, IpAddr::V4(Ipv4Addr::LOCALHOST));
        let mut media = Media::new(MediaType::Video, self.port, TransportProto::RtpAvp, self.payload_type);
        media.add_attribute_with_value("rtpmap", format_args!("{} JPEG/90000", self.payload_type));
        if let Some(port) = self.rtcp_port {
            media.add_attribute_with_value("rtcp", port);
        }
        if self.rtcp_mux {
            media.add_attribute_from_str("rtcp-mux");
        }
        if let Some(fps) = self.framerate {
            media.add_attribute_with_value("framerate", fps);
        }
        if let Some((width, height)) = self.dimensions {
            media.add_attribute_with_value("x-dimensions", format_args!("{width},{height}"));
        }
        let mut description = Session::new(origin, "Motion JPEG");
        description.set_connection(Connection::from_ip_addr_ttl(self.address, hops));
        description.add_media(media);
        let mut bytes = Vec::new();
        description.write(&mut bytes).expect("memory takes what is written");
        String::from_utf8(bytes).expect("all that was put in is text")
    }

    /// Reads one: its first stream of JPEG, or of payload type 26.
    ///
    /// # Errors
    /// What is no SDP, or has no such stream, or tells something that cannot be.
    pub fn parse(bytes: &[u8]) -> Result<Self, SdpError> {
        if bytes.len() > MAX_SDP_BYTES {
            return Err(SdpError::new(format_args!("it is longer than {MAX_SDP_BYTES} bytes")));
        }
        let session = Session::parse(bytes).map_err(SdpError::new)?;
        let found = session.medias.iter().find_map(|media| Some((media, payload_type(media)?)));
        let (media, payload_type) = found.ok_or_else(|| {
            SdpError::new("it has no stream of JPEG: m=video with payload type 26, or a=rtpmap")
        })?;
        let connection = media.connections.first().or(session.connection.as_ref());
        let (mut address, mut hops) = (IpAddr::V4(Ipv4Addr::UNSPECIFIED), None);
        if let Some(connection) = connection {
            let mut parts = connection.connection_address.split('/');
            let wrong = || SdpError::new("c= must have an IP address: put in the one that is sent to");
            address = parts.next().and_then(|text| text.parse().ok()).ok_or_else(wrong)?;
            // IPv6 has none there, but the number of addresses.
            let has_hops = address.is_multicast() && address.is_ipv4();
            hops = parts.next().filter(|_| has_hops).and_then(|text| text.parse().ok());
        }
        let value = |name: &'static str| media.get_first_attribute_value(name).flatten();
        Ok(Self {
            address,
            port: media.port,
            rtcp_port: value("rtcp").and_then(|text| text.split(' ').next()?.parse().ok()),
            rtcp_mux: media.has_attribute("rtcp-mux"),
            payload_type,
            dimensions: value("x-dimensions").map(dimensions).transpose()?,
            framerate: value("framerate")
                .and_then(|text| text.parse().ok())
                .filter(|fps: &f64| fps.is_finite() && *fps > 0.0),
            hops,
        })
    }
}

/// The payload type of JPEG in a stream of video, if there is one.
fn payload_type(media: &Media) -> Option<u8> {
    if media.media != "video" {
        return None;
    }
    let mapped = media.get_attribute_values("rtpmap").flatten().find_map(|map| {
        let (number, name) = map.split_once(' ')?;
        name.to_ascii_uppercase().starts_with("JPEG/").then(|| number.parse().ok())?
    });
    let is_known = media.fmt.split(' ').any(|format| format == "26");
    mapped.or(is_known.then_some(PAYLOAD_TYPE)).filter(|number| *number < 128)
}

/// `W,H`, both 1 or more.
fn dimensions(text: &str) -> Result<(u16, u16), SdpError> {
    let (width, height) = text.split_once(',').unwrap_or_default();
    match (width.trim().parse(), height.trim().parse()) {
        (Ok(width @ 1..), Ok(height @ 1..)) => Ok((width, height)),
        _ => Err(SdpError::new(
            "a=x-dimensions must be a width and a height, 1 to 65535 pixels: x-dimensions:1920,1080",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        for to in ["192.0.2.7:5004", "239.1.2.3:6000", "[2001:db8::1]:5004", "[ff02::1234]:5004"] {
            let mut description = Description::new(to.parse().unwrap());
            assert_eq!(Description::parse(description.write(7).as_bytes()).unwrap(), description);
            description.dimensions = Some((3840, 2160));
            description.framerate = Some(29.97);
            description.rtcp_port = Some(7001);
            description.payload_type = 96;
            description.hops = (to == "239.1.2.3:6000").then_some(5);
            assert_eq!(Description::parse(description.write(7).as_bytes()).unwrap(), description);
        }
    }

    #[test]
    fn others_write_it_in_other_ways() {
        let text = "v=0\r\no=- 1 1 IN IP4 192.0.2.1\r\ns=x\r\nt=0 0\r\nm=audio 5000 RTP/AVP 0\r\n\
            m=video 5002 RTP/AVP 96 26\r\nc=IN IP4 239.0.0.1/7/2\r\na=rtpmap:96 h264/90000\r\na=rtcp:5009 IN IP4 239.0.0.1\r\n";
        let read = Description::parse(text.as_bytes()).unwrap();
        let expected = Description {
            rtcp_port: Some(5009),
            hops: Some(7),
            ..Description::new("239.0.0.1:5002".parse().unwrap())
        };
        assert_eq!(read, expected);
        let without_address = "v=0\r\no=- 1 1 IN IP4 x\r\ns=x\r\nt=0 0\r\nm=video 5002 RTP/AVP 97\r\na=rtpmap:97 JPEG/90000\r\n";
        let read = Description::parse(without_address.as_bytes()).unwrap();
        assert_eq!((read.address.is_unspecified(), read.payload_type), (true, 97));
    }

    #[test]
    fn what_is_of_no_use_says_why() {
        let head = "v=0\r\no=- 1 1 IN IP4 x\r\ns=x\r\nt=0 0\r\n";
        for (rest, told) in [
            ("m=video 5002 RTP/AVP 96\r\na=rtpmap:96 H264/90000\r\n", "no stream of JPEG"),
            ("m=audio 5002 RTP/AVP 26\r\n", "no stream of JPEG"),
            ("c=IN IP4 camera.local\r\nm=video 5002 RTP/AVP 26\r\n", "an IP address"),
            ("m=video 5002 RTP/AVP 26\r\na=x-dimensions:1920\r\n", "x-dimensions"),
            ("m=video 5002 RTP/AVP 26\r\na=x-dimensions:0,5\r\n", "x-dimensions"),
        ] {
            let error = Description::parse(format!("{head}{rest}").as_bytes()).unwrap_err().to_string();
            assert!(error.contains(told), "{error}");
        }
        assert!(Description::parse(&vec![b'v'; MAX_SDP_BYTES + 1]).is_err());
        assert!(Description::parse(b"hello").is_err());
    }
    /// As the fuzz target does, a little of it each time.
    #[test]
    fn whatever_is_understood_is_written_and_read_alike() {
        let mut description = Description::new("239.1.2.3:6000".parse().unwrap());
        (description.dimensions, description.framerate) = (Some((3840, 2160)), Some(29.97));
        (description.hops, description.rtcp_port, description.rtcp_mux) = (Some(5), Some(7001), true);
        let text = description.write(7).into_bytes();
        let (mut state, mut understood) = (1u32, 0);
        for _ in 0..20_000 {
            let mut changed = text.clone();
            for _ in 0..1 + state % 3 {
                state ^= state << 13;
                state ^= state >> 17;
                state ^= state << 5;
                let at = state as usize % changed.len();
                changed[at] = b"0123456789 /:.,=acmx\r\n\xff"[(state >> 16) as usize % 23];
            }
            let Ok(read) = Description::parse(&changed) else { continue };
            understood += 1;
            assert_eq!(Description::parse(read.write(1).as_bytes()).as_ref(), Ok(&read));
        }
        assert!(understood > 1_000, "{understood}");
    }
}
