//! Tests of sessions: requests in, responses and events out.

use std::time::{Duration, Instant};

use proptest::prelude::*;

use netdyno_rtp::{Sequence, Ssrc, Timestamp};

use super::*;
use crate::{Message, next_message};

const UDP: &str = "Transport: RTP/AVP;unicast;client_port=5000-5001";
const TCP: &str = "Transport: RTP/AVP/TCP;unicast;interleaved=0-1";
/// Maximum number of sessions per host.
const HOST_SESSIONS: usize = 4;
const MEDIUM_URI: &str = "rtsp://h/stream/video";

/// A server, its clock and its clients.
struct Fixture {
    sessions: Sessions,
    now: Instant,
    stream: StreamState<'static>,
    cseq: u64,
}

impl Fixture {
    fn new(max_sessions: usize) -> Self {
        let ports = Some((6000, 6001));
        let config = SessionsConfig {
            max_sessions,
            max_sessions_per_host: HOST_SESSIONS,
            ports,
            ..SessionsConfig::default()
        };
        let stream = StreamState {
            ssrc: Ssrc(0xabcd),
            next_sequence: Sequence(77),
            timestamp: Timestamp(9_000),
            description: Some("v=0\r\nm=video 0 RTP/AVP 26\r\n"),
        };
        Self { sessions: Sessions::new(config, [7; 32]), now: Instant::now(), stream, cseq: 0 }
    }

    /// Connections 0 to 99 have one host, 100 to 199 another, and so on.
    fn peer(connection: u64) -> Peer {
        let remote =
            SocketAddr::from(([192, 0, 2, 7 + (connection / 100) as u8], 40_000 + connection as u16));
        Peer { connection, remote, local: SocketAddr::from(([192, 0, 2, 1], 8554)) }
    }

    /// Sends one request and checks the response's CSeq.
    fn request(&mut self, connection: u64, line: &str, headers: &str) -> String {
        self.cseq += 1;
        let cseq = self.cseq;
        let text = format!(
            "{line} RTSP/1.0\r\nCSeq: {cseq}\r\n{headers}{}\r\n",
            if headers.is_empty() { "" } else { "\r\n" }
        );
        let response = self.send(connection, &text);
        assert!(response.contains(&format!("\r\nCSeq: {cseq}\r\n")), "{response}");
        response
    }

    fn send(&mut self, connection: u64, text: &str) -> String {
        let (_, Message::Request(request)) = next_message(text.as_bytes()) else {
            panic!("{text:?} is a request")
        };
        let mut out = Vec::new();
        self.sessions.handle_request(self.now, &Self::peer(connection), &self.stream, &request, &mut out);
        String::from_utf8(out).unwrap()
    }

    fn set_up(&mut self, connection: u64, transport: &str) -> String {
        let response = self.request(connection, &format!("SETUP {MEDIUM_URI}"), transport);
        assert_eq!(code(&response), 200, "{response}");
        let id = header(&response, "Session").split(';').next().unwrap().to_owned();
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

fn code(response: &str) -> u16 {
    response.strip_prefix("RTSP/1.0 ").and_then(|rest| rest.get(..3)?.parse().ok()).expect("a status line")
}

fn header<'a>(response: &'a str, name: &str) -> &'a str {
    let prefix = format!("{name}: ");
    response
        .lines()
        .find_map(|line| line.strip_prefix(&prefix))
        .unwrap_or_else(|| panic!("no {name} in {response}"))
}

#[test]
fn client_plays_over_udp() {
    let mut fixture = Fixture::new(4);
    assert!(header(&fixture.request(1, "OPTIONS *", ""), "Public").contains("SET_PARAMETER"));
    let response = fixture.request(1, "DESCRIBE rtsp://h:8554/stream", "Accept: application/sdp");
    assert_eq!(header(&response, "Content-Base"), "rtsp://h:8554/stream/");
    let body = response.split_once("\r\n\r\n").unwrap().1;
    assert_eq!(header(&response, "Content-Length"), body.len().to_string());
    assert!(body.starts_with("v=0\r\nm=video 0 RTP/AVP 26\r\n"));
    assert!(body.ends_with("a=control:video\r\n"));

    let response = fixture.request(1, &format!("SETUP {MEDIUM_URI}"), UDP);
    let transport = "RTP/AVP;unicast;client_port=5000-5001;server_port=6000-6001;ssrc=0000ABCD;mode=\"PLAY\"";
    assert_eq!(header(&response, "Transport"), transport);
    let (id, timeout) = header(&response, "Session").split_once(';').unwrap();
    assert_eq!((id.len(), timeout), (16, "timeout=60"));
    let session = format!("Session: {id}");
    assert_eq!(fixture.events(), []);

    let response = fixture.request(1, "PLAY rtsp://h/stream/", &session);
    assert_eq!(header(&response, "RTP-Info"), "url=rtsp://h/stream/video;seq=77;rtptime=9000");
    let [SessionEvent::Play { id, transport: Transport::Udp { rtp, rtcp, local }, .. }] =
        fixture.events()[..]
    else {
        panic!()
    };
    let at = |port| SocketAddr::from(([192, 0, 2, 7], port));
    assert_eq!((rtp, rtcp, local), (at(5000), at(5001), fixture_local()));
    // A repeated request has a response but no event.
    assert_eq!(code(&fixture.request(1, "PLAY rtsp://h/stream", &session)), 200);
    assert_eq!(code(&fixture.request(1, "PAUSE rtsp://h/stream", &session)), 200);
    assert_eq!(fixture.events(), [SessionEvent::Stop { id, reason: StopReason::Paused }]);
    assert_eq!(code(&fixture.request(1, "PAUSE rtsp://h/stream", &session)), 200);
    assert_eq!(code(&fixture.request(1, "PLAY rtsp://h/stream", &session)), 200);
    // Another connection of the same host may end the session.
    assert_eq!(code(&fixture.request(2, "TEARDOWN rtsp://h/stream", &session)), 200);
    assert!(matches!(
        fixture.events()[..],
        [SessionEvent::Play { .. }, SessionEvent::Stop { reason: StopReason::Teardown, .. }]
    ));
    assert_eq!(code(&fixture.request(1, "TEARDOWN rtsp://h/stream", &session)), 454);
    assert_eq!(fixture.sessions.count(), 0);
}

fn fixture_local() -> std::net::IpAddr {
    Fixture::peer(0).local.ip()
}

#[test]
fn invalid_requests_fail_with_the_right_status() {
    let mut fixture = Fixture::new(2);
    let session = fixture.set_up(1, UDP);
    fixture.request(1, "PLAY rtsp://h/stream", &session);
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
        assert_eq!(code(&fixture.request(1, line, headers)), expected, "{line} {headers}");
    }
    assert_eq!(code(&fixture.send(1, "OPTIONS * RTSP/1.0\r\n\r\n")), 400);
    assert_eq!(code(&fixture.send(1, "OPTIONS * RTSP/1.0\r\nCSeq: x\r\n\r\n")), 400);
    assert_eq!(code(&fixture.send(1, "OPTIONS * RTSP/2.0\r\nCSeq: 1\r\n\r\n")), 505);
    let with_body = "SET_PARAMETER * RTSP/1.0\r\nCSeq: 1\r\nContent-Length: 4\r\n\r\na: b";
    assert_eq!(code(&fixture.send(1, with_body)), 451);
    fixture.set_up(1, UDP);
    assert_eq!(code(&fixture.request(1, &setup, UDP)), 503);
    fixture.stream.description = None;
    assert_eq!(header(&fixture.request(1, "DESCRIBE rtsp://h/stream", ""), "Retry-After"), "1");
}

#[test]
fn sessions_per_host_are_limited() {
    let mut fixture = Fixture::new(2 * HOST_SESSIONS);
    let setup = format!("SETUP {MEDIUM_URI}");
    let sessions: Vec<_> =
        (0..HOST_SESSIONS as u64).map(|connection| fixture.set_up(connection, UDP)).collect();
    assert_eq!(code(&fixture.request(50, &setup, UDP)), 503);
    assert_eq!(code(&fixture.request(0, &setup, TCP)), 503);
    // An existing session may change its transport, and another host may set up a session.
    assert_eq!(code(&fixture.request(0, &setup, &format!("{}\r\n{TCP}", sessions[0]))), 200);
    fixture.set_up(100, UDP);
    assert_eq!(code(&fixture.request(1, "TEARDOWN rtsp://h/stream", &sessions[1])), 200);
    fixture.set_up(50, UDP);
    assert_eq!(code(&fixture.request(51, &setup, UDP)), 503);
}

#[test]
fn host_prefix_is_an_ipv4_address_or_an_ipv6_network() {
    let host = |text: &str| host_prefix(text.parse().unwrap());
    assert_eq!(host("2001:db8:1:2::7"), host("2001:db8:1:2:ffff::"));
    assert_ne!(host("2001:db8:1:2::7"), host("2001:db8:1:3::7"));
    assert_eq!(host("::ffff:192.0.2.7"), host("192.0.2.7"));
    assert_ne!(host("192.0.2.7"), host("192.0.2.8"));
}

#[test]
fn udp_sessions_time_out_without_rtcp_and_requests() {
    let mut fixture = Fixture::new(2);
    let session = fixture.set_up(1, UDP);
    fixture.request(1, "PLAY rtsp://h/stream", &session);
    let idle = fixture.set_up(2, "Transport: RTP/AVP;client_port=5002");
    // Closing the connection does not end a UDP session.
    fixture.sessions.handle_closed(1);
    let [SessionEvent::Play { id, .. }] = fixture.events()[..] else { panic!() };
    assert_eq!(fixture.after(50), []);
    assert_eq!(fixture.sessions.handle_rtcp(fixture.now, SocketAddr::from(([192, 0, 2, 7], 5001))), [id]);
    assert_eq!(fixture.sessions.handle_rtcp(fixture.now, SocketAddr::from(([192, 0, 2, 8], 5001))), []);
    assert_eq!(fixture.after(11), []);
    assert_eq!(code(&fixture.request(2, "PLAY rtsp://h/stream", &idle)), 454);
    assert_eq!(code(&fixture.request(2, "OPTIONS *", &session)), 200);
    assert_eq!(fixture.after(60), []);
    assert_eq!(fixture.after(1), [SessionEvent::Stop { id, reason: StopReason::TimedOut }]);
    assert_eq!(fixture.sessions.handle_rtcp(fixture.now, SocketAddr::from(([192, 0, 2, 7], 5001))), []);
}

#[test]
fn interleaved_sessions_end_with_their_connection() {
    let mut fixture = Fixture::new(4);
    let first = fixture.set_up(1, TCP);
    let response = fixture.request(1, &format!("SETUP {MEDIUM_URI}"), TCP);
    assert!(header(&response, "Transport").starts_with("RTP/AVP/TCP;unicast;interleaved=2-3;"), "{response}");
    fixture.set_up(2, TCP);
    fixture.request(1, "PLAY rtsp://h/stream", &first);
    let [SessionEvent::Play { id, transport, .. }] = fixture.events()[..] else { panic!() };
    assert_eq!(transport, Transport::Interleaved { connection: 1, rtp: 0, rtcp: 1 });
    assert_eq!(fixture.sessions.handle_interleaved(fixture.now, 1, 1), Some(id));
    assert_eq!(fixture.sessions.handle_interleaved(fixture.now, 1, 0), None);
    assert_eq!(fixture.sessions.handle_interleaved(fixture.now, 3, 1), None);
    // A session that does not play times out.
    assert_eq!((fixture.after(61), fixture.sessions.count()), (vec![], 1));
    fixture.sessions.handle_closed(1);
    assert_eq!(fixture.events(), [SessionEvent::Stop { id, reason: StopReason::Disconnected }]);
    assert_eq!(fixture.sessions.count(), 0);
}

#[test]
fn transport_may_change_until_the_session_plays() {
    let mut fixture = Fixture::new(1);
    let session = fixture.set_up(1, UDP);
    let response = fixture.request(1, &format!("SETUP {MEDIUM_URI}"), &format!("{session}\r\n{TCP}"));
    assert_eq!(code(&response), 200);
    assert_eq!(fixture.sessions.handle_rtcp(fixture.now, SocketAddr::from(([192, 0, 2, 7], 5001))), []);
    fixture.request(1, "PLAY rtsp://h/stream", &session);
    assert!(matches!(
        fixture.events()[..],
        [SessionEvent::Play { transport: Transport::Interleaved { .. }, .. }]
    ));
}

/// An action of a client.
#[derive(Debug, Clone)]
enum Step {
    Request { connection: u64, line: usize, session: usize, transport: usize },
    Close(u64),
    Rtcp(u16),
    Wait(u64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let request =
        (0..3_u64, 0..8_usize, 0..6_usize, 0..4_usize).prop_map(|(connection, line, session, transport)| {
            Step::Request { connection, line, session, transport }
        });
    let step = prop_oneof![
        8 => request,
        1 => (0..3_u64).prop_map(Step::Close),
        1 => (5000..5003_u16).prop_map(Step::Rtcp),
        1 => (0..70_u64).prop_map(Step::Wait),
    ];
    prop::collection::vec(step, 0..60)
}

proptest! {
    #[test]
    fn every_request_has_one_response_and_play_and_stop_alternate(steps in steps()) {
        let mut fixture = Fixture::new(3);
        let lines = ["OPTIONS *", "DESCRIBE rtsp://h/stream", "SETUP rtsp://h/stream/video", "PLAY rtsp://h/stream",
            "PAUSE rtsp://h/stream", "TEARDOWN rtsp://h/stream", "SETUP rtsp://h/stream", "X rtsp://h/stream"];
        let transports = [UDP, TCP, "Transport: RTP/AVP;client_port=5001", "Transport: nothing"];
        let (mut names, mut playing) = (vec![String::from("0")], std::collections::BTreeSet::new());
        for step in steps {
            match step {
                Step::Request { connection, line, session, transport } => {
                    let name = names.get(session).map(|name| format!("Session: {name}\r\n")).unwrap_or_default();
                    let response = fixture.request(connection, lines[line], &format!("{name}{}", transports[transport]));
                    prop_assert!((200..600).contains(&code(&response)));
                    prop_assert_eq!(response.matches("RTSP/1.0 ").count(), 1);
                    if response.contains(";timeout=60") {
                        names.push(header(&response, "Session").split(';').next().unwrap().to_owned());
                    }
                }
                Step::Close(connection) => fixture.sessions.handle_closed(connection),
                Step::Rtcp(port) => {
                    let from = SocketAddr::from(([192, 0, 2, 7], port));
                    prop_assert!(fixture.sessions.handle_rtcp(fixture.now, from).len() <= fixture.sessions.count());
                }
                Step::Wait(seconds) => {
                    fixture.now += Duration::from_secs(seconds);
                    fixture.sessions.handle_timeout(fixture.now);
                }
            }
            for event in fixture.events() {
                match event {
                    SessionEvent::Play { id, .. } => prop_assert!(playing.insert(id)),
                    SessionEvent::Stop { id, .. } => prop_assert!(playing.remove(&id)),
                }
            }
            prop_assert!(fixture.sessions.count() <= 3 && playing.len() <= fixture.sessions.count());
        }
        fixture.now += Duration::from_secs(61);
        for connection in 0..3 {
            fixture.sessions.handle_closed(connection);
        }
        fixture.sessions.handle_timeout(fixture.now);
        prop_assert_eq!(fixture.sessions.count(), 0);
        prop_assert!(fixture.sessions.rtcp_addresses.is_empty() && fixture.sessions.channels.is_empty());
    }
}
