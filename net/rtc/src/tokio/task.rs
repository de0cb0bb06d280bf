//! A task that drives a hub.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use netdyno_io::tokio::AsyncPoller;
use netdyno_io::{Events, Poller};
use tokio::runtime::Handle;
use tokio::sync::Notify;
use tokio::task::AbortHandle;

use crate::error::Error;
use crate::handle::{EndOnDrop, Hub};
use crate::settings::Settings;
use crate::switch::PortMember;

/// A hub and the task that drives it. Dropping it ends both.
#[derive(Debug)]
pub(crate) struct Driver {
    pub(crate) hub: Arc<Hub>,
    task: AbortHandle,
}

impl Driver {
    pub(crate) fn start(
        address: SocketAddr,
        settings: Settings,
        member: Option<PortMember>,
    ) -> Result<Self, Error> {
        let runtime = Handle::try_current().map_err(|_| Error::NoRuntime)?;
        let poller = Arc::new(Poller::new()?);
        let notify = Arc::new(Notify::new());
        let notified = notify.clone();
        let kick = Arc::new(move || notified.notify_one());
        let hub = Arc::new(Hub::bind(address, settings, poller.clone(), kick, member)?);
        let poller = AsyncPoller::new(poller)?;
        let turned = EndOnDrop(hub.clone());
        let task = runtime.spawn(async move {
            // An error cannot be reported; the connections end.
            let _ = drive(&turned.0, &poller, &notify).await;
        });
        Ok(Self { hub, task: task.abort_handle() })
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        self.hub.end();
        self.task.abort();
    }
}

/// Runs turns of the hub until it is over or the system fails.
async fn drive(hub: &Hub, poller: &AsyncPoller, notify: &Notify) -> std::io::Result<()> {
    let mut events = Events::default();
    loop {
        match hub.turn(&events)? {
            Some(Duration::ZERO) => {
                // Lets other tasks run; the poller reports what arrived meanwhile.
                tokio::task::yield_now().await;
                poller.check(&mut events)?;
            }
            rest => wait(poller, notify, &mut events, rest).await?,
        }
    }
}

/// Waits for datagrams, for a handle that left something to do, or for a timer.
async fn wait(
    poller: &AsyncPoller,
    notify: &Notify,
    events: &mut Events,
    rest: Option<Duration>,
) -> std::io::Result<()> {
    let sleep = async {
        match rest {
            Some(rest) => tokio::time::sleep(rest).await,
            None => std::future::pending().await,
        }
    };
    events.clear();
    tokio::select! {
        ready = poller.wait(events) => ready,
        () = notify.notified() => Ok(()),
        () = sleep => Ok(()),
    }
}
