//! Controllers and devices with blocking calls.
//!
//! Handles can be cloned and shared between threads. A call that waits for an answer receives it itself,
//! without a thread in between: a read costs one system call to send and one to receive. A background thread
//! receives multicast and TCP messages, receives all messages while no call waits, and handles timers. A
//! device has one thread for each socket, so that an answer costs one system call to receive and one to send,
//! and one thread for all TCP connections.
//!
//! The threads end when the last handle is dropped.

use std::sync::Arc;
use std::time::{Duration, Instant};

use netdyno_echonet_core as core;
use netdyno_echonet_core::{
    Answer, ControllerConfig, ControllerEvent, ControllerStats, Decision, Description, DeviceEvent,
    DeviceStats, Eoj, Epc, Node, NodeAddress, NodeSettings, Property, Request, RequestError, SetError,
    WriteId,
};
use netdyno_io::Poller;

use crate::error::{CallError, Error};
use crate::limits::WAIT;
use crate::links::Links;
use crate::settings::Settings;
use crate::shared::{Driver, Feed, Hub, block};
use crate::streams::Streams;

/// Discovers nodes, sends them requests and receives their notifications.
#[derive(Debug, Clone)]
pub struct Controller {
    driver: Arc<Driver<core::Controller>>,
}

impl Controller {
    /// Opens the sockets and starts the thread.
    pub fn open(settings: &Settings, config: ControllerConfig) -> Result<Self, Error> {
        let links = Links::open(settings, Some(WAIT))?;
        let poller = links.poller()?;
        let waker = poller.waker();
        let mut core = core::Controller::new(config)?;
        core.set_own_addresses(links.own_addresses());
        let streams = Streams::open(settings, true, &poller)?;
        let hub = Hub::new(core, links, streams, Box::new(move || waker.wake()));
        Ok(Self { driver: Arc::new(Driver::start(Arc::new(hub), poller)?) })
    }

    /// Sends a request and waits for its answer.
    pub fn request(
        &self,
        node: impl Into<NodeAddress>,
        eoj: Eoj,
        request: Request<'_>,
    ) -> Result<Answer, CallError> {
        let hub = &self.driver.hub;
        let id = hub.begin(node.into(), eoj, request)?;
        hub.wait_answer(id)
    }

    /// Searches, waits for `timeout`, and returns all nodes known by then.
    pub fn find(&self, timeout: Duration) -> Result<Vec<(NodeAddress, Node)>, Error> {
        let updates = self.updates()?;
        self.search();
        let deadline = Instant::now().checked_add(timeout);
        while updates.recv_until(deadline).is_some() {}
        Ok(self.nodes())
    }
}

/// Methods that do not block, and short forms of [`request`](Controller::request).
macro_rules! controller {
    ($($async_:tt)?) => {
        /// Reads properties.
        pub $($async_)? fn get(
            &self,
            node: impl Into<NodeAddress>,
            eoj: Eoj,
            epcs: &[Epc],
        ) -> Result<Answer, CallError> {
            let answer = self.request(node, eoj, Request::Get(epcs));
            controller!(@done answer $($async_)?)
        }

        /// Writes properties and waits for the confirmation.
        pub $($async_)? fn set(
            &self,
            node: impl Into<NodeAddress>,
            eoj: Eoj,
            properties: &[Property<'_>],
        ) -> Result<Answer, CallError> {
            let answer = self.request(node, eoj, Request::Set(properties));
            controller!(@done answer $($async_)?)
        }

        /// Searches for all nodes; [`updates`](Self::updates) reports the nodes that answer.
        pub fn search(&self) {
            self.driver.hub.act(|core, now| core.search(now));
        }

        /// Subscribes to notifications and to nodes found and lost. Answers to requests are not included.
        pub fn updates(&self) -> Result<Updates, Error> {
            Ok(Updates { feed: self.driver.hub.listen()? })
        }

        /// The nodes that are known.
        pub fn nodes(&self) -> Vec<(NodeAddress, Node)> {
            self.driver.hub.look(|core| core.nodes().map(|(address, node)| (address, node.clone())).collect())
        }

        /// The known state of a node.
        pub fn node(&self, address: impl Into<NodeAddress>) -> Option<Node> {
            self.driver.hub.look(|core| core.node(address.into()).cloned())
        }

        /// Sets the settings of a node.
        pub fn set_node_settings(
            &self,
            node: impl Into<NodeAddress>,
            settings: NodeSettings,
        ) -> Result<(), RequestError> {
            self.driver.hub.act(|core, _| core.set_node_settings(node.into(), settings))
        }

        /// Removes a node and cancels its requests.
        pub fn forget(&self, node: impl Into<NodeAddress>) {
            self.driver.hub.act(|core, _| core.forget(node.into()));
        }

        /// Counters.
        pub fn stats(&self) -> ControllerStats {
            self.driver.hub.look(core::Controller::stats)
        }

        /// Accesses the controller's own node, for example to set a value.
        pub fn own<T>(&self, act: impl FnOnce(&mut core::Device) -> T) -> T {
            self.driver.hub.act(|core, _| act(core.own_mut()))
        }

        /// Closes the controller; waiting calls return an error.
        pub fn close(&self) {
            self.driver.hub.end();
        }
    };
    (@done $answer:ident) => { $answer };
    (@done $answer:ident async) => { $answer.await };
}
#[cfg(feature = "tokio")]
pub(crate) use controller;

impl Controller {
    controller!();
}

/// A subscription to notifications and to nodes found and lost. It queues up to 65,536 events.
#[derive(Debug)]
pub struct Updates {
    feed: Arc<Feed<ControllerEvent>>,
}

/// A subscription to the events of a device. It queues up to 65,536 events.
#[derive(Debug)]
pub struct Events {
    feed: Arc<Feed<DeviceEvent>>,
}

/// The methods of a subscription.
macro_rules! listener {
    ($name:ident, $event:ty) => {
        impl $name {
            /// Waits for the next event; `None` once the source is closed.
            pub fn recv(&self) -> Option<$event> {
                self.recv_until(None)
            }

            /// Waits for the next event; `None` after the timeout, or once the source is closed.
            pub fn recv_timeout(&self, timeout: Duration) -> Option<$event> {
                self.recv_until(Instant::now().checked_add(timeout))
            }

            /// The number of events dropped because the queue was full.
            pub fn missed(&self) -> u64 {
                self.feed.missed()
            }

            fn recv_until(&self, deadline: Option<Instant>) -> Option<$event> {
                block(deadline, |context| self.feed.poll(context)).flatten()
            }
        }

        impl Iterator for $name {
            type Item = $event;

            fn next(&mut self) -> Option<$event> {
                self.recv()
            }
        }
    };
}
listener!(Updates, ControllerEvent);
listener!(Events, DeviceEvent);

/// A node that other nodes read and write.
#[derive(Debug, Clone)]
pub struct Device {
    driver: Arc<Driver<core::Device>>,
}

impl Device {
    /// Opens the sockets, starts the threads, and announces the node.
    pub fn open(settings: &Settings, description: Description) -> Result<Self, Error> {
        let core = core::Device::new(&description)?;
        let links = Links::open(settings, Some(WAIT))?;
        let poller = Poller::new()?;
        let waker = poller.waker();
        let streams = Streams::open(settings, false, &poller)?;
        let connections = streams.is_on().then_some(poller);
        let hub = Arc::new(Hub::new(core, links, streams, Box::new(move || waker.wake())));
        let device = Self { driver: Arc::new(Driver::start_each(hub, connections)?) };
        device.announce();
        Ok(device)
    }

    /// Subscribes to writes by other nodes.
    pub fn events(&self) -> Result<Events, Error> {
        Ok(Events { feed: self.driver.hub.listen()? })
    }
}

/// Methods that do not block.
macro_rules! device {
    () => {
        /// A property's value.
        pub fn get(&self, eoj: Eoj, epc: Epc) -> Option<Vec<u8>> {
            self.driver.hub.look(|core| core.get(eoj, epc).map(<[u8]>::to_vec))
        }

        /// Sets the value of a property; returns whether it changed. If it changed and the property is
        /// announced, all nodes are notified.
        pub fn set(&self, eoj: Eoj, epc: Epc, value: &[u8]) -> Result<bool, SetError> {
            self.driver.hub.act(|core, _| core.set(eoj, epc, value))
        }

        /// Announces a property that did not change.
        pub fn notify(&self, eoj: Eoj, epc: Epc) -> Result<(), SetError> {
            self.driver.hub.act(|core, _| core.notify(eoj, epc))
        }

        /// Announces the node's objects.
        pub fn announce(&self) {
            self.driver.hub.act(|core, _| core.announce());
        }

        /// Decides a waiting write; returns whether it was still waiting.
        pub fn decide(&self, id: WriteId, decision: Decision) -> bool {
            self.driver.hub.act(|core, _| core.decide(id, decision))
        }

        /// Counters.
        pub fn stats(&self) -> DeviceStats {
            self.driver.hub.look(core::Device::stats)
        }

        /// Closes the device.
        pub fn close(&self) {
            self.driver.hub.end();
        }
    };
}
#[cfg(feature = "tokio")]
pub(crate) use device;

impl Device {
    device!();
}
