//! The controller.

use std::time::Instant;

use crate::address::{NodeAddress, Source, Transmit};
use crate::controller::config::{ControllerConfig, NodeSettings};
use crate::controller::event::{ControllerEvent, ControllerStats};
use crate::controller::node::Node;
use crate::controller::request::{Request, RequestError, RequestId};
use crate::description::DescriptionError;
use crate::device::Device;
use crate::eoj::Eoj;

/// Finds nodes, asks them, hears them; one for all nodes of a network.
#[derive(Debug)]
pub struct Controller {
    config: ControllerConfig,
    own: Device,
    stats: ControllerStats,
}

impl Controller {
    /// A controller that knows no node.
    ///
    /// # Errors
    ///
    /// Its own node's description is wrong.
    pub fn new(config: ControllerConfig) -> Result<Self, DescriptionError> {
        let own = Device::new(&config.node)?;
        Ok(Self { config, own, stats: ControllerStats::default() })
    }

    /// What it counted.
    pub fn stats(&self) -> ControllerStats {
        self.stats
    }

    /// Its settings.
    pub fn config(&self) -> &ControllerConfig {
        &self.config
    }

    /// Its own node, which others read and write as any.
    pub fn own(&self) -> &Device {
        &self.own
    }

    /// Its own node, to set values, announce, and poll what others wrote. What it has to send, the controller sends.
    pub fn own_mut(&mut self) -> &mut Device {
        &mut self.own
    }

    /// What is known of a node.
    pub fn node(&self, address: NodeAddress) -> Option<&Node> {
        let _ = address;
        None
    }

    /// The nodes that are known, in ascending order.
    pub fn nodes(&self) -> impl Iterator<Item = (NodeAddress, &Node)> {
        std::iter::empty()
    }

    /// Treats a node in its own way from now on.
    ///
    /// # Errors
    ///
    /// The node is not known, and as many as allowed are.
    pub fn set_node_settings(
        &mut self,
        node: NodeAddress,
        settings: NodeSettings,
    ) -> Result<(), RequestError> {
        let _ = (node, settings);
        Ok(())
    }

    /// Forgets a node; its requests end as cancelled.
    pub fn forget(&mut self, now: Instant, node: NodeAddress) {
        let _ = (now, node);
    }

    /// Asks all nodes who they are. [`ControllerEvent::Found`] comes for each that answers.
    pub fn search(&mut self, now: Instant) {
        let _ = now;
    }

    /// Queues a request. Its [`ControllerEvent::Answer`] comes in any case.
    ///
    /// # Errors
    ///
    /// It is empty, too long, for all instances, or there are too many.
    pub fn request(
        &mut self,
        now: Instant,
        node: NodeAddress,
        deoj: Eoj,
        request: Request<'_>,
    ) -> Result<RequestId, RequestError> {
        let _ = (now, node, deoj, request);
        Err(RequestError::QueueFull)
    }

    /// Ends a request whose answer nobody wants any more.
    pub fn cancel(&mut self, now: Instant, id: RequestId) {
        let _ = (now, id);
    }

    /// Takes a datagram. What it is to be answered with at once stands in `out`; then ask
    /// [`poll_transmit`](Self::poll_transmit) for more.
    pub fn handle(
        &mut self,
        now: Instant,
        datagram: &[u8],
        from: Source,
        out: &mut [u8],
    ) -> Option<Transmit> {
        self.own.handle(now, datagram, from, out)
    }

    /// Time has come to [`next_deadline`](Self::next_deadline); harmless before.
    pub fn handle_timeout(&mut self, now: Instant) {
        self.own.handle_timeout(now);
    }

    /// The next datagram to send, written to the start of `out`; call until there is none.
    pub fn poll_transmit(&mut self, now: Instant, out: &mut [u8]) -> Option<Transmit> {
        self.own.poll_transmit(now, out)
    }

    /// What happened; call until there is nothing more.
    pub fn poll_event(&mut self) -> Option<ControllerEvent> {
        None
    }

    /// When [`handle_timeout`](Self::handle_timeout) is due.
    pub fn next_deadline(&self) -> Option<Instant> {
        self.own.next_deadline()
    }
}
