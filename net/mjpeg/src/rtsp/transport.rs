//! How the stream goes to a client: the `Transport` header (RFC 2326 section 12.39).

use std::net::{IpAddr, SocketAddr};

use super::limits::MAX_TRANSPORTS;

/// The sender of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Peer {
    /// The connection: never used for another one.
    pub connection: u64,
    /// Its other end.
    pub remote: SocketAddr,
    /// Our end.
    pub local: SocketAddr,
}

/// Where a session's packets go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delivery {
    /// By UDP.
    Udp {
        /// Our address, that the client has called.
        local: IpAddr,
        /// Where RTP goes.
        rtp: SocketAddr,
        /// Where RTCP goes, and comes from.
        rtcp: SocketAddr,
    },
    /// On the connection that the session was set up by.
    Interleaved {
        /// The connection.
        connection: u64,
        /// The channel of RTP.
        rtp: u8,
        /// The channel of RTCP.
        rtcp: u8,
    },
}

/// The first transport of a header that we can do. `is_taken` says whether a channel of the connection has another use. Without
/// ports for UDP there is none but the interleaved one. What is sent goes to the client's own address, whatever `destination`
/// asks for: nobody has a stream sent to somebody else.
pub(super) fn choose(
    header: &str,
    peer: &Peer,
    has_udp: bool,
    is_taken: impl Fn(u8) -> bool,
) -> Option<Delivery> {
    header.split(',').take(MAX_TRANSPORTS).find_map(|offer| one(offer.trim(), peer, has_udp, &is_taken))
}

fn one(offer: &str, peer: &Peer, has_udp: bool, is_taken: &impl Fn(u8) -> bool) -> Option<Delivery> {
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
        let wanted = channels.filter(|(rtp, rtcp)| rtp != rtcp && !is_taken(*rtp) && !is_taken(*rtcp));
        let free = || {
            (0..=254)
                .step_by(2)
                .map(|rtp| (rtp, rtp + 1))
                .find(|(rtp, rtcp)| !is_taken(*rtp) && !is_taken(*rtcp))
        };
        let (rtp, rtcp) = wanted.or_else(free)?;
        return Some(Delivery::Interleaved { connection: peer.connection, rtp, rtcp });
    }
    let (rtp, rtcp) = ports.filter(|(rtp, rtcp)| has_udp && *rtp != 0 && *rtcp != 0 && rtp != rtcp)?;
    let at = |port| {
        let mut address = peer.remote;
        address.set_port(port);
        address
    };
    Some(Delivery::Udp { local: peer.local.ip(), rtp: at(rtp), rtcp: at(rtcp) })
}

/// `a-b`, or `a` alone: then `b` is the next.
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
    fn the_first_that_we_can_do() {
        let peer = Peer {
            connection: 9,
            remote: "192.0.2.7:40000".parse().unwrap(),
            local: "192.0.2.1:8554".parse().unwrap(),
        };
        let udp = |a, b| {
            let at = |port| SocketAddr::new(peer.remote.ip(), port);
            Some(Delivery::Udp { local: peer.local.ip(), rtp: at(a), rtcp: at(b) })
        };
        let tcp = |rtp, rtcp| Some(Delivery::Interleaved { connection: 9, rtp, rtcp });
        // Channels 0, 1 and 5 are taken.
        let choose = |header, has_udp| choose(header, &peer, has_udp, |channel| matches!(channel, 0 | 1 | 5));
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
            assert_eq!(choose(header, true), expected, "{header}");
        }
        assert_eq!(choose("RTP/AVP;client_port=5000-5001", false), None);
        let many = "RTP/AVP;multicast,".repeat(MAX_TRANSPORTS) + "RTP/AVP/TCP";
        assert_eq!(choose(&many, true), None);
    }
}
