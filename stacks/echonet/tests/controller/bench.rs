//! A controller under test: its messages and events as text.

use std::time::{Duration, Instant};

use netdyno_echonet_core::{
    Controller, ControllerConfig, ControllerEvent, Destination, Eoj, Epc, Request, Source,
};

use crate::common::{LIGHT, MAKER, address, hex, to_hex};

pub(crate) const MS: Duration = Duration::from_millis(1);

pub(crate) struct Bench {
    pub(crate) controller: Controller,
    pub(crate) now: Instant,
    pub(crate) out: Vec<u8>,
}

impl Bench {
    pub(crate) fn new(change: impl FnOnce(&mut ControllerConfig)) -> Self {
        let mut config = ControllerConfig::new(MAKER, *b"a unique numb");
        change(&mut config);
        Self { controller: Controller::new(config).unwrap(), now: Instant::now(), out: vec![0; 1500] }
    }

    /// Pending messages: last byte of the address (or `all`), TID, and the bytes from DEOJ on.
    pub(crate) fn sent(&mut self) -> Vec<(String, u16, String)> {
        let mut sent = Vec::new();
        while let Some(transmit) = self.controller.poll_transmit(self.now, &mut self.out) {
            let bytes = &self.out[..transmit.bytes];
            let to = match transmit.to {
                Destination::Multicast => "all".to_owned(),
                Destination::Node(node) => node.to_string().rsplit('.').next().unwrap().to_owned(),
                Destination::Connection(connection) => format!("tcp{}", connection.0),
            };
            assert_eq!(bytes[4..7], Eoj::CONTROLLER.0);
            sent.push((to, u16::from_be_bytes([bytes[2], bytes[3]]), to_hex(&bytes[7..])));
        }
        sent
    }

    /// The single pending datagram: its TID, and the bytes from DEOJ on.
    pub(crate) fn single(&mut self) -> (u16, String) {
        let sent = self.sent();
        assert_eq!(sent.len(), 1, "{sent:?}");
        (sent[0].1, sent[0].2.clone())
    }

    /// A datagram from a node to our controller: TID, SEOJ, and the bytes from ESV on.
    pub(crate) fn receive(&mut self, from: Source, tid: u16, seoj: Eoj, rest: &str) -> Option<String> {
        let datagram =
            [&[0x10, 0x81], &tid.to_be_bytes()[..], &seoj.0, &Eoj::CONTROLLER.0, &hex(rest)].concat();
        let answer = self.controller.handle(self.now, &datagram, from, &mut self.out);
        answer.map(|transmit| to_hex(&self.out[..transmit.bytes]))
    }

    pub(crate) fn wait(&mut self, time: Duration) {
        self.now += time;
        self.controller.handle_timeout(self.now);
    }

    pub(crate) fn events(&mut self) -> Vec<ControllerEvent> {
        std::iter::from_fn(|| self.controller.poll_event()).collect()
    }

    pub(crate) fn get(&mut self, node: u8, epcs: &[u8]) {
        let epcs: Vec<Epc> = epcs.iter().copied().map(Epc).collect();
        self.controller.request(self.now, address(node), LIGHT, Request::Get(&epcs)).unwrap();
    }
}

/// Answers as text: values, refused reads, refused writes.
pub(crate) fn format_event(event: &ControllerEvent) -> String {
    let list = |codes: &[Epc]| codes.iter().map(Epc::to_string).collect::<Vec<_>>().join(" ");
    match event {
        ControllerEvent::Answer { node, result: Ok(answer), .. } => {
            let values: Vec<String> = answer
                .properties()
                .map(|property| format!("{}={}", property.epc, to_hex(property.edt)))
                .collect();
            let refused = [list(answer.refused()), list(answer.refused_writes())];
            assert_eq!(answer.is_complete(), refused.iter().all(String::is_empty));
            format!("{node} {} | {} | {}", values.join(" "), refused[0], refused[1])
        }
        ControllerEvent::Answer { node, result: Err(error), .. } => format!("{node} {error:?}"),
        ControllerEvent::Pushed { node, eoj, epc, value } => {
            format!("pushed {node} {eoj} {epc}={}", to_hex(value))
        }
        ControllerEvent::Found(node) => format!("found {node}"),
        ControllerEvent::Lost(node) => format!("lost {node}"),
        ControllerEvent::Interviewed(node) => format!("interviewed {node}"),
        other => panic!("{other:?}"),
    }
    .replace("192.0.2.", "")
}

pub(crate) fn format_events(bench: &mut Bench) -> Vec<String> {
    bench.events().iter().map(format_event).collect()
}
