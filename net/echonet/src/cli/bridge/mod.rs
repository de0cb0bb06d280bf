//! `bridge`: publishes states to an MQTT broker and executes its commands.

mod discovery;
mod home;
mod mqtt;
mod tls;

use std::collections::HashMap;
use std::time::{Duration, Instant};

use netdyno_echonet::core::{Answer, ControllerEvent, Eoj, Epc, NodeAddress, Property, Request, RequestId};
use serde_json::json;

use super::args::Network;
use super::output::Printer;
use super::secret::Secret;
use super::session::{MAPS, Session, map_of};
use super::{Failure, names};
use discovery::{Entity, availability_topic, bridge_topic, state_topic};
use home::{NodeEntry, Nodes};
use mqtt::{Address, Broker, FromBroker};
pub(crate) use tls::Tls;

/// The command line.
#[derive(Debug)]
pub(crate) struct BridgeSettings<'a> {
    pub(crate) mqtt: &'a Secret,
    pub(crate) tls: Tls<'a>,
    pub(crate) topic: &'a str,
    pub(crate) discovery: &'a str,
    pub(crate) poll: Duration,
    pub(crate) search: Duration,
}

/// The maximum number of waiting requests; above it, a poll is skipped.
const REQUESTS_MAX: usize = 32_768;

pub(crate) fn run(
    network: &Network,
    printer: &Printer,
    settings: &BridgeSettings<'_>,
) -> Result<bool, Failure> {
    let address = Address::parse(settings.mqtt)?;
    if settings.topic.is_empty() || settings.topic.contains(['#', '+']) || settings.topic.ends_with('/') {
        return Err(Failure::new("--topic: expected a topic without #, + or a trailing /, such as echonet"));
    }
    let session = Session::until_ended(&network.settings(), network.controller())?;
    let waker = session.controller.waker();
    let will = (&*bridge_topic(settings.topic), "offline");
    let broker = Broker::connect(&address, settings.tls, will, waker)?;
    let mut bridge = Bridge {
        session,
        broker,
        printer,
        settings,
        nodes: Nodes::default(),
        asked: HashMap::new(),
        away: None,
    };
    let result = bridge.serve();
    bridge.broker.publish(&bridge_topic(settings.topic), "offline");
    bridge.broker.close();
    result.map(|()| true)
}

struct Bridge<'a> {
    session: Session,
    broker: Broker,
    printer: &'a Printer,
    settings: &'a BridgeSettings<'a>,
    nodes: Nodes,
    asked: HashMap<RequestId, Asked>,
    /// Why the broker is unavailable, as reported.
    away: Option<String>,
}

/// The purpose of a request.
#[derive(Debug, Clone, Copy)]
enum Purpose {
    /// Reads the node's number and manufacturer.
    Profile,
    /// Reads an object's property maps.
    Maps,
    /// Reads values.
    Values,
    /// Executes a command.
    Command,
}

#[derive(Debug, Clone, Copy)]
struct Asked {
    node: NodeAddress,
    eoj: Eoj,
    what: Purpose,
}

impl Bridge<'_> {
    fn serve(&mut self) -> Result<(), Failure> {
        let (mut next_search, mut next_poll) = (Instant::now(), Instant::now() + self.settings.poll);
        while !self.session.end.is_wanted() {
            let now = Instant::now();
            if next_search <= now {
                self.session.controller.search();
                next_search = now + self.settings.search.max(Duration::from_secs(10));
            }
            if next_poll <= now {
                self.read_all();
                next_poll = now + self.settings.poll.max(Duration::from_secs(1));
            }
            let left = next_search.min(next_poll).saturating_duration_since(now);
            match self.session.controller.poll(Some(left))? {
                Some(ControllerEvent::Found(node)) => self.add_node(node),
                Some(ControllerEvent::Lost(node)) => self.set_present(node, false),
                Some(ControllerEvent::Pushed { node, eoj, epc, value }) => {
                    self.publish_value(node, eoj, epc, &value)
                }
                Some(ControllerEvent::Answer { id, result, .. }) => {
                    if let Some(asked) = self.asked.remove(&id) {
                        self.answered(asked, result.ok());
                    }
                }
                _ => {}
            }
            while let Some(message) = self.broker.next() {
                self.handle_broker_event(message)?;
            }
        }
        Ok(())
    }

    fn handle_broker_event(&mut self, message: FromBroker) -> Result<(), Failure> {
        match message {
            FromBroker::Connected => {
                self.away = None;
                let json =
                    || json!({ "event": "connected", "broker": self.settings.mqtt.rsplit('@').next() });
                self.printer.line("connected to the broker; press Ctrl-C to stop", json)?;
                self.broker.subscribe(&format!("{}/+/+/+/set", self.settings.topic));
                self.broker.publish(&bridge_topic(self.settings.topic), "online");
                for node in self.nodes.addresses() {
                    self.publish_all(node);
                }
            }
            FromBroker::Away(why) if self.away.as_ref() != Some(&why) => {
                let message = format!(
                    "no broker at {}: {why}; the connection is retried",
                    self.settings.mqtt.rsplit('@').next().unwrap_or_default()
                );
                self.printer.remark(&message);
                self.away = Some(why);
            }
            FromBroker::Away(_) => {}
            FromBroker::Message { topic, payload } => {
                if let Err(why) = self.command(&topic, &payload) {
                    self.printer.remark(&format!("{topic}: {why}"));
                }
            }
        }
        Ok(())
    }

    /// `BASE/ID/OBJECT/PROPERTY/set`.
    fn command(&mut self, topic: &str, payload: &[u8]) -> Result<(), String> {
        let rest = topic.strip_prefix(self.settings.topic).and_then(|rest| rest.strip_prefix('/'));
        let parts: Vec<_> = rest.unwrap_or_default().split('/').collect();
        let [id, eoj, epc, "set"] = parts[..] else { return Err("no such command".to_owned()) };
        let node = self.nodes.by_id(id).ok_or("no node of this name is known")?;
        let eoj: Eoj = eoj.parse().map_err(|_| "no such object")?;
        let epc: Epc = epc.parse().map_err(|_| "no such property")?;
        let text = std::str::from_utf8(payload).map_err(|_| "the value is not UTF-8 text")?;
        let edt = names::parse(eoj.class(), epc, text.trim())?;
        self.ask(node, eoj, Purpose::Command, Request::Set(&[Property { epc, edt: &edt }]));
        // Reads the resulting value, whether the write was accepted or refused.
        self.ask(node, eoj, Purpose::Values, Request::Get(&[epc]));
        Ok(())
    }

    fn ask(&mut self, node: NodeAddress, eoj: Eoj, what: Purpose, request: Request<'_>) {
        // If there are too many, the next poll reads the values.
        if self.asked.len() < REQUESTS_MAX
            && let Ok(id) = self.session.controller.begin(node, eoj, request)
        {
            self.asked.insert(id, Asked { node, eoj, what });
        }
    }

    /// A node is present, for the first time or again.
    fn add_node(&mut self, node: NodeAddress) {
        self.nodes.add(node);
        self.set_present(node, true);
        let profile = [Epc::IDENTIFICATION_NUMBER, Epc::MANUFACTURER_CODE];
        self.ask(node, Eoj::NODE_PROFILE, Purpose::Profile, Request::Get(&profile));
        let objects: Vec<_> = self
            .session
            .controller
            .core()
            .node(node)
            .map_or(Vec::new(), |known| known.instances().iter().map(|instance| instance.eoj).collect());
        for eoj in objects {
            self.ask(node, eoj, Purpose::Maps, Request::Get(&[Epc::GET_MAP, Epc::SET_MAP]));
        }
    }

    fn read_all(&mut self) {
        for (node, eoj, epcs) in self.nodes.readable() {
            self.ask(node, eoj, Purpose::Values, Request::Get(&epcs));
        }
    }

    fn answered(&mut self, Asked { node, eoj, what }: Asked, answer: Option<Answer>) {
        let Some(answer) = answer else {
            // A node that does not report its number is named by its address.
            if let Purpose::Profile = what {
                self.nodes.name(node, None, None);
            }
            return;
        };
        self.set_present(node, true);
        match what {
            Purpose::Profile => {
                let maker = answer.get(Epc::MANUFACTURER_CODE).map(names::maker);
                self.nodes.name(node, answer.get(Epc::IDENTIFICATION_NUMBER), maker);
                self.publish_all(node);
            }
            Purpose::Maps => {
                let get = map_of(&answer, Epc::GET_MAP).unwrap_or_default();
                let get: Vec<_> = get.into_iter().filter(|epc| !MAPS.contains(epc)).collect();
                self.nodes.describe(
                    node,
                    eoj,
                    get.clone(),
                    map_of(&answer, Epc::SET_MAP).unwrap_or_default(),
                );
                self.publish_discovery(node, eoj);
                self.ask(node, eoj, Purpose::Values, Request::Get(&get));
            }
            Purpose::Values => {
                for property in answer.properties() {
                    self.publish_value(node, eoj, property.epc, property.edt);
                }
            }
            Purpose::Command => {
                for epc in answer.refused_writes() {
                    self.printer.remark(&format!("{node} {eoj} refuses to set {epc}"));
                }
            }
        }
    }

    /// Handles a value: published if it changed.
    fn publish_value(&mut self, node: NodeAddress, eoj: Eoj, epc: Epc, edt: &[u8]) {
        if self.nodes.store(node, eoj, epc, edt)
            && let Some(id) = self.nodes.id(node)
        {
            let topic = state_topic(self.settings.topic, id, eoj, epc);
            self.broker.publish(&topic, &names::state(eoj.class(), epc, edt));
        }
    }

    fn set_present(&mut self, node: NodeAddress, present: bool) {
        if self.nodes.set_present(node, present)
            && let Some(id) = self.nodes.id(node)
        {
            let topic = availability_topic(self.settings.topic, id);
            self.broker.publish(&topic, if present { "online" } else { "offline" });
        }
    }

    /// Publishes the known state of a node.
    fn publish_all(&mut self, node: NodeAddress) {
        let Some(NodeEntry { id: Some(id), present, objects, .. }) = self.nodes.get(node) else { return };
        let topic = availability_topic(self.settings.topic, id);
        self.broker.publish(&topic, if *present { "online" } else { "offline" });
        for (eoj, object) in objects {
            for (epc, edt) in &object.values {
                let topic = state_topic(self.settings.topic, id, *eoj, *epc);
                self.broker.publish(&topic, &names::state(eoj.class(), *epc, edt));
            }
        }
        let objects: Vec<_> = objects.keys().copied().collect();
        for eoj in objects {
            self.publish_discovery(node, eoj);
        }
    }

    /// Publishes the discovery messages of an object.
    fn publish_discovery(&mut self, node: NodeAddress, eoj: Eoj) {
        let Some(NodeEntry { id: Some(id), maker, objects, .. }) = self.nodes.get(node) else { return };
        let Some(object) = objects.get(&eoj).filter(|_| !self.settings.discovery.is_empty()) else { return };
        for epc in &object.get {
            let entity = Entity {
                base: self.settings.topic,
                prefix: self.settings.discovery,
                id,
                node: node.to_string(),
                maker: maker.clone(),
                eoj,
                epc: *epc,
                can_set: object.set.contains(epc),
            };
            let (topic, config) = entity.message();
            self.broker.publish(&topic, &config.to_string());
        }
    }
}
