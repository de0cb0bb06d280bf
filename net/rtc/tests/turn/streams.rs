//! TCP and TLS to a TURN server, and servers that do not speak TURN.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use netdyno_rtc::blocking::PeerConnection;
use netdyno_rtc::{IceServer, Settings};

use crate::coturn::Coturn;
use crate::{LONG, connected, endpoint, exchange, gathered};

/// What the server does with each accepted connection.
fn server(serve: impl Fn(TcpStream) + Send + Sync + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let serve = Arc::new(serve);
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let serve = serve.clone();
            thread::spawn(move || serve(stream));
        }
    });
    address
}

/// Settings with such servers at these URLs.
fn asking(urls: impl IntoIterator<Item = String>) -> Settings {
    let mut settings = Settings::new().unwrap();
    settings.ice_servers = urls.into_iter().map(|url| IceServer::turn(url, "name", "password")).collect();
    settings.relay_only = true;
    settings
}

/// Waits for a value; a guard against hanging.
fn awaited<T>(mut look: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + LONG;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < deadline, "nothing came of it in time");
        thread::sleep(Duration::from_millis(5));
    }
}

fn relayed_alone(peer: &PeerConnection) {
    let lines = peer.local_candidates();
    assert!(lines.len() == 1 && lines[0].contains(" typ relay raddr 0.0.0.0 rport 0"), "{lines:?}");
    assert!(peer.server_failures().is_empty(), "{:?}", peer.server_failures());
}

fn pairs(kinds: &[[&str; 2]]) {
    for [here, there] in kinds {
        let Some(server) = Coturn::start(&[]) else { return };
        let [one, other] =
            [here, there].map(|kind| endpoint(server.relayed_by(&server.url(kind), "password")));
        let (offerer, answerer) = (gathered(&one), gathered(&other));
        for (peer, kind) in [(&offerer, here), (&answerer, there)] {
            relayed_alone(peer);
            assert_eq!(peer.report().unwrap().local_candidates[0].relay_protocol, Some(*kind));
        }
        let (here, there) = connected(&offerer, &answerer);
        // 5 MB in each direction.
        exchange(&here, &there, 2000);
        assert!(server.logs("peer 127.0.0.1 lifetime updated"), "a channel carries it");
        drop((here, there, offerer, answerer));
        assert!(server.logs("lifetime=0"), "the allocations are given back");
    }
}

#[test]
fn two_relay_only_peers_connect_by_tcp() {
    pairs(&[["tcp", "tcp"], ["tcp", "udp"]]);
}

#[test]
#[cfg(feature = "tls")]
fn two_relay_only_peers_connect_by_tls() {
    pairs(&[["tls", "tls"], ["tls", "tcp"]]);
}

#[test]
#[cfg(feature = "tls")]
fn a_server_with_an_invalid_certificate_is_refused() {
    let Some(server) = Coturn::start(&[]) else { return };
    let tls_port = server.tls_port();
    let mut of_another = server.relayed_by(&server.url("tls"), "password");
    of_another.server_roots = Some(crate::coturn::certified(&["127.0.0.1"]).0);
    let mut of_the_system = of_another.clone();
    of_the_system.server_roots = None;
    let another_name = server.relayed_by(&format!("turns:localhost:{tls_port}"), "password");
    for (settings, expected) in [
        (of_another, "`server_roots`"),
        (of_the_system, "`server_roots`"),
        (another_name, "use the host name that is in the server's certificate"),
    ] {
        let began = Instant::now();
        // Without trusted authorities, it is refused at once.
        let bound = netdyno_rtc::blocking::Endpoint::bind("127.0.0.1:0".parse().unwrap(), settings);
        let Ok(one) = bound.map_err(|error| assert!(error.to_string().contains("server_roots"), "{error}"))
        else {
            continue;
        };
        let peer = gathered(&one);
        assert!(peer.local_candidates().is_empty());
        let failures = peer.server_failures();
        assert!(!failures.is_empty() && failures.iter().all(|why| why.contains(expected)), "{failures:?}");
        assert!(began.elapsed() < Duration::from_secs(9), "{:?}", began.elapsed());
    }
}

/// All at once, because one of them waits for the whole time.
#[test]
fn servers_that_do_not_speak_turn_are_reported() {
    let accepted = Arc::new(AtomicUsize::new(0));
    let counted = accepted.clone();
    let silent = server(|mut stream| {
        let _ = stream.read_to_end(&mut Vec::new());
    });
    let closing = server(move |mut stream| {
        counted.fetch_add(1, Ordering::Relaxed);
        // Read everything first, so that closing sends no reset.
        let _ = stream.read(&mut [0; 1500]);
    });
    let garbage = server(|mut stream| {
        let _ = stream.write_all(&[0x99; 4000]);
        let _ = stream.read_to_end(&mut Vec::new());
    });
    // The header of a STUN message without its body.
    let endless = server(|mut stream| {
        let header = [&[1, 3, 0xff, 0xfc, 0x21, 0x12, 0xa4, 0x42][..], b"transaction!"].concat();
        let _ = stream.write_all(&header);
        let _ = stream.read_to_end(&mut Vec::new());
    });
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let mut expected = vec![
        (format!("turn:{silent}?transport=tcp"), "no address within 10 s"),
        (format!("turn:{closing}?transport=tcp"), "the remote end closed the connection"),
        (format!("turn:{garbage}?transport=tcp"), "neither a STUN message nor ChannelData"),
        (format!("turn:{endless}?transport=tcp"), "no address within 10 s"),
        (format!("turn:{nobody}?transport=tcp"), "refused"),
    ];
    if cfg!(feature = "tls") {
        expected.push((format!("turns:{silent}"), "no TLS connection within 10 s"));
        expected.push((format!("turns:{garbage}"), "does not speak TLS"));
    }
    let began = Instant::now();
    let mut settings = asking(expected.iter().map(|(url, _)| url.clone()));
    settings.server_roots = Some(crate::coturn::certified(&["127.0.0.1"]).0);
    let one = endpoint(settings);
    let peer = gathered(&one);
    assert!(began.elapsed() >= Duration::from_secs(9), "as long as the silent may still answer");
    assert!(peer.local_candidates().is_empty());
    let failures = peer.server_failures();
    for (url, why) in &expected {
        let told: Vec<_> = failures.iter().filter(|line| line.starts_with(&format!("{url}: "))).collect();
        assert!(told.len() == 1 && told[0].contains(why), "{url}: {told:?}, not {why}");
    }
    // Half a second, then doubled, within 10 s.
    assert_eq!(accepted.load(Ordering::Relaxed), 5);
}

/// A proxy between the two ends and the server, which can cut connections and splits data at odd positions.
struct Cutter {
    address: SocketAddr,
    streams: Arc<Mutex<Vec<TcpStream>>>,
}

impl Cutter {
    fn before(port: u16) -> Self {
        let streams = Arc::new(Mutex::new(Vec::new()));
        let kept = streams.clone();
        let address = server(move |here| {
            let there = TcpStream::connect(("127.0.0.1", port)).unwrap();
            for stream in [&here, &there] {
                stream.set_nodelay(true).unwrap();
                kept.lock().unwrap().push(stream.try_clone().unwrap());
            }
            let (from, to) = (here.try_clone().unwrap(), there.try_clone().unwrap());
            let pump = thread::spawn(move || pass(from, to));
            pass(there, here);
            pump.join().unwrap();
        });
        Self { address, streams }
    }

    fn cut(&self) {
        for stream in self.streams.lock().unwrap().drain(..) {
            let _ = stream.shutdown(std::net::Shutdown::Both);
        }
    }
}

fn pass(mut from: TcpStream, mut to: TcpStream) {
    let mut bytes = [0; 1300];
    for length in (1..=bytes.len()).rev().step_by(7).cycle() {
        match from.read(&mut bytes[..length]) {
            Ok(count) if count > 0 && to.write_all(&bytes[..count]).is_ok() => {}
            _ => break,
        }
    }
    let _ = to.shutdown(std::net::Shutdown::Write);
}

#[test]
fn a_lost_stream_is_reported_and_opened_again() {
    let Some(server) = Coturn::start(&[]) else { return };
    let cutter = Cutter::before(server.port());
    let one = endpoint(server.relayed_by(&format!("turn:{}?transport=tcp", cutter.address), "password"));
    let other = endpoint(Settings::new().unwrap());
    let (offerer, answerer) = (gathered(&one), PeerConnection::new(&other).unwrap());
    relayed_alone(&offerer);
    let (here, there) = connected(&offerer, &answerer);
    exchange(&here, &there, 200);
    cutter.cut();
    let told = awaited(|| offerer.server_failures().pop());
    assert!(told.contains("trying again"), "{told}");
    // Another relayed address, which the peer receives by signalling or discovers.
    let line = awaited(|| offerer.next_candidate());
    assert!(line.contains("typ relay"), "{line}");
    let offer = offerer.restart_ice().unwrap();
    offerer.accept_answer(&answerer.accept_offer(&offer).unwrap()).unwrap();
    exchange(&here, &there, 200);
    assert_eq!(offerer.server_failures().len(), 1);
}
