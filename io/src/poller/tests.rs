use std::thread;
use std::time::{Duration, Instant};

use super::{AWAKE, Events, NOTIFIED, Poller, Ready};
use crate::{DatagramOptions, DatagramSocket, ReceiveBatch, SocketOptions, UdpSocket};

fn socket() -> UdpSocket {
    UdpSocket::bind("127.0.0.1:0".parse().unwrap(), &SocketOptions::default()).unwrap()
}

#[test]
fn reports_every_socket_until_it_is_read() {
    let (poller, mut events, mut batch) = (Poller::new().unwrap(), Events::default(), ReceiveBatch::new(1));
    let sockets: Vec<_> = (0..20).map(|_| socket()).collect();
    for (key, socket) in sockets.iter().enumerate() {
        poller.add(socket, key as u32).unwrap();
    }
    let sender = socket();
    for key in [3, 11] {
        sender.send(sender.local_address(), sockets[key].local_address(), b"hello", 5);
    }
    // On a busy machine the second may arrive a little later.
    while events.len() < 2 {
        poller.wait(&mut events, None).unwrap();
    }
    for _ in 0..2 {
        poller.wait(&mut events, None).unwrap();
        let mut keys: Vec<_> =
            events.iter().map(|ready| (ready.key, ready.readable, ready.writable)).collect();
        keys.sort_unstable();
        assert_eq!(keys, [(3, true, false), (11, true, false)]);
    }
    sockets[3].receive(&mut batch).unwrap();
    poller.remove(&sockets[11]).unwrap();
    poller.wait(&mut events, Some(Duration::ZERO)).unwrap();
    assert!(events.is_empty());
}

#[test]
fn waits_for_sockets_that_were_not_added() {
    let (poller, mut events, own) = (Poller::new().unwrap(), Events::default(), socket());
    poller.add(&own, 7).unwrap();
    let bind = || DatagramSocket::bind("127.0.0.1:0".parse().unwrap(), &DatagramOptions::default()).unwrap();
    let others = [bind(), bind()];
    poller.wait_with(&others, &mut events, Some(Duration::from_millis(1))).unwrap();
    assert!(events.is_empty());
    others[0].send(others[1].local_address(), b"hello").unwrap();
    poller.wait_with(&others, &mut events, None).unwrap();
    assert_eq!(events.iter().collect::<Vec<_>>(), [Ready { key: 1, readable: true, writable: false }]);
    others[0].send(own.local_address(), b"hello").unwrap();
    // On a busy machine it may arrive a little later.
    while events.len() < 2 {
        poller.wait_with(&others, &mut events, None).unwrap();
    }
    assert!(events.iter().map(|ready| ready.key).eq([1, 7]));
    // They were not added.
    poller.wait(&mut events, None).unwrap();
    assert!(events.iter().map(|ready| ready.key).eq([7]));
    own.receive(&mut ReceiveBatch::new(1)).unwrap();
    assert!(others[1].receive_now(&mut [0; 8]).unwrap().is_some());
    let waker = poller.waker();
    let thread = thread::spawn(move || waker.wake());
    poller.wait_with(&others, &mut events, None).unwrap();
    thread.join().unwrap();
    assert!(events.is_empty());
}

#[test]
fn a_minimum_sleep_lasts_until_its_end_or_a_wake_up() {
    let (poller, mut events, socket) = (Poller::new().unwrap(), Events::default(), socket());
    poller.add(&socket, 1).unwrap();
    socket.send(socket.local_address(), socket.local_address(), b"hello", 5);
    let rest = Duration::from_millis(30);
    for (timeout, least) in [(None, rest), (Some(rest / 3), rest / 3), (Some(Duration::ZERO), Duration::ZERO)]
    {
        let begin = Instant::now();
        poller.sleep_at_least(rest);
        poller.wait(&mut events, timeout).unwrap();
        assert!(begin.elapsed() >= least && events.len() == 1, "{timeout:?}: {:?}", begin.elapsed());
        // It applies to one wait.
        poller.sleep_at_least(Duration::ZERO);
    }
    let (begin, waker) = (Instant::now(), poller.waker());
    poller.sleep_at_least(Duration::from_secs(60));
    let thread = thread::spawn(move || waker.wake());
    poller.wait(&mut events, None).unwrap();
    thread.join().unwrap();
    assert!(events.is_woken() && begin.elapsed() < Duration::from_secs(30));
}

#[test]
fn reports_buffer_space_only_if_requested() {
    let (poller, mut events, socket) = (Poller::new().unwrap(), Events::default(), socket());
    poller.add(&socket, 1).unwrap();
    poller.wait(&mut events, Some(Duration::ZERO)).unwrap();
    assert!(events.is_empty());
    poller.set_writable(&socket, 1, true).unwrap();
    poller.wait(&mut events, None).unwrap();
    assert_eq!(events.iter().collect::<Vec<_>>(), [Ready { key: 1, readable: false, writable: true }]);
    poller.set_writable(&socket, 1, false).unwrap();
    poller.wait(&mut events, Some(Duration::ZERO)).unwrap();
    assert!(events.is_empty());
}

#[test]
fn a_wake_up_is_reported_with_other_events() {
    let (poller, mut events, socket) = (Poller::new().unwrap(), Events::default(), socket());
    poller.add(&socket, 1).unwrap();
    socket.send(socket.local_address(), socket.local_address(), b"hello", 5);
    while events.is_empty() {
        poller.wait(&mut events, None).unwrap();
        assert!(!events.is_woken());
    }
    for timeout in [None, Some(Duration::ZERO), Some(Duration::from_millis(1))] {
        poller.waker().wake();
        poller.wait(&mut events, timeout).unwrap();
        assert_eq!((events.len(), events.is_woken()), (1, true), "{timeout:?}");
        poller.wait(&mut events, timeout).unwrap();
        assert_eq!((events.len(), events.is_woken()), (1, false), "{timeout:?}, reported once");
    }
}

#[test]
fn waits_are_never_shorter_than_the_timeout() {
    let (poller, mut events) = (Poller::new().unwrap(), Events::default());
    for micros in [300, 2_500, 21_500] {
        let begin = Instant::now();
        poller.wait(&mut events, Some(Duration::from_micros(micros))).unwrap();
        assert!(begin.elapsed() >= Duration::from_micros(micros), "{micros} us");
        assert!(events.is_empty());
    }
}

#[test]
fn a_wake_up_ends_the_current_wait_or_the_next() {
    for spin in [Duration::ZERO, Duration::from_millis(1)] {
        let (poller, mut events) = (Poller::with_spin(spin).unwrap(), Events::default());
        let waker = poller.waker();
        waker.wake();
        waker.wake();
        assert_eq!(poller.state.load(std::sync::atomic::Ordering::Acquire), NOTIFIED);
        poller.wait(&mut events, None).unwrap();
        assert_eq!(poller.state.load(std::sync::atomic::Ordering::Acquire), AWAKE);

        let other = thread::spawn(move || {
            thread::sleep(Duration::from_millis(5));
            waker.wake();
        });
        poller.wait(&mut events, None).unwrap();
        other.join().unwrap();
    }
}

#[test]
fn no_wake_up_is_lost() {
    let poller = Poller::new().unwrap();
    let (waker, back) = (poller.waker(), std::sync::Arc::new(Poller::new().unwrap()));
    let (back_waker, rounds) = (back.waker(), 5_000);
    let other = thread::spawn(move || {
        let mut events = Events::default();
        for _ in 0..rounds {
            back.wait(&mut events, None).unwrap();
            waker.wake();
        }
    });
    let mut events = Events::default();
    // Waits may end spuriously, so the two may drift apart; none may hang.
    for _ in 0..rounds {
        back_waker.wake();
        poller.wait(&mut events, Some(Duration::from_secs(10))).unwrap();
    }
    while !other.is_finished() {
        back_waker.wake();
        thread::yield_now();
    }
    other.join().unwrap();
}

#[test]
fn spinning_finds_a_datagram() {
    let (poller, mut events) = (Poller::with_spin(Duration::from_secs(60)).unwrap(), Events::default());
    let (here, there) = (socket(), socket());
    poller.add(&there, 9).unwrap();
    let begin = Instant::now();
    poller.wait(&mut events, Some(Duration::from_millis(2))).unwrap();
    assert!(events.is_empty() && begin.elapsed() < Duration::from_secs(60), "a deadline ends the spinning");
    here.send(here.local_address(), there.local_address(), b"hello", 5);
    poller.wait(&mut events, None).unwrap();
    assert_eq!(events.len(), 1);
}

#[test]
fn a_minimum_spin_applies_once() {
    let (poller, mut events) = (Poller::new().unwrap(), Events::default());
    // So long that a wait that spins without time to spend would show; an expired time ends it.
    poller.spin_at_least(Duration::from_secs(3600));
    poller.wait(&mut events, Some(Duration::from_millis(1))).unwrap();
    assert_eq!(poller.min_spin_us.load(std::sync::atomic::Ordering::Relaxed), 0);
    poller.spin_at_least(Duration::from_micros(50));
    poller.wait(&mut events, Some(Duration::ZERO)).unwrap();
    assert_eq!(
        poller.min_spin_us.load(std::sync::atomic::Ordering::Relaxed),
        50,
        "a wait of zero leaves it pending"
    );
    let waker = poller.waker();
    poller.spin_at_least(Duration::from_secs(3600));
    waker.wake();
    poller.wait(&mut events, None).unwrap();
    assert!(events.is_woken() && events.is_empty());
    let (here, there) = (socket(), socket());
    poller.add(&there, 3).unwrap();
    let sender = thread::spawn(move || {
        thread::sleep(Duration::from_millis(5));
        here.send(here.local_address(), there.local_address(), b"expected", 8);
        there
    });
    poller.spin_at_least(Duration::from_secs(3600));
    poller.wait(&mut events, None).unwrap();
    assert!(events.iter().map(|ready| ready.key).eq([3]));
    drop(sender.join().unwrap());
}
