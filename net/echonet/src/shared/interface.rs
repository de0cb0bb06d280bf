//! The types that the blocking and the Tokio interface have in common.

/// Defines `Controller`, `Device`, `Updates` and `Events` for one interface.
///
/// The interfaces differ in what drives a hub (`controller`, `device`), in how a call waits for an answer
/// (`answer`) and for an event (`wait`), and in whether methods are async. Methods of one interface only are in
/// its own module.
macro_rules! interface {
    (
        controller: $open_controller:path,
        device: $open_device:path,
        answer: $answer:path,
        wait: $wait:path,
        async: [$($async:tt)?],
        await: [$($await:tt)*]
    ) => {
        use std::sync::Arc;

        use netdyno_echonet_core::{
            self as core, Answer, ControllerConfig, ControllerEvent, ControllerStats, Decision, Description,
            DeviceEvent, DeviceStats, Eoj, Epc, Node, NodeAddress, NodeSettings, Property, Request,
            RequestError, SetError, WriteId,
        };
        use netdyno_io::hub::Drive;

        use $crate::error::{CallError, Error};
        use $crate::settings::Settings;
        use $crate::shared::{Driver, Feed};

        /// Discovers nodes, sends them requests and receives their notifications.
        #[derive(Debug, Clone)]
        pub struct Controller {
            driver: Arc<Driver<core::Controller>>,
        }

        impl Controller {
            /// Opens the sockets and starts the driver. The Tokio interface must be opened within a runtime
            /// whose I/O and time drivers are enabled.
            pub fn open(settings: &Settings, config: ControllerConfig) -> Result<Self, Error> {
                Ok(Self { driver: Arc::new($open_controller(settings, config)?) })
            }

            /// Sends a request and waits for its answer.
            pub $($async)? fn request(
                &self,
                node: impl Into<NodeAddress>,
                eoj: Eoj,
                request: Request<'_>,
            ) -> Result<Answer, CallError> {
                let hub = self.driver.hub();
                $answer(hub, hub.begin(node.into(), eoj, request)?)$($await)*
            }

            /// Reads properties.
            pub $($async)? fn get(
                &self,
                node: impl Into<NodeAddress>,
                eoj: Eoj,
                epcs: &[Epc],
            ) -> Result<Answer, CallError> {
                self.request(node, eoj, Request::Get(epcs))$($await)*
            }

            /// Writes properties and waits for the confirmation.
            pub $($async)? fn set(
                &self,
                node: impl Into<NodeAddress>,
                eoj: Eoj,
                properties: &[Property<'_>],
            ) -> Result<Answer, CallError> {
                self.request(node, eoj, Request::Set(properties))$($await)*
            }

            /// Searches for all nodes; [`updates`](Self::updates) reports the nodes that answer.
            pub fn search(&self) {
                self.driver.hub().act(|core, now| core.search(now));
            }

            /// Subscribes to notifications and to nodes found and lost. Answers to requests are not included.
            pub fn updates(&self) -> Result<Updates, Error> {
                Ok(Updates { feed: self.driver.hub().listen()? })
            }

            /// The nodes that are known.
            pub fn nodes(&self) -> Vec<(NodeAddress, Node)> {
                let copy = |(address, node): (_, &Node)| (address, node.clone());
                self.driver.hub().look(|core| core.nodes().map(copy).collect())
            }

            /// The known state of a node.
            pub fn node(&self, address: impl Into<NodeAddress>) -> Option<Node> {
                self.driver.hub().look(|core| core.node(address.into()).cloned())
            }

            /// Sets the settings of a node.
            pub fn set_node_settings(
                &self,
                node: impl Into<NodeAddress>,
                settings: NodeSettings,
            ) -> Result<(), RequestError> {
                self.driver.hub().act(|core, _| core.set_node_settings(node.into(), settings))
            }

            /// Removes a node and cancels its requests.
            pub fn forget(&self, node: impl Into<NodeAddress>) {
                self.driver.hub().act(|core, _| core.forget(node.into()));
            }

            /// Counters.
            pub fn stats(&self) -> ControllerStats {
                self.driver.hub().look(core::Controller::stats)
            }

            /// Accesses the controller's own node, for example to set a value.
            pub fn own<T>(&self, act: impl FnOnce(&mut core::Device) -> T) -> T {
                self.driver.hub().act(|core, _| act(core.own_mut()))
            }

            /// Closes the controller; waiting calls return an error.
            pub fn close(&self) {
                self.driver.hub().end();
            }
        }

        /// A node that other nodes read and write.
        #[derive(Debug, Clone)]
        pub struct Device {
            driver: Arc<Driver<core::Device>>,
        }

        impl Device {
            /// Opens the sockets, starts the driver, and announces the node. The Tokio interface must be
            /// opened within a runtime whose I/O and time drivers are enabled.
            pub fn open(settings: &Settings, description: Description) -> Result<Self, Error> {
                let device = Self { driver: Arc::new($open_device(settings, &description)?) };
                device.announce();
                Ok(device)
            }

            /// Subscribes to writes by other nodes.
            pub fn events(&self) -> Result<Events, Error> {
                Ok(Events { feed: self.driver.hub().listen()? })
            }

            /// A property's value.
            pub fn get(&self, eoj: Eoj, epc: Epc) -> Option<Vec<u8>> {
                self.driver.hub().look(|core| core.get(eoj, epc).map(<[u8]>::to_vec))
            }

            /// Sets the value of a property; returns whether it changed. If it changed and the property is
            /// announced, all nodes are notified.
            pub fn set(&self, eoj: Eoj, epc: Epc, value: &[u8]) -> Result<bool, SetError> {
                self.driver.hub().act(|core, _| core.set(eoj, epc, value))
            }

            /// Announces a property that did not change.
            pub fn notify(&self, eoj: Eoj, epc: Epc) -> Result<(), SetError> {
                self.driver.hub().act(|core, _| core.notify(eoj, epc))
            }

            /// Announces the node's objects.
            pub fn announce(&self) {
                self.driver.hub().act(|core, _| core.announce());
            }

            /// Decides a waiting write; returns whether it was still waiting.
            pub fn decide(&self, id: WriteId, decision: Decision) -> bool {
                self.driver.hub().act(|core, _| core.decide(id, decision))
            }

            /// Counters.
            pub fn stats(&self) -> DeviceStats {
                self.driver.hub().look(core::Device::stats)
            }

            /// Closes the device.
            pub fn close(&self) {
                self.driver.hub().end();
            }
        }

        $crate::shared::interface! {
            @listener
            /// A subscription to notifications and to nodes found and lost. It queues up to 65,536 events.
            Updates, ControllerEvent, $wait, [$($async)?], [$($await)*]
        }
        $crate::shared::interface! {
            @listener
            /// A subscription to the events of a device. It queues up to 65,536 events.
            Events, DeviceEvent, $wait, [$($async)?], [$($await)*]
        }
    };
    (
        @listener #[$doc:meta] $name:ident, $event:ty, $wait:path, [$($async:tt)?], [$($await:tt)*]
    ) => {
        #[$doc]
        #[derive(Debug)]
        pub struct $name {
            feed: Feed<$event>,
        }

        impl $name {
            /// Waits for the next event; `None` once the source is closed. If a future is dropped, no event
            /// is lost.
            pub $($async)? fn recv(&self) -> Option<$event> {
                $wait(|wait| self.feed.poll(wait))$($await)*
            }

            /// The number of events dropped because the queue was full.
            pub fn missed(&self) -> u64 {
                self.feed.missed()
            }
        }
    };
}
pub(crate) use interface;
