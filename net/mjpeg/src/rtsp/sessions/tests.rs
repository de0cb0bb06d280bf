//! Requests in, answers and events out.

use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::super::{Unit, next_unit};
use super::*;
use netdyno_rtp::{Sequence, Ssrc, Timestamp};

const UDP: &str = "Transport: RTP/AVP;unicast;client_port=5000-5001";
const TCP: &str = "Transport: RTP/AVP/TCP;unicast;interleaved=0-1";
/// Sessions of one host.
const HOST_SESSIONS: usize = 4;
const MEDIUM_URI: &str = "rtsp://h/stream/video";

/// A server, a clock, and clients that call it.
struct Bench {
    sessions: Sessions,
    now: Instant,
    stream: Stream,
    cseq: u64,
}

impl Bench {
    fn new(max_sessions: usize) -> Self {
        let ports = Some((6000, 6001));
        let config = SessionsConfig {
            max_sessions,
            max_sessions_per_host: HOST_SESSIONS,
            ports,
            ..SessionsConfig::default()
        };
        let stream = Stream {
            ssrc: Ssrc(0xabcd),
            next: Sequence(77),
            timestamp: Timestamp(9_000),
            dimensions: Some((640, 480)),
            frames_per_s: Some(30.0),
        };
        Self { sessions: Sessions::new(config, [7; 32]), now: Instant::now(), stream, cseq: 0 }
    }

    /// A hundred connections are of one host.
    fn peer(connection: u64) -> Peer {
        let remote =
            SocketAddr::from(([192, 0, 2, 7 + (connection / 100) as u8], 40_000 + connection as u16));
        Peer { connection, remote, local: SocketAddr::from(([192, 0, 2, 1], 8554)) }
    }

    /// The answer to one request, which repeats its CSeq.
    fn ask(&mut self, connection: u64, line: &str, headers: &str) -> String {
        self.cseq += 1;
        let cseq = self.cseq;
        let text = format!(
            "{line} RTSP/1.0\r\nCSeq: {cseq}\r\n{headers}{}\r\n",
            if headers.is_empty() { "" } else { "\r\n" }
        );
        let answer = self.send(connection, &text);
        assert!(answer.contains(&format!("\r\nCSeq: {cseq}\r\n")), "{answer}");
        answer
    }

    fn send(&mut self, connection: u64, text: &str) -> String {
        let (_, Unit::Request(request)) = next_unit(text.as_bytes()) else { panic!("{text:?} is a request") };
        let mut out = Vec::new();
        self.sessions.handle_request(self.now, &Self::peer(connection), &self.stream, &request, &mut out);
        String::from_utf8(out).unwrap()
    }

    fn set_up(&mut self, connection: u64, transport: &str) -> String {
        let answer = self.ask(connection, &format!("SETUP {MEDIUM_URI}"), transport);
        assert_eq!(code(&answer), 200, "{answer}");
        let id = header(&answer, "Session").split(';').next().unwrap().to_owned();
        format!("Session: {id}")
    }

    fn events(&mut self) -> Vec<SessionEvent> {
        std::iter::from_fn(|| self.sessions.poll_event()).collect()
    }

    fn after(&mut self, seconds: u64) -> Vec<SessionEvent> {
        self.now += Duration::from_secs(seconds);
        self.sessions.handle_timeout(self.now);
        self.events()
    }
}

fn code(answer: &str) -> u16 {
    answer.strip_prefix("RTSP/1.0 ").and_then(|rest| rest.get(..3)?.parse().ok()).expect("a status line")
}

fn header<'a>(answer: &'a str, name: &str) -> &'a str {
    let prefix = format!("{name}: ");
    answer
        .lines()
        .find_map(|line| line.strip_prefix(&prefix))
        .unwrap_or_else(|| panic!("no {name} in {answer}"))
}

#[test]
fn a_client_watches_by_udp() {
    let mut bench = Bench::new(4);
    assert!(header(&bench.ask(1, "OPTIONS *", ""), "Public").contains("SET_PARAMETER"));
    let answer = bench.ask(1, "DESCRIBE rtsp://h:8554/stream", "Accept: application/sdp");
    assert_eq!(header(&answer, "Content-Base"), "rtsp://h:8554/stream/");
    let body = answer.split_once("\r\n\r\n").unwrap().1;
    assert_eq!(header(&answer, "Content-Length"), body.len().to_string());
    assert!(body.contains("m=video 0 RTP/AVP 26\r\n") && body.contains("a=framerate:30\r\n"));
    assert!(body.contains("a=x-dimensions:640,480\r\n") && body.ends_with("a=control:video\r\n"));

    let answer = bench.ask(1, &format!("SETUP {MEDIUM_URI}"), UDP);
    let transport = "RTP/AVP;unicast;client_port=5000-5001;server_port=6000-6001;ssrc=0000ABCD;mode=\"PLAY\"";
    assert_eq!(header(&answer, "Transport"), transport);
    let (id, timeout) = header(&answer, "Session").split_once(';').unwrap();
    assert_eq!((id.len(), timeout), (16, "timeout=60"));
    let session = format!("Session: {id}");
    assert_eq!(bench.events(), []);

    let answer = bench.ask(1, "PLAY rtsp://h/stream/", &session);
    assert_eq!(header(&answer, "RTP-Info"), "url=rtsp://h/stream/video;seq=77;rtptime=9000");
    let [SessionEvent::Play(id, Delivery::Udp { rtp, rtcp, local }, _)] = bench.events()[..] else {
        panic!()
    };
    let at = |port| SocketAddr::from(([192, 0, 2, 7], port));
    assert_eq!((rtp, rtcp, local), (at(5000), at(5001), bench_local()));
    // Again: an answer, and nothing new.
    assert_eq!(code(&bench.ask(1, "PLAY rtsp://h/stream", &session)), 200);
    assert_eq!(code(&bench.ask(1, "PAUSE rtsp://h/stream", &session)), 200);
    assert_eq!(bench.events(), [SessionEvent::Stop(id, Why::Paused)]);
    assert_eq!(code(&bench.ask(1, "PAUSE rtsp://h/stream", &session)), 200);
    assert_eq!(code(&bench.ask(1, "PLAY rtsp://h/stream", &session)), 200);
    // From another connection of the same host.
    assert_eq!(code(&bench.ask(2, "TEARDOWN rtsp://h/stream", &session)), 200);
    assert!(matches!(bench.events()[..], [SessionEvent::Play(..), SessionEvent::Stop(_, Why::Teardown)]));
    assert_eq!(code(&bench.ask(1, "TEARDOWN rtsp://h/stream", &session)), 454);
    assert_eq!(bench.sessions.count(), 0);
}

fn bench_local() -> std::net::IpAddr {
    Bench::peer(0).local.ip()
}

#[test]
fn what_cannot_be_is_told_by_its_status() {
    let mut bench = Bench::new(2);
    let session = bench.set_up(1, UDP);
    bench.ask(1, "PLAY rtsp://h/stream", &session);
    let setup = format!("SETUP {MEDIUM_URI}");
    for (line, headers, expected) in [
        ("DESCRIBE rtsp://h/other", "", 404),
        ("DESCRIBE rtsp://h/streams", "", 404),
        ("DESCRIBE rtsp://h/stream/audio", "", 404),
        ("DESCRIBE rtsp://h", "", 404),
        ("DESCRIBE http://h/stream", "", 400),
        ("DESCRIBE *", "", 400),
        ("DESCRIBE rtsp:///stream", "", 400),
        ("DESCRIBE RTSP://h/stream?a=b", "", 200),
        ("DESCRIBE rtsp://h/stream", "Accept: text/html", 406),
        ("DESCRIBE rtsp://h/stream", "Accept: text/html, application/sdp;q=1", 200),
        ("SETUP rtsp://h/stream", UDP, 459),
        (&setup, "", 400),
        (&setup, "Transport: RTP/AVP;multicast", 461),
        (&setup, &format!("{session}\r\n{UDP}"), 455),
        (&setup, &format!("Session: 1\r\n{UDP}"), 454),
        ("PLAY rtsp://h/stream", "", 454),
        ("PLAY rtsp://h/stream", "Session: zzz", 454),
        ("PAUSE rtsp://h/stream", "", 454),
        ("TEARDOWN rtsp://h/stream", "", 454),
        ("GET_PARAMETER *", "", 200),
        ("GET_PARAMETER rtsp://h/stream", &session, 200),
        ("OPTIONS rtsp://h/stream", "Session: 1", 454),
        ("ANNOUNCE rtsp://h/stream", "", 405),
        ("RECORD rtsp://h/stream", "", 405),
        ("FROBNICATE rtsp://h/stream", "", 501),
        ("OPTIONS *", "Require: funky", 551),
    ] {
        assert_eq!(code(&bench.ask(1, line, headers)), expected, "{line} {headers}");
    }
    assert_eq!(code(&bench.send(1, "OPTIONS * RTSP/1.0\r\n\r\n")), 400);
    assert_eq!(code(&bench.send(1, "OPTIONS * RTSP/1.0\r\nCSeq: x\r\n\r\n")), 400);
    assert_eq!(code(&bench.send(1, "OPTIONS * RTSP/2.0\r\nCSeq: 1\r\n\r\n")), 505);
    let with_body = "SET_PARAMETER * RTSP/1.0\r\nCSeq: 1\r\nContent-Length: 4\r\n\r\na: b";
    assert_eq!(code(&bench.send(1, with_body)), 451);
    bench.set_up(1, UDP);
    assert_eq!(code(&bench.ask(1, &setup, UDP)), 503);
    bench.stream.dimensions = None;
    assert_eq!(header(&bench.ask(1, "DESCRIBE rtsp://h/stream", ""), "Retry-After"), "1");
}

#[test]
fn one_host_does_not_take_all_sessions() {
    let mut bench = Bench::new(2 * HOST_SESSIONS);
    let setup = format!("SETUP {MEDIUM_URI}");
    let sessions: Vec<_> =
        (0..HOST_SESSIONS as u64).map(|connection| bench.set_up(connection, UDP)).collect();
    assert_eq!(code(&bench.ask(50, &setup, UDP)), 503);
    assert_eq!(code(&bench.ask(0, &setup, TCP)), 503);
    // What it has it may change; another one has room.
    assert_eq!(code(&bench.ask(0, &setup, &format!("{}\r\n{TCP}", sessions[0]))), 200);
    bench.set_up(100, UDP);
    assert_eq!(code(&bench.ask(1, "TEARDOWN rtsp://h/stream", &sessions[1])), 200);
    bench.set_up(50, UDP);
    assert_eq!(code(&bench.ask(51, &setup, UDP)), 503);
}

#[test]
fn a_host_is_an_address_or_a_network_of_ipv6() {
    let host = |text: &str| host_of(text.parse().unwrap());
    assert_eq!(host("2001:db8:1:2::7"), host("2001:db8:1:2:ffff::"));
    assert_ne!(host("2001:db8:1:2::7"), host("2001:db8:1:3::7"));
    assert_eq!(host("::ffff:192.0.2.7"), host("192.0.2.7"));
    assert_ne!(host("192.0.2.7"), host("192.0.2.8"));
}

#[test]
fn sessions_of_udp_end_by_time_unless_rtcp_comes() {
    let mut bench = Bench::new(2);
    let session = bench.set_up(1, UDP);
    bench.ask(1, "PLAY rtsp://h/stream", &session);
    let idle = bench.set_up(2, "Transport: RTP/AVP;client_port=5002");
    // The connection may go.
    bench.sessions.handle_closed(1);
    let [SessionEvent::Play(id, ..)] = bench.events()[..] else { panic!() };
    assert_eq!(bench.after(50), []);
    assert_eq!(bench.sessions.handle_rtcp(bench.now, SocketAddr::from(([192, 0, 2, 7], 5001))), [id]);
    assert_eq!(bench.sessions.handle_rtcp(bench.now, SocketAddr::from(([192, 0, 2, 8], 5001))), []);
    assert_eq!(bench.after(11), []);
    assert_eq!(code(&bench.ask(2, "PLAY rtsp://h/stream", &idle)), 454);
    assert_eq!(code(&bench.ask(2, "OPTIONS *", &session)), 200);
    assert_eq!(bench.after(60), []);
    assert_eq!(bench.after(1), [SessionEvent::Stop(id, Why::TimedOut)]);
    assert_eq!(bench.sessions.handle_rtcp(bench.now, SocketAddr::from(([192, 0, 2, 7], 5001))), []);
}

#[test]
fn interleaved_sessions_end_with_their_connection() {
    let mut bench = Bench::new(4);
    let first = bench.set_up(1, TCP);
    let answer = bench.ask(1, &format!("SETUP {MEDIUM_URI}"), TCP);
    assert!(header(&answer, "Transport").starts_with("RTP/AVP/TCP;unicast;interleaved=2-3;"), "{answer}");
    bench.set_up(2, TCP);
    bench.ask(1, "PLAY rtsp://h/stream", &first);
    let [SessionEvent::Play(id, delivery, _)] = bench.events()[..] else { panic!() };
    assert_eq!(delivery, Delivery::Interleaved { connection: 1, rtp: 0, rtcp: 1 });
    assert_eq!(bench.sessions.handle_interleaved(bench.now, 1, 1), Some(id));
    assert_eq!(bench.sessions.handle_interleaved(bench.now, 1, 0), None);
    assert_eq!(bench.sessions.handle_interleaved(bench.now, 3, 1), None);
    // Those that do not play end by time.
    assert_eq!((bench.after(61), bench.sessions.count()), (vec![], 1));
    bench.sessions.handle_closed(1);
    assert_eq!(bench.events(), [SessionEvent::Stop(id, Why::Disconnected)]);
    assert_eq!(bench.sessions.count(), 0);
}

#[test]
fn a_session_may_change_its_transport_until_it_plays() {
    let mut bench = Bench::new(1);
    let session = bench.set_up(1, UDP);
    let answer = bench.ask(1, &format!("SETUP {MEDIUM_URI}"), &format!("{session}\r\n{TCP}"));
    assert_eq!(code(&answer), 200);
    assert_eq!(bench.sessions.handle_rtcp(bench.now, SocketAddr::from(([192, 0, 2, 7], 5001))), []);
    bench.ask(1, "PLAY rtsp://h/stream", &session);
    assert!(matches!(bench.events()[..], [SessionEvent::Play(_, Delivery::Interleaved { .. }, _)]));
}

#[test]
fn large_pictures_are_told() {
    let mut bench = Bench::new(1);
    bench.stream.dimensions = Some((3840, 2160));
    bench.stream.frames_per_s = None;
    let answer = bench.ask(1, "DESCRIBE rtsp://h/stream", "");
    assert!(answer.contains("a=x-dimensions:3840,2160\r\n") && !answer.contains("framerate"));
}

/// What a client might do.
#[derive(Debug, Clone)]
enum Step {
    Ask { connection: u64, line: usize, session: usize, transport: usize },
    Close(u64),
    Rtcp(u16),
    Wait(u64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let ask =
        (0..3_u64, 0..8_usize, 0..6_usize, 0..4_usize).prop_map(|(connection, line, session, transport)| {
            Step::Ask { connection, line, session, transport }
        });
    let step = prop_oneof![
        8 => ask,
        1 => (0..3_u64).prop_map(Step::Close),
        1 => (5000..5003_u16).prop_map(Step::Rtcp),
        1 => (0..70_u64).prop_map(Step::Wait),
    ];
    prop::collection::vec(step, 0..60)
}

proptest! {
    #[test]
    fn whatever_is_asked_each_is_answered_and_play_and_stop_alternate(steps in steps()) {
        let mut bench = Bench::new(3);
        let lines = ["OPTIONS *", "DESCRIBE rtsp://h/stream", "SETUP rtsp://h/stream/video", "PLAY rtsp://h/stream",
            "PAUSE rtsp://h/stream", "TEARDOWN rtsp://h/stream", "SETUP rtsp://h/stream", "X rtsp://h/stream"];
        let transports = [UDP, TCP, "Transport: RTP/AVP;client_port=5001", "Transport: nothing"];
        let (mut names, mut playing) = (vec![String::from("0")], std::collections::BTreeSet::new());
        for step in steps {
            match step {
                Step::Ask { connection, line, session, transport } => {
                    let name = names.get(session).map(|name| format!("Session: {name}\r\n")).unwrap_or_default();
                    let answer = bench.ask(connection, lines[line], &format!("{name}{}", transports[transport]));
                    prop_assert!((200..600).contains(&code(&answer)));
                    prop_assert_eq!(answer.matches("RTSP/1.0 ").count(), 1);
                    if answer.contains(";timeout=60") {
                        names.push(header(&answer, "Session").split(';').next().unwrap().to_owned());
                    }
                }
                Step::Close(connection) => bench.sessions.handle_closed(connection),
                Step::Rtcp(port) => {
                    let from = SocketAddr::from(([192, 0, 2, 7], port));
                    prop_assert!(bench.sessions.handle_rtcp(bench.now, from).len() <= bench.sessions.count());
                }
                Step::Wait(seconds) => {
                    bench.now += Duration::from_secs(seconds);
                    bench.sessions.handle_timeout(bench.now);
                }
            }
            for event in bench.events() {
                match event {
                    SessionEvent::Play(id, ..) => prop_assert!(playing.insert(id)),
                    SessionEvent::Stop(id, _) => prop_assert!(playing.remove(&id)),
                }
            }
            prop_assert!(bench.sessions.count() <= 3 && playing.len() <= bench.sessions.count());
        }
        bench.now += Duration::from_secs(61);
        for connection in 0..3 {
            bench.sessions.handle_closed(connection);
        }
        bench.sessions.handle_timeout(bench.now);
        prop_assert_eq!(bench.sessions.count(), 0);
        prop_assert!(bench.sessions.reporters.is_empty());
    }
}
