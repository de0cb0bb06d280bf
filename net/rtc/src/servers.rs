//! STUN and TURN servers: URLs (RFC 7064, RFC 7065) and the addresses that they resolve to.
//!
//! Sends nothing to the servers (`engine/gather.rs` does). Resolves names through the system only, without
//! SRV records.

use std::fmt;
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::mpsc::{Receiver, channel};
use std::thread;

use netdyno_io::Waker;
use netdyno_rtc_core::RelayProtocol;

use crate::error::Error;
use crate::limits::{ADDRESSES_PER_SERVER, ICE_SERVERS};
use crate::streams::Secure;

/// Default ports (RFC 7064, section 3.2; RFC 7065, section 3.2), without and with TLS.
const PORT: u16 = 3478;
const TLS_PORT: u16 = 5349;

const FORMS: &str = "expected stun:host:port, turn:host:port or turns:host:port";

/// A STUN or TURN server (W3C RTCIceServer).
#[derive(Clone, PartialEq, Eq)]
pub struct IceServer {
    /// `stun:host:port`, `turn:host:port?transport=udp` or `=tcp`, or `turns:host:port?transport=tcp` (TLS,
    /// with the feature `tls`). The port defaults to 3478, with TLS to 5349; the transport defaults to UDP,
    /// with TLS to TCP. IPv6 addresses are written in brackets. TCP is for networks that block UDP: a lost
    /// packet delays everything behind it. TCP and TLS are available on Linux only.
    pub url: String,
    /// The username for a TURN server (RFC 8489, section 9.2). Empty for STUN.
    pub username: String,
    /// The password for a TURN server, at most 763 bytes.
    pub credential: String,
}

impl IceServer {
    /// A STUN server, which reports the address from which it receives our datagrams.
    pub fn stun(url: impl Into<String>) -> Self {
        Self { url: url.into(), username: String::new(), credential: String::new() }
    }

    /// A TURN server, which reports that address and relays when no other path works.
    pub fn turn(url: impl Into<String>, username: impl Into<String>, credential: impl Into<String>) -> Self {
        Self { url: url.into(), username: username.into(), credential: credential.into() }
    }
}

impl fmt::Debug for IceServer {
    /// Without the password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IceServer")
            .field("url", &self.url)
            .field("username", &self.username)
            .finish_non_exhaustive()
    }
}

/// The transport to a server.
#[derive(Debug, Clone)]
pub(crate) enum Transport {
    Udp,
    Tcp,
    Tls(Secure),
}

impl Transport {
    /// The protocol as reported in candidates.
    pub(crate) fn relay_protocol(&self) -> RelayProtocol {
        match self {
            Self::Udp => RelayProtocol::Udp,
            Self::Tcp => RelayProtocol::Tcp,
            Self::Tls(_) => RelayProtocol::Tls,
        }
    }
}

/// The parts of a URL.
#[derive(Debug, Clone)]
struct ServerUrl {
    is_turn: bool,
    host: String,
    port: u16,
    transport: Transport,
}

/// A server at one address.
#[derive(Clone)]
pub(crate) struct Server {
    pub(crate) url: String,
    pub(crate) address: SocketAddr,
    pub(crate) transport: Transport,
    /// Username and password of a TURN server.
    pub(crate) relays_for: Option<(String, String)>,
}

/// The resolved servers of an endpoint.
#[derive(Default)]
pub(crate) struct Resolved {
    pub(crate) servers: Vec<Server>,
    /// URLs whose names could not be resolved, with the resolver's error.
    pub(crate) unknown: Vec<(String, String)>,
}

/// The servers of an endpoint, while their names are being resolved.
#[derive(Debug)]
pub(crate) struct Resolving(Receiver<Resolved>);

impl Resolving {
    /// Parses the URLs and resolves their hosts, on a separate thread if any of them is a name. Calls `waker`
    /// when done.
    pub(crate) fn start(
        servers: &[IceServer],
        roots: Option<&str>,
        waker: Waker,
    ) -> Result<Option<Self>, Error> {
        let urls = servers.iter().map(|server| Ok((parse(server, roots)?, server.clone())));
        let urls: Vec<_> = urls.collect::<Result<_, Error>>()?;
        if let Some(beyond) = servers.get(ICE_SERVERS) {
            let reason = "too many servers (limit 8): two or three are enough";
            return Err(Error::IceServer { url: beyond.url.clone(), reason });
        }
        if urls.is_empty() {
            return Ok(None);
        }
        let (give, result) = channel();
        let are_known = urls.iter().all(|(place, _)| place.host.parse::<std::net::IpAddr>().is_ok());
        let resolve = move || {
            let mut resolved = Resolved::default();
            urls.iter().for_each(|(place, server)| resolved.add(place, server));
            // The endpoint may be gone.
            let _ = give.send(resolved);
            waker.wake();
        };
        if are_known {
            resolve();
        } else {
            // The thread ends when the resolver has answered or given up.
            thread::Builder::new().name("netdyno-rtc-names".to_owned()).spawn(resolve)?;
        }
        Ok(Some(Self(result)))
    }

    /// The servers; `Some` once.
    pub(crate) fn poll(&self) -> Option<Resolved> {
        self.0.try_recv().ok()
    }
}

impl Resolved {
    /// Resolves one host and keeps the first address of each family.
    fn add(&mut self, place: &ServerUrl, server: &IceServer) {
        let mut found: Vec<SocketAddr> = match (place.host.as_str(), place.port).to_socket_addrs() {
            Ok(found) => found.collect(),
            Err(error) => {
                let why = format!("{error}: check the name and this machine's resolver");
                return self.unknown.push((server.url.clone(), why));
            }
        };
        found.dedup_by_key(|address| address.is_ipv4());
        found.truncate(ADDRESSES_PER_SERVER);
        let relays_for = place.is_turn.then(|| (server.username.clone(), server.credential.clone()));
        let server = |address| Server {
            url: server.url.clone(),
            address,
            transport: place.transport.clone(),
            relays_for: relays_for.clone(),
        };
        self.servers.extend(found.into_iter().map(server));
    }
}

fn parse(server: &IceServer, roots: Option<&str>) -> Result<ServerUrl, Error> {
    let wrong = |reason| Error::IceServer { url: server.url.clone(), reason };
    let (scheme, rest) = server.url.split_once(':').ok_or_else(|| wrong(FORMS))?;
    let (is_turn, is_secure) = match scheme.to_ascii_lowercase().as_str() {
        "stun" => (false, false),
        "turn" => (true, false),
        "turns" => (true, true),
        "stuns" => return Err(wrong("STUN over TLS does not reveal the address for UDP: use stun:")),
        _ => return Err(wrong(FORMS)),
    };
    let (place, query) = match rest.split_once('?') {
        Some((place, query)) => (place, Some(query)),
        None => (rest, None),
    };
    let is_stream = match query {
        None => is_secure,
        Some("transport=tcp") if is_turn => true,
        Some("transport=udp") if is_secure => {
            return Err(wrong("DTLS to TURN servers is not supported: use turns: with ?transport=tcp"));
        }
        Some("transport=udp") => false,
        Some("transport=tcp") => {
            return Err(wrong("STUN over TCP does not reveal the address for UDP: use stun: alone"));
        }
        Some(_) => return Err(wrong("only transport=udp or transport=tcp may follow the ?")),
    };
    if is_stream && !cfg!(target_os = "linux") {
        return Err(wrong("TCP to servers is supported on Linux only: use turn: with ?transport=udp"));
    }
    if is_turn && (server.username.is_empty() || server.credential.is_empty()) {
        return Err(wrong("a TURN server needs a username and a credential"));
    }
    if server.username.len() > 512 || server.credential.len() > 763 {
        return Err(wrong("the limits are 512 bytes for a username and 763 for a credential"));
    }
    let is_bare_v6 = place.starts_with('[') && place.ends_with(']');
    let (host, port) = match place.rsplit_once(':').filter(|_| !is_bare_v6) {
        Some((host, port)) => {
            (host, port.parse().map_err(|_| wrong("the port must be a number from 1 to 65535"))?)
        }
        None => (place, if is_secure { TLS_PORT } else { PORT }),
    };
    let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    let is_v6 = host.contains(':');
    if host.is_empty() || port == 0 || (is_v6 && !place.starts_with('[')) {
        return Err(wrong("expected stun:host:port, with an IPv6 address in brackets"));
    }
    let transport = match (is_stream, is_secure) {
        (false, _) => Transport::Udp,
        (true, false) => Transport::Tcp,
        (true, true) => Transport::Tls(Secure::new(host, roots).map_err(wrong)?),
    };
    Ok(ServerUrl { is_turn, host: host.to_owned(), port, transport })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_read_as_rfc_7064_and_7065_have_them() {
        let root = netdyno_rtc_core::Certificate::generate().unwrap().to_pem().unwrap();
        for (url, expected) in [
            ("stun:stun.example.org", Some((false, "stun.example.org", 3478, "udp"))),
            ("stun:192.0.2.1:19302", Some((false, "192.0.2.1", 19302, "udp"))),
            ("STUN:[2001:db8::1]", Some((false, "2001:db8::1", 3478, "udp"))),
            ("turn:[2001:db8::1]:99?transport=udp", Some((true, "2001:db8::1", 99, "udp"))),
            ("turn:example.org?transport=udp", Some((true, "example.org", 3478, "udp"))),
            ("turn:example.org?transport=tcp", Some((true, "example.org", 3478, "tcp"))),
            ("turn:[2001:db8::1]:99?transport=tcp", Some((true, "2001:db8::1", 99, "tcp"))),
            #[cfg(feature = "tls")]
            ("turns:example.org", Some((true, "example.org", 5349, "tls"))),
            #[cfg(feature = "tls")]
            ("turns:[2001:db8::1]:443?transport=tcp", Some((true, "2001:db8::1", 443, "tls"))),
            #[cfg(not(feature = "tls"))]
            ("turns:example.org", None),
            ("turns:example.org?transport=udp", None),
            ("turns:not a name", None),
            ("stuns:example.org", None),
            ("stun:example.org?transport=tcp", None),
            ("turn:example.org?transport=sctp", None),
            ("turn:example.org?colour=red", None),
            ("http://example.org", None),
            ("stun:2001:db8::1", None),
            ("stun:example.org:0", None),
            ("stun:example.org:99999", None),
            ("stun:", None),
            ("example.org", None),
        ] {
            let read = parse(&IceServer::turn(url, "name", "password"), Some(&root));
            match (read, expected) {
                (Ok(ServerUrl { is_turn, host, port, transport }), Some(expected)) => {
                    let transport = transport.relay_protocol().name();
                    assert_eq!((is_turn, host.as_str(), port, transport), expected, "{url}");
                }
                (Err(Error::IceServer { url: named, .. }), None) => assert_eq!(named, url),
                (read, expected) => panic!("{url}: {read:?}, not {expected:?}"),
            }
        }
        assert!(parse(&IceServer::stun("turn:192.0.2.1"), None).is_err(), "without a name and a password");
        let text = format!("{:?}", IceServer::turn("turn:192.0.2.1", "name", "secret"));
        assert!(text.contains("name") && !text.contains("secret"), "{text}");
    }

    #[test]
    fn too_many_servers_are_refused() {
        let waker = || netdyno_io::Poller::new().unwrap().waker();
        let many = vec![IceServer::stun("stun:192.0.2.1"); ICE_SERVERS + 1];
        assert!(matches!(Resolving::start(&many, None, waker()), Err(Error::IceServer { .. })));
        assert!(Resolving::start(&[], None, waker()).unwrap().is_none());
        let known = [IceServer::stun("stun:192.0.2.1"), IceServer::turn("turn:[2001:db8::1]:9", "a", "b")];
        let found = Resolving::start(&known, None, waker()).unwrap().unwrap().poll().unwrap();
        assert!(found.unknown.is_empty());
        let found: Vec<_> =
            found.servers.into_iter().map(|it| (it.address, it.relays_for.is_some())).collect();
        assert_eq!(
            found,
            [("192.0.2.1:3478".parse().unwrap(), false), ("[2001:db8::1]:9".parse().unwrap(), true)]
        );
    }
}
