//! Devices, tested with a plain socket.

#![allow(clippy::unwrap_used, missing_docs)]

mod support;

use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use netdyno_echonet::blocking::{self, Device};
use netdyno_echonet::core::{
    Access, Decision, Description, Destination, DeviceConfig, DeviceEvent, Eoj, Epc, ObjectDescription,
    PropertyDescription, WritePolicy,
};
use netdyno_echonet::{Controller, Error, Home, HomeEvent, Settings, Spread};
use support::{GET_80, GOT_80, LIGHT, MAKER, alone, alone_with, at, light, light_of};

/// Port 3610 of one address of loopback.
fn plain(address: &str) -> UdpSocket {
    let socket = UdpSocket::bind((address.parse::<Ipv4Addr>().unwrap(), 3610)).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    socket
}

fn ask(socket: &UdpSocket, node: &str, frame: &[u8]) -> Vec<u8> {
    socket.send_to(frame, (node.parse::<Ipv4Addr>().unwrap(), 3610)).unwrap();
    let mut answer = [0; 1500];
    let (bytes, from) = socket.recv_from(&mut answer).unwrap();
    assert_eq!(from, SocketAddr::new(node.parse().unwrap(), 3610));
    answer[..bytes].to_vec()
}

#[test]
fn a_device_answers_announces_and_closes() {
    alone("a_device_answers_announces_and_closes", || {
        let device = Device::open(&at("127.0.0.1"), light()).unwrap();
        let events = device.events().unwrap();
        let socket = plain("127.0.0.2");
        assert_eq!(ask(&socket, "127.0.0.1", GET_80), GOT_80);

        // SetC of 80 to off.
        let set = b"\x10\x81\x00\x02\x05\xFF\x01\x02\x91\x01\x61\x01\x80\x01\x31";
        assert_eq!(ask(&socket, "127.0.0.1", set)[10], 0x71);
        assert!(events.recv().is_some());
        assert_eq!(device.get(LIGHT, Epc(0x80)), Some(vec![0x31]));
        assert!(device.set(LIGHT, Epc(0xB0), &[1, 2]).is_err(), "of another length");

        let other = device.clone();
        let waiting = std::thread::spawn(move || events.recv());
        other.close();
        assert_eq!(waiting.join().unwrap(), None);
        assert!(matches!(device.events(), Err(Error::Closed)));
        drop((device, other));
        // The port has been released.
        drop(plain("127.0.0.1"));
    });
}

#[test]
fn malformed_datagrams_are_not_answered() {
    alone("malformed_datagrams_are_not_answered", || {
        let device = Device::open(&at("127.0.0.1"), light()).unwrap();
        let socket = plain("127.0.0.2");
        let mut random = 1_u32;
        for round in 0..200 {
            for _ in 0..20 {
                random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                let bytes = (random >> 8) as usize % 40;
                let mut frame = GET_80.repeat(3)[..bytes].to_vec();
                for byte in &mut frame {
                    random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    if random >> 30 == 0 {
                        *byte = (random >> 16) as u8;
                    }
                }
                // Not the header of a valid request.
                if let Some(first) = frame.first_mut() {
                    *first = 0x11;
                }
                socket.send_to(&frame, "127.0.0.1:3610").unwrap();
            }
            assert_eq!(ask(&socket, "127.0.0.1", GET_80), GOT_80, "round {round}");
        }
        assert!(device.stats().malformed > 3000, "{:?}", device.stats());
    });
}

#[test]
fn the_group_is_joined_on_the_selected_interface_only() {
    let name = "the_group_is_joined_on_the_selected_interface_only";
    let setup = "ip link add a0 type veth peer name a1 && ip link add b0 type veth peer name b1 && \
        for link in a0 a1 b0 b1; do ip link set $link up; done && \
        ip addr add 198.18.1.1/24 dev a0 && ip addr add 198.18.2.1/24 dev b0";
    alone_with(name, setup, || {
        let settings = Settings::on("a0");
        let device = Device::open(&settings, light()).unwrap();
        let before = device.stats().requests;
        // Two more nodes that listen on all interfaces, with their own addresses.
        let group: SocketAddr = "224.0.23.0:3610".parse().unwrap();
        for (interface, addresses) in [("198.18.1.1", true), ("198.18.2.1", false)] {
            let before = device.stats().requests;
            let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
            let address = interface.parse().unwrap();
            netdyno_io_multicast_if(&socket, address);
            let search = b"\x10\x81\x00\x01\x05\xFF\x01\x0E\xF0\x01\x62\x01\xD6\x00";
            socket.send_to(search, group).unwrap();
            if addresses {
                support::until("a request", || device.stats().requests > before);
            }
            std::thread::sleep(Duration::from_millis(50));
            assert_eq!(device.stats().requests, before + u64::from(addresses), "{interface}");
        }
        assert_eq!(device.stats().requests, before + 1);
    });
}

/// A rule forbids sending from the devices' address to 127.0.0.2, which can still send requests.
#[test]
fn a_send_error_is_reported_and_other_answers_are_sent() {
    let name = "a_send_error_is_reported_and_other_answers_are_sent";
    let setup = "ip rule add pref 10 lookup local && ip rule del pref 0 && \
        ip rule add pref 5 from 127.0.0.1 to 127.0.0.2 prohibit";
    alone_with(name, setup, || {
        let (banned, addresses) = (plain("127.0.0.2"), plain("127.0.0.3"));
        let to = Destination::Node(IpAddr::from([127, 0, 0, 2]).into());
        let unsent = DeviceEvent::Unsent { to, error: ErrorKind::PermissionDenied };
        // Many at once, so that some are received and answered in one batch.
        let ask_all = || {
            for socket in [&banned, &addresses, &banned].into_iter().cycle().take(3 * 8) {
                socket.send_to(GET_80, "127.0.0.1:3610").unwrap();
            }
        };
        let hear_all = || {
            for _ in 0..8 {
                let mut answer = [0; 64];
                let (bytes, _) = addresses.recv_from(&mut answer).unwrap();
                assert_eq!(answer[..bytes], *GOT_80);
            }
        };
        let device = Device::open(&at("127.0.0.1"), light()).unwrap();
        let events = device.events().unwrap();
        ask_all();
        hear_all();
        for _ in 0..16 {
            assert_eq!(events.recv().as_ref(), Some(&unsent));
        }
        assert_eq!((device.stats().unsent, device.stats().requests), (16, 24));
        drop((events, device));

        let node = (Some("127.0.0.1".parse().unwrap()), light());
        let mut home = Home::open(&at("127.0.0.1"), vec![node], Spread::default()).unwrap();
        ask_all();
        for _ in 0..16 {
            assert_eq!(home.poll(None).unwrap(), Some(HomeEvent { node: 0, event: unsent.clone() }));
        }
        hear_all();
        assert_eq!(home.node(0).unwrap().stats().unsent, 16);
    });
}

/// Sets IP_MULTICAST_IF with socket2; the standard library lacks it.
fn netdyno_io_multicast_if(socket: &UdpSocket, address: Ipv4Addr) {
    socket2::SockRef::from(socket).set_multicast_if_v4(&address).unwrap();
}

#[test]
fn a_port_in_use_is_reported() {
    alone("a_port_in_use_is_reported", || {
        let mut settings = Settings::on("lo");
        let _first = Device::open(&settings, light()).unwrap();
        let error = Device::open(&settings, light()).unwrap_err().to_string();
        assert!(error.contains("3610") && error.contains("another ECHONET Lite program"), "{error}");
        settings.share_port = true;
        drop(Device::open(&settings, light()).unwrap());
        for wrong in ["nothing0", "192.0.2.1"] {
            let error = Device::open(&Settings::on(wrong), light()).unwrap_err().to_string();
            assert!(error.contains(wrong) && error.contains("lo (127.0.0.1)"), "{error}");
        }
        let error = Device::open(&at("192.0.2.1"), light()).unwrap_err().to_string();
        assert!(error.contains("an address of this machine"), "{error}");
        let nodes = vec![(Some("192.0.2.1".parse().unwrap()), light())];
        let error = Home::open(&settings, nodes, Spread::default()).unwrap_err().to_string();
        assert!(error.contains("192.0.2.1") && error.contains("an address of this machine"), "{error}");
    });
}

/// A socket bound to a specific address receives its datagrams before the home does.
fn beside_a_home(address: &str) -> UdpSocket {
    let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::DGRAM, None).unwrap();
    socket.set_reuse_address(true).unwrap();
    socket.bind(&address.parse::<SocketAddr>().unwrap().into()).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    socket.into()
}

#[test]
fn each_node_of_a_home_answers_from_its_own_address() {
    alone("each_node_of_a_home_answers_from_its_own_address", || {
        let nodes = (0..20_u8).map(|n| (Some(Ipv4Addr::new(127, 1, 0, n + 1).into()), light_of(n.into())));
        let mut home = Home::open(&Settings::on("lo"), nodes.collect(), Spread::default()).unwrap();
        home.with(3, |device| device.set(LIGHT, Epc(0x80), &[0x31])).unwrap().unwrap();
        let waker = home.waker();
        let served = std::thread::spawn(move || {
            while home.poll(None).unwrap().is_some() {}
            home
        });
        let socket = beside_a_home("127.0.0.1:3610");
        for n in 0..20 {
            let answer = ask(&socket, &format!("127.1.0.{}", n + 1), GET_80);
            assert_eq!(answer[..14], GOT_80[..14]);
            assert_eq!(answer[14], if n == 3 { 0x31 } else { 0x30 });
        }
        socket2::SockRef::from(&socket).set_multicast_if_v4(&Ipv4Addr::LOCALHOST).unwrap();
        let search = b"\x10\x81\x00\x01\x05\xFF\x01\x0E\xF0\x01\x62\x01\xD6\x00";
        socket.send_to(search, "224.0.23.0:3610").unwrap();
        let mut addresses = std::collections::BTreeSet::new();
        while addresses.len() < 20 {
            let mut answer = [0; 100];
            let (bytes, from) = socket.recv_from(&mut answer).unwrap();
            assert_eq!(answer[10..bytes], [0x72, 1, 0xD6, 4, 1, 2, 0x91, 1]);
            assert!(addresses.insert(from), "{from} twice");
        }
        waker.wake();
        let home = served.join().unwrap();
        assert_eq!(home.len(), 20);
        assert!(home.node(0).unwrap().get(Eoj::NODE_PROFILE, Epc(0xD6)).is_some());
    });
}

#[test]
fn an_undecided_write_is_refused_after_the_timeout() {
    alone("an_undecided_write_is_refused_after_the_timeout", || {
        let asking = PropertyDescription::new(Epc(0xB0), [100], Access::GET_SET).writes(WritePolicy::Ask);
        let object = ObjectDescription::device(LIGHT, MAKER).with(asking);
        let node = |n: u8| {
            let description = Description::new(MAKER, [n; 13]).object(object.clone());
            (Some(Ipv4Addr::new(127, 1, 0, n).into()), description)
        };
        let mut home =
            Home::open(&Settings::on("lo"), (1..=3).map(node).collect(), Spread::default()).unwrap();
        let socket = beside_a_home("127.0.0.1:3610");
        let set = b"\x10\x81\x00\x02\x05\xFF\x01\x02\x91\x01\x61\x01\xB0\x01\x31";
        let begin = Instant::now();
        // Each request is repeated, as by a node that retries.
        for n in [1, 2, 3, 1, 2, 3] {
            socket.send_to(set, (Ipv4Addr::new(127, 1, 0, n), 3610)).unwrap();
        }
        // All are asked about; one is decided.
        let end = begin + 2 * DeviceConfig::default().decision_timeout;
        let mut events = Vec::new();
        while let Some(HomeEvent { node, event }) =
            home.poll(Some(end.saturating_duration_since(Instant::now()))).unwrap()
        {
            if let (1, DeviceEvent::WriteRequested { id, .. }) = (node, &event) {
                assert_eq!(home.with(node, |device| device.decide(*id, Decision::Accept)), Some(true));
            }
            events.push((node, matches!(event, DeviceEvent::Written { .. })));
        }
        assert!(Instant::now() >= end);
        events.sort_unstable();
        assert_eq!(events, [(0, false), (1, false), (1, true), (2, false)]);
        let answers = [(); 3].map(|()| {
            let mut answer = [0; 100];
            let (_, from) = socket.recv_from(&mut answer).unwrap();
            (from.ip().to_string(), answer[10])
        });
        let answers = std::collections::BTreeMap::from(answers);
        let esvs: Vec<_> = answers.into_iter().collect();
        assert_eq!(
            esvs,
            [("127.1.0.1".into(), 0x51), ("127.1.0.2".into(), 0x71), ("127.1.0.3".into(), 0x51)]
        );
    });
}

#[test]
fn multicasts_are_sent_on_each_interface() {
    let name = "multicasts_are_sent_on_each_interface";
    let setup = "for name in a b; do ip link add ${name}0 type veth peer name ${name}1 && ip link set ${name}0 up && \
        ip link set ${name}1 up || exit 1; done; \
        for n in 1 2 3 4; do ip addr add 198.18.1.$n/24 dev a0 && ip addr add 198.18.2.$n/24 dev b0 || exit 1; \
        ip addr add fd00:1::$n/64 dev a0 nodad; ip addr add fd00:2::$n/64 dev b0 nodad; done; true";
    alone_with(name, setup, || {
        let on = |interfaces: &[&str], address: &str| {
            let mut settings = at(address);
            settings.interfaces = interfaces.iter().map(|&name| name.to_owned()).collect();
            settings
        };
        // Each listens on one interface, and sends nothing.
        let ear = |interface, address| {
            blocking::Controller::open(&on(&[interface], address), support::config()).unwrap()
        };
        let hear = |ears: &[blocking::Controller; 2], address: &str| {
            let address: IpAddr = address.parse().unwrap();
            for ear in ears {
                support::until(address, || ear.node(address).is_some());
            }
        };
        if UdpSocket::bind("[fd00:1::1]:0").is_ok() {
            let ears = [ear("a0", "fd00:1::1"), ear("b0", "fd00:2::1")];
            let _device = Device::open(&on(&["a0", "b0"], "fd00:1::2"), light()).unwrap();
            hear(&ears, "fd00:1::2");
        } else {
            support::skip("IPv6");
        }
        let ears = [ear("a0", "198.18.1.1"), ear("b0", "198.18.2.1")];
        let _device = Device::open(&on(&["a0", "b0"], "198.18.1.2"), light()).unwrap();
        hear(&ears, "198.18.1.2");
        let mut settings = Settings::on("a0");
        settings.interfaces.push("b0".to_owned());
        // Shares the port with sockets that are bound to specific addresses.
        settings.share_port = true;
        let places = ["198.18.1.3", "198.18.2.3"].map(|address| (Some(address.parse().unwrap()), light()));
        let mut home = Home::open(&settings, places.into(), Spread::default()).unwrap();
        home.poll(Some(Duration::from_millis(20))).unwrap();
        hear(&ears, "198.18.1.3");
        hear(&ears, "198.18.2.3");
        // A node that sends on both interfaces is answered on both.
        let _others = [on(&["a0"], "198.18.1.4"), on(&["b0"], "198.18.2.4")]
            .map(|settings| Device::open(&settings, light()).unwrap());
        let mut asks = Controller::open(&on(&["b0", "a0"], "198.18.2.2"), support::config()).unwrap();
        asks.search();
        for address in ["198.18.1.4", "198.18.2.4", "198.18.1.2"] {
            let address: IpAddr = address.parse().unwrap();
            support::until(address, || {
                asks.poll(Some(Duration::from_millis(1))).unwrap();
                asks.core().node(address.into()).is_some()
            });
        }
    });
}
