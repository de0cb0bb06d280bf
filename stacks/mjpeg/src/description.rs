//! Session descriptions (SDP, RFC 8866) of a JPEG stream.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use sdp_types::{Connection, Media, MediaType, Origin, Session, TransportProto};

use crate::error::SdpError;
use crate::limits::MAX_SDP_BYTES;
use crate::packetizer::PAYLOAD_TYPE;

/// The parameters of a JPEG stream in a session description.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Description {
    /// Destination of the packets: the receiver's address or a multicast group. Unspecified if the description has none.
    pub address: IpAddr,
    /// RTP port.
    pub port: u16,
    /// RTCP port (`a=rtcp`), if it is not the port after RTP's.
    pub rtcp_port: Option<u16>,
    /// Whether RTCP shares the RTP port (`a=rtcp-mux`, RFC 5761).
    pub rtcp_mux: bool,
    /// RTP payload type.
    pub payload_type: u8,
    /// Width and height in pixels (`a=x-dimensions`). Packets cannot carry sizes above 2,040 or sizes that are not multiples of 8.
    pub dimensions: Option<(u16, u16)>,
    /// Frame rate in frames per second (`a=framerate`).
    pub framerate: Option<f64>,
    /// IPv4 multicast TTL.
    pub ttl: Option<u8>,
}

impl Description {
    /// A description of a stream to this address with default values.
    pub fn new(destination: SocketAddr) -> Self {
        Self {
            address: destination.ip(),
            port: destination.port(),
            rtcp_port: None,
            rtcp_mux: false,
            payload_type: PAYLOAD_TYPE,
            dimensions: None,
            framerate: None,
            ttl: None,
        }
    }

    /// The address that a receiver binds: the multicast group, or all local addresses.
    pub fn listen_address(&self) -> SocketAddr {
        let ip = match self.address {
            group if group.is_multicast() => group,
            IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
            IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
        };
        SocketAddr::new(ip, self.port)
    }

    /// Formats the description. `session` is the session identifier in the origin line.
    pub fn write(&self, session: u32) -> String {
        let ttl = self.ttl.filter(|_| self.address.is_multicast());
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
        description.set_connection(Connection::from_ip_addr_ttl(self.address, ttl));
        description.add_media(media);
        let mut bytes = Vec::new();
        description.write(&mut bytes).expect("writing to a Vec does not fail");
        String::from_utf8(bytes).expect("all parts of the description are strings")
    }

    /// Parses a description and returns its first JPEG stream, identified by `a=rtpmap` or payload type 26.
    ///
    /// # Errors
    /// The input is not SDP, has no JPEG stream, or has an invalid attribute.
    pub fn parse(bytes: &[u8]) -> Result<Self, SdpError> {
        if bytes.len() > MAX_SDP_BYTES {
            return Err(SdpError::new(format_args!("longer than {MAX_SDP_BYTES} bytes")));
        }
        let session = Session::parse(bytes).map_err(SdpError::new)?;
        let found = session.medias.iter().find_map(|media| Some((media, payload_type(media)?)));
        let (media, payload_type) = found.ok_or_else(|| {
            SdpError::new("no JPEG stream: m=video must have payload type 26 or a=rtpmap with JPEG/90000")
        })?;
        let connection = media.connections.first().or(session.connection.as_ref());
        let (mut address, mut ttl) = (IpAddr::V4(Ipv4Addr::UNSPECIFIED), None);
        if let Some(connection) = connection {
            let mut parts = connection.connection_address.split('/');
            let invalid =
                || SdpError::new("c= must have an IP address: replace the name by the destination address");
            address = parts.next().and_then(|text| text.parse().ok()).ok_or_else(invalid)?;
            // An IPv6 address is followed by the number of addresses, not by a TTL.
            let has_ttl = address.is_multicast() && address.is_ipv4();
            ttl = parts.next().filter(|_| has_ttl).and_then(|text| text.parse().ok());
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
            ttl,
        })
    }
}

/// The JPEG payload type of a video section.
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

/// Parses `width,height`; both must be at least 1.
fn dimensions(text: &str) -> Result<(u16, u16), SdpError> {
    let (width, height) = text.split_once(',').unwrap_or_default();
    match (width.trim().parse(), height.trim().parse()) {
        (Ok(width @ 1..), Ok(height @ 1..)) => Ok((width, height)),
        _ => Err(SdpError::new(
            "a=x-dimensions must be a width and a height of 1 to 65535 pixels, such as x-dimensions:1920,1080",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formatted_descriptions_parse_to_the_same_value() {
        for to in ["192.0.2.7:5004", "239.1.2.3:6000", "[2001:db8::1]:5004", "[ff02::1234]:5004"] {
            let mut description = Description::new(to.parse().unwrap());
            assert_eq!(Description::parse(description.write(7).as_bytes()).unwrap(), description);
            description.dimensions = Some((3840, 2160));
            description.framerate = Some(29.97);
            description.rtcp_port = Some(7001);
            description.payload_type = 96;
            description.ttl = (to == "239.1.2.3:6000").then_some(5);
            assert_eq!(Description::parse(description.write(7).as_bytes()).unwrap(), description);
        }
    }

    #[test]
    fn descriptions_of_other_programs_are_parsed() {
        let text = "v=0\r\no=- 1 1 IN IP4 192.0.2.1\r\ns=x\r\nt=0 0\r\nm=audio 5000 RTP/AVP 0\r\n\
            m=video 5002 RTP/AVP 96 26\r\nc=IN IP4 239.0.0.1/7/2\r\na=rtpmap:96 h264/90000\r\na=rtcp:5009 IN IP4 239.0.0.1\r\n";
        let read = Description::parse(text.as_bytes()).unwrap();
        let expected = Description {
            rtcp_port: Some(5009),
            ttl: Some(7),
            ..Description::new("239.0.0.1:5002".parse().unwrap())
        };
        assert_eq!(read, expected);
        let without_address = "v=0\r\no=- 1 1 IN IP4 x\r\ns=x\r\nt=0 0\r\nm=video 5002 RTP/AVP 97\r\na=rtpmap:97 JPEG/90000\r\n";
        let read = Description::parse(without_address.as_bytes()).unwrap();
        assert_eq!((read.address.is_unspecified(), read.payload_type), (true, 97));
    }

    #[test]
    fn unusable_descriptions_are_rejected_with_the_cause() {
        let head = "v=0\r\no=- 1 1 IN IP4 x\r\ns=x\r\nt=0 0\r\n";
        for (rest, cause) in [
            ("m=video 5002 RTP/AVP 96\r\na=rtpmap:96 H264/90000\r\n", "no JPEG stream"),
            ("m=audio 5002 RTP/AVP 26\r\n", "no JPEG stream"),
            ("c=IN IP4 camera.local\r\nm=video 5002 RTP/AVP 26\r\n", "an IP address"),
            ("m=video 5002 RTP/AVP 26\r\na=x-dimensions:1920\r\n", "x-dimensions"),
            ("m=video 5002 RTP/AVP 26\r\na=x-dimensions:0,5\r\n", "x-dimensions"),
        ] {
            let error = Description::parse(format!("{head}{rest}").as_bytes()).unwrap_err().to_string();
            assert!(error.contains(cause), "{error}");
        }
        assert!(Description::parse(&vec![b'v'; MAX_SDP_BYTES + 1]).is_err());
        assert!(Description::parse(b"hello").is_err());
    }

    /// The property of the fuzz target, on a fixed set of mutations.
    #[test]
    fn accepted_mutations_round_trip() {
        let mut description = Description::new("239.1.2.3:6000".parse().unwrap());
        (description.dimensions, description.framerate) = (Some((3840, 2160)), Some(29.97));
        (description.ttl, description.rtcp_port, description.rtcp_mux) = (Some(5), Some(7001), true);
        let text = description.write(7).into_bytes();
        let (mut state, mut accepted) = (1u32, 0);
        // Miri is much slower.
        let mutations = if cfg!(miri) { 20 } else { 20_000 };
        for _ in 0..mutations {
            let mut changed = text.clone();
            for _ in 0..1 + state % 3 {
                state ^= state << 13;
                state ^= state >> 17;
                state ^= state << 5;
                let at = state as usize % changed.len();
                changed[at] = b"0123456789 /:.,=acmx\r\n\xff"[(state >> 16) as usize % 23];
            }
            let Ok(read) = Description::parse(&changed) else { continue };
            accepted += 1;
            assert_eq!(Description::parse(read.write(1).as_bytes()).as_ref(), Ok(&read));
        }
        assert!(accepted > mutations / 20, "{accepted}");
    }
}
