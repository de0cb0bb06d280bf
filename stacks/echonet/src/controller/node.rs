//! What a controller knows of a node.

use crate::eoj::Eoj;
use crate::property_map::PropertyMap;

/// Whether a node is there.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum NodeState {
    /// The application asked something of it, and nothing has come from it.
    #[default]
    Unheard,
    /// Something has come from it, and requests are answered.
    Present,
    /// Several requests one after the other had no answer.
    Lost,
}

/// An object of a node, and what its maps say if they were read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Instance {
    /// Which.
    pub eoj: Eoj,
    /// What can be read.
    pub get: Option<PropertyMap>,
    /// What can be written.
    pub set: Option<PropertyMap>,
    /// What is told by itself.
    pub announce: Option<PropertyMap>,
}

/// A node, as far as it is known.
#[derive(Clone, Debug, Default)]
pub struct Node {
    pub(crate) state: NodeState,
    pub(crate) instances: Vec<Instance>,
    pub(crate) profile: Vec<u8>,
}

impl Node {
    /// Whether it is there.
    pub fn state(&self) -> NodeState {
        self.state
    }

    /// Its objects in ascending order, the node profile left out.
    pub fn instances(&self) -> &[Instance] {
        &self.instances
    }
}
