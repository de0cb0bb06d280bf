//! Settings of a controller.

use std::time::Duration;

use crate::address::NodeAddress;
use crate::description::Description;
use crate::eoj::Eoj;

/// How a controller treats a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct NodeSettings {
    /// The time limit for an answer and, with TCP, for establishing the connection. Many devices need more
    /// than a second.
    pub timeout: Duration,
    /// How often an unanswered request is sent again, with the same TID. With TCP, requests are not repeated
    /// on a live connection; this is then the number of further connection attempts for a request.
    pub retries: u8,
    /// The minimum time between two datagrams to the node; zero for none.
    pub gap: Duration,
    /// Requests in progress at a time, 1 to 128. Many devices drop a second concurrent request.
    pub parallel: u8,
    /// The maximum number of properties in one Get, 1 to 255; longer requests are split.
    pub max_get_properties: u8,
    /// Whether requests use TCP, which few nodes support (Part 2, section 1.2). The first request connects,
    /// and later requests reuse the connection.
    pub tcp: bool,
    /// With `tcp`: whether to fall back to datagrams for [`TCP_AGAIN`](crate::TCP_AGAIN) after a failed
    /// connection attempt. The specification leaves this open (Part 2, section 1.2). If an established
    /// connection ends, another one is tried first.
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

/// The messages that a search sends to all nodes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum Search {
    /// Get of D6: each node answers the controller.
    #[default]
    Get,
    /// INF_REQ of D5: each node announces its instances to all nodes.
    Notify,
    /// Both, one after the other.
    Both,
}

/// Limits on the state that peers and the application can create.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct ControllerLimits {
    /// Known nodes.
    pub max_nodes: usize,
    /// Instances of a node.
    pub max_instances: usize,
    /// Requests that are queued, in progress, or answered but not yet polled.
    pub max_requests: usize,
    /// Requests in progress to all nodes together.
    pub max_in_flight: usize,
    /// Other events that are not yet polled.
    pub max_events: usize,
    /// Bytes of a datagram that we send. Does not apply to nodes that use TCP.
    pub max_datagram_bytes: usize,
    /// Bytes of the values in one answer, all its parts together.
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
            // The largest payload that fits an Ethernet frame with the headers of IPv6 and UDP.
            max_datagram_bytes: 1452,
            max_answer_bytes: 65_536,
        }
    }
}

/// Settings of a controller.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct ControllerConfig {
    /// The controller's own node: [`Description::controller`].
    pub node: Description,
    /// The object that requests are sent from; one of `node`.
    pub seoj: Eoj,
    /// Settings of nodes without individual settings.
    pub defaults: NodeSettings,
    /// The messages of a search.
    pub search: Search,
    /// How often a search is sent, 1 to 16, since multicast datagrams are easily lost.
    pub search_repeats: u8,
    /// The interval between these repetitions.
    pub search_interval: Duration,
    /// Whether to read the profile and all property maps of a newly discovered node.
    pub interview: bool,
    /// Whether a notification from an unknown node adds the node.
    pub learn: bool,
    /// The number of consecutive unanswered requests after which a node counts as lost; 0 for never.
    pub lost_after: u8,
    /// Whether a refused Get is repeated in smaller parts until each refused property is identified.
    pub split: bool,
    /// A notification repeated within this time is a duplicate.
    pub duplicate_window: Duration,
    /// Our own addresses. Messages from them are our own multicasts, looped back, and are ignored.
    pub own_addresses: Vec<NodeAddress>,
    /// Limits on state.
    pub limits: ControllerLimits,
}

impl ControllerConfig {
    /// The default settings, for a node with this manufacturer code and unique number.
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
