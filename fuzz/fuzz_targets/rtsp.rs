//! Sends arbitrary bytes on several connections: no panic, one well-formed response per request, and all limits hold.

#![no_main]

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use netdyno_rtp::{Sequence, Ssrc, Timestamp};
use netdyno_rtsp::limits::MAX_MESSAGE_BYTES;
use netdyno_rtsp::{Message, Peer, SessionEvent, Sessions, SessionsConfig, StreamState, next_message};

const CONNECTIONS: usize = 3;
const MAX_SESSIONS: usize = 4;

const LINES: [&str; 8] = [
    "OPTIONS *",
    "DESCRIBE rtsp://h/stream",
    "SETUP rtsp://h/stream/video",
    "PLAY rtsp://h/stream",
    "PAUSE rtsp://h/stream",
    "TEARDOWN rtsp://h/stream/",
    "SET_PARAMETER rtsp://h/stream",
    "SETUP rtsp://h/stream",
];

#[derive(Arbitrary, Debug)]
enum Step {
    /// Arbitrary bytes.
    Bytes(u8, Vec<u8>),
    /// A request with arbitrary headers and the identifier of an earlier session.
    Request(u8, u8, String, u8),
    Close(u8),
    Rtcp(u16),
    Wait(u8),
}

fuzz_target!(|steps: Vec<Step>| {
    let mut config = SessionsConfig::default();
    config.max_sessions = MAX_SESSIONS;
    config.ports = Some((6000, 6001));
    let mut sessions = Sessions::new(config, [7; 32]);
    let start = Instant::now();
    let mut now = start;
    let stream = StreamState {
        ssrc: Ssrc(1),
        next_sequence: Sequence(2),
        timestamp: Timestamp(3),
        description: Some("v=0\r\nm=video 0 RTP/AVP 26\r\n"),
    };
    let (mut inputs, mut names, mut playing) = (vec![Vec::new(); CONNECTIONS], Vec::new(), BTreeSet::new());
    for step in steps {
        let number = match step {
            Step::Bytes(number, bytes) => {
                let number = usize::from(number) % CONNECTIONS;
                inputs[number].extend(bytes);
                number
            }
            Step::Request(number, line, headers, session) => {
                let number = usize::from(number) % CONNECTIONS;
                let line = LINES[usize::from(line) % LINES.len()];
                let name: &str = names.get(usize::from(session)).map_or("0", String::as_str);
                let text = format!("{line} RTSP/1.0\r\nCSeq: 1\r\nSession: {name}\r\n{headers}\r\n\r\n");
                let text = if session == u8::MAX { text.replacen("Session", "X", 1) } else { text };
                inputs[number].extend(text.into_bytes());
                number
            }
            Step::Close(number) => {
                let number = usize::from(number) % CONNECTIONS;
                inputs[number].clear();
                sessions.handle_closed(number as u64);
                number
            }
            Step::Rtcp(port) => {
                let ids = sessions.handle_rtcp(now, SocketAddr::from(([192, 0, 2, 7], port)));
                assert!(ids.len() <= sessions.count());
                0
            }
            Step::Wait(seconds) => {
                now += Duration::from_secs(seconds.into());
                sessions.handle_timeout(now);
                0
            }
        };
        let remote = SocketAddr::from(([192, 0, 2, 7], 40_000 + number as u16));
        let peer = Peer { connection: number as u64, remote, local: SocketAddr::from(([192, 0, 2, 1], 554)) };
        let input = &mut inputs[number];
        loop {
            let (count, message) = next_message(input);
            assert!(count <= input.len());
            let mut response = Vec::new();
            match message {
                Message::Incomplete => {
                    input.drain(..count);
                    assert!(input.len() < MAX_MESSAGE_BYTES);
                    break;
                }
                Message::Request(request) => {
                    sessions.handle_request(now, &peer, &stream, &request, &mut response);
                }
                Message::Interleaved { channel, packet } => {
                    assert!(packet.len() <= count);
                    sessions.handle_interleaved(now, peer.connection, channel);
                }
                Message::Response => {}
                Message::Invalid(status) => sessions.handle_invalid(status, &mut response),
            }
            if !response.is_empty() {
                // Text copied from the request must not split the response.
                assert_eq!(
                    next_message(&response),
                    (response.len(), Message::Response),
                    "{:?}",
                    String::from_utf8_lossy(&response)
                );
                let text = String::from_utf8(response).expect("text");
                names.extend(
                    text.split_once("Session: ").and_then(|(_, rest)| Some(rest.get(..16)?.to_owned())),
                );
            }
            if matches!(message, Message::Invalid(_)) {
                input.clear();
                sessions.handle_closed(peer.connection);
                break;
            }
            assert!(count > 0);
            input.drain(..count);
        }
        while let Some(event) = sessions.poll_event() {
            match event {
                SessionEvent::Play { id, .. } => assert!(playing.insert(id)),
                SessionEvent::Stop { id, .. } => assert!(playing.remove(&id)),
            }
        }
        assert!(sessions.count() <= MAX_SESSIONS && playing.len() <= sessions.count());
    }
});
