//! Controllers and devices with async methods, for Tokio (feature `tokio`, on Linux). The types have the
//! names of [`blocking`](crate::blocking).
//!
//! A task of the runtime receives messages. Handles can be awaited on any runtime. Dropping the future of a
//! request abandons it.

use std::time::Duration;

use netdyno_echonet_core::RequestId;
use netdyno_io::hub::{Launch, ready};

use crate::limits::THREAD_NAME;
use crate::links::Links;
use crate::shared::{Hub, interface};

interface!(
    controller: open_controller,
    device: open_device,
    answer: answer,
    wait: ready,
    async: [async],
    await: [.await]
);

impl Controller {
    /// Searches, waits for `timeout`, and returns all nodes known by then.
    pub async fn find(&self, timeout: Duration) -> Result<Vec<(NodeAddress, Node)>, Error> {
        self.search();
        tokio::time::sleep(timeout).await;
        Ok(self.nodes())
    }
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

async fn answer(hub: &Hub<core::Controller>, id: RequestId) -> Result<Answer, CallError> {
    let call = Call { hub, id };
    ready(|wait| hub.poll_answer(call.id, wait)).await
}

fn open_controller(settings: &Settings, config: ControllerConfig) -> Result<Driver<core::Controller>, Error> {
    let links = Links::open(settings, None)?;
    let launch = launch(&links)?;
    let hub = Hub::controller(settings, config, links, &launch)?;
    Ok(launch.start(Arc::new(hub), THREAD_NAME)?)
}

fn open_device(settings: &Settings, description: &Description) -> Result<Driver<core::Device>, Error> {
    let links = Links::open(settings, None)?;
    let launch = launch(&links)?;
    let hub = Hub::device(settings, description, links, &launch)?;
    Ok(launch.start(Arc::new(hub), THREAD_NAME)?)
}

/// Prepares a task that receives from all sockets.
fn launch(links: &Links) -> Result<Launch, Error> {
    let poller = links.poller()?;
    (0..).zip(&links.unicast).try_for_each(|(key, socket)| poller.add(socket, key))?;
    Launch::task(poller).ok_or(Error::NoRuntime)
}
