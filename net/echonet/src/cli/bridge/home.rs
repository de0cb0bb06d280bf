//! The bridge's knowledge of the nodes.

use std::collections::{BTreeMap, HashMap};

use netdyno_echonet::core::{Eoj, Epc, NodeAddress};

use crate::cli::names;

/// A node.
#[derive(Debug, Default)]
pub(super) struct NodeEntry {
    /// Its name in topics: its identification number, or its address if it has none. `None` until it has
    /// answered.
    pub(super) id: Option<String>,
    pub(super) maker: Option<String>,
    pub(super) present: bool,
    pub(super) objects: BTreeMap<Eoj, Object>,
}

/// An object: its readable and writable properties, and the values that were read.
#[derive(Debug, Default)]
pub(super) struct Object {
    pub(super) get: Vec<Epc>,
    pub(super) set: Vec<Epc>,
    pub(super) values: BTreeMap<Epc, Vec<u8>>,
}

/// All nodes; the controller limits their number.
#[derive(Debug, Default)]
pub(super) struct Nodes {
    known: HashMap<NodeAddress, NodeEntry>,
    by_id: HashMap<String, NodeAddress>,
}

impl Nodes {
    pub(super) fn add(&mut self, node: NodeAddress) {
        self.known.entry(node).or_default();
    }

    pub(super) fn get(&self, node: NodeAddress) -> Option<&NodeEntry> {
        self.known.get(&node)
    }

    pub(super) fn addresses(&self) -> Vec<NodeAddress> {
        self.known.keys().copied().collect()
    }

    pub(super) fn id(&self, node: NodeAddress) -> Option<&str> {
        self.known.get(&node)?.id.as_deref()
    }

    pub(super) fn by_id(&self, id: &str) -> Option<NodeAddress> {
        self.by_id.get(id).copied()
    }

    /// Names a node. If two nodes have the same number, the later one is named by its address.
    pub(super) fn name(&mut self, node: NodeAddress, number: Option<&[u8]>, maker: Option<String>) {
        let Some(known) = self.known.get_mut(&node) else { return };
        known.maker = maker.or(known.maker.take());
        let by_address = || node.to_string().replace([':', '.', '%'], "-");
        let is_number =
            |number: &&[u8]| number.first() == Some(&0xFE) && number[1..].iter().any(|byte| *byte != 0);
        let number = number.filter(is_number).map(names::hex);
        let is_anothers = |id: &String| match self.by_id.get(id) {
            // A node whose address changed keeps its name.
            Some(other) => *other != node && self.known.get(other).is_some_and(|other| other.present),
            None => false,
        };
        let known_id = self.known.get(&node).and_then(|known| known.id.clone());
        let id = match number {
            Some(number) if !is_anothers(&number) => number,
            _ => known_id.clone().unwrap_or_else(by_address),
        };
        if let Some(old) = known_id.filter(|old| *old != id) {
            self.by_id.remove(&old);
        }
        self.by_id.insert(id.clone(), node);
        if let Some(known) = self.known.get_mut(&node) {
            known.id = Some(id);
        }
    }

    pub(super) fn describe(&mut self, node: NodeAddress, eoj: Eoj, get: Vec<Epc>, set: Vec<Epc>) {
        if let Some(known) = self.known.get_mut(&node) {
            let object = known.objects.entry(eoj).or_default();
            (object.get, object.set) = (get, set);
        }
    }

    /// Stores a value; returns whether it changed. Values of undescribed objects are not stored.
    pub(super) fn store(&mut self, node: NodeAddress, eoj: Eoj, epc: Epc, edt: &[u8]) -> bool {
        let object = self.known.get_mut(&node).and_then(|known| known.objects.get_mut(&eoj));
        let Some(object) = object.filter(|object| object.get.contains(&epc)) else { return false };
        object.values.insert(epc, edt.to_vec()).is_none_or(|before| before != edt)
    }

    /// Records whether a node is present; returns whether that changed.
    pub(super) fn set_present(&mut self, node: NodeAddress, present: bool) -> bool {
        let Some(known) = self.known.get_mut(&node) else { return false };
        std::mem::replace(&mut known.present, present) != present
    }

    /// All readable properties.
    pub(super) fn readable(&self) -> Vec<(NodeAddress, Eoj, Vec<Epc>)> {
        let of_node = |(node, known): (&NodeAddress, &NodeEntry)| {
            let node = *node;
            let objects = known.objects.iter().filter(|(_, object)| !object.get.is_empty());
            objects.map(move |(eoj, object)| (node, *eoj, object.get.clone())).collect::<Vec<_>>()
        };
        self.known.iter().flat_map(of_node).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(last: u8) -> NodeAddress {
        std::net::IpAddr::from([192, 0, 2, last]).into()
    }

    #[test]
    fn names_in_topics() {
        let mut nodes = Nodes::default();
        let number = [0xFE, 0, 0, 11, 1];
        for last in 1..=3 {
            nodes.add(node(last));
            nodes.set_present(node(last), true);
        }
        nodes.name(node(1), Some(&number), None);
        nodes.name(node(2), Some(&number), None);
        nodes.name(node(3), Some(&[0xFE, 0, 0, 0]), None);
        let ids = [1, 2, 3].map(|last| nodes.id(node(last)).unwrap().to_owned());
        assert_eq!(ids, ["FE00000B01", "192-0-2-2", "192-0-2-3"]);
        assert_eq!(nodes.by_id("192-0-2-2"), Some(node(2)));
        // Its address changed.
        nodes.set_present(node(1), false);
        nodes.name(node(2), Some(&number), None);
        assert_eq!((nodes.by_id("FE00000B01"), nodes.by_id("192-0-2-2")), (Some(node(2)), None));
    }

    #[test]
    fn values_are_new_once() {
        let (mut nodes, eoj) = (Nodes::default(), Eoj([2, 0x91, 1]));
        nodes.add(node(1));
        assert!(!nodes.store(node(1), eoj, Epc(0x80), &[0x30]), "the object is not described");
        nodes.describe(node(1), eoj, vec![Epc(0x80)], vec![]);
        assert!(nodes.store(node(1), eoj, Epc(0x80), &[0x30]));
        assert!(!nodes.store(node(1), eoj, Epc(0x80), &[0x30]));
        assert!(nodes.store(node(1), eoj, Epc(0x80), &[0x31]));
        assert!(!nodes.store(node(1), eoj, Epc(0xF1), &[0x31]), "no such property");
        assert_eq!(nodes.readable(), [(node(1), eoj, vec![Epc(0x80)])]);
    }
}
