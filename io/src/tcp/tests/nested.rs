//! A reactor added to a poller.

use std::io::ErrorKind;
use std::net::IpAddr;

use super::*;
use crate::{Events, Poller};

const KEY: u32 = 9;

/// Performs one turn, once the poller reports the reactor or its deadline is due.
fn turn(poller: &Poller, reactor: &mut TcpReactor, mut handle: impl FnMut(&mut TcpReactor, Event)) {
    let mut found = Events::default();
    let due = reactor
        .next_deadline(Instant::now())
        .map_or(GUARD, |at| at.saturating_duration_since(Instant::now()));
    let begin = Instant::now();
    poller.wait(&mut found, Some(due)).unwrap();
    assert!(begin.elapsed() < GUARD, "nothing is reported");
    assert!(found.iter().all(|ready| ready.key == KEY));
    reactor.wait(Some(Duration::ZERO)).unwrap();
    while let Some(event) = reactor.next_event() {
        handle(reactor, event);
    }
    reactor.flush().unwrap();
}

#[test]
fn a_poller_reports_all_work_of_a_reactor() {
    const CLIENTS: usize = 40;
    const BYTES: usize = 300_000;
    let (poller, mut reactor) =
        (Poller::new().unwrap(), TcpReactor::new(Backend::Epoll, Limits::default()).unwrap());
    poller.add_reactor(&reactor, KEY).unwrap();
    let address = listen(&mut reactor);
    // More clients than one turn reads, and more bytes than its memory holds.
    let clients: Vec<_> = (0..CLIENTS)
        .map(|_| {
            std::thread::spawn(move || {
                let mut stream = dial(address);
                let mut writer = stream.try_clone().unwrap();
                let sender = std::thread::spawn(move || writer.write_all(&vec![7; BYTES]).unwrap());
                let mut echo = vec![0; BYTES];
                stream.read_exact(&mut echo).unwrap();
                sender.join().unwrap();
                assert!(echo.iter().all(|byte| *byte == 7));
            })
        })
        .collect();
    let mut ended = 0;
    while ended < CLIENTS {
        turn(&poller, &mut reactor, |reactor, event| match event {
            Event::Received(key) => {
                let (input, output) = reactor.buffers(key);
                output.extend_from_slice(input);
                let count = input.len();
                reactor.consume(key, count);
            }
            Event::Ended(key) | Event::Closed(key, _) => {
                reactor.close(key, false);
                ended += usize::from(matches!(event, Event::Closed(..)));
            }
            _ => {}
        });
    }
    clients.into_iter().for_each(|client| client.join().unwrap());
    assert_eq!(reactor.next_deadline(Instant::now()), None);
}

#[test]
fn an_overdue_close_is_reported_as_due() {
    let limits = Limits { linger_time: Duration::from_millis(20), ..Limits::default() };
    let (poller, mut reactor) = (Poller::new().unwrap(), TcpReactor::new(Backend::Epoll, limits).unwrap());
    poller.add_reactor(&reactor, KEY).unwrap();
    let _silent = dial(listen(&mut reactor));
    let mut events = Vec::new();
    while events.len() < 2 {
        turn(&poller, &mut reactor, |reactor, event| {
            if let Event::Accepted(key, _) = event {
                reactor.close(key, true);
            }
            events.push(event);
        });
    }
    assert!(matches!(events[1], Event::Closed(_, CloseReason::Requested)), "{events:?}");
    while reactor.connections() > 0 {
        assert!(reactor.next_deadline(Instant::now()).is_some());
        turn(&poller, &mut reactor, |_, event| panic!("{event:?}"));
    }
    assert_eq!(reactor.next_deadline(Instant::now()), None);
}

#[test]
fn a_connection_from_a_chosen_address() {
    on_each(&Limits::default(), |mut reactor| {
        let there = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let local: IpAddr = "127.0.0.3".parse().unwrap();
        let key = reactor.connect_from(local, there.local_addr().unwrap()).unwrap();
        assert_eq!(there.accept().unwrap().1.ip(), local);
        assert_eq!(reactor.connection_address(key).unwrap().ip(), local);
        let not_ours = reactor.connect_from("192.0.2.1".parse().unwrap(), there.local_addr().unwrap());
        assert_eq!(not_ours.unwrap_err().kind(), ErrorKind::AddrNotAvailable);
    });
}

#[test]
fn io_uring_reactors_cannot_be_nested() {
    on_each(&Limits::default(), |reactor| {
        let result = Poller::new().unwrap().add_reactor(&reactor, KEY).map_err(|error| error.kind());
        let expected = if reactor.backend() == Backend::Uring { Err(ErrorKind::Unsupported) } else { Ok(()) };
        assert_eq!(result, expected);
    });
}

/// Edge-triggered, the kernel reports both at once, and only once.
#[test]
fn data_that_arrives_with_the_connection_is_reported() {
    for ends in [false, true] {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let mut reactor = TcpReactor::new(Backend::Epoll, Limits::default()).unwrap();
        let key = reactor.connect(listener.local_addr().unwrap()).unwrap();
        let mut other = listener.accept().unwrap().0;
        std::io::Write::write_all(&mut other, b"first").unwrap();
        if ends {
            other.shutdown(std::net::Shutdown::Write).unwrap();
        }
        let (mut received, mut ended) = (false, false);
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
        while !received || ended != ends {
            assert!(std::time::Instant::now() < deadline, "never reported");
            reactor.wait(Some(std::time::Duration::from_millis(10))).unwrap();
            while let Some(event) = reactor.next_event() {
                received |= event == Event::Received(key) && reactor.input(key) == b"first";
                ended |= event == Event::Ended(key);
            }
        }
    }
}
