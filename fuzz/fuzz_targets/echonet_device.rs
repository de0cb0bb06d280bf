//! Runs a device with arbitrary input: every answer is a matching frame, memory is bounded, and every loop ends.
#![no_main]

use std::net::Ipv4Addr;
use std::time::{Duration, Instant};

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use netdyno_echonet_core::{
    Access, ClassCode, ConnectionId, Decision, Description, Destination, Device, DeviceConfig, DeviceEvent,
    Eoj, Epc, Esv, Frame, ObjectDescription, PropertyDescription, Source, WriteId, WritePolicy,
};

/// Maximum number of datagrams caused by one: answers of all instances of a class, and notifications of each property.
const SENT_MAX: usize = 1000;
/// Maximum number of pending decisions.
const ASKED_MAX: usize = 64;

#[derive(Debug, Arbitrary)]
enum Step<'a> {
    /// Arbitrary bytes.
    Raw {
        bytes: &'a [u8],
        multicast: bool,
    },
    /// A frame to an object, with an arbitrary body.
    Frame {
        tid: u8,
        object: u8,
        esv: u8,
        body: &'a [u8],
        multicast: bool,
        from: u8,
        connection: Option<u8>,
    },
    Set {
        object: u8,
        epc: u8,
        value: &'a [u8],
    },
    Notify {
        object: u8,
        epc: u8,
    },
    Announce,
    Decide {
        which: u8,
        accept: bool,
    },
    /// Advances time, in milliseconds.
    Wait(u16),
}

const OBJECTS: [Eoj; 6] = [
    Eoj::NODE_PROFILE,
    Eoj([0x02, 0x91, 1]),
    Eoj([0x02, 0x91, 2]),
    Eoj([0x02, 0x91, 0]),
    Eoj([0x01, 0x30, 1]),
    Eoj([0x0E, 0xF0, 0]),
];
const SERVICES: [u8; 8] = [0x60, 0x61, 0x62, 0x63, 0x6E, 0x74, 0x73, 0x72];

fn description() -> Description {
    let maker = [0, 0, 0x0B];
    let light = |instance| {
        ObjectDescription::device(ClassCode(0x0291).instance(instance), maker)
            .property(Epc(0x80), [0x30], Access::ALL)
            .with(PropertyDescription::new(Epc(0xB6), [0x41], Access::ALL).writes(WritePolicy::Ask))
            .with(PropertyDescription::new(Epc(0xC0), [1], Access::GET_SET).writes(WritePolicy::Refuse))
            .with(PropertyDescription::new(Epc(0xD0), [1, 2], Access::ALL).lengths(0..=255))
    };
    Description::new(maker, [7; 13]).object(light(1)).object(light(2))
}

struct World {
    device: Device,
    now: Instant,
    asked: Vec<WriteId>,
    out: Vec<u8>,
}

impl World {
    fn receive(&mut self, datagram: &[u8], from: Source) {
        let request = Frame::parse(datagram).ok();
        if let Some(sent) = self.device.handle(self.now, datagram, from, &mut self.out) {
            let request = request.expect("only frames are answered");
            let answer = Frame::parse(&self.out[..sent.bytes]).expect("an answer is a frame");
            assert!(request.esv.is_request() && answer.trailing_bytes == 0);
            let is_notification = answer.esv == Esv::Inf;
            assert_eq!(sent.to, if is_notification { Destination::Multicast } else { from.reply() });
            assert_eq!(
                (answer.tid, answer.deoj, answer.seoj.class()),
                (request.tid, request.seoj, request.deoj.class())
            );
            assert!(request.esv.response() == Some(answer.esv) || request.esv.refusal() == Some(answer.esv));
            assert_eq!(
                (answer.properties.len(), answer.get.len()),
                (request.properties.len(), request.get.len())
            );
        }
        self.poll();
    }

    fn poll(&mut self) {
        let mut sent = 0;
        while let Some(transmit) = self.device.poll_transmit(self.now, &mut self.out) {
            sent += 1;
            assert!(sent < SENT_MAX, "too many datagrams");
            assert!(Frame::parse(&self.out[..transmit.bytes]).is_ok_and(|frame| frame.trailing_bytes == 0));
        }
        while let Some(event) = self.device.poll_event() {
            if let DeviceEvent::WriteRequested { id, .. } = event
                && self.asked.len() < ASKED_MAX
            {
                self.asked.push(id);
            }
        }
    }
}

fn eoj(object: u8) -> Eoj {
    OBJECTS[usize::from(object) % OBJECTS.len()]
}

fuzz_target!(|input: (u16, Vec<Step<'_>>)| {
    let (room, steps) = input;
    let mut config = DeviceConfig::default();
    (config.max_waiting, config.max_shared, config.max_events) = (4, 2, 16);
    let device = Device::with_config(&description(), config).expect("a valid description");
    let out = vec![0; usize::from(room % 1500)];
    let mut world = World { device, now: Instant::now(), asked: Vec::new(), out };
    for step in steps.into_iter().take(500) {
        match step {
            Step::Raw { bytes, multicast } => {
                let address = std::net::IpAddr::from(Ipv4Addr::new(192, 0, 2, 1));
                world.receive(bytes, Source { multicast, ..Source::unicast(address) });
            }
            Step::Frame { tid, object, esv, body, multicast, from, connection } => {
                let esv = SERVICES[usize::from(esv) % SERVICES.len()];
                let datagram =
                    [&[0x10, 0x81, 0, tid, 0x05, 0xFF, 1], &eoj(object).0[..], &[esv], body].concat();
                let address = std::net::IpAddr::from(Ipv4Addr::new(192, 0, 2, from % 4));
                let connection = connection.map(|number| ConnectionId(number.into()));
                let multicast = multicast && connection.is_none();
                world.receive(&datagram, Source { multicast, connection, ..Source::unicast(address) });
            }
            Step::Set { object, epc, value } => {
                let _ = world.device.set(eoj(object), Epc(epc), value);
            }
            Step::Notify { object, epc } => {
                let _ = world.device.notify(eoj(object), Epc(epc));
            }
            Step::Announce => world.device.announce(),
            Step::Decide { which, accept } => {
                if let Some(index) = usize::from(which).checked_rem(world.asked.len()) {
                    let decision = if accept { Decision::Accept } else { Decision::Refuse };
                    world.device.decide(world.asked.swap_remove(index), decision);
                }
            }
            Step::Wait(ms) => {
                world.now += Duration::from_millis(u64::from(ms));
                world.device.handle_timeout(world.now);
                assert!(
                    world.device.next_deadline().is_none_or(|deadline| deadline > world.now),
                    "the deadline did not advance"
                );
            }
        }
        world.poll();
    }
});
