//! A controller and many nodes on a simulated network that loses, delays and duplicates datagrams and breaks
//! connections. A failing run prints its seed and can be replayed.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, missing_docs)]

mod common;

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::time::{Duration, Instant};

use common::{LIGHT, MAKER};
use netdyno_echonet_core::{
    Access, ConnectionId, Controller, ControllerConfig, ControllerEvent, Description, Destination, Device,
    Epc, NodeAddress, ObjectDescription, Property, Request, RequestId, Source, Transmit,
};

/// xorshift64*.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) % limit
    }
}

/// The probabilities of faults, in percent.
#[derive(Clone, Copy)]
struct Weather {
    /// For a connection: it ends.
    lost: u64,
    doubled: u64,
    delay_ms: u64,
}

const FAIR: Weather = Weather { lost: 0, doubled: 0, delay_ms: 2 };
const FOUL: Weather = Weather { lost: 10, doubled: 10, delay_ms: 40 };

/// An arrival.
enum Arrival {
    /// Destination, source, bytes.
    Message(usize, Source, Vec<u8>),
    /// The result of a connection attempt to this node.
    Connected(usize, Option<ConnectionId>),
    Broken(usize, ConnectionId),
}

/// Number 0 is the controller.
struct World {
    start: Instant,
    now: Instant,
    random: Random,
    weather: Weather,
    controller: Controller,
    devices: Vec<Device>,
    /// By time of arrival.
    wire: BTreeMap<(Instant, u64), Arrival>,
    serial: u64,
    /// Open connections: the node, and the arrival of the last message in either direction.
    streams: BTreeMap<ConnectionId, (usize, Instant)>,
    broken: usize,
    events: Vec<ControllerEvent>,
    trace: u64,
}

fn address(number: usize) -> NodeAddress {
    std::net::IpAddr::from(Ipv4Addr::from(0x0A00_0000 + u32::try_from(number).unwrap() + 1)).into()
}

fn number(node: NodeAddress) -> usize {
    let std::net::IpAddr::V4(ip) = node.ip else { panic!("{node}") };
    usize::try_from(u32::from(ip) - 0x0A00_0001).unwrap()
}

fn light(number: usize) -> Device {
    let object = ObjectDescription::device(LIGHT, MAKER).property(Epc(0x80), [0x30], Access::ALL).property(
        Epc(0xB0),
        [u8::try_from(number % 101).unwrap()],
        Access::GET_SET,
    );
    let mut unique = [0; 13];
    unique[..8].copy_from_slice(&(number as u64).to_be_bytes());
    Device::new(&Description::new(MAKER, unique).object(object)).unwrap()
}

impl World {
    fn new(seed: u64, nodes: usize, weather: Weather, change: impl FnOnce(&mut ControllerConfig)) -> Self {
        let mut config = ControllerConfig::new(MAKER, *b"a unique numb");
        config.own_addresses = vec![address(0)];
        change(&mut config);
        let now = Instant::now();
        Self {
            start: now,
            now,
            random: Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1),
            weather,
            controller: Controller::new(config).unwrap(),
            devices: (1..=nodes).map(light).collect(),
            wire: BTreeMap::new(),
            serial: 0,
            streams: BTreeMap::new(),
            broken: 0,
            events: Vec::new(),
            trace: 0,
        }
    }

    fn arrives(&mut self, not_before: Instant, what: Arrival) -> Instant {
        let delay = Duration::from_millis(1 + self.random.below(self.weather.delay_ms));
        let when = self.now.max(not_before) + delay;
        self.serial += 1;
        self.wire.insert((when, self.serial), what);
        when
    }

    fn send_by(&mut self, connection: ConnectionId, from: usize, bytes: &[u8]) {
        let Some((node, last)) = self.streams.get(&connection).copied() else { return };
        if self.random.below(100) < self.weather.lost {
            self.streams.remove(&connection);
            self.broken += 1;
            self.arrives(last, Arrival::Broken(node, connection));
            return;
        }
        let source = Source::connection(address(from), connection);
        let to = if from == 0 { node } else { 0 };
        let last = self.arrives(last, Arrival::Message(to, source, bytes.to_vec()));
        self.streams.insert(connection, (node, last));
    }

    fn connect(&mut self, node: NodeAddress) {
        let succeeds = self.random.below(100) >= self.weather.lost;
        let connection = succeeds.then_some(ConnectionId(self.serial));
        self.arrives(self.now, Arrival::Connected(number(node), connection));
    }

    fn send(&mut self, from: usize, transmit: Transmit, bytes: &[u8]) {
        let targets = match transmit.to {
            Destination::Connection(id) => return self.send_by(id, from, &bytes[..transmit.bytes]),
            Destination::Multicast => 0..self.devices.len() + 1,
            Destination::Node(node) => number(node)..(number(node) + 1).min(self.devices.len() + 1),
        };
        let multicast = transmit.to == Destination::Multicast;
        let source = Source { multicast, ..Source::unicast(address(from)) };
        for to in targets {
            if self.random.below(100) < self.weather.lost {
                continue;
            }
            let copies = if self.random.below(100) < self.weather.doubled { 2 } else { 1 };
            for _ in 0..copies {
                self.arrives(self.now, Arrival::Message(to, source, bytes[..transmit.bytes].to_vec()));
            }
        }
    }

    /// Sends a node's pending messages and collects the controller's events.
    fn poll(&mut self, number: usize) {
        let mut out = [0; 1500];
        loop {
            let transmit = match number.checked_sub(1) {
                None => self.controller.poll_transmit(self.now, &mut out),
                Some(device) => self.devices[device].poll_transmit(self.now, &mut out),
            };
            let Some(transmit) = transmit else { break };
            self.send(number, transmit, &out);
        }
        while let Some(connect) = self.controller.poll_connect() {
            self.connect(connect.node);
        }
        self.events.extend(std::iter::from_fn(|| self.controller.poll_event()));
    }

    /// Advances to the next arrival or deadline before `until`; returns whether there was one.
    fn step(&mut self, until: Instant) -> bool {
        let arrival = self.wire.first_key_value().map(|((when, _), _)| *when);
        let deadline = self.controller.next_deadline();
        let Some(next) = arrival.into_iter().chain(deadline).min().filter(|next| *next <= until) else {
            self.now = until;
            return false;
        };
        self.now = self.now.max(next);
        if arrival.is_none_or(|arrival| arrival > self.now) {
            self.controller.handle_timeout(self.now);
            self.poll(0);
            return true;
        }
        let ((when, _), arrival) = self.wire.pop_first().unwrap();
        let (to, source, bytes) = match arrival {
            Arrival::Message(to, source, bytes) => (to, source, bytes),
            Arrival::Connected(node, connection) => {
                match connection {
                    Some(connection) => {
                        self.streams.insert(connection, (node, self.now));
                        self.controller.handle_connected(self.now, address(node), connection);
                    }
                    None => self.controller.handle_disconnected(self.now, address(node), None),
                }
                self.poll(0);
                return true;
            }
            Arrival::Broken(node, connection) => {
                self.controller.handle_disconnected(self.now, address(node), Some(connection));
                self.poll(0);
                return true;
            }
        };
        let elapsed = u64::try_from((when - self.start).as_micros()).unwrap();
        self.trace = bytes
            .iter()
            .fold(self.trace ^ elapsed, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01B3));
        let mut out = [0; 1500];
        let answer = match to.checked_sub(1) {
            None => self.controller.handle(self.now, &bytes, source, &mut out),
            Some(device) => self.devices[device].handle(self.now, &bytes, source, &mut out),
        };
        if let Some(answer) = answer {
            self.send(to, answer, &out);
        }
        self.poll(to);
        true
    }

    fn run(&mut self, time: Duration) {
        self.poll(0);
        let until = self.now + time;
        while self.step(until) {}
    }

    fn request(&mut self, number: usize, request: Request<'_>) -> RequestId {
        let id = self.controller.request(self.now, address(number), LIGHT, request).unwrap();
        self.poll(0);
        id
    }
}

fn found(events: &[ControllerEvent]) -> usize {
    events.iter().filter(|event| matches!(event, ControllerEvent::Found(_))).count()
}

#[test]
fn a_thousand_nodes_are_found_and_polled() {
    let mut world = World::new(1, 1000, FAIR, |_| {});
    world.controller.search(world.now);
    world.run(Duration::from_secs(3));
    assert_eq!((found(&world.events), world.controller.nodes().count()), (1000, 1000));
    assert_eq!(world.controller.next_deadline(), None);
    world.events.clear();
    for _ in 0..5 {
        for number in 1..=1000 {
            world.request(number, Request::Get(&[Epc(0x80), Epc(0xB0)]));
        }
        world.run(Duration::from_secs(10));
    }
    assert_eq!(world.events.len(), 5000);
    for event in &world.events {
        let ControllerEvent::Answer { result: Ok(answer), .. } = event else { panic!("{event:?}") };
        assert!(answer.is_complete() && answer.properties().count() == 2);
    }
    let stats = world.controller.stats();
    assert_eq!((stats.sent, stats.retried, stats.unexpected, stats.dropped), (5000, 0, 0, 0));
}

#[test]
fn announcements_and_changes_of_a_thousand_nodes_arrive() {
    let mut world = World::new(2, 1000, FAIR, |_| {});
    for number in 1..=1000 {
        world.devices[number - 1].announce();
        world.poll(number);
    }
    world.run(Duration::from_secs(1));
    assert_eq!(found(&world.events), 1000);
    world.events.clear();
    for number in 1..=1000 {
        world.devices[number - 1].set(LIGHT, Epc(0x80), &[0x31]).unwrap();
        world.poll(number);
    }
    world.run(Duration::from_secs(1));
    let pushed = |event: &&ControllerEvent| matches!(event, ControllerEvent::Pushed { eoj: LIGHT, epc: Epc::OPERATION_STATUS, value, .. } if value == &[0x31]);
    assert_eq!(world.events.iter().filter(pushed).count(), 1000);
}

/// Random requests over a bad network; returns the final state of the nodes.
fn storm(seed: u64) -> (u64, Vec<ControllerEvent>, netdyno_echonet_core::ControllerStats) {
    let mut world = World::new(seed, 60, FOUL, |config| {
        config.defaults.timeout = Duration::from_millis(200);
        config.defaults.retries = 8;
        config.defaults.gap = Duration::from_millis(5);
        config.search_repeats = 5;
        config.limits.max_in_flight = 16;
        config.interview = true;
    });
    // Some nodes use TCP.
    let mut tcp = world.controller.config().defaults;
    tcp.tcp = true;
    for node in (1..=60).step_by(3) {
        world.controller.set_node_settings(address(node), tcp).unwrap();
    }
    world.controller.search(world.now);
    world.run(Duration::from_secs(5));
    let mut ids = Vec::new();
    for round in 0..4_u8 {
        for number in 1..=60 {
            let level = [Property { epc: Epc(0xB0), edt: &[round] }];
            let power = [Property { epc: Epc(0x80), edt: &[0x30 + round % 2] }];
            ids.push(world.request(number, Request::Set(&level)));
            ids.push(world.request(number, Request::Get(&[Epc(0xB0), Epc(0xEE), Epc(0x80)])));
            ids.push(world.request(number, Request::SetGet { set: &power, get: &[Epc(0x80)] }));
        }
        world.run(Duration::from_secs(u64::from(round) * 3));
    }
    world.run(Duration::from_secs(600));
    let mut ended: Vec<RequestId> = Vec::new();
    let mut levels: BTreeMap<NodeAddress, u8> = BTreeMap::new();
    for event in &world.events {
        let ControllerEvent::Answer { id, node, result } = event else { continue };
        ended.push(*id);
        let Ok(answer) = result else { continue };
        assert!(answer.refused_writes().is_empty(), "seed {seed}");
        if answer.refused() == [Epc(0xEE)] {
            // One request at a time: values never go back, despite duplicates and delays.
            let level = answer.get(Epc(0xB0)).unwrap()[0];
            assert!(levels.insert(*node, level).is_none_or(|before| before <= level), "seed {seed}");
        }
    }
    ended.sort_unstable();
    ids.sort_unstable();
    assert_eq!(ended, ids, "seed {seed}: each request ends once");
    assert_eq!(world.controller.next_deadline(), None, "seed {seed}");
    assert!(world.controller.nodes().all(|(_, node)| node.instances().len() == 1), "seed {seed}");
    assert!(world.broken > 20, "seed {seed}: {} connections ended", world.broken);
    (world.trace, world.events, world.controller.stats())
}

#[test]
fn every_request_ends_once_in_any_weather() {
    for seed in 1..=8 {
        let (_, events, stats) = storm(seed);
        assert!(found(&events) >= 60, "seed {seed}");
        let interviewed =
            events.iter().filter(|event| matches!(event, ControllerEvent::Interviewed(_))).count();
        assert!(interviewed >= 60, "seed {seed}");
        // With nine transmissions each, hardly one request in a million times out.
        assert_eq!(stats.timeouts, 0, "seed {seed}");
        assert!(stats.retried > 100 && stats.unexpected > 10, "seed {seed}: {stats:?}");
    }
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let (first, again, other) = (storm(5), storm(5), storm(6));
    assert_eq!((first.0, &first.1), (again.0, &again.1));
    assert_ne!(first.0, other.0);
}
