//! The `Transport` header (RFC 2326 section 12.39).

use std::net::{IpAddr, SocketAddr};

use super::limits::MAX_TRANSPORTS;

/// The connection that a request arrived on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Peer {
    /// The caller's number of the connection; never reused.
    pub connection: u64,
    /// The client's address.
    pub remote: SocketAddr,
    /// The server's address.
    pub local: SocketAddr,
}

/// The transport of a session's packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transport {
    /// Unicast UDP.
    Udp {
        /// The server's address that the client connected to.
        local: IpAddr,
        /// The client's address for RTP.
        rtp: SocketAddr,
        /// The client's address for RTCP, in both directions.
        rtcp: SocketAddr,
    },
    /// The connection on which the session was set up.
    Interleaved {
        /// The connection.
        connection: u64,
        /// The channel for RTP.
        rtp: u8,
        /// The channel for RTCP.
        rtcp: u8,
    },
}

/// Selects the first supported transport of a header. `is_taken` tells whether a channel of the connection is in use.
/// `destination` is ignored: packets are sent only to the address of the client's connection, so that a client cannot direct
/// the stream to another host.
pub(super) fn select(
    header: &str,
    peer: &Peer,
    has_udp: bool,
    is_taken: impl Fn(u8) -> bool,
) -> Option<Transport> {
    let mut offers = header.split(',').take(MAX_TRANSPORTS);
    offers.find_map(|offer| parse_offer(offer.trim(), peer, has_udp, &is_taken))
}

fn parse_offer(offer: &str, peer: &Peer, has_udp: bool, is_taken: &impl Fn(u8) -> bool) -> Option<Transport> {
    let mut parts = offer.split(';').map(str::trim);
    let is_tcp = match parts.next()? {
        "RTP/AVP" | "RTP/AVP/UDP" => false,
        "RTP/AVP/TCP" => true,
        _ => return None,
    };
    let (mut ports, mut channels) = (None, None);
    for part in parts {
        let (name, value) = part.split_once('=').unwrap_or((part, ""));
        match name {
            "multicast" => return None,
            "mode" if !value.trim_matches('"').eq_ignore_ascii_case("PLAY") => return None,
            "client_port" => ports = Some(pair::<u16>(value, |port| port.checked_add(1))?),
            "interleaved" => channels = Some(pair::<u8>(value, |channel| channel.checked_add(1))?),
            _ => {}
        }
    }
    if is_tcp {
        let is_free = |(rtp, rtcp): &(u8, u8)| rtp != rtcp && !is_taken(*rtp) && !is_taken(*rtcp);
        let mut pairs = (0..=254).step_by(2).map(|rtp| (rtp, rtp + 1));
        let (rtp, rtcp) = channels.filter(is_free).or_else(|| pairs.find(is_free))?;
        return Some(Transport::Interleaved { connection: peer.connection, rtp, rtcp });
    }
    let (rtp, rtcp) = ports.filter(|(rtp, rtcp)| has_udp && *rtp != 0 && *rtcp != 0 && rtp != rtcp)?;
    let client_address = |port| {
        let mut address = peer.remote;
        address.set_port(port);
        address
    };
    Some(Transport::Udp { local: peer.local.ip(), rtp: client_address(rtp), rtcp: client_address(rtcp) })
}

/// Parses `a-b`, or `a` alone, which implies `b` = `a` + 1.
fn pair<T: std::str::FromStr + Copy>(text: &str, next: impl Fn(T) -> Option<T>) -> Option<(T, T)> {
    match text.split_once('-') {
        Some((first, second)) => Some((first.parse().ok()?, second.parse().ok()?)),
        None => {
            let first = text.parse().ok()?;
            Some((first, next(first)?))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_supported_transport_is_selected() {
        let peer = Peer {
            connection: 9,
            remote: "192.0.2.7:40000".parse().unwrap(),
            local: "192.0.2.1:8554".parse().unwrap(),
        };
        let udp = |a, b| {
            let client_address = |port| SocketAddr::new(peer.remote.ip(), port);
            Some(Transport::Udp { local: peer.local.ip(), rtp: client_address(a), rtcp: client_address(b) })
        };
        let tcp = |rtp, rtcp| Some(Transport::Interleaved { connection: 9, rtp, rtcp });
        // Channels 0, 1 and 5 are in use.
        let select = |header, has_udp| select(header, &peer, has_udp, |channel| matches!(channel, 0 | 1 | 5));
        for (header, expected) in [
            ("RTP/AVP;unicast;client_port=5000-5001", udp(5000, 5001)),
            ("RTP/AVP/UDP;unicast;client_port=5000", udp(5000, 5001)),
            ("RTP/AVP;unicast;client_port=5000-5007;destination=198.51.100.1", udp(5000, 5007)),
            ("RTP/AVP;unicast", None),
            ("RTP/AVP;unicast;client_port=0-1", None),
            ("RTP/AVP;unicast;client_port=65535", None),
            ("RTP/AVP;unicast;client_port=7-7", None),
            ("RTP/AVP;unicast;client_port=a-b", None),
            ("RTP/AVP;multicast;client_port=5000-5001", None),
            ("RTP/AVP;unicast;client_port=5000-5001;mode=\"RECORD\"", None),
            ("RTP/AVP;unicast;client_port=5000-5001;mode=play", udp(5000, 5001)),
            ("RTP/SAVP;unicast;client_port=5000-5001, RTP/AVP/TCP;unicast;interleaved=8-9", tcp(8, 9)),
            ("RTP/AVP/TCP;unicast;interleaved=0-1", tcp(2, 3)),
            ("RTP/AVP/TCP;interleaved=4-5", tcp(2, 3)),
            ("RTP/AVP/TCP", tcp(2, 3)),
            ("RTP/AVP/TCP;interleaved=255", None),
            ("RTP/AVP/TCP;interleaved=256-257", None),
            ("", None),
            (";;;=,,", None),
        ] {
            assert_eq!(select(header, true), expected, "{header}");
        }
        assert_eq!(select("RTP/AVP;client_port=5000-5001", false), None);
        let many = "RTP/AVP;multicast,".repeat(MAX_TRANSPORTS) + "RTP/AVP/TCP";
        assert_eq!(select(&many, true), None);
    }
}
