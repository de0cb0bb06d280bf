//! Interview of a node: its instances, then the maps of its profile and of each object, one request at a
//! time.

use crate::controller::job::Purpose;
use crate::controller::node::Node;
use crate::eoj::Eoj;
use crate::epc::Epc;

/// The next request of an interview.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Question {
    Instances,
    Object(Eoj),
}

impl Question {
    pub(super) fn parts(self) -> (Purpose, Eoj, &'static [Epc]) {
        match self {
            Self::Instances => (Purpose::Refresh, Eoj::NODE_PROFILE, &[Epc::INSTANCE_LIST]),
            Self::Object(eoj) if eoj.is_profile() => (Purpose::Interview, eoj, &PROFILE_QUESTIONS),
            Self::Object(eoj) => (Purpose::Interview, eoj, &INSTANCE_QUESTIONS),
        }
    }
}

const PROFILE_QUESTIONS: [Epc; 6] = [
    Epc::STANDARD_VERSION,
    Epc::IDENTIFICATION_NUMBER,
    Epc::MANUFACTURER_CODE,
    Epc::ANNOUNCEMENT_MAP,
    Epc::SET_MAP,
    Epc::GET_MAP,
];
const INSTANCE_QUESTIONS: [Epc; 3] = [Epc::ANNOUNCEMENT_MAP, Epc::SET_MAP, Epc::GET_MAP];

#[derive(Debug, Default)]
pub(super) struct Interview {
    /// A request to an object is in progress.
    under_way: bool,
    /// The instances changed during the interview.
    again: bool,
    /// The objects are to be read once the instances are known.
    wanted: bool,
    /// The list of instances is being read.
    refreshing: bool,
}

impl Interview {
    /// Starts reading the list of instances, which may have changed.
    pub(super) fn refresh(&mut self) -> Option<Question> {
        (!std::mem::replace(&mut self.refreshing, true)).then_some(Question::Instances)
    }

    /// Starts the interview, with the list of instances if it is unknown.
    pub(super) fn begin(&mut self, node: &Node) -> Option<Question> {
        if self.under_way || self.wanted {
            self.again |= self.under_way;
            return None;
        }
        if node.instances().is_empty() {
            self.wanted = true;
            return self.refresh();
        }
        self.under_way = true;
        Some(Question::Object(Eoj::NODE_PROFILE))
    }

    /// The list of instances was read, or the read failed.
    pub(super) fn refreshed(&mut self) -> Option<Question> {
        self.refreshing = false;
        let begins = std::mem::take(&mut self.wanted) && !self.under_way;
        self.under_way |= begins;
        begins.then_some(Question::Object(Eoj::NODE_PROFILE))
    }

    /// An object answered, or timed out. If the profile does not answer, the interview ends. `None` ends it
    /// too.
    pub(super) fn answered(&mut self, node: &Node, eoj: Eoj, silent: bool) -> Option<Question> {
        let mut next = node.after(eoj).filter(|_| !(eoj.is_profile() && silent));
        if next.is_none() && std::mem::take(&mut self.again) && !silent {
            next = Some(Eoj::NODE_PROFILE);
        }
        self.under_way = next.is_some();
        next.map(Question::Object)
    }
}
