//! Shared by the tests: hexadecimal bytes, and a device under test.
#![allow(dead_code, clippy::unwrap_used, clippy::disallowed_methods)]

use std::net::Ipv4Addr;
use std::time::{Duration, Instant};

use netdyno_echonet_core::{
    Access, ClassCode, Description, Destination, Device, Eoj, Epc, NodeAddress, ObjectDescription,
    PropertyDescription, Source, WritePolicy,
};

pub(crate) const MAKER: [u8; 3] = [0x00, 0x00, 0x0B];
pub(crate) const LIGHT: Eoj = Eoj([0x02, 0x91, 0x01]);

/// Parses hexadecimal digits; spaces are skipped.
pub(crate) fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u32> =
        text.chars().filter(|c| !c.is_whitespace()).map(|c| c.to_digit(16).unwrap()).collect();
    assert!(digits.len().is_multiple_of(2), "{text}");
    digits.chunks(2).map(|pair| u8::try_from(pair[0] * 16 + pair[1]).unwrap()).collect()
}

pub(crate) fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02X}")).collect()
}

pub(crate) fn address(last: u8) -> NodeAddress {
    std::net::IpAddr::from(Ipv4Addr::new(192, 0, 2, last)).into()
}

pub(crate) fn unicast(last: u8) -> Source {
    Source::unicast(address(last))
}

/// A node with two lights: 80 as usual, B0 writable, B6 decided by the application, C0 always refused, D0 of
/// one to four bytes.
pub(crate) fn home() -> Description {
    let light = |instance| {
        ObjectDescription::device(ClassCode(0x0291).instance(instance), MAKER)
            .property(Epc(0x80), [0x30], Access::ALL)
            .property(Epc(0xB0), [100], Access::GET_SET)
            .with(PropertyDescription::new(Epc(0xB6), [0x41], Access::ALL).writes(WritePolicy::Ask))
            .with(PropertyDescription::new(Epc(0xC0), [1], Access::GET_SET).writes(WritePolicy::Refuse))
            .with(PropertyDescription::new(Epc(0xD0), [1, 2], Access::GET_SET).lengths(1..=4))
            .property(Epc(0xD1), [9], Access::SET)
    };
    Description::new(MAKER, *b"a unique numb").object(light(1)).object(light(2))
}

/// All messages that a device sends now, as `to HEX`; the immediate reply comes first.
pub(crate) struct Bench {
    pub(crate) device: Device,
    pub(crate) now: Instant,
    pub(crate) out: Vec<u8>,
}

impl Bench {
    pub(crate) fn new(description: &Description) -> Self {
        Self { device: Device::new(description).unwrap(), now: Instant::now(), out: vec![0; 1500] }
    }

    pub(crate) fn send(&mut self, datagram: &[u8], from: Source) -> Vec<String> {
        let first = self.device.handle(self.now, datagram, from, &mut self.out);
        let mut sent: Vec<String> =
            first.map(|transmit| self.format_transmit(transmit)).into_iter().collect();
        sent.extend(self.poll());
        sent
    }

    pub(crate) fn poll(&mut self) -> Vec<String> {
        let mut sent = Vec::new();
        while let Some(transmit) = self.device.poll_transmit(self.now, &mut self.out) {
            sent.push(self.format_transmit(transmit));
        }
        sent
    }

    fn format_transmit(&self, transmit: netdyno_echonet_core::Transmit) -> String {
        let to = match transmit.to {
            Destination::Multicast => "all".to_owned(),
            Destination::Node(node) => node.to_string().rsplit('.').next().unwrap().to_owned(),
            Destination::Connection(connection) => format!("tcp{}", connection.0),
        };
        format!("{to} {}", to_hex(&self.out[..transmit.bytes]))
    }

    pub(crate) fn wait(&mut self, time: Duration) {
        self.now += time;
        self.device.handle_timeout(self.now);
    }
}
