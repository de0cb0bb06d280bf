//! Controllers and devices whose calls wait, for threads.
//!
//! Handles can be cloned and shared by threads. A call that waits for an answer receives by itself: between it and the kernel
//! there is no other thread, and a read costs one system call to send and one to receive. A thread in the background hears
//! what is sent to all and what comes by TCP, receives while nobody waits, and looks at the time. A device has a thread for each of
//! its sockets, so that an answer costs one system call to receive and one to send, and one for all TCP connections.
//!
//! They end when the last handle is dropped.

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
use crate::face::{Driver, Feed, Hub, block};
use crate::limits::WAIT;
use crate::links::Links;
use crate::settings::Settings;
use crate::streams::Streams;

/// Finds nodes, asks them, hears them.
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

    /// Asks a node, and waits for its answer.
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

    /// Searches, waits for so long, and gives all nodes that were heard by then.
    pub fn find(&self, timeout: Duration) -> Result<Vec<(NodeAddress, Node)>, Error> {
        let updates = self.updates()?;
        self.search();
        let deadline = Instant::now().checked_add(timeout);
        while updates.recv_until(deadline).is_some() {}
        Ok(self.nodes())
    }
}

/// What needs no waiting, and short forms of [`request`](Controller::request).
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

        /// Writes properties, and awaits that it was done.
        pub $($async_)? fn set(
            &self,
            node: impl Into<NodeAddress>,
            eoj: Eoj,
            properties: &[Property<'_>],
        ) -> Result<Answer, CallError> {
            let answer = self.request(node, eoj, Request::Set(properties));
            controller!(@done answer $($async_)?)
        }

        /// Asks all nodes who they are; [`updates`](Self::updates) tells of each that answers.
        pub fn search(&self) {
            self.driver.hub.act(|core, now| core.search(now));
        }

        /// Hears what nodes tell, and which are found and lost, from now on. Answers are not among it.
        pub fn updates(&self) -> Result<Updates, Error> {
            Ok(Updates { feed: self.driver.hub.listen()? })
        }

        /// The nodes that are known.
        pub fn nodes(&self) -> Vec<(NodeAddress, Node)> {
            self.driver.hub.look(|core| core.nodes().map(|(address, node)| (address, node.clone())).collect())
        }

        /// What is known of a node.
        pub fn node(&self, address: impl Into<NodeAddress>) -> Option<Node> {
            self.driver.hub.look(|core| core.node(address.into()).cloned())
        }

        /// Treats a node in its own way from now on.
        pub fn set_node_settings(
            &self,
            node: impl Into<NodeAddress>,
            settings: NodeSettings,
        ) -> Result<(), RequestError> {
            self.driver.hub.act(|core, _| core.set_node_settings(node.into(), settings))
        }

        /// Forgets a node; its requests end as cancelled.
        pub fn forget(&self, node: impl Into<NodeAddress>) {
            self.driver.hub.act(|core, _| core.forget(node.into()));
        }

        /// What it counted.
        pub fn stats(&self) -> ControllerStats {
            self.driver.hub.look(core::Controller::stats)
        }

        /// Does something with the node that the controller is itself, such as giving a property a value.
        pub fn own<T>(&self, act: impl FnOnce(&mut core::Device) -> T) -> T {
            self.driver.hub.act(|core, _| act(core.own_mut()))
        }

        /// Ends it now: who waits gets an error.
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

/// What nodes tell, and which are found and lost. 65,536 events may wait to be taken.
#[derive(Debug)]
pub struct Updates {
    feed: Arc<Feed<ControllerEvent>>,
}

/// What a device is told by others. 65,536 events may wait to be taken.
#[derive(Debug)]
pub struct Events {
    feed: Arc<Feed<DeviceEvent>>,
}

/// The methods of a listener.
macro_rules! listener {
    ($name:ident, $event:ty) => {
        impl $name {
            /// Waits for the next event; `None`: there will be no more.
            pub fn recv(&self) -> Option<$event> {
                self.recv_until(None)
            }

            /// Waits for the next event; `None`: there was none in time, or there will be no more.
            pub fn recv_timeout(&self, timeout: Duration) -> Option<$event> {
                self.recv_until(Instant::now().checked_add(timeout))
            }

            /// Events that were dropped since too many waited.
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

/// A node that others read, write and hear.
#[derive(Debug, Clone)]
pub struct Device {
    driver: Arc<Driver<core::Device>>,
}

impl Device {
    /// Opens the sockets, starts the threads, and announces the node to all.
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

    /// Hears what others write, from now on.
    pub fn events(&self) -> Result<Events, Error> {
        Ok(Events { feed: self.driver.hub.listen()? })
    }
}

/// What needs no waiting.
macro_rules! device {
    () => {
        /// A property's value.
        pub fn get(&self, eoj: Eoj, epc: Epc) -> Option<Vec<u8>> {
            self.driver.hub.look(|core| core.get(eoj, epc).map(<[u8]>::to_vec))
        }

        /// Gives a property a value; says whether it is another than before. If it is, and the property is announced, all are
        /// told.
        pub fn set(&self, eoj: Eoj, epc: Epc, value: &[u8]) -> Result<bool, SetError> {
            self.driver.hub.act(|core, _| core.set(eoj, epc, value))
        }

        /// Tells a property to all, though it did not change.
        pub fn notify(&self, eoj: Eoj, epc: Epc) -> Result<(), SetError> {
            self.driver.hub.act(|core, _| core.notify(eoj, epc))
        }

        /// Tells all which objects the node has.
        pub fn announce(&self) {
            self.driver.hub.act(|core, _| core.announce());
        }

        /// Decides a write that waits; says whether it still did.
        pub fn decide(&self, id: WriteId, decision: Decision) -> bool {
            self.driver.hub.act(|core, _| core.decide(id, decision))
        }

        /// What it counted.
        pub fn stats(&self) -> DeviceStats {
            self.driver.hub.look(core::Device::stats)
        }

        /// Ends it now.
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
