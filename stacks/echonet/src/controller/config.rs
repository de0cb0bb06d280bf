//! What a user of a controller may set.

use std::time::Duration;

use crate::address::NodeAddress;
use crate::description::Description;
use crate::eoj::Eoj;

/// How a controller treats a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct NodeSettings {
    /// How long an answer may take; with TCP also, before it, a connection. Many devices need more than a second.
    pub timeout: Duration,
    /// How often a request without an answer is sent again, under the same TID. With TCP nothing is sent again on a
    /// connection that lives: this is how often another one is tried for a request.
    pub retries: u8,
    /// The least time between two datagrams to the node; zero: none.
    pub gap: Duration,
    /// Requests under way at a time, 1 to 128. Many devices lose the second.
    pub parallel: u8,
    /// Properties of one Get, 1 to 255; one with more is sent in parts.
    pub max_get_properties: u8,
    /// Whether it is asked by TCP, which few nodes speak (Part 2, section 1.2): the first request connects, and those that
    /// follow use the same connection.
    pub tcp: bool,
    /// Where `tcp` is set: whether the node is asked by datagrams once no connection to it can be made, for
    /// [`TCP_AGAIN`](crate::TCP_AGAIN); then a connection is tried again. The specification leaves this open (Part 2,
    /// section 1.2). A connection that ends is another matter: a further one is tried first.
    pub udp_fallback: bool,
}

impl Default for NodeSettings {
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(3),
            retries: 2,
            gap: Duration::ZERO,
            parallel: 1,
            max_get_properties: u8::MAX,
            tcp: false,
            udp_fallback: false,
        }
    }
}

/// What a search asks of all nodes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum Search {
    /// Get of D6: each node answers to us.
    #[default]
    Get,
    /// INF_REQ of D5: each node tells all.
    Notify,
    /// One after the other.
    Both,
}

/// What others, and the application, can make a controller hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct ControllerLimits {
    /// Nodes that are known at a time.
    pub max_nodes: usize,
    /// Instances of one node.
    pub max_instances: usize,
    /// Requests that are queued, under way, or answered and not polled.
    pub max_requests: usize,
    /// Requests under way to all nodes together.
    pub max_in_flight: usize,
    /// Events of other kinds that are not polled.
    pub max_events: usize,
    /// Bytes of a datagram that we send. To a node that is asked by TCP they do not count.
    pub max_datagram_bytes: usize,
    /// Bytes of values that one answer may hold, of all its parts.
    pub max_answer_bytes: usize,
}

impl Default for ControllerLimits {
    fn default() -> Self {
        Self {
            max_nodes: 4096,
            max_instances: 1024,
            max_requests: 65_536,
            max_in_flight: 256,
            max_events: 16_384,
            // What goes through Ethernet in one piece, with the headers of IPv6 and UDP.
            max_datagram_bytes: 1452,
            max_answer_bytes: 65_536,
        }
    }
}

/// Settings of a controller.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct ControllerConfig {
    /// What it is itself, since a controller is a node too: [`Description::controller`].
    pub node: Description,
    /// The object that requests come from, one of `node`.
    pub seoj: Eoj,
    /// How nodes are treated that have no settings of their own.
    pub defaults: NodeSettings,
    /// What a search asks.
    pub search: Search,
    /// How often a search is sent in all, 1 to 16: multicast is lost easily.
    pub search_repeats: u8,
    /// The time between two of these.
    pub search_interval: Duration,
    /// Whether the profile and all property maps of a node are read once it is found.
    pub interview: bool,
    /// Whether a notification of a node that is not known makes it known.
    pub learn: bool,
    /// After how many requests without an answer, one after the other, a node counts as lost; 0: never.
    pub lost_after: u8,
    /// Whether a Get that was refused is asked again in parts, until each refused property is known.
    pub split: bool,
    /// How long the same notification, come again, is a duplicate.
    pub duplicate_window: Duration,
    /// Our own addresses: what comes from them is our own, come back by multicast, and is ignored.
    pub own_addresses: Vec<NodeAddress>,
    /// What others can make it hold.
    pub limits: ControllerLimits,
}

impl ControllerConfig {
    /// The defaults, for a node of this manufacturer and number.
    pub fn new(manufacturer: [u8; 3], unique: [u8; 13]) -> Self {
        Self {
            node: Description::controller(manufacturer, unique),
            seoj: Eoj::CONTROLLER,
            defaults: NodeSettings::default(),
            search: Search::default(),
            search_repeats: 3,
            search_interval: Duration::from_secs(1),
            interview: false,
            learn: true,
            lost_after: 3,
            split: true,
            duplicate_window: Duration::from_millis(500),
            own_addresses: Vec::new(),
            limits: ControllerLimits::default(),
        }
    }
}
