//! Controllers and devices through all three interfaces.

#![allow(clippy::unwrap_used, missing_docs)]

mod support;

use std::io::{ErrorKind, Write};
use std::net::{IpAddr, TcpStream, UdpSocket};
use std::time::{Duration, Instant};

use netdyno_echonet::blocking::{self, Device};
use netdyno_echonet::core::{
    AnswerError, ControllerEvent, Eoj, Epc, NodeState, Property, Request, RequestError,
};
use netdyno_echonet::{CallError, Controller};
use support::{GET_80, GOT_80, GUARD, LIGHT, alone, at, config, impatient, light, read, until};

const DEVICE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(127, 0, 0, 1));
/// An address without a node.
const NOBODY: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(127, 0, 0, 9));

#[test]
fn a_controller_on_the_callers_thread() {
    alone("a_controller_on_the_callers_thread", || {
        let device = Device::open(&at("127.0.0.1"), light()).unwrap();
        let mut controller = Controller::open(&at("127.0.0.2"), config()).unwrap();
        controller.search();
        let begin = Instant::now();
        while controller.core().node(DEVICE.into()).is_none_or(|node| node.instances().is_empty()) {
            controller.poll(Some(Duration::from_secs(1))).unwrap();
            assert!(begin.elapsed() < Duration::from_secs(60));
        }
        for _ in 0..1000 {
            let answer = controller.get(DEVICE, LIGHT, &[Epc(0x80), Epc(0xB0)]).unwrap();
            assert_eq!((answer.get(Epc(0x80)), answer.get(Epc(0xB0))), (Some(&[0x30][..]), Some(&[100][..])));
        }
        let answer = controller.get(DEVICE, LIGHT, &[Epc(0xB0), Epc(0xE1)]).unwrap();
        assert_eq!((answer.get(Epc(0xB0)), answer.refused()), (Some(&[100][..]), &[Epc(0xE1)][..]));
        let answer = controller.set(DEVICE, LIGHT, &[Property { epc: Epc(0xB0), edt: &[7] }]).unwrap();
        assert!(answer.is_complete());
        assert_eq!(device.get(LIGHT, Epc(0xB0)), Some(vec![7]));

        // Many concurrent requests.
        let ids: Vec<_> = (0..100)
            .map(|_| {
                controller.begin(DEVICE, Eoj::NODE_PROFILE, Request::Get(&[Epc::INSTANCE_LIST])).unwrap()
            })
            .collect();
        let mut answered = Vec::new();
        while answered.len() < 100 {
            if let Some(ControllerEvent::Answer { id, result, .. }) =
                controller.next_event(Duration::from_millis(100)).unwrap()
            {
                assert_eq!(result.unwrap().get(Epc::INSTANCE_LIST), Some(&[1, 2, 0x91, 1][..]));
                answered.push(id);
            }
        }
        assert_eq!(answered, ids);

        // Thirty in progress at all times: new requests do not wait for an absent answer.
        let mut settings = controller.core().config().defaults;
        settings.parallel = 30;
        controller.core_mut().set_node_settings(DEVICE.into(), settings).unwrap();
        let (mut begun, mut answered) = (0, 0);
        while answered < 1000 {
            // Not after each answer, and so not always after the last of a batch.
            while begun < 1000 && begun - answered < 30 && (answered % 7 != 3 || begun == answered) {
                controller.begin(DEVICE, LIGHT, Request::Get(&[Epc(0x80)])).unwrap();
                begun += 1;
            }
            let event = controller.next_event(Duration::from_secs(60)).unwrap();
            answered += usize::from(matches!(event, Some(ControllerEvent::Answer { result: Ok(_), .. })));
        }
        assert_eq!((controller.core().stats().retried, controller.core().stats().timeouts), (0, 0));

        device.set(LIGHT, Epc(0x80), &[0x31]).unwrap();
        let pushed = loop {
            match controller.poll(Some(Duration::from_secs(60))).unwrap().expect("in time") {
                ControllerEvent::Pushed { eoj, epc, value, .. } if eoj == LIGHT => break (epc, value),
                _ => {}
            }
        };
        assert_eq!(pushed, (Epc(0x80), vec![0x31]));
        assert_eq!(controller.dropped(), 0);
    });
}

#[test]
fn threads_share_a_controller() {
    alone("threads_share_a_controller", || {
        let devices: Vec<_> =
            (1..=4).map(|n| Device::open(&at(&format!("127.0.0.{n}")), light()).unwrap()).collect();
        let controller = blocking::Controller::open(&at("127.0.1.1"), config()).unwrap();
        let updates = controller.updates().unwrap();
        let threads: Vec<_> = (0..8_u8)
            .map(|n| {
                let controller = controller.clone();
                std::thread::spawn(move || {
                    let node: IpAddr = [127, 0, 0, n % 4 + 1].into();
                    for round in 0..200 {
                        let answer = controller.get(node, LIGHT, &[Epc(0x80)]).unwrap();
                        assert_eq!(answer.get(Epc(0x80)), Some(&[0x30][..]), "{round}");
                    }
                })
            })
            .collect();
        for thread in threads {
            thread.join().unwrap();
        }
        assert_eq!(controller.stats().answered, 1600);
        // No call is waiting: the background thread receives.
        devices[2].set(LIGHT, Epc(0x80), &[0x31]).unwrap();
        let deadline = Instant::now() + Duration::from_secs(60);
        let pushed =
            std::iter::from_fn(|| updates.recv_timeout(deadline.saturating_duration_since(Instant::now())))
                .find(|event| matches!(event, ControllerEvent::Pushed { eoj: LIGHT, .. }));
        assert!(pushed.is_some());
        assert!(controller.find(Duration::from_millis(300)).unwrap().len() >= 4);
        drop(controller);
        // Queued events are delivered before the end.
        while updates.recv().is_some() {}
    });
}

#[test]
fn an_absent_node_times_out_without_delaying_others() {
    alone("an_absent_node_times_out_without_delaying_others", || {
        let _device = Device::open(&at("127.0.0.1"), light()).unwrap();
        let controller = blocking::Controller::open(&at("127.0.0.2"), impatient()).unwrap();
        // A loaded machine may delay answers.
        controller.set_node_settings(DEVICE, support::patience(GUARD, 0)).unwrap();
        let waiting = controller.clone();
        let begin = Instant::now();
        let thread = std::thread::spawn(move || {
            for _ in 0..4 {
                let error = waiting.get(NOBODY, LIGHT, &[Epc(0x80)]).unwrap_err();
                assert_eq!(error, CallError::Answer(AnswerError::Timeout));
            }
        });
        let mut answers = 0;
        while !thread.is_finished() {
            controller.get(DEVICE, LIGHT, &[Epc(0x80)]).unwrap();
            answers += 1;
        }
        thread.join().unwrap();
        let elapsed = begin.elapsed();
        assert!(elapsed >= Duration::from_millis(200) && answers > 10, "{elapsed:?}, {answers}");
        assert_eq!(controller.node(NOBODY).map(|node| node.state()), Some(NodeState::Lost));
        // The same without any other call.
        let begin = Instant::now();
        assert!(controller.get(NOBODY, LIGHT, &[Epc(0x80)]).is_err());
        assert!(begin.elapsed() >= Duration::from_millis(50));
        let empty = controller.get(DEVICE, LIGHT, &[]).unwrap_err();
        assert_eq!(empty, CallError::Request(RequestError::Empty));

        let closed = controller.clone();
        let waiting = std::thread::spawn(move || {
            closed.set_node_settings(NOBODY, support::patience(Duration::from_secs(3600), 0)).unwrap();
            closed.get(NOBODY, LIGHT, &[Epc(0x80)])
        });
        until("a request", || controller.stats().sent > 5 + answers);
        controller.close();
        assert_eq!(waiting.join().unwrap().unwrap_err(), CallError::Closed);
        assert_eq!(controller.get(DEVICE, LIGHT, &[Epc(0x80)]).unwrap_err(), CallError::Closed);
    });
}

#[test]
fn send_errors_are_reported_at_once() {
    alone("send_errors_are_reported_at_once", || {
        // Loopback has no route to these addresses, and there is no IPv6 socket.
        let rows = [("10.9.9.9", ErrorKind::NetworkUnreachable), ("fd00::9", ErrorKind::Unsupported)];
        let level = [Property { epc: Epc(0xB0), edt: &[7] }];
        let unsent = |kind| CallError::Answer(AnswerError::Unsent(kind));
        for (node, kind) in rows {
            let node: IpAddr = node.parse().unwrap();
            let mut controller = Controller::open(&at("127.0.0.2"), config()).unwrap();
            assert_eq!(controller.get(node, LIGHT, &[Epc(0x80)]).unwrap_err(), unsent(kind));
            assert_eq!(controller.call(node, LIGHT, Request::SetOnly(&level)).unwrap_err(), unsent(kind));
            assert_eq!((controller.core().stats().unsent, controller.core().stats().retried), (2, 0));
            drop(controller);
            let controller = blocking::Controller::open(&at("127.0.0.2"), config()).unwrap();
            let message = controller.set(node, LIGHT, &level).unwrap_err();
            assert_eq!(message, unsent(kind));
            assert!(
                message.to_string().contains(&format!("({kind}): check that this machine is on its network")),
                "{message}"
            );
        }
    });
}

#[test]
fn malformed_datagrams_are_not_answered() {
    alone("malformed_datagrams_are_not_answered", || {
        let _device = Device::open(&at("127.0.0.1"), light()).unwrap();
        let controller = blocking::Controller::open(&at("127.0.0.2"), config()).unwrap();
        let noise = UdpSocket::bind("127.0.0.3:0").unwrap();
        for round in 0..500_u32 {
            for byte in 0..20_u8 {
                let nonsense =
                    [0x10, 0x81, byte, round as u8, 5, 0xFF, 1, 2, 0x91, 1, 0x72, byte, 0x80, 255, 0];
                noise.send_to(&nonsense[..usize::from(byte) % 15 + 1], "127.0.0.2:3610").unwrap();
            }
            controller.get(DEVICE, LIGHT, &[Epc(0x80)]).unwrap();
        }
        assert_eq!(controller.stats().retried, 0);
        assert!(controller.stats().malformed > 5000, "{:?}", controller.stats());
    });
}

#[test]
fn controllers_and_devices_use_ipv6() {
    alone("controllers_and_devices_use_ipv6", || {
        let mut settings = netdyno_echonet::Settings::on("lo");
        (settings.family, settings.tcp) = (netdyno_echonet::Family::V6, true);
        let Ok(device) = Device::open(&settings, light()) else {
            return support::skip("IPv6");
        };
        // Loopback has a single address: the requester uses another port, which a device ignores.
        let socket = UdpSocket::bind("[::1]:0").unwrap();
        socket.send_to(b"\x10\x81\x12\x34\x05\xFF\x01\x02\x91\x01\x62\x01\x80\x00", "[::1]:3610").unwrap();
        until("the request", || device.stats().requests > 0);
        let mut stream = TcpStream::connect("[::1]:3610").unwrap();
        stream.set_read_timeout(Some(GUARD)).unwrap();
        stream.write_all(GET_80).unwrap();
        assert_eq!(read(&mut stream, GOT_80.len()), GOT_80);
        // All nodes of the link, that is, of this machine.
        let group = "[ff02::1%1]:3610";
        let _ = socket.send_to(b"\x10\x81\x12\x34\x05\xFF\x01\x02\x91\x01\x62\x01\x80\x00", group);
    });
}

#[cfg(feature = "tokio")]
#[test]
fn a_controller_and_a_device_of_one_runtime() {
    alone("a_controller_and_a_device_of_one_runtime", || {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        runtime.block_on(async {
            let device = netdyno_echonet::tokio::Device::open(&at("127.0.0.1"), light()).unwrap();
            let controller = netdyno_echonet::tokio::Controller::open(&at("127.0.0.2"), impatient()).unwrap();
            let (events, updates) = (device.events().unwrap(), controller.updates().unwrap());
            let tasks: Vec<_> = (0..50)
                .map(|_| {
                    let controller = controller.clone();
                    tokio::spawn(async move { controller.get(DEVICE, LIGHT, &[Epc(0x80)]).await })
                })
                .collect();
            for task in tasks {
                assert_eq!(task.await.unwrap().unwrap().get(Epc(0x80)), Some(&[0x30][..]));
            }
            let property = Property { epc: Epc(0x80), edt: &[0x31] };
            assert!(controller.set(DEVICE, LIGHT, &[property]).await.unwrap().is_complete());
            assert!(events.recv().await.is_some());
            loop {
                if let Some(ControllerEvent::Pushed { eoj: LIGHT, value, .. }) = updates.recv().await {
                    assert_eq!(value, [0x31]);
                    break;
                }
            }
            let error = controller.get(NOBODY, LIGHT, &[Epc(0x80)]).await.unwrap_err();
            assert_eq!(error, CallError::Answer(AnswerError::Timeout));
            // An abandoned call leaves no state.
            controller.set_node_settings(NOBODY, support::patience(Duration::from_secs(3600), 0)).unwrap();
            let call = controller.get(NOBODY, LIGHT, &[Epc(0x80)]);
            assert!(tokio::time::timeout(Duration::from_millis(20), call).await.is_err());
            assert!(!controller.find(Duration::from_millis(300)).await.unwrap().is_empty());
            controller.close();
            while updates.recv().await.is_some() {}
        });
    });
}
