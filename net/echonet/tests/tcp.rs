//! Devices of all interfaces, tested with plain TCP streams.

#![allow(clippy::unwrap_used, missing_docs)]

mod support;

use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use netdyno_echonet::core::{
    Access, Decision, Description, DeviceEvent, Eoj, Epc, Esv, FrameWriter, Header, MESSAGE_BYTES_MAX,
    ObjectDescription, PropertyDescription, Tid, WriteId, WritePolicy,
};
use netdyno_echonet::{Error, Home, HomeEvent, Settings, Spread, blocking, tokio};
use support::{GET_80, GOT_80, GUARD, LIGHT, MAKER, alone, at, light, read};

const DEVICE: &str = "127.0.0.1";

/// Further long properties.
const LONG: std::ops::RangeInclusive<u8> = 0xA0..=0xEF;

/// A light with long properties, F0 writable, and one whose writes the application decides: it accepts even
/// values.
fn long_light() -> Description {
    let object = ObjectDescription::device(LIGHT, MAKER)
        .property(Epc(0x80), [0x30], Access::ALL)
        .property(Epc(0xF0), [7; 255], Access::GET_SET)
        .with(PropertyDescription::new(Epc(0xF1), [0], Access::GET_SET).writes(WritePolicy::Ask));
    let object = LONG.fold(object, |object, epc| object.property(Epc(epc), [7; 255], Access::GET));
    Description::new(MAKER, *b"a long light!").object(object)
}

fn decide(event: &DeviceEvent) -> Option<(WriteId, Decision)> {
    let DeviceEvent::WriteRequested { id, value, .. } = event else { return None };
    Some((*id, if value[0] % 2 == 0 { Decision::Accept } else { Decision::Refuse }))
}

/// Runs a test at 127.0.0.1 with a device of each interface in turn.
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

fn ask(stream: &mut TcpStream) {
    stream.write_all(GET_80).unwrap();
    assert_eq!(read(stream, GOT_80.len()), GOT_80);
}

/// Whether the peer has closed the connection without further data.
fn is_closed(stream: &mut TcpStream) -> bool {
    match stream.read(&mut [0; 1]) {
        Ok(0) => true,
        Err(error) if error.kind() == ErrorKind::ConnectionReset => true,
        other => panic!("{other:?}"),
    }
}

fn header(esv: Esv) -> Header {
    Header { tid: Tid(7), seoj: Eoj::CONTROLLER, deoj: LIGHT, esv }
}

#[test]
fn streams_can_be_split_anywhere() {
    alone("streams_can_be_split_anywhere", || {
        with_each_device(
            |_| {},
            |face| {
                let mut stream = dial();
                // Split at any position.
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
                // The longest possible message, twice, and a short one.
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
                // A write is answered without its value, the first read with it; repeated reads are refused.
                let value_at = 11 + 1 + 255 * 2 + 1 + 2;
                let length = value_at + 255 + 254 * 2;
                let answers = read(&mut stream, 2 * length + GOT_80.len());
                let value = &answers[value_at..value_at + 255];
                assert_eq!((answers[10], value), (0x5E, &[9; 255][..]), "{face}");
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
                // After an invalid message, the start of the next one is unknown. Earlier requests are
                // answered.
                let mut stream = dial();
                stream.write_all(&[GET_80, b"GET / HTTP/1.1\r\n\r\n"].concat()).unwrap();
                assert_eq!(read(&mut stream, GOT_80.len()), GOT_80, "{face}");
                assert!(is_closed(&mut stream), "{face}");
                // A half-closed connection still receives its answers.
                let mut stream = dial();
                stream.write_all(GET_80).unwrap();
                stream.shutdown(std::net::Shutdown::Write).unwrap();
                let mut answer = Vec::new();
                stream.read_to_end(&mut answer).unwrap();
                assert_eq!(answer, GOT_80, "{face}");
                // Closed within a message, or reset.
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
fn decided_writes_are_answered_on_the_connection() {
    alone("decided_writes_are_answered_on_the_connection", || {
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
fn idle_time_and_connections_are_limited() {
    alone("idle_time_and_connections_are_limited", || {
        let idle = Duration::from_millis(400);
        with_each_device(
            |settings| settings.tcp_limits.idle = idle,
            |face| {
                let (mut silent, mut dripping, mut speaking) = (dial(), dial(), dial());
                let (begin, mut last) = (Instant::now(), Instant::now());
                while begin.elapsed() < 2 * idle {
                    // Unless this test was delayed.
                    if last.elapsed() > idle / 2 {
                        speaking = dial();
                    }
                    ask(&mut speaking);
                    last = Instant::now();
                    // A partial message does not count. Once the connection is closed, it is lost.
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
                // The second one is idle longest.
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
fn a_peer_that_does_not_read_is_closed() {
    alone("a_peer_that_does_not_read_is_closed", || {
        with_each_device(
            |settings| settings.tcp_limits.output_bytes = 10_000,
            |face| {
                let mut get = vec![0; 1000];
                let mut writer = FrameWriter::new(&mut get, header(Esv::Get)).unwrap();
                LONG.for_each(|epc| writer.property(Epc(epc), &[]).unwrap());
                let bytes = writer.finish().unwrap();
                get.truncate(bytes);
                // More than 20,000 bytes of answer to each: far more than the kernel buffers.
                let mut stream = dial();
                let sent = (0..3000).take_while(|_| stream.write_all(&get).is_ok()).count();
                let mut got = 0;
                while let Ok(bytes @ 1..) = stream.read(&mut get) {
                    got += bytes;
                }
                assert!(got < 3000 * 20_000, "{face}: {sent} sent, {got} bytes of answers");
                ask(&mut dial());
            },
        );
    });
}

#[test]
fn a_port_in_use_is_reported() {
    alone("a_port_in_use_is_reported", || {
        let mut settings = at(DEVICE);
        settings.tcp = true;
        let other = TcpListener::bind((DEVICE, 3610)).unwrap();
        let message = blocking::Device::open(&settings, light()).unwrap_err();
        assert!(
            matches!(message, Error::Listen { .. })
                && message.to_string().contains("another ECHONET Lite program"),
            "{message}"
        );
        drop(other);
        drop(blocking::Device::open(&settings, light()).unwrap());
        drop(blocking::Device::open(&settings, light()).unwrap());
    });
}
