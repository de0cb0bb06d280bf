//! A flood from one source does not displace the requests of others, and a single busy source is not limited.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, missing_docs)]

mod support;

use std::net::{Ipv4Addr, UdpSocket};
use std::time::Duration;

use netdyno_echonet::blocking::Device;
use netdyno_echonet::core::{AbuseKind, DeviceEvent};
use netdyno_echonet::{Home, HomeEvent, Spread};
use support::{GET_80, alone, at, light, until};

const NODE: &str = "127.0.0.1";
const FLOOD: &str = "127.0.0.66";
const HONEST: &str = "127.0.0.2";
/// Fewer than the receive buffer holds, so that none is lost there.
const FLOODED: u32 = 3000;
const ASKED: u32 = 30;
const LIMIT_PER_S: u32 = 100;

/// A node's peer, which receives at most `ASKED` answers before the test reads them.
fn peer(address: &str) -> UdpSocket {
    let socket = UdpSocket::bind((address.parse::<Ipv4Addr>().unwrap(), 3610)).unwrap();
    socket.connect((NODE.parse::<Ipv4Addr>().unwrap(), 3610)).unwrap();
    socket.set_nonblocking(true).unwrap();
    socket
}

/// Sends a flood, and within it the requests of the honest source.
fn send(flood: &UdpSocket, honest: Option<&UdpSocket>) {
    for number in 0..FLOODED {
        flood.send(GET_80).unwrap();
        if let Some(honest) = honest.filter(|_| number % (FLOODED / ASKED) == 0) {
            honest.send(GET_80).unwrap();
        }
    }
}

fn is_report(event: &DeviceEvent) -> bool {
    let flood = FLOOD.parse::<std::net::IpAddr>().unwrap();
    matches!(event, DeviceEvent::Abuse { from, kind: AbuseKind::Limited } if from.ip == flood)
}

/// Whether the flood is beside an honest source, the limit, and whether the flood is limited.
const ROWS: [(bool, u32, bool); 3] =
    [(true, LIMIT_PER_S, true), (false, LIMIT_PER_S, false), (true, 0, false)];

#[test]
fn a_home_limits_a_flood_beside_other_sources() {
    alone("a_home_limits_a_flood_beside_other_sources", || {
        for (has_honest, limit, is_limited) in ROWS {
            let row = format!("honest source: {has_honest}, limit: {limit}");
            let mut settings = at(NODE);
            settings.source_limit_per_s = limit;
            let nodes = vec![(Some(NODE.parse().unwrap()), light())];
            let mut home = Home::open(&settings, nodes, Spread::default()).unwrap();
            let (flood, honest) = (peer(FLOOD), peer(HONEST));
            // The home handles nothing until it is polled.
            send(&flood, has_honest.then_some(&honest));
            let sent = u64::from(FLOODED + if has_honest { ASKED } else { 0 });
            let (mut reported, mut stats) = (false, home.node(0).unwrap().stats());
            until(&row, || {
                let event = home.poll(Some(Duration::from_millis(1))).unwrap();
                reported |= event.is_some_and(|HomeEvent { event, .. }| is_report(&event));
                stats = home.node(0).unwrap().stats();
                stats.requests + stats.limited == sent
            });
            assert_eq!(stats.limited > sent / 2, is_limited, "{row}: {stats:?}");
            assert!(is_limited || stats.limited == 0, "{row}: {stats:?}");
            assert_eq!(reported, is_limited, "{row}");
            let answered = std::iter::from_fn(|| honest.recv(&mut [0; 100]).ok()).count();
            assert_eq!(answered, if has_honest { ASKED as usize } else { 0 }, "{row}");
        }
    });
}

#[test]
fn a_device_limits_a_flood_beside_other_sources() {
    alone("a_device_limits_a_flood_beside_other_sources", || {
        let mut settings = at(NODE);
        settings.source_limit_per_s = LIMIT_PER_S;
        let device = Device::open(&settings, light()).unwrap();
        let events = device.events().unwrap();
        let (flood, honest) = (peer(FLOOD), peer(HONEST));
        // The device has its own threads, so the number of waiting requests is not known.
        until("a flood is limited", || {
            send(&flood, Some(&honest));
            device.stats().limited > 0
        });
        assert!(events.into_iter().any(|event| is_report(&event)));
    });
}
