//! The controller's knowledge of a node.

use crate::controller::request::Answer;
use crate::eoj::Eoj;
use crate::epc::Epc;
use crate::limits::LISTED_INSTANCES_MAX;
use crate::property_map::PropertyMap;

/// Whether a node is reachable.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum NodeState {
    /// The application sent it a request, and nothing has been received from it.
    #[default]
    Unheard,
    /// A message has been received from it, and it answers requests.
    Present,
    /// Several consecutive requests timed out.
    Lost,
}

/// An object of a node, with its property maps if they were read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Instance {
    /// Its code.
    pub eoj: Eoj,
    /// Readable properties (9F).
    pub get: Option<PropertyMap>,
    /// Writable properties (9E).
    pub set: Option<PropertyMap>,
    /// Announced properties (9D).
    pub announce: Option<PropertyMap>,
}

impl Instance {
    fn new(eoj: Eoj) -> Self {
        Self { eoj, get: None, set: None, announce: None }
    }

    fn learn(&mut self, answer: &Answer) {
        let map = |epc| answer.get(epc).and_then(|value| PropertyMap::decode(value).ok());
        self.get = map(Epc::GET_MAP).or(self.get);
        self.set = map(Epc::SET_MAP).or(self.set);
        self.announce = map(Epc::ANNOUNCEMENT_MAP).or(self.announce);
    }
}

/// A node, as far as it is known.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Node {
    pub(super) state: NodeState,
    instances: Vec<Instance>,
    profile: Instance,
    version: Option<[u8; 4]>,
    identification: Vec<u8>,
    manufacturer: Option<[u8; 3]>,
}

impl Default for Node {
    fn default() -> Self {
        Self {
            state: NodeState::default(),
            instances: Vec::new(),
            profile: Instance::new(Eoj::NODE_PROFILE),
            version: None,
            identification: Vec::new(),
            manufacturer: None,
        }
    }
}

impl Node {
    /// Whether it is reachable.
    pub fn state(&self) -> NodeState {
        self.state
    }

    /// Its device objects in ascending order.
    pub fn instances(&self) -> &[Instance] {
        &self.instances
    }

    /// An object of the node; includes the node profile.
    pub fn instance(&self, eoj: Eoj) -> Option<&Instance> {
        if eoj == self.profile.eoj {
            return Some(&self.profile);
        }
        let at = self.instances.binary_search_by_key(&eoj, |instance| instance.eoj).ok()?;
        Some(&self.instances[at])
    }

    /// Its profile, whose maps are known after an interview.
    pub fn profile(&self) -> &Instance {
        &self.profile
    }

    /// Version of the specification and message formats (82), if it was read.
    pub fn version(&self) -> Option<[u8; 4]> {
        self.version
    }

    /// Identification number (83), if it was read: usually FE, the manufacturer code, and 13 bytes of the
    /// manufacturer's choice.
    pub fn identification(&self) -> Option<&[u8]> {
        Some(&self.identification[..]).filter(|number| !number.is_empty())
    }

    /// The manufacturer's code (8A), if it was read.
    pub fn manufacturer(&self) -> Option<[u8; 3]> {
        self.manufacturer
    }

    /// Updates the instances from the value of D5 or D6; returns whether anything is new, and how many did
    /// not fit. `all`: the value lists all instances, so that others are removed (unless it is full).
    pub(super) fn learn_instances(&mut self, value: &[u8], all: bool, max: usize) -> (bool, u64) {
        let (count, codes) = value.split_first().unwrap_or((&0, &[]));
        let codes = || {
            codes
                .chunks_exact(3)
                .take(usize::from(*count))
                .map(|code| Eoj([code[0], code[1], code[2]]))
                .filter(|eoj| !eoj.is_profile() && !eoj.is_all_instances())
        };
        let before = self.instances.len();
        if all && usize::from(*count) < LISTED_INSTANCES_MAX {
            self.instances.retain(|instance| codes().any(|eoj| eoj == instance.eoj));
        }
        let (mut changed, mut dropped) = (self.instances.len() != before, 0);
        for eoj in codes() {
            let Err(place) = self.instances.binary_search_by_key(&eoj, |instance| instance.eoj) else {
                continue;
            };
            if self.instances.len() < max {
                self.instances.insert(place, Instance::new(eoj));
                changed = true;
            } else {
                dropped += 1;
            }
        }
        (changed, dropped)
    }

    /// Whether it has objects that this value of D5 does not list, and that may be gone.
    pub(super) fn has_more_than(&self, value: &[u8]) -> bool {
        let count = usize::from(value.first().copied().unwrap_or(0));
        count < LISTED_INSTANCES_MAX && self.instances.len() > count
    }

    /// The object that follows in an interview.
    pub(super) fn after(&self, eoj: Eoj) -> Option<Eoj> {
        if eoj == self.profile.eoj {
            return self.instances.first().map(|instance| instance.eoj);
        }
        let at = self.instances.partition_point(|instance| instance.eoj <= eoj);
        self.instances.get(at).map(|instance| instance.eoj)
    }

    /// Updates the node from an answer to an interview request.
    pub(super) fn learn(&mut self, eoj: Eoj, answer: &Answer) {
        if eoj == self.profile.eoj {
            self.profile.learn(answer);
            let version = answer.get(Epc::STANDARD_VERSION).and_then(|value| value.try_into().ok());
            self.version = version.or(self.version);
            let manufacturer = answer.get(Epc::MANUFACTURER_CODE).and_then(|value| value.try_into().ok());
            self.manufacturer = manufacturer.or(self.manufacturer);
            if let Some(number) = answer.get(Epc::IDENTIFICATION_NUMBER) {
                self.identification = number.to_vec();
            }
        } else if let Ok(at) = self.instances.binary_search_by_key(&eoj, |instance| instance.eoj) {
            self.instances[at].learn(answer);
        }
    }
}
