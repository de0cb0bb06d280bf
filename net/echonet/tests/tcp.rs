//! TCP: devices asked by plain streams, controllers and plain listeners, by all faces.

#![allow(clippy::unwrap_used, missing_docs)]

mod support;

use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use netdyno_echonet::core::{
    Access, Answer, AnswerError, ControllerConfig, Decision, Description, DeviceEvent, Epc, Esv, FrameWriter,
    Header, MESSAGE_BYTES_MAX, ObjectDescription, Property, PropertyDescription, Tid, WritePolicy,
};
use netdyno_echonet::{CallError, Controller, Error, Home, HomeEvent, Settings, Spread, blocking, tokio};
use support::{LIGHT, MAKER, alone, at, config, light};

const DEVICE: &str = "127.0.0.1";
const GUARD: Duration = Duration::from_secs(60);
const GET_80: &[u8] = b"\x10\x81\x12\x34\x05\xFF\x01\x02\x91\x01\x62\x01\x80\x00";
const GOT_80: &[u8] = b"\x10\x81\x12\x34\x02\x91\x01\x05\xFF\x01\x72\x01\x80\x01\x30";

/// A light with a long property, and one that the application is asked about, which accepts what is even.
fn long_light() -> Description {
    let object = ObjectDescription::device(LIGHT, MAKER)
        .property(Epc(0x80), [0x30], Access::ALL)
        .property(Epc(0xF0), [7; 255], Access::GET_SET)
        .with(PropertyDescription::new(Epc(0xF1), [0], Access::GET_SET).writes(WritePolicy::Ask));
    Description::new(MAKER, *b"a long light!").object(object)
}

fn decide(event: &DeviceEvent) -> Option<(netdyno_echonet::core::WriteId, Decision)> {
    let DeviceEvent::WriteRequested { id, value, .. } = event else { return None };
    Some((*id, if value[0] % 2 == 0 { Decision::Accept } else { Decision::Refuse }))
}

/// Runs a test with a device of each face, one after the other, at 127.0.0.1.
fn with_each_device(change: impl Fn(&mut Settings), test: impl Fn(&str)) {
    let mut settings = at(DEVICE);
    settings.tcp = true;
    change(&mut settings);
    {
        let device = blocking::Device::open(&settings, long_light()).unwrap();
        let (events, decider) = (device.events().unwrap(), device.clone());
        let thread = std::thread::spawn(move || {
            events.filter_map(|event| decide(&event)).for_each(|(id, decision)| {
                decider.decide(id, decision);
            });
        });
        test("blocking");
        device.close();
        thread.join().unwrap();
    }
    {
        let runtime = ::tokio::runtime::Runtime::new().unwrap();
        let device = runtime.block_on(async { tokio::Device::open(&settings, long_light()) }).unwrap();
        let (events, decider) = (device.events().unwrap(), device.clone());
        runtime.spawn(async move {
            while let Some(event) = events.recv().await {
                if let Some((id, decision)) = decide(&event) {
                    decider.decide(id, decision);
                }
            }
        });
        test("tokio");
    }
    let mut home = Home::open(&settings, vec![(None, long_light())], Spread::default()).unwrap();
    let (over, waker) = (Arc::new(AtomicBool::new(false)), home.waker());
    let is_over = over.clone();
    let thread = std::thread::spawn(move || {
        while !is_over.load(Ordering::Acquire) {
            if let Some(HomeEvent { node, event }) = home.poll(None).unwrap()
                && let Some((id, decision)) = decide(&event)
            {
                home.with(node, |device| device.decide(id, decision));
            }
        }
    });
    test("home");
    over.store(true, Ordering::Release);
    waker.wake();
    thread.join().unwrap();
}

fn dial() -> TcpStream {
    let stream = TcpStream::connect((DEVICE, 3610)).unwrap();
    stream.set_nodelay(true).unwrap();
    stream.set_read_timeout(Some(GUARD)).unwrap();
    stream
}

fn read(stream: &mut TcpStream, bytes: usize) -> Vec<u8> {
    let mut answer = vec![0; bytes];
    stream.read_exact(&mut answer).unwrap();
    answer
}

fn ask(stream: &mut TcpStream) {
    stream.write_all(GET_80).unwrap();
    assert_eq!(read(stream, GOT_80.len()), GOT_80);
}

/// Whether the other end has closed it, and had no more to say.
fn is_closed(stream: &mut TcpStream) -> bool {
    match stream.read(&mut [0; 1]) {
        Ok(0) => true,
        Err(error) if error.kind() == ErrorKind::ConnectionReset => true,
        other => panic!("{other:?}"),
    }
}

fn header(esv: Esv) -> Header {
    Header { tid: Tid(7), seoj: netdyno_echonet::core::Eoj::CONTROLLER, deoj: LIGHT, esv }
}

#[test]
fn a_stream_is_read_however_it_comes() {
    alone("a_stream_is_read_however_it_comes", || {
        with_each_device(
            |_| {},
            |face| {
                let mut stream = dial();
                // Cut anywhere.
                for cut in 0..=GET_80.len() {
                    let two = GET_80.repeat(2);
                    stream.write_all(&two[..cut]).unwrap();
                    std::thread::sleep(Duration::from_millis(1));
                    stream.write_all(&two[cut..]).unwrap();
                    assert_eq!(read(&mut stream, 2 * GOT_80.len()), GOT_80.repeat(2), "{face}: {cut}");
                }
                // Many at once.
                stream.write_all(&GET_80.repeat(1000)).unwrap();
                assert_eq!(read(&mut stream, 1000 * GOT_80.len()), GOT_80.repeat(1000), "{face}");
                // The longest that there is, twice, and a short one.
                let mut longest = vec![0; MESSAGE_BYTES_MAX];
                let mut writer = FrameWriter::new(&mut longest, header(Esv::SetGet)).unwrap();
                (0..255).for_each(|_| writer.property(Epc(0xF0), &[9; 255]).unwrap());
                writer.get_list().unwrap();
                (0..255).for_each(|_| writer.property(Epc(0xF0), &[9; 255]).unwrap());
                writer.finish().unwrap();
                let mut writer = stream.try_clone().unwrap();
                let sender = std::thread::spawn(move || {
                    writer.write_all(&[&longest[..], &longest, GET_80].concat()).unwrap();
                });
                // What was written is answered without its value, what is read with it.
                let length = 11 + 1 + 255 * 2 + 1 + 255 * 257;
                let answers = read(&mut stream, 2 * length + GOT_80.len());
                assert_eq!((answers[10], &answers[length - 255..length]), (0x7E, &[9; 255][..]), "{face}");
                assert_eq!(answers[2 * length..], *GOT_80, "{face}");
                sender.join().unwrap();
            },
        );
    });
}

#[test]
fn how_a_connection_ends() {
    alone("how_a_connection_ends", || {
        with_each_device(
            |_| {},
            |face| {
                // What is no message: nobody knows where the next one would begin. What was asked before is answered.
                let mut stream = dial();
                stream.write_all(&[GET_80, b"GET / HTTP/1.1\r\n\r\n"].concat()).unwrap();
                assert_eq!(read(&mut stream, GOT_80.len()), GOT_80, "{face}");
                assert!(is_closed(&mut stream), "{face}");
                // Who sends no more has his answers.
                let mut stream = dial();
                stream.write_all(GET_80).unwrap();
                stream.shutdown(std::net::Shutdown::Write).unwrap();
                let mut answer = Vec::new();
                stream.read_to_end(&mut answer).unwrap();
                assert_eq!(answer, GOT_80, "{face}");
                // Gone in the midst of a message, and by a reset.
                dial().write_all(&GET_80[..5]).unwrap();
                let rude = dial();
                socket2::SockRef::from(&rude).set_linger(Some(Duration::ZERO)).unwrap();
                drop(rude);
                ask(&mut dial());
            },
        );
    });
}

#[test]
fn answers_that_wait_for_the_application_go_by_the_connection() {
    alone("answers_that_wait_for_the_application_go_by_the_connection", || {
        with_each_device(
            |_| {},
            |face| {
                let (mut stream, mut other) = (dial(), dial());
                for (value, esv, shown) in [(4_u8, 0x71, 0), (5, 0x51, 1)] {
                    let set = [&GET_80[..10], &[0x61, 1, 0xF1, 1, value]].concat();
                    stream.write_all(&set).unwrap();
                    let answer = read(&mut stream, 14 + shown);
                    assert_eq!((answer[10], usize::from(answer[13])), (esv, shown), "{face}");
                    ask(&mut other);
                }
            },
        );
    });
}

#[test]
fn silence_and_crowds_are_bounded() {
    alone("silence_and_crowds_are_bounded", || {
        let idle = Duration::from_millis(400);
        with_each_device(
            |settings| settings.tcp_limits.idle = idle,
            |face| {
                let (mut silent, mut dripping, mut speaking) = (dial(), dial(), dial());
                let (begin, mut last) = (Instant::now(), Instant::now());
                while begin.elapsed() < 2 * idle {
                    // Unless we were late ourselves.
                    if last.elapsed() > idle / 2 {
                        speaking = dial();
                    }
                    ask(&mut speaking);
                    last = Instant::now();
                    // A part of a message is none. Once it is closed, this is lost.
                    let _ = dripping.write_all(&GET_80[..1]);
                    std::thread::sleep(idle / 8);
                }
                assert!(is_closed(&mut silent) && is_closed(&mut dripping), "{face}");
            },
        );
        with_each_device(
            |settings| settings.tcp_limits.connections = 4,
            |face| {
                let mut streams: Vec<_> = std::iter::repeat_with(dial).take(4).collect();
                // The second one is silent longest.
                [1, 0, 3, 2].iter().for_each(|index| ask(&mut streams[*index]));
                let mut fifth = dial();
                ask(&mut fifth);
                assert!(is_closed(&mut streams.remove(1)), "{face}");
                streams.iter_mut().chain([&mut fifth]).for_each(ask);
                for _ in 0..50 {
                    ask(&mut dial());
                }
            },
        );
    });
}

#[test]
fn who_does_not_take_his_answers_is_closed() {
    alone("who_does_not_take_his_answers_is_closed", || {
        with_each_device(
            |settings| settings.tcp_limits.output_bytes = 10_000,
            |face| {
                let mut get = vec![0; 1000];
                let mut writer = FrameWriter::new(&mut get, header(Esv::Get)).unwrap();
                (0..255).for_each(|_| writer.property(Epc(0xF0), &[]).unwrap());
                let bytes = writer.finish().unwrap();
                get.truncate(bytes);
                // Some 64 KiB of answer to each: far more than the kernel keeps.
                let mut stream = dial();
                let sent = (0..1000).take_while(|_| stream.write_all(&get).is_ok()).count();
                let mut got = 0;
                while let Ok(bytes @ 1..) = stream.read(&mut get) {
                    got += bytes;
                }
                assert!(got < 1000 * 65_000, "{face}: {sent} sent, {got} bytes of answers");
                ask(&mut dial());
            },
        );
    });
}

#[test]
fn a_port_that_another_has_is_told() {
    alone("a_port_that_another_has_is_told", || {
        let mut settings = at(DEVICE);
        settings.tcp = true;
        let other = TcpListener::bind((DEVICE, 3610)).unwrap();
        let told = blocking::Device::open(&settings, light()).unwrap_err();
        assert!(
            matches!(told, Error::Listen { .. }) && told.to_string().contains("another program"),
            "{told}"
        );
        drop(other);
        drop(blocking::Device::open(&settings, light()).unwrap());
        drop(blocking::Device::open(&settings, light()).unwrap());
    });
}

/// A controller of any face.
trait Asks {
    /// Reads 80 of the light at 127.0.0.1.
    fn ask(&mut self) -> Result<Answer, CallError>;
    /// Lets a little time pass.
    fn rest(&mut self) {
        std::thread::sleep(Duration::from_millis(5));
    }
}

const NODE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

impl Asks for Controller {
    fn ask(&mut self) -> Result<Answer, CallError> {
        self.get(NODE, LIGHT, &[Epc(0x80)])
    }

    fn rest(&mut self) {
        self.poll(Some(Duration::from_millis(5))).unwrap();
    }
}

impl Asks for blocking::Controller {
    fn ask(&mut self) -> Result<Answer, CallError> {
        self.get(NODE, LIGHT, &[Epc(0x80)])
    }
}

impl Asks for (::tokio::runtime::Runtime, tokio::Controller) {
    fn ask(&mut self) -> Result<Answer, CallError> {
        self.0.block_on(self.1.get(NODE, LIGHT, &[Epc(0x80)]))
    }
}

/// Runs a test with a controller of each face, which asks by TCP, and a plain listener at 127.0.0.1.
fn with_each_controller(
    idle: Duration,
    change: impl Fn(&mut ControllerConfig),
    test: impl Fn(&str, TcpListener, Box<dyn Asks>),
) {
    let mut config = config();
    (config.defaults.tcp, config.defaults.retries) = (true, 1);
    change(&mut config);
    let mut settings = at("127.0.0.2");
    settings.tcp_limits.idle = idle;
    let listener = || TcpListener::bind((NODE, 3610)).unwrap();
    test("caller's", listener(), Box::new(Controller::open(&settings, config.clone()).unwrap()));
    test("blocking", listener(), Box::new(blocking::Controller::open(&settings, config.clone()).unwrap()));
    let runtime = ::tokio::runtime::Runtime::new().unwrap();
    let controller = runtime.block_on(async { tokio::Controller::open(&settings, config) }).unwrap();
    test("tokio", listener(), Box::new((runtime, controller)));
}

/// Does something with each connection that a listener takes, in a thread, until it says that it is enough.
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

/// Takes a Get of 80, and gives the answer to it.
fn take_get(stream: &mut TcpStream) -> Vec<u8> {
    answer_to(&read(stream, GET_80.len()))
}

fn answer_to(get: &[u8]) -> Vec<u8> {
    assert_eq!(get[4..], GET_80[4..]);
    [&[0x10, 0x81, get[2], get[3]], &GOT_80[4..]].concat()
}

/// Answers each Get of 80 until the other end closes the connection; gives how many there were.
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
                            // Byte by byte, or after what nobody asked for.
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
fn a_node_that_goes_away_is_asked_by_another_connection() {
    alone("a_node_that_goes_away_is_asked_by_another_connection", || {
        with_each_controller(
            GUARD,
            // A request may meet a connection whose end is not known yet, and then one of those that fail.
            |config| config.defaults.retries = 2,
            |face, listener, mut controller| {
                let node = play(listener, move |number, stream| {
                    let answer = take_get(stream);
                    match number {
                        // Between request and answer.
                        0 => {}
                        // In the midst of it.
                        2 => stream.write_all(&answer[..5]).unwrap(),
                        // After what is no message.
                        4 => stream.write_all(b"HTTP/1.1 400 Bad Request\r\n").unwrap(),
                        // Once it is told.
                        _ => stream.write_all(&answer).unwrap(),
                    }
                    number == 7
                });
                for round in 0..5 {
                    assert!(controller.ask().is_ok(), "{face}: {round}");
                }
                node.join().unwrap();
                // Nobody listens any more.
                let begin = Instant::now();
                let told = controller.ask().unwrap_err();
                assert_eq!(told, CallError::Answer(AnswerError::Unreachable), "{face}");
                assert!(told.to_string().contains("does it speak TCP"));
                assert!(begin.elapsed() < Duration::from_secs(3), "{face}: it is known at once");
            },
        );
    });
}

#[test]
fn a_node_that_says_nothing_is_asked_once() {
    alone("a_node_that_says_nothing_is_asked_once", || {
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
                // Once will do, unless the machine is busy.
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
        // One that cannot even be connected to: its queue is full.
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
fn both_ways_at_once() {
    alone("both_ways_at_once", || {
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
        // Neither waits for the other's receives.
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
        // Who waits when it ends is told.
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
