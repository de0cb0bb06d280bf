//! `watch`: prints notifications and changes.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use netdyno_echonet::core::{ControllerEvent, Eoj, Epc, NodeAddress, Request};
use serde_json::json;

use super::args::Network;
use super::output::Printer;
use super::session::{MAPS, Session, map_of};
use super::{Failure, get};

pub(crate) fn run(
    network: &Network,
    printer: &Printer,
    nodes: &[String],
    poll: Option<Duration>,
) -> Result<bool, Failure> {
    let nodes: Vec<NodeAddress> = nodes.iter().map(|text| network.node(text)).collect::<Result<_, _>>()?;
    let session = Session::until_ended(&network.settings(), network.controller())?;
    let mut watch = Watch { session, printer, nodes, values: HashMap::new(), readable: HashMap::new() };
    watch.session.controller.search();
    if !printer.json {
        printer.remark("listening; press Ctrl-C to stop");
    }
    let mut next = poll.map(|poll| Instant::now() + poll.min(Duration::from_secs(2)));
    while !watch.session.end.is_wanted() {
        let left = next.map(|next| next.saturating_duration_since(Instant::now()));
        if let Some(event) = watch.session.controller.poll(left)? {
            watch.print_event(event)?;
        }
        if let (Some(due), Some(poll)) = (next, poll)
            && due <= Instant::now()
        {
            watch.read_all()?;
            next = Some(Instant::now() + poll);
        }
    }
    Ok(true)
}

struct Watch<'a> {
    session: Session,
    printer: &'a Printer,
    nodes: Vec<NodeAddress>,
    /// The last printed values, for repeated reads.
    values: HashMap<(NodeAddress, Eoj, Epc), Vec<u8>>,
    readable: HashMap<(NodeAddress, Eoj), Vec<Epc>>,
}

impl Watch<'_> {
    fn print_event(&mut self, event: ControllerEvent) -> Result<(), Failure> {
        match event {
            ControllerEvent::Found(node) => self.print_node(node, "found"),
            ControllerEvent::Lost(node) => self.print_node(node, "lost: it does not answer"),
            ControllerEvent::Pushed { node, eoj, epc, value } => self.print_value(node, eoj, epc, &value),
            _ => Ok(()),
        }
    }

    fn is_watched(&self, node: NodeAddress) -> bool {
        self.nodes.is_empty() || self.nodes.contains(&node)
    }

    fn print_node(&self, node: NodeAddress, what: &str) -> Result<(), Failure> {
        if self.is_watched(node) {
            let word = what.split(':').next().unwrap_or(what);
            self.printer
                .line(&format!("{node} {what}"), || json!({ "node": node.to_string(), "event": word }))?;
        }
        Ok(())
    }

    fn print_value(&mut self, node: NodeAddress, eoj: Eoj, epc: Epc, value: &[u8]) -> Result<(), Failure> {
        if self.is_watched(node) {
            self.values.insert((node, eoj, epc), value.to_vec());
            let (cells, json) = get::row(node, eoj, epc, value);
            let [eoj, epc, name, value, _] = &cells[..] else { return Ok(()) };
            self.printer.line(&format!("{node} {eoj} {epc} {name} = {value}"), || json)?;
        }
        Ok(())
    }

    /// Reads all readable properties and prints those that changed.
    fn read_all(&mut self) -> Result<(), Failure> {
        let mut objects: Vec<(NodeAddress, Eoj)> = Vec::new();
        for (node, known) in self.session.controller.core().nodes() {
            if self.is_watched(node) {
                objects.extend(known.instances().iter().map(|instance| (node, instance.eoj)));
            }
        }
        let mut under_way = HashMap::new();
        for (node, eoj) in objects {
            let epcs = self.readable.get(&(node, eoj)).cloned().unwrap_or_else(|| vec![Epc::GET_MAP]);
            // If there are too many requests, the next poll reads them.
            if let Ok(id) = self.session.controller.begin(node, eoj, Request::Get(&epcs)) {
                under_way.insert(id, (node, eoj));
            }
        }
        while !under_way.is_empty() && !self.session.end.is_wanted() {
            let Some(event) = self.session.controller.poll(None)? else { continue };
            let ControllerEvent::Answer { id, result, .. } = event else {
                self.print_event(event)?;
                continue;
            };
            let (Some((node, eoj)), Ok(answer)) = (under_way.remove(&id), result) else { continue };
            if let Some(map) = map_of(&answer, Epc::GET_MAP) {
                let epcs: Vec<_> = map.into_iter().filter(|epc| !MAPS.contains(epc)).collect();
                if let Ok(id) = self.session.controller.begin(node, eoj, Request::Get(&epcs)) {
                    under_way.insert(id, (node, eoj));
                }
                self.readable.insert((node, eoj), epcs);
                continue;
            }
            for property in answer.properties() {
                if self.values.get(&(node, eoj, property.epc)).is_none_or(|known| known != property.edt) {
                    self.print_value(node, eoj, property.epc, property.edt)?;
                }
            }
        }
        Ok(())
    }
}
