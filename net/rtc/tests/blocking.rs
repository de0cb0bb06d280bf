//! The blocking interface over the loopback interface.
#![allow(missing_docs, clippy::unwrap_used)]

mod support;

use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use netdyno_rtc::blocking::{DataChannel, Endpoint, PeerConnection};
use netdyno_rtc::{
    Certificate, ChannelOptions, Config, Error, Kind, PeerState, Port, RecvError, SendError, Settings,
};
use support::{PATIENCE, settings, threads_named, until};

fn endpoint() -> Endpoint {
    Endpoint::bind("127.0.0.1:0".parse().unwrap(), settings()).unwrap()
}

fn pair(from: &Endpoint, to: &Endpoint) -> (PeerConnection, PeerConnection, DataChannel, DataChannel) {
    let (offerer, answerer) =
        (PeerConnection::on(from, Port::Own).unwrap(), PeerConnection::new(to).unwrap());
    let channel = offerer.create_channel("test", ChannelOptions::default()).unwrap();
    let answer = answerer.accept_offer(&offerer.create_offer().unwrap()).unwrap();
    offerer.accept_answer(&answer).unwrap();
    let other = answerer.accept_channel().unwrap();
    (offerer, answerer, channel, other)
}

#[test]
fn messages_go_there_and_back() {
    let (here, there) = (endpoint(), endpoint());
    let (offerer, answerer, channel, other) = pair(&here, &there);
    offerer.wait_connected().unwrap();
    answerer.wait_connected().unwrap();
    channel.wait_open().unwrap();
    assert!(channel.is_open() && channel.label() == "test" && other.label() == "test");
    assert_eq!(channel.stream(), other.stream());

    channel.send_text("hello").unwrap();
    let message = other.recv().unwrap();
    assert_eq!((message.kind, &message.data[..]), (Kind::Text, &b"hello"[..]));
    other.send(&message.data).unwrap();
    assert_eq!(channel.recv_timeout(PATIENCE).unwrap().unwrap().data, "hello");
    assert_eq!(channel.recv_timeout(Duration::from_millis(5)).unwrap(), None);
    assert_eq!(channel.try_recv().unwrap(), None);

    let messages: Vec<_> = (0..1000_u32).map(u32::to_be_bytes).collect();
    channel.send_many(Kind::Binary, &messages).unwrap();
    let mut received = Vec::new();
    while received.len() < 1000 {
        assert!(other.recv_many(&mut received, 300).unwrap() <= 300);
    }
    assert!(received.iter().zip(&messages).all(|(received, sent)| received.data[..] == sent[..]));
    channel.wait_buffered_below(0).unwrap();
    assert_eq!(channel.buffered_amount(), 0);
    assert_eq!(channel.stats().unwrap().messages_sent, 1001);
    assert!(offerer.stats().unwrap().bytes_sent > 5000);

    let pair = offerer.selected_pair().unwrap();
    assert_eq!(offerer.remote_address(), Some(there.local_address()));
    assert_eq!(pair.remote.socket_address(), there.local_address());
    assert_eq!(answerer.remote_address(), Some(pair.local.socket_address()));
    assert_eq!(offerer.remote_fingerprint(), answerer.local_fingerprint());
    assert!(
        offerer.remote_certificate().is_some() && offerer.local_fingerprint() != offerer.remote_fingerprint()
    );
    assert_eq!(offerer.report().unwrap().data_channels[0].messages_sent, 1001);
    offerer.close();
    offerer.wait_closed().unwrap();
    assert!(offerer.report().is_none_or(|report| report.data_channels.is_empty()));
}

#[test]
fn a_reader_that_rests_holds_the_sender_back() {
    let (here, there) = (endpoint(), endpoint());
    let (_offerer, answerer, channel, other) = pair(&here, &there);
    const MESSAGES: usize = 1500;
    let sent = Mutex::new(0);
    thread::scope(|scope| {
        scope.spawn(|| {
            for number in 0..MESSAGES {
                channel.send(&vec![number as u8; 60_000]).unwrap();
                *sent.lock().unwrap() += 1;
            }
        });
        // Without a reader, sending blocks eventually.
        let mut before = usize::MAX;
        let stopped = until(|| {
            thread::sleep(Duration::from_millis(200));
            let now = *sent.lock().unwrap();
            (std::mem::replace(&mut before, now) == now && now > 0).then_some(now)
        });
        assert!(stopped < MESSAGES, "{stopped} messages were taken without a reader");
        assert!(answerer.stats().unwrap().sctp.held_bytes <= 64 << 20);
        for number in 0..MESSAGES {
            let message = other.recv_timeout(PATIENCE).unwrap().expect("a message in time");
            assert!(message.data.len() == 60_000 && message.data[0] == number as u8);
        }
    });
}

#[test]
fn many_channels_open_at_once_and_lose_nothing() {
    const CHANNELS: usize = 50;
    let (here, there) = (endpoint(), endpoint());
    let (offerer, answerer, _channel, _other) = pair(&here, &there);
    let channels: Vec<_> = (0..CHANNELS)
        .map(|number| {
            let channel = offerer.create_channel(&number.to_string(), ChannelOptions::default()).unwrap();
            channel.send_text(&number.to_string()).unwrap();
            channel
        })
        .collect();
    let accepted: Vec<_> = (0..CHANNELS).map(|_| answerer.accept_channel().unwrap()).collect();
    for channel in &accepted {
        let message = channel.recv_timeout(PATIENCE).unwrap().expect("its first message");
        assert_eq!(message.data, channel.label());
    }
    assert!(channels.iter().all(|channel| channel.is_open()));
}

#[test]
fn a_full_buffer_refuses_calls_that_do_not_wait() {
    let (here, there) = (endpoint(), endpoint());
    let (_offerer, _answerer, channel, _other) = pair(&here, &there);
    channel.wait_open().unwrap();
    let messages = vec![[0; 60_000]; 8];
    let refused = until(|| match channel.try_send_many(Kind::Binary, &messages) {
        Ok(taken) => {
            assert!((1..=8).contains(&taken));
            None
        }
        Err(error) => Some(error),
    });
    assert_eq!(refused, SendError::WouldBlock);
    let too_long = channel.try_send(Kind::Binary, &vec![0; 10 << 20]);
    assert!(matches!(too_long, Err(SendError::TooLong { .. } | SendError::WouldBlock)), "{too_long:?}");
}

#[test]
fn closing_a_channel_delivers_what_was_sent() {
    let (here, there) = (endpoint(), endpoint());
    let (_offerer, _answerer, channel, other) = pair(&here, &there);
    for number in 0..100_u8 {
        channel.send(&[number; 2000]).unwrap();
    }
    channel.close();
    for number in 0..100_u8 {
        assert_eq!(other.recv().unwrap().data[..], [number; 2000]);
    }
    assert_eq!(other.recv(), Err(RecvError::Closed));
    channel.wait_closed().unwrap();
    other.wait_closed().unwrap();
    assert!(channel.is_closed() && !channel.is_open());
    assert_eq!(channel.send(b"late"), Err(SendError::Closed));
    assert_eq!(channel.wait_open(), Err(SendError::Closed));
    assert_eq!(channel.try_recv(), Err(RecvError::Closed));
}

/// A call blocked in `send` or `recv` returns without the peer reading.
#[test]
fn closing_a_channel_wakes_its_own_waiters() {
    let (here, there) = (endpoint(), endpoint());
    let (_offerer, _answerer, channel, _other) = pair(&here, &there);
    thread::scope(|scope| {
        let writer = scope.spawn(|| {
            loop {
                if let Err(error) = channel.send(&[1; 60_000]) {
                    return error;
                }
            }
        });
        let reader = scope.spawn(|| channel.recv());
        // Without a reader at the other end, the writer soon blocks.
        thread::sleep(Duration::from_millis(300));
        assert!(channel.is_open() && !writer.is_finished() && !reader.is_finished());
        channel.close();
        assert!(!channel.is_open() && !channel.is_closed());
        assert_eq!(writer.join().unwrap(), SendError::Closed);
        assert_eq!(reader.join().unwrap(), Err(RecvError::Closed));
    });
    assert!(matches!(channel.wait_closed_timeout(Duration::from_millis(50)), Ok(false)), "nothing was read");
}

#[test]
fn a_second_connection_between_two_ports_takes_the_place_of_the_first() {
    let (here, there) = (endpoint(), endpoint());
    let connect = || {
        let (offerer, answerer) = (PeerConnection::new(&here).unwrap(), PeerConnection::new(&there).unwrap());
        let channel = offerer.create_channel("test", ChannelOptions::default()).unwrap();
        let answer = answerer.accept_offer(&offerer.create_offer().unwrap()).unwrap();
        offerer.accept_answer(&answer).unwrap();
        let other = answerer.accept_channel().unwrap();
        (offerer, answerer, channel, other)
    };
    let first = connect();
    let second = connect();
    for side in [&first.0, &first.1] {
        let Err(Error::Peer(error)) = side.wait_closed() else { panic!("it did not fail") };
        assert!(error.to_string().contains("another connection"), "{error}");
    }
    assert_eq!(first.2.send(b"lost"), Err(SendError::Failed));
    assert_eq!(first.3.recv(), Err(RecvError::Failed));
    second.2.send_text("here").unwrap();
    assert_eq!(second.3.recv().unwrap().text(), Some("here"));
}

#[test]
fn waits_have_limits_of_time() {
    let (here, there) = (endpoint(), endpoint());
    let short = Duration::from_millis(20);
    let alone = PeerConnection::new(&here).unwrap();
    assert!(!alone.wait_connected_timeout(short).unwrap());
    assert!(alone.accept_channel_timeout(short).unwrap().is_none());
    let (offerer, answerer, channel, _other) = pair(&here, &there);
    assert!(offerer.wait_connected_timeout(PATIENCE).unwrap());
    assert!(answerer.accept_channel_timeout(short).unwrap().is_none());
    assert!(channel.wait_open_timeout(PATIENCE).unwrap());
    assert_eq!(channel.recv_many_timeout(&mut Vec::new(), 10, short), Ok(0));
    // Until the send buffer is full.
    until(|| (!channel.send_timeout(&[1; 60_000], short).unwrap()).then_some(()));
    let several = [[2; 60_000]; 10];
    until(|| (channel.send_many_timeout(Kind::Binary, &several, short).unwrap() == 0).then_some(()));
    assert!(!channel.wait_buffered_below_timeout(0, short).unwrap());
    assert!(!offerer.wait_closed_timeout(short).unwrap());
    offerer.close();
    assert!(offerer.wait_closed_timeout(PATIENCE).unwrap());
    assert_eq!(channel.send_many_timeout(Kind::Binary, &several, PATIENCE), Err(SendError::Closed));
    assert_eq!(channel.wait_open_timeout(PATIENCE), Err(SendError::Closed));
    assert_eq!(channel.wait_buffered_below_timeout(0, PATIENCE), Err(SendError::Closed));
}

#[test]
fn the_end_of_a_channel_is_reported() {
    let (here, there) = (endpoint(), endpoint());
    let (offerer, answerer, channel, other) = pair(&here, &there);
    offerer.wait_connected().unwrap();
    assert_eq!(channel.try_send(Kind::Text, b"\xff"), Err(SendError::NotUtf8));
    channel.send_text("still here").unwrap();
    assert_eq!(other.recv().unwrap().text(), Some("still here"));
    thread::scope(|scope| {
        let (state, closed) =
            (scope.spawn(|| answerer.wait_state(PeerState::Connected)), scope.spawn(|| other.wait_closed()));
        offerer.close();
        assert_eq!(state.join().unwrap(), PeerState::Closed);
        // Whether everything was delivered is unknown.
        assert!(matches!(closed.join().unwrap(), Err(Error::Closed)));
    });
    assert_eq!(other.send(b"late"), Err(SendError::Closed));
}

#[test]
fn dropping_a_connection_tells_the_peer_and_its_waiters() {
    let (here, there) = (endpoint(), endpoint());
    let (offerer, answerer, channel, other) = pair(&here, &there);
    thread::scope(|scope| {
        let (reader, acceptor) =
            (scope.spawn(|| other.recv()), scope.spawn(|| answerer.accept_channel().map(|_| ())));
        drop((offerer, channel));
        assert_eq!(reader.join().unwrap(), Err(RecvError::Closed));
        assert!(matches!(acceptor.join().unwrap(), Err(Error::Closed)));
    });
    answerer.wait_closed().unwrap();
    assert_eq!(answerer.state(), PeerState::Closed);
    assert!(answerer.stats().is_none());
    assert!(matches!(answerer.create_offer(), Err(Error::Closed)));
}

#[test]
fn a_channel_that_is_over_can_be_accepted_by_its_label() {
    let (here, there) = (endpoint(), endpoint());
    let (offerer, answerer, _channel, _other) = pair(&here, &there);
    let late = offerer.create_channel("late", ChannelOptions::default()).unwrap();
    late.send_text("hello").unwrap();
    late.close();
    late.wait_closed().unwrap();
    offerer.close();
    answerer.wait_closed().unwrap();
    let accepted = answerer.accept_channel().unwrap();
    assert_eq!(accepted.label(), "late");
    assert_eq!(accepted.recv().unwrap().data, "hello");
    assert_eq!(accepted.recv(), Err(RecvError::Closed));
}

#[test]
fn a_blocked_writer_gets_the_end_without_a_reader() {
    let (here, there) = (endpoint(), endpoint());
    let (offerer, _answerer, channel, other) = pair(&here, &there);
    thread::scope(|scope| {
        // Both send without reading, until both are blocked.
        let writers = [&channel, &other].map(|channel| {
            scope.spawn(|| {
                loop {
                    if let Err(error) = channel.send(&[1; 60_000]) {
                        return error;
                    }
                }
            })
        });
        thread::sleep(Duration::from_millis(500));
        assert!(writers.iter().all(|writer| !writer.is_finished()), "there is no reader");
        offerer.close();
        for writer in writers {
            assert_eq!(writer.join().unwrap(), SendError::Closed);
        }
    });
    assert!(other.recv().is_ok(), "what came before can still be taken");
}

#[test]
fn a_dropped_connection_ends_with_unread_messages() {
    let mut settings = settings();
    settings.max_connections = 1;
    let (here, there) = (endpoint(), Endpoint::bind("127.0.0.1:0".parse().unwrap(), settings).unwrap());
    let (offerer, answerer, _channel, other) = pair(&here, &there);
    let unaccepted = offerer.create_channel("unaccepted", ChannelOptions::default()).unwrap();
    // More than the unread limit, so that reading stops.
    for _ in 0..20 {
        unaccepted.send(&[1; 60_000]).unwrap();
    }
    thread::sleep(Duration::from_millis(200));
    assert!(matches!(PeerConnection::new(&there), Err(Error::Limit)));
    drop((answerer, other));
    until(|| {
        thread::sleep(Duration::from_millis(5));
        PeerConnection::new(&there).ok()
    });
}

#[test]
fn dropping_everything_leaves_no_thread() {
    // Other tests run at the same time, so it only waits for fewer threads.
    let begin = Instant::now();
    for _ in 0..20 {
        let (here, there) = (endpoint(), endpoint());
        let all = pair(&here, &there);
        drop((here, there));
        all.2.send(b"still there").unwrap();
        assert_eq!(all.3.recv().unwrap().data, "still there", "handles keep their endpoint alive");
    }
    assert!(begin.elapsed() < PATIENCE);
    until(|| {
        thread::sleep(Duration::from_millis(20));
        (threads_named("netdyno-rtc") <= 2 * 7).then_some(())
    });
}

#[test]
fn one_endpoint_serves_many_threads() {
    let (here, there) = (endpoint(), endpoint());
    thread::scope(|scope| {
        for number in 0..8_u8 {
            let (here, there) = (&here, &there);
            scope.spawn(move || {
                let (_offerer, _answerer, channel, other) = pair(here, there);
                for _ in 0..200 {
                    channel.send(&[number; 100]).unwrap();
                    assert_eq!(other.recv().unwrap().data[..], [number; 100]);
                }
            });
        }
    });
}

/// Every waiting call has a variant with a timeout, which reports whether it timed out.
#[test]
fn no_wait_need_be_endless() {
    let short = Duration::from_millis(20);
    let (here, there) = (endpoint(), endpoint());
    let alone = PeerConnection::new(&here).unwrap();
    let channel = alone.create_channel("test", ChannelOptions::default()).unwrap();
    assert!(!alone.wait_connected_timeout(short).unwrap());
    assert!(!alone.wait_closed_timeout(short).unwrap());
    assert_eq!(alone.wait_state_timeout(PeerState::New, short), None);
    assert!(alone.accept_channel_timeout(short).unwrap().is_none());
    assert!(!channel.wait_open_timeout(short).unwrap());
    assert!(!channel.wait_closed_timeout(short).unwrap());
    assert!(!channel.send_text_timeout("hello", short).unwrap());
    let mut messages = Vec::new();
    assert_eq!(channel.recv_many_timeout(&mut messages, 9, short).unwrap(), 0);
    alone.close();
    assert!(alone.wait_closed_timeout(PATIENCE).unwrap());
    assert_eq!(channel.wait_open_timeout(PATIENCE), Err(SendError::Closed));

    let (offerer, _answerer, channel, other) = pair(&here, &there);
    assert!(channel.wait_open_timeout(PATIENCE).unwrap());
    assert!(channel.send_text_timeout("hello", PATIENCE).unwrap());
    assert_eq!(other.recv_many_timeout(&mut messages, 9, PATIENCE).unwrap(), 1);
    assert_eq!(messages[0].text(), Some("hello"));
    // Without a reader the send buffer fills; the first messages are reported as sent.
    let many = vec![vec![7; 60_000]; 1000];
    let sent = channel.send_many_timeout(Kind::Binary, &many, Duration::from_millis(500)).unwrap();
    assert!((1..1000).contains(&sent), "{sent}");
    assert_eq!(channel.send_many_timeout(Kind::Binary, &many, short).unwrap(), 0);
    assert!(!channel.wait_buffered_below_timeout(0, short).unwrap());
    for _ in 0..sent {
        assert_eq!(other.recv_timeout(PATIENCE).unwrap().unwrap().data.len(), 60_000);
    }
    assert!(channel.wait_buffered_below_timeout(0, PATIENCE).unwrap());
    offerer.close();
    assert!(matches!(channel.wait_closed_timeout(PATIENCE), Err(Error::Closed)));
    assert_eq!(channel.wait_buffered_below_timeout(0, PATIENCE), Err(SendError::Closed));
}

/// A stored certificate is reused in the next run; an expired one is refused with the time of expiry.
#[test]
fn a_certificate_that_is_kept() {
    let kept = Certificate::generate().unwrap().to_pem().unwrap();
    let with = |pem: &str| Settings::with(Config::new(Certificate::from_pem(pem).unwrap().into()));
    let fingerprints = [0, 1].map(|_| {
        let (here, there) =
            (endpoint(), Endpoint::bind("127.0.0.1:0".parse().unwrap(), with(&kept)).unwrap());
        let (offerer, _answerer, channel, _other) = pair(&here, &there);
        channel.wait_open().unwrap();
        offerer.wait_connected().unwrap();
        let der = offerer.remote_certificate().unwrap();
        assert_eq!(der, Certificate::from_pem(&kept).unwrap().der());
        offerer.remote_fingerprint().unwrap()
    });
    assert_eq!(fingerprints[0], fingerprints[1]);
    let expired = include_str!("../../../stacks/rtc/src/dtls/tests/openssl.pem");
    let error = Endpoint::bind("127.0.0.1:0".parse().unwrap(), with(expired)).unwrap_err().to_string();
    assert!(
        error.starts_with("certificate: it expired ") && error.contains("Certificate::generate"),
        "{error}"
    );
}
