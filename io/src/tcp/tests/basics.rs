//! Accepting, connecting, waking, keys, and the order of events.

use std::io::ErrorKind;
use std::net::TcpListener;
use std::thread;

use super::*;
use crate::tcp::Listener;

#[test]
fn a_reactor_may_move_to_its_thread() {
    on_each(&Limits::default(), |mut reactor| {
        let address = listen(&mut reactor);
        let waker = reactor.waker();
        let server = thread::spawn(move || {
            let mut woken = false;
            while !woken {
                reactor.wait(None).unwrap();
                while let Some(event) = reactor.next_event() {
                    woken |= event == Event::Woken;
                    echo_lines(&mut reactor, event);
                }
                reactor.flush().unwrap();
            }
        });
        assert_eq!(ask(&mut dial(address), b"hello\n"), b"hello\n");
        waker.wake();
        server.join().unwrap();
    });
}

#[test]
fn reports_peer_and_listener() {
    on_each(&Limits::default(), |mut reactor| {
        let (one, two) = (listen(&mut reactor), listen(&mut reactor));
        for (address, listener) in [(one, Listener(0)), (two, Listener(1))] {
            let client = dial(address);
            let (key, peer) = next(&mut reactor, |event| match event {
                Event::Accepted(key, peer) => Some((key, peer)),
                _ => None,
            });
            assert_eq!(peer, client.local_addr().unwrap());
            assert_eq!(reactor.listener(key), Some(listener));
            let connection = reactor.shared.table.get(key).unwrap();
            assert!(rustix::net::sockopt::tcp_nodelay(&connection.socket).unwrap(), "inherited");
            assert_eq!(reactor.connection_address(key), Some(address));
        }
    });
}

#[test]
fn silent_peers_are_probed() {
    use rustix::net::sockopt::{socket_keepalive, tcp_keepidle, tcp_keepintvl};
    on_each(&Limits::default(), |mut reactor| {
        let minute = Duration::from_secs(60);
        reactor.set_keepalive(Some(minute)).unwrap();
        let address = listen(&mut reactor);
        // Also applies to an existing listener.
        for silence in [Some(minute), None, Some(Duration::ZERO), Some(Duration::from_secs(1 << 40))] {
            reactor.set_keepalive(silence).unwrap();
            let _client = dial(address);
            let key = next(&mut reactor, accepted);
            let socket = &reactor.shared.table.get(key).unwrap().socket;
            assert_eq!(socket_keepalive(socket).unwrap(), silence.is_some());
            if silence == Some(minute) {
                assert_eq!(tcp_keepidle(socket).unwrap(), minute);
                assert_eq!(tcp_keepintvl(socket).unwrap(), minute / 3);
            }
        }
    });
}

#[test]
fn ipv6_is_supported() {
    on_each(&Limits::default(), |mut reactor| {
        let Ok(listener) = reactor.listen("[::1]:0".parse().unwrap(), &ListenOptions::default()) else {
            return println!("skipped: needs IPv6");
        };
        let address = reactor.local_address(listener);
        let client = thread::spawn(move || ask(&mut dial(address), b"hello\n"));
        assert_eq!(join(&mut reactor, client, echo_lines), b"hello\n");
    });
}

#[test]
fn two_reactors_share_a_port() {
    on_each(&Limits::default(), |mut one| {
        let mut two = TcpReactor::new(one.backend(), Limits::default()).unwrap();
        let options = ListenOptions { share_port: true, ..ListenOptions::default() };
        let first = one.listen("127.0.0.1:0".parse().unwrap(), &options).unwrap();
        let address = one.local_address(first);
        two.listen(address, &options).unwrap();
        let clients: Vec<_> = (0..64).map(|_| dial(address)).collect();
        while one.connections() + two.connections() < clients.len() {
            settle(&mut one);
            settle(&mut two);
        }
        // The kernel hashes addresses and ports: all at one listener has a probability of 2^-63.
        assert!(one.connections() > 0 && two.connections() > 0);
        drop(one.listen(address, &ListenOptions::default()).expect_err("taken"));
    });
}

#[test]
fn nothing_is_sent_before_it_is_flushed() {
    on_each(&Limits::default(), |mut reactor| {
        let mut client = dial(listen(&mut reactor));
        let key = next(&mut reactor, accepted);
        reactor.output(key).extend_from_slice(b"one ");
        reactor.flush().unwrap();
        reactor.output(key).extend_from_slice(b"two");
        for _ in 0..5 {
            reactor.wait(Some(Duration::from_millis(2))).unwrap();
        }
        assert_eq!(read_exactly(&mut client, 4), b"one ");
        client.set_nonblocking(true).unwrap();
        assert_eq!(client.read(&mut [0; 9]).unwrap_err().kind(), ErrorKind::WouldBlock);
        client.set_nonblocking(false).unwrap();
        reactor.flush().unwrap();
        reactor.wait(Some(Duration::from_millis(2))).unwrap();
        assert_eq!(read_exactly(&mut client, 3), b"two");
    });
}

#[test]
fn a_stale_key_has_no_effect() {
    on_each(&Limits::default(), |mut reactor| {
        let address = listen(&mut reactor);
        let _first = dial(address);
        let old = next(&mut reactor, accepted);
        reactor.output(old).extend_from_slice(b"never sent");
        reactor.close(old, false);
        assert_eq!(next(&mut reactor, closed), CloseReason::Requested);
        settle(&mut reactor);
        assert_eq!(reactor.connections(), 0);

        let mut second = dial(address);
        let new = next(&mut reactor, accepted);
        assert!(old != new && old.index() == new.index() && old.bits() != new.bits());
        second.write_all(b"for the new one").unwrap();
        next(&mut reactor, |event| (event == Event::Received(new)).then_some(()));
        reactor.output(old).extend_from_slice(b"nowhere");
        reactor.consume(old, 5);
        reactor.pause(old);
        reactor.resume(old);
        reactor.close(old, false);
        reactor.close(old, true);
        assert!(reactor.input(old).is_empty() && reactor.listener(old).is_none());
        assert_eq!(reactor.pending_output(old), 0);
        assert_eq!(settle(&mut reactor), []);
        assert_eq!(reactor.input(new), b"for the new one");
        second.set_nonblocking(true).unwrap();
        assert_eq!(second.read(&mut [0; 9]).unwrap_err().kind(), ErrorKind::WouldBlock);
    });
}

#[test]
fn events_of_closed_connections_are_dropped() {
    on_each(&Limits::default(), |mut reactor| {
        let mut client = dial(listen(&mut reactor));
        let key = next(&mut reactor, accepted);
        client.write_all(b"hello").unwrap();
        // Received, but its event is not taken yet.
        while reactor.input(key).is_empty() {
            reactor.wait(None).unwrap();
        }
        reactor.close(key, false);
        assert_eq!(settle(&mut reactor), [Event::Closed(key, CloseReason::Requested)]);
    });
}

#[test]
fn a_waker_ends_a_wait() {
    on_each(&Limits::default(), |mut reactor| {
        let waker = reactor.waker();
        for _ in 0..100 {
            waker.wake();
            waker.wake();
            reactor.wait(None).unwrap();
            assert_eq!(reactor.next_event(), Some(Event::Woken));
            assert_eq!(reactor.next_event(), None);
        }
        let other = thread::spawn(move || {
            for _ in 0..100 {
                thread::sleep(Duration::from_micros(50));
                waker.wake();
            }
        });
        let mut woken = 0;
        while !other.is_finished() || woken == 0 {
            // The last wake-up may have come before the last wait.
            reactor.wait(Some(Duration::from_millis(100))).unwrap();
            woken +=
                std::iter::from_fn(|| reactor.next_event()).filter(|event| *event == Event::Woken).count();
        }
        other.join().unwrap();
        assert!(woken <= 101);
    });
}

#[test]
fn waits_last_until_the_timeout() {
    on_each(&Limits::default(), |mut reactor| {
        listen(&mut reactor);
        // Completes pending start-up work.
        settle(&mut reactor);
        for millis in [0, 3, 30] {
            let begin = Instant::now();
            reactor.wait(Some(Duration::from_millis(millis))).unwrap();
            assert!(begin.elapsed() >= Duration::from_millis(millis));
            assert_eq!(reactor.next_event(), None);
        }
    });
}

#[test]
fn connects_or_reports_the_failure() {
    on_each(&Limits::default(), |mut reactor| {
        let there = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = there.local_addr().unwrap();
        let key = reactor.connect(address).unwrap();
        reactor.output(key).extend_from_slice(b"hello\n");
        let server = thread::spawn(move || {
            let (mut stream, _) = there.accept().unwrap();
            let line = read_exactly(&mut stream, 6);
            stream.write_all(&line).unwrap();
        });
        next(&mut reactor, |event| (event == Event::Connected(key)).then_some(()));
        next(&mut reactor, |event| (event == Event::Received(key)).then_some(()));
        assert_eq!(reactor.input(key), b"hello\n");
        next(&mut reactor, |event| (event == Event::Ended(key)).then_some(()));
        server.join().unwrap();

        // The listener is gone.
        let key = reactor.connect(address).unwrap();
        let refused = Event::Closed(key, CloseReason::Lost(ErrorKind::ConnectionRefused));
        next(&mut reactor, |event| (event == refused).then_some(()));
        let key = reactor.connect(address).unwrap();
        reactor.close(key, true);
        next(&mut reactor, |event| (event == Event::Closed(key, CloseReason::Requested)).then_some(()));
    });
}

#[test]
fn a_reset_is_reported() {
    on_each(&Limits::default(), |mut reactor| {
        let client = dial(listen(&mut reactor));
        next(&mut reactor, accepted);
        rustix::net::sockopt::set_socket_linger(&client, Some(Duration::ZERO)).unwrap();
        drop(client);
        assert_eq!(next(&mut reactor, closed), CloseReason::Lost(ErrorKind::ConnectionReset));
        settle(&mut reactor);
        assert_eq!(reactor.connections(), 0);
    });
}
