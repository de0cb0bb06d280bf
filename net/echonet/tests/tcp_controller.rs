//! Controllers of all interfaces, with plain TCP listeners.

#![allow(clippy::unwrap_used, missing_docs)]

mod support;

use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use netdyno_echonet::core::{Answer, AnswerError, ControllerConfig, Epc, Property};
use netdyno_echonet::{CallError, Controller, Family, Settings, blocking, tokio};
use support::{GET_80, GOT_80, GUARD, LIGHT, alone, alone_with, at, config, light, read};

const DEVICE: &str = "127.0.0.1";

/// A controller of any interface.
trait Asks {
    /// Reads 80 of the light at 127.0.0.1.
    fn ask(&mut self) -> Result<Answer, CallError> {
        self.ask_at(NODE)
    }
    /// Reads 80 of the light there.
    fn ask_at(&mut self, node: IpAddr) -> Result<Answer, CallError>;
    /// Waits briefly.
    fn rest(&mut self) {
        std::thread::sleep(Duration::from_millis(5));
    }
}

const NODE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

impl Asks for Controller {
    fn ask_at(&mut self, node: IpAddr) -> Result<Answer, CallError> {
        self.get(node, LIGHT, &[Epc(0x80)])
    }

    fn rest(&mut self) {
        self.poll(Some(Duration::from_millis(5))).unwrap();
    }
}

impl Asks for blocking::Controller {
    fn ask_at(&mut self, node: IpAddr) -> Result<Answer, CallError> {
        self.get(node, LIGHT, &[Epc(0x80)])
    }
}

impl Asks for (::tokio::runtime::Runtime, tokio::Controller) {
    fn ask_at(&mut self, node: IpAddr) -> Result<Answer, CallError> {
        self.0.block_on(self.1.get(node, LIGHT, &[Epc(0x80)]))
    }
}

/// Runs a test with a controller of each interface, set to TCP, and a plain listener at 127.0.0.1.
fn with_each_controller(
    idle: Duration,
    change: impl Fn(&mut ControllerConfig),
    test: impl Fn(&str, TcpListener, Box<dyn Asks>),
) {
    let mut settings = at("127.0.0.2");
    settings.tcp_limits.idle = idle;
    with_each(&settings, change, |face, controller| {
        test(face, TcpListener::bind((NODE, 3610)).unwrap(), controller);
    });
}

/// The same without a listener.
fn with_each(
    settings: &Settings,
    change: impl Fn(&mut ControllerConfig),
    test: impl Fn(&str, Box<dyn Asks>),
) {
    let mut config = config();
    (config.defaults.tcp, config.defaults.retries) = (true, 1);
    change(&mut config);
    test("caller's", Box::new(Controller::open(settings, config.clone()).unwrap()));
    test("blocking", Box::new(blocking::Controller::open(settings, config.clone()).unwrap()));
    let runtime = ::tokio::runtime::Runtime::new().unwrap();
    let controller = runtime.block_on(async { tokio::Controller::open(settings, config) }).unwrap();
    test("tokio", Box::new((runtime, controller)));
}

/// Handles each accepted connection in a thread, until `serve` returns false.
fn play(
    listener: TcpListener,
    mut each: impl FnMut(usize, &mut TcpStream) -> bool + Send + 'static,
) -> std::thread::JoinHandle<()> {
    std::thread::spawn(move || {
        for number in 0.. {
            let (mut stream, from) = listener.accept().unwrap();
            assert_eq!(from.ip(), "127.0.0.2".parse::<IpAddr>().unwrap(), "from the address that was chosen");
            stream.set_read_timeout(Some(GUARD)).unwrap();
            stream.set_nodelay(true).unwrap();
            if each(number, &mut stream) {
                return;
            }
        }
    })
}

/// Receives a Get of 80 and returns its answer.
fn take_get(stream: &mut TcpStream) -> Vec<u8> {
    answer_to(&read(stream, GET_80.len()))
}

fn answer_to(get: &[u8]) -> Vec<u8> {
    assert_eq!(get[4..], GET_80[4..]);
    [&[0x10, 0x81, get[2], get[3]], &GOT_80[4..]].concat()
}

/// Answers each Get of 80 until the peer closes the connection; returns their number.
fn answer_all(stream: &mut TcpStream) -> usize {
    let (mut get, mut count) = (vec![0; GET_80.len()], 0);
    while stream.read_exact(&mut get).is_ok() && stream.write_all(&answer_to(&get)).is_ok() {
        count += 1;
    }
    count
}

#[test]
fn a_controller_keeps_its_connection_while_it_is_used() {
    alone("a_controller_keeps_its_connection_while_it_is_used", || {
        with_each_controller(
            GUARD,
            |_| {},
            |face, listener, mut controller| {
                let node = play(listener, move |_, stream| {
                    for round in 0..100 {
                        let answer = take_get(stream);
                        match round % 50 {
                            // Byte by byte, or after an unexpected message.
                            0 => answer.chunks(1).for_each(|byte| stream.write_all(byte).unwrap()),
                            1 => stream.write_all(&[GOT_80, &answer].concat()).unwrap(),
                            _ => stream.write_all(&answer).unwrap(),
                        }
                    }
                    true
                });
                for _ in 0..100 {
                    assert_eq!(controller.ask().unwrap().get(Epc(0x80)), Some(&[0x30][..]), "{face}");
                }
                node.join().unwrap();
            },
        );
        with_each_controller(
            Duration::from_millis(50),
            |config| config.defaults.retries = 20,
            |face, listener, mut controller| {
                let over = Arc::new(AtomicBool::new(false));
                let is_over = over.clone();
                let node = play(listener, move |number, stream| {
                    answer_all(stream);
                    is_over.store(true, Ordering::Release);
                    number > 0
                });
                for _ in 0..2 {
                    controller.ask().unwrap();
                    let begin = Instant::now();
                    while !over.swap(false, Ordering::AcqRel) {
                        assert!(begin.elapsed() < GUARD, "{face}: an idle connection stays");
                        controller.rest();
                    }
                }
                node.join().unwrap();
            },
        );
    });
}

#[test]
fn a_lost_connection_is_replaced() {
    alone("a_lost_connection_is_replaced", || {
        with_each_controller(
            GUARD,
            // A request may be sent before the end of its connection is detected, and then on one that fails.
            |config| config.defaults.retries = 2,
            |face, listener, mut controller| {
                let node = play(listener, move |number, stream| {
                    let answer = take_get(stream);
                    match number {
                        // Closed between request and answer.
                        0 => {}
                        // Closed within the answer.
                        2 => stream.write_all(&answer[..5]).unwrap(),
                        // After an invalid message.
                        4 => stream.write_all(b"HTTP/1.1 400 Bad Request\r\n").unwrap(),
                        // After the answer.
                        _ => stream.write_all(&answer).unwrap(),
                    }
                    number == 7
                });
                for round in 0..5 {
                    assert!(controller.ask().is_ok(), "{face}: {round}");
                }
                node.join().unwrap();
                // The listener is closed.
                let begin = Instant::now();
                let message = controller.ask().unwrap_err();
                assert_eq!(message, CallError::Answer(AnswerError::Unreachable), "{face}");
                assert!(message.to_string().contains("supports TCP"));
                assert!(begin.elapsed() < Duration::from_secs(3), "{face}: it is known at once");
            },
        );
    });
}

#[test]
fn a_silent_node_gets_one_request() {
    alone("a_silent_node_gets_one_request", || {
        with_each_controller(
            GUARD,
            |config| config.defaults.timeout = Duration::from_millis(100),
            |face, listener, mut controller| {
                let gets = Arc::new(AtomicUsize::new(0));
                let seen = gets.clone();
                let node = play(listener, move |_, stream| {
                    take_get(stream);
                    seen.store(1 + answer_all(stream), Ordering::Release);
                    true
                });
                assert_eq!(controller.ask(), Err(CallError::Answer(AnswerError::Timeout)), "{face}");
                let mut asked = 2;
                // One attempt suffices, unless the machine is busy.
                while controller.ask().is_err() {
                    asked += 1;
                }
                drop(controller);
                node.join().unwrap();
                assert_eq!(
                    gets.load(Ordering::Acquire),
                    asked,
                    "{face}: nothing twice, all by one connection"
                );
            },
        );
        // Connecting fails too: the listener's queue is full.
        with_each_controller(
            GUARD,
            |config| config.defaults.timeout = Duration::from_millis(100),
            |face, listener, mut controller| {
                drop(listener);
                let socket =
                    socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
                socket.set_reuse_address(true).unwrap();
                let address: SocketAddr = (DEVICE.parse::<IpAddr>().unwrap(), 3610).into();
                socket.bind(&address.into()).unwrap();
                socket.listen(0).unwrap();
                let _queued = TcpStream::connect(address).unwrap();
                let begin = Instant::now();
                assert_eq!(controller.ask(), Err(CallError::Answer(AnswerError::Unreachable)), "{face}");
                assert!(begin.elapsed() >= Duration::from_millis(200), "{face}: tried twice");
            },
        );
    });
}

#[test]
fn falls_back_to_datagrams_if_allowed() {
    alone("falls_back_to_datagrams_if_allowed", || {
        let device = blocking::Device::open(&at(DEVICE), light()).unwrap();
        with_each(
            &at("127.0.0.2"),
            |config| config.defaults.udp_fallback = true,
            |face, mut controller| {
                let before = device.stats().requests;
                for _ in 0..50 {
                    assert_eq!(controller.ask().unwrap().get(Epc(0x80)), Some(&[0x30][..]), "{face}");
                }
                assert_eq!(device.stats().requests - before, 50, "{face}");
            },
        );
        with_each(
            &at("127.0.0.2"),
            |_| {},
            |face, mut controller| {
                assert_eq!(controller.ask(), Err(CallError::Answer(AnswerError::Unreachable)), "{face}");
            },
        );
    });
}

#[test]
fn tcp_works_over_ipv6() {
    let setup = "ip address add fd00::1/128 dev lo nodad && ip address add fd00::2/128 dev lo nodad && \
                 ip address add fe80::1/64 dev lo nodad";
    if std::fs::metadata("/proc/net/if_inet6").is_err() {
        return support::skip("IPv6");
    }
    alone_with("tcp_works_over_ipv6", setup, || {
        let mut from_one = at("fd00::2");
        from_one.family = Family::V6;
        let mut from_any = Settings::on("lo");
        from_any.family = Family::V6;
        // The interface of a link-local address is known.
        for (settings, node, from) in [
            (&from_one, "fd00::1", Some("fd00::2")),
            (&from_any, "fd00::1", None),
            (&from_any, "fe80::1", None),
        ] {
            let node: IpAddr = node.parse().unwrap();
            with_each(
                settings,
                |_| {},
                |face, mut controller| {
                    let listener = TcpListener::bind("[::]:3610").unwrap();
                    let thread = std::thread::spawn(move || {
                        let (mut stream, peer) = listener.accept().unwrap();
                        stream.set_read_timeout(Some(GUARD)).unwrap();
                        assert!(from.is_none_or(|from| peer.ip().to_string() == from), "{peer}");
                        assert_eq!(stream.local_addr().unwrap().ip(), node);
                        answer_all(&mut stream)
                    });
                    for _ in 0..3 {
                        let answer = controller.ask_at(node);
                        assert_eq!(answer.unwrap().get(Epc(0x80)), Some(&[0x30][..]), "{face} {node}");
                    }
                    drop(controller);
                    assert_eq!(thread.join().unwrap(), 3, "{face} {node}");
                },
            );
        }
    });
}

#[test]
fn requests_in_both_directions() {
    alone("requests_in_both_directions", || {
        let mut settings = at(DEVICE);
        settings.tcp = true;
        let device = blocking::Device::open(&settings, light()).unwrap();
        let other = blocking::Device::open(&at("127.0.0.3"), light()).unwrap();
        let mut patient = config();
        patient.defaults.timeout = GUARD;
        let controller = blocking::Controller::open(&at("127.0.0.2"), patient.clone()).unwrap();
        let [by_tcp, by_udp] = [DEVICE, "127.0.0.3"].map(|node| node.parse::<IpAddr>().unwrap());
        let mut tcp = patient.defaults;
        tcp.tcp = true;
        controller.set_node_settings(by_tcp, tcp).unwrap();
        // Neither waits for the other's receive calls.
        let begin = Instant::now();
        std::thread::scope(|scope| {
            for node in [by_tcp, by_udp, by_tcp, by_udp] {
                let controller = controller.clone();
                scope.spawn(move || {
                    for round in 0..200_u8 {
                        let level = [Property { epc: Epc(0xB0), edt: &[round % 100] }];
                        assert!(controller.set(node, LIGHT, &level).unwrap().is_complete());
                        assert!(controller.get(node, LIGHT, &[Epc(0x80)]).is_ok());
                    }
                });
            }
        });
        assert!(begin.elapsed() < Duration::from_secs(30), "{:?}", begin.elapsed());
        assert_eq!([device.stats().requests, other.stats().requests], [800, 800]);
        assert_eq!(controller.stats().retried, 0);
        // Closing wakes waiting calls.
        let closing = controller.clone();
        let listener_gone = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(50));
            closing.close();
        });
        drop(device);
        let silent = TcpListener::bind((DEVICE, 3610)).unwrap();
        assert_eq!(controller.get(by_tcp, LIGHT, &[Epc(0x80)]), Err(CallError::Closed));
        listener_gone.join().unwrap();
        drop(silent);
    });
}
