//! Runs a controller with arbitrary input: each request ends once, memory is bounded, and every loop ends.
#![no_main]

use std::collections::BTreeSet;
use std::net::Ipv4Addr;
use std::time::{Duration, Instant};

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use netdyno_echonet_core::{
    ConnectionId, Controller, ControllerConfig, ControllerEvent, Destination, Eoj, Epc, Esv, Frame,
    FrameWriter, Header, NodeAddress, NodeSettings, Property, Request, RequestId, Source,
};

/// Maximum number of datagrams per step.
const SENT_MAX: usize = 1000;
/// Maximum number of unanswered frames.
const HELD_MAX: usize = 64;

#[derive(Debug, Arbitrary)]
struct Settings {
    split: bool,
    interview: bool,
    learn: bool,
    parallel: u8,
    gap_ms: u8,
    retries: u8,
    in_flight: u8,
    lost_after: u8,
    tcp: bool,
}

#[derive(Debug, Arbitrary)]
enum Step<'a> {
    /// Arbitrary bytes.
    Raw {
        from: u8,
        bytes: &'a [u8],
        multicast: bool,
    },
    /// A frame with an arbitrary body.
    Frame {
        from: u8,
        tid: u8,
        profile: bool,
        esv: u8,
        body: &'a [u8],
        multicast: bool,
    },
    /// An answer to a sent frame: a value for each property whose bit is set.
    Answer {
        which: u8,
        values: u32,
        done: bool,
        keep: bool,
    },
    Get {
        to: u8,
        count: u8,
    },
    Set {
        to: u8,
        only: bool,
    },
    SetGet {
        to: u8,
    },
    Notify {
        to: u8,
    },
    Search,
    Interview(u8),
    Cancel(u8),
    Forget(u8),
    /// Enables or disables TCP for a node.
    Tcp(u8, bool),
    /// The outcome of a requested connection.
    Connect {
        which: u8,
        succeeds: bool,
    },
    /// A connection ends.
    Break(u8),
    /// Advances time, in milliseconds.
    Wait(u16),
}

fn node(number: u8) -> NodeAddress {
    std::net::IpAddr::from(Ipv4Addr::new(192, 0, 2, number % 6)).into()
}

const LIGHT: Eoj = Eoj([0x02, 0x91, 1]);

struct World {
    controller: Controller,
    now: Instant,
    out: Vec<u8>,
    /// Sent frames and their destinations.
    held: Vec<(Source, Vec<u8>)>,
    /// Requested connections.
    wanted: Vec<NodeAddress>,
    /// Open connections; the last one has the highest number.
    streams: Vec<(NodeAddress, ConnectionId)>,
    serial: u64,
    open: BTreeSet<RequestId>,
}

impl World {
    fn receive(&mut self, from: u8, datagram: &[u8], multicast: bool) {
        let source = Source { multicast, ..Source::unicast(node(from)) };
        self.deliver(source, datagram);
    }

    fn deliver(&mut self, source: Source, datagram: &[u8]) {
        if let Some(answer) = self.controller.handle(self.now, datagram, source, &mut self.out) {
            assert!(Frame::parse(&self.out[..answer.bytes]).is_ok());
        }
    }

    fn request(&mut self, to: u8, request: Request<'_>) {
        if let Ok(id) = self.controller.request(self.now, node(to), LIGHT, request) {
            assert!(self.open.insert(id), "request ids are unique");
        }
    }

    fn answer(&mut self, which: u8, values: u32, done: bool, keep: bool) {
        let Some(index) = usize::from(which).checked_rem(self.held.len()) else { return };
        let (from, bytes) = if keep { self.held[index].clone() } else { self.held.swap_remove(index) };
        let request = Frame::parse(&bytes).expect("a sent frame");
        let esv = if done { request.esv.response() } else { request.esv.refusal() };
        let header = Header {
            tid: request.tid,
            seoj: request.deoj,
            deoj: request.seoj,
            esv: esv.unwrap_or(Esv::SetRes),
        };
        let mut answer = [0; 3000];
        let mut writer = FrameWriter::new(&mut answer, header).expect("a long buffer");
        let value = |index: usize| if values >> (index % 32) & 1 == 1 { &[3, 2, 0x91, 1][..] } else { &[] };
        for (index, property) in request.properties.iter().enumerate() {
            writer.property(property.epc, value(index)).expect("a long buffer");
        }
        if header.esv.has_get_list() && writer.get_list().is_ok() {
            for (index, property) in request.get.iter().enumerate() {
                writer.property(property.epc, value(index)).expect("a long buffer");
            }
        }
        let length = writer.finish().expect("a long buffer");
        self.deliver(from, &answer[..length]);
    }

    fn poll(&mut self) {
        let mut sent = 0;
        while let Some(transmit) = self.controller.poll_transmit(self.now, &mut self.out) {
            sent += 1;
            assert!(sent < SENT_MAX, "too many datagrams");
            let bytes = &self.out[..transmit.bytes];
            assert!(Frame::parse(bytes).is_ok());
            let from = match transmit.to {
                Destination::Multicast => None,
                Destination::Node(node) => Some(Source::unicast(node)),
                // Frames for closed connections are dropped.
                Destination::Connection(id) => {
                    let stream = self.streams.iter().find(|(_, stream)| *stream == id);
                    Some(stream.map(|(node, _)| Source::connection(*node, id)).expect("it lives"))
                }
            };
            if let Some(from) = from.filter(|_| self.held.len() < HELD_MAX) {
                self.held.push((from, bytes.to_vec()));
            }
        }
        while let Some(connect) = self.controller.poll_connect() {
            self.wanted.push(connect.node);
        }
        while let Some(event) = self.controller.poll_event() {
            if let ControllerEvent::Answer { id, .. } = event {
                assert!(self.open.remove(&id), "a request ends once");
            }
        }
        assert!(self.controller.nodes().count() <= 4);
        assert!(self.controller.nodes().all(|(_, node)| node.instances().len() <= 3));
    }

    fn connect(&mut self, which: u8, succeeds: bool) {
        let Some(index) = usize::from(which).checked_rem(self.wanted.len()) else { return };
        let node = self.wanted.swap_remove(index);
        if succeeds {
            self.serial += 1;
            self.streams.push((node, ConnectionId(self.serial)));
            self.controller.handle_connected(self.now, node, ConnectionId(self.serial));
        } else {
            self.controller.handle_disconnected(self.now, node, None);
        }
    }

    fn wait(&mut self, ms: u64) {
        self.now += Duration::from_millis(ms);
        self.controller.handle_timeout(self.now);
    }

    fn step(&mut self, step: Step<'_>) {
        let epcs: Vec<Epc> = (0x80..=0xFF).map(Epc).collect();
        let write = [Property { epc: Epc(0x80), edt: &[0x30] }];
        match step {
            Step::Raw { from, bytes, multicast } => self.receive(from, bytes, multicast),
            Step::Frame { from, tid, profile, esv, body, multicast } => {
                let seoj = if profile { Eoj::NODE_PROFILE } else { LIGHT };
                let esv = Esv::ALL[usize::from(esv) % Esv::ALL.len()].code();
                let head = [0x10, 0x81, 0, tid, seoj.0[0], seoj.0[1], seoj.0[2], 0x05, 0xFF, 1, esv];
                self.receive(from, &[&head, body].concat(), multicast);
            }
            Step::Answer { which, values, done, keep } => self.answer(which, values, done, keep),
            Step::Get { to, count } => self.request(to, Request::Get(&epcs[..usize::from(count % 128)])),
            Step::Set { to, only: true } => self.request(to, Request::SetOnly(&write)),
            Step::Set { to, only: false } => self.request(to, Request::Set(&write)),
            Step::SetGet { to } => self.request(to, Request::SetGet { set: &write, get: &epcs[..2] }),
            Step::Notify { to } => self.request(to, Request::Notify(&epcs[..1])),
            Step::Search => self.controller.search(self.now),
            Step::Interview(number) => {
                let _ = self.controller.interview(self.now, node(number));
            }
            Step::Cancel(which) => {
                if let Some(index) = usize::from(which).checked_rem(self.open.len()) {
                    let id = *self.open.iter().nth(index).expect("the index is in range");
                    self.controller.cancel(self.now, id);
                }
            }
            Step::Forget(number) => self.controller.forget(node(number)),
            Step::Tcp(number, tcp) => {
                let mut settings: NodeSettings = self.controller.config().defaults;
                settings.tcp = tcp;
                let _ = self.controller.set_node_settings(node(number), settings);
            }
            Step::Connect { which, succeeds } => self.connect(which, succeeds),
            Step::Break(which) => {
                if let Some(index) = usize::from(which).checked_rem(self.streams.len()) {
                    let (node, id) = self.streams.swap_remove(index);
                    self.controller.handle_disconnected(self.now, node, Some(id));
                }
            }
            Step::Wait(ms) => self.wait(u64::from(ms)),
        }
        self.poll();
    }
}

fuzz_target!(|input: (Settings, Vec<Step<'_>>)| {
    let (settings, steps) = input;
    let mut config = ControllerConfig::new([0, 0, 0x0B], [7; 13]);
    (config.split, config.interview, config.learn) = (settings.split, settings.interview, settings.learn);
    (config.defaults.parallel, config.defaults.retries) = (settings.parallel, settings.retries % 4);
    config.defaults.gap = Duration::from_millis(u64::from(settings.gap_ms));
    config.defaults.tcp = settings.tcp;
    config.lost_after = settings.lost_after % 4;
    config.limits.max_in_flight = usize::from(settings.in_flight % 4) + 1;
    (config.limits.max_nodes, config.limits.max_instances, config.limits.max_requests) = (4, 3, 40);
    (config.limits.max_events, config.limits.max_answer_bytes) = (20, 200);
    let controller = Controller::new(config).expect("valid settings");
    let mut world = World {
        controller,
        now: Instant::now(),
        out: vec![0; 1500],
        held: Vec::new(),
        wanted: Vec::new(),
        streams: Vec::new(),
        serial: 0,
        open: BTreeSet::new(),
    };
    steps.into_iter().take(500).for_each(|step| world.step(step));
    // Without further input, all requests end.
    for _ in 0..10_000 {
        if !world.wanted.is_empty() {
            world.connect(0, false);
            world.poll();
            continue;
        }
        let Some(deadline) = world.controller.next_deadline() else { break };
        let wait = deadline.saturating_duration_since(world.now).as_millis();
        world.wait(u64::try_from(wait).expect("deadlines are near") + 1);
        world.poll();
    }
    assert!(world.open.is_empty() && world.controller.next_deadline().is_none(), "a request never ends");
});
