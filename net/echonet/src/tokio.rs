//! Controllers and devices with async methods, for Tokio (feature `tokio`, on Linux). The types have the
//! names of [`blocking`](crate::blocking).
//!
//! A task of the runtime receives messages. Handles can be awaited on any runtime. Dropping the future of a
//! request abandons it.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use netdyno_echonet_core as core;
use netdyno_echonet_core::{
    Answer, ControllerConfig, ControllerEvent, ControllerStats, Decision, Description, DeviceEvent,
    DeviceStats, Eoj, Epc, Node, NodeAddress, NodeSettings, Property, Request, RequestError, RequestId,
    SetError, WriteId,
};
use netdyno_io::Events as Ready;
use netdyno_io::tokio::AsyncPoller;
use tokio::runtime::Handle;
use tokio::sync::Notify;
use tokio::task::AbortHandle;

use crate::blocking::{controller, device};
use crate::engine::Engine;
use crate::error::{CallError, Error};
use crate::limits::{STREAMS_KEY, WAIT};
use crate::links::Links;
use crate::settings::Settings;
use crate::shared::{EndOnDrop, Feed, Hub, Kick};
use crate::streams::Streams;

/// Discovers nodes, sends them requests and receives their notifications.
#[derive(Debug, Clone)]
pub struct Controller {
    driver: Arc<Driver<core::Controller>>,
}

impl Controller {
    /// Opens the sockets and starts the task on the current runtime, which needs its I/O and time drivers.
    pub fn open(settings: &Settings, config: ControllerConfig) -> Result<Self, Error> {
        let mut core = core::Controller::new(config)?;
        let make = |links: Links, streams, kick| {
            core.set_own_addresses(links.own_addresses());
            Hub::new(core, links, streams, kick)
        };
        Ok(Self { driver: Driver::start(settings, true, make)? })
    }

    /// Sends a request and waits for its answer.
    pub async fn request(
        &self,
        node: impl Into<NodeAddress>,
        eoj: Eoj,
        request: Request<'_>,
    ) -> Result<Answer, CallError> {
        let hub = &self.driver.hub;
        let call = Call { hub, id: hub.begin(node.into(), eoj, request)? };
        std::future::poll_fn(|context| hub.poll_answer(call.id, context)).await
    }

    /// Searches, waits for `timeout`, and returns all nodes known by then.
    pub async fn find(&self, timeout: Duration) -> Result<Vec<(NodeAddress, Node)>, Error> {
        self.search();
        tokio::time::sleep(timeout).await;
        Ok(self.nodes())
    }

    controller!(async);
}

/// Abandons the request when dropped.
struct Call<'a> {
    hub: &'a Hub<core::Controller>,
    id: RequestId,
}

impl Drop for Call<'_> {
    fn drop(&mut self) {
        self.hub.forget(self.id);
    }
}

/// A subscription to notifications and to nodes found and lost. It queues up to 65,536 events.
#[derive(Debug)]
pub struct Updates {
    feed: Arc<Feed<ControllerEvent>>,
}

impl Updates {
    /// The next event; `None` once the source is closed. Cancel-safe.
    pub async fn recv(&self) -> Option<ControllerEvent> {
        std::future::poll_fn(|context| self.feed.poll(context)).await
    }

    /// The number of events dropped because the queue was full.
    pub fn missed(&self) -> u64 {
        self.feed.missed()
    }
}

/// A subscription to the events of a device. It queues up to 65,536 events.
#[derive(Debug)]
pub struct Events {
    feed: Arc<Feed<DeviceEvent>>,
}

impl Events {
    /// The next event; `None` once the source is closed. Cancel-safe.
    pub async fn recv(&self) -> Option<DeviceEvent> {
        std::future::poll_fn(|context| self.feed.poll(context)).await
    }

    /// The number of events dropped because the queue was full.
    pub fn missed(&self) -> u64 {
        self.feed.missed()
    }
}

/// A node that other nodes read and write.
#[derive(Debug, Clone)]
pub struct Device {
    driver: Arc<Driver<core::Device>>,
}

impl Device {
    /// Opens the sockets, starts the task, and announces the node.
    pub fn open(settings: &Settings, description: Description) -> Result<Self, Error> {
        let core = core::Device::new(&description)?;
        let make = |links, streams, kick| Hub::new(core, links, streams, kick);
        let device = Self { driver: Driver::start(settings, false, make)? };
        device.announce();
        Ok(device)
    }

    /// Subscribes to writes by other nodes.
    pub fn events(&self) -> Result<Events, Error> {
        Ok(Events { feed: self.driver.hub.listen()? })
    }

    device!();
}

/// A hub and its driver task. Dropping it ends both.
#[derive(Debug)]
struct Driver<E: Engine> {
    hub: Arc<Hub<E>>,
    task: AbortHandle,
}

impl<E: Engine> Driver<E> {
    /// `asks`: outgoing connections are possible.
    fn start(
        settings: &Settings,
        asks: bool,
        make: impl FnOnce(Links, Streams, Kick) -> Hub<E>,
    ) -> Result<Arc<Self>, Error> {
        let runtime = Handle::try_current().map_err(|_| Error::NoRuntime)?;
        let links = Links::open(settings, None)?;
        let poller = links.poller()?;
        (0..).zip(&links.unicast).try_for_each(|(key, socket)| poller.add(socket, key))?;
        let streams = Streams::open(settings, asks, &poller)?;
        let poller = AsyncPoller::new(Arc::new(poller))?;
        let notify = Arc::new(Notify::new());
        let kick = notify.clone();
        let hub = Arc::new(make(links, streams, Box::new(move || kick.notify_one())));
        let end = EndOnDrop(hub.clone());
        let task = runtime.spawn(async move {
            // No handle is left to receive an error; waiting calls return `Closed`.
            let _ = drive(&*end.0, &poller, &notify).await;
        });
        Ok(Arc::new(Self { hub, task: task.abort_handle() }))
    }
}

impl<E: Engine> Drop for Driver<E> {
    fn drop(&mut self) {
        self.hub.end();
        self.task.abort();
    }
}

/// Receives until the hub ends or the system fails.
async fn drive<E: Engine>(hub: &Hub<E>, poller: &AsyncPoller, notify: &Notify) -> io::Result<()> {
    let mut ready = Ready::default();
    while !hub.is_over() {
        let until = tokio::time::Instant::from_std(Instant::now() + hub.rest(WAIT));
        ready.clear();
        tokio::select! {
            found = poller.wait(&mut ready) => found?,
            () = notify.notified() => {}
            () = tokio::time::sleep_until(until) => {}
        }
        for socket in ready.iter() {
            if socket.key == STREAMS_KEY {
                hub.turn();
            } else {
                hub.with_lead(|batch| hub.drain(socket.key as usize, batch));
            }
        }
        hub.tick();
    }
    Ok(())
}
