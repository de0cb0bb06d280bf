//! Threads and tasks that run a hub.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

#[cfg(all(feature = "tokio", target_os = "linux"))]
use tokio::{runtime::Handle, sync::Notify, task::AbortHandle};

use crate::poller::{Events, Poller};

/// Wakes a driver.
pub type Kick = Arc<dyn Fn() + Send + Sync>;

/// A [`Hub`](super::Hub) with its sockets and timers, run by a driver.
pub trait Drive: Send + Sync + 'static {
    /// Handles sockets that are ready, and timers. Returns the time until the next turn (`None`: until
    /// something happens). After an error, the driver ends.
    fn turn(&self, events: &Events) -> io::Result<Option<Duration>>;

    /// Ends the hub: waiting calls are woken, and the next turn returns an error.
    fn end(&self);

    /// As [`end`](Self::end), because a system call of the driver failed. It does nothing if the hub has ended
    /// before. The default drops the reason.
    fn fail(&self, error: io::Error) {
        drop(error);
        self.end();
    }
}

/// A hub and what runs it. Dropping it ends both.
#[derive(Debug)]
pub struct Driver<H: Drive> {
    hub: Arc<H>,
    #[cfg(all(feature = "tokio", target_os = "linux"))]
    task: Option<AbortHandle>,
    /// Joined when dropped, after the hub has ended.
    threads: Vec<Thread>,
}

impl<H: Drive> Driver<H> {
    /// A driver without threads, yet.
    pub fn new(hub: Arc<H>) -> Self {
        Self {
            hub,
            #[cfg(all(feature = "tokio", target_os = "linux"))]
            task: None,
            threads: Vec::new(),
        }
    }

    /// The hub.
    pub fn hub(&self) -> &Arc<H> {
        &self.hub
    }

    /// Runs a closure on a new thread. The hub ends with it.
    pub fn spawn(&mut self, name: &str, run: impl FnOnce(&H) + Send + 'static) -> io::Result<()> {
        let hub = EndOnDrop(self.hub.clone());
        self.threads.push(Thread::spawn(name, move || run(&hub.0))?);
        Ok(())
    }
}

impl<H: Drive> Drop for Driver<H> {
    fn drop(&mut self) {
        self.hub.end();
        #[cfg(all(feature = "tokio", target_os = "linux"))]
        self.task.iter().for_each(AbortHandle::abort);
    }
}

/// Ends the hub with its thread or task, even after a panic or when its runtime shuts down, so that waiting
/// calls are woken.
struct EndOnDrop<H: Drive>(Arc<H>);

impl<H: Drive> Drop for EndOnDrop<H> {
    fn drop(&mut self) {
        self.0.end();
    }
}

/// A thread of a driver. Dropping it joins the thread, which must have been asked to end before.
#[derive(Debug)]
pub struct Thread(Option<JoinHandle<()>>);

impl Thread {
    /// Starts a thread.
    pub fn spawn(name: &str, run: impl FnOnce() + Send + 'static) -> io::Result<Self> {
        thread::Builder::new().name(name.to_owned()).spawn(run).map(|handle| Self(Some(handle)))
    }
}

impl Drop for Thread {
    fn drop(&mut self) {
        // The thread itself may drop the last handle, by calling a waker; it then ends on its own.
        let thread = self.0.take().filter(|handle| handle.thread().id() != thread::current().id());
        if let Some(thread) = thread {
            // The panic hook has already reported a panic of the thread.
            let _ = thread.join();
        }
    }
}

/// A driver to be started: its poller and how it is woken. The hub is made in between.
pub struct Launch {
    poller: Arc<Poller>,
    kick: Kick,
    #[cfg(all(feature = "tokio", target_os = "linux"))]
    task: Option<(Handle, Arc<Notify>)>,
}

impl fmt::Debug for Launch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Launch").field("poller", &self.poller).finish_non_exhaustive()
    }
}

impl Launch {
    /// Runs turns in a thread.
    pub fn thread(poller: Poller) -> Self {
        let waker = poller.waker();
        Self {
            poller: Arc::new(poller),
            kick: Arc::new(move || waker.wake()),
            #[cfg(all(feature = "tokio", target_os = "linux"))]
            task: None,
        }
    }

    /// Runs turns in a task of the current Tokio runtime, which needs its I/O and time drivers; `None`:
    /// there is no runtime.
    #[cfg(all(feature = "tokio", target_os = "linux"))]
    pub fn task(poller: Poller) -> Option<Self> {
        let runtime = Handle::try_current().ok()?;
        let notify = Arc::new(Notify::new());
        let notified = notify.clone();
        let kick: Kick = Arc::new(move || notified.notify_one());
        Some(Self { poller: Arc::new(poller), kick, task: Some((runtime, notify)) })
    }

    /// Only Linux has tasks; elsewhere, this is a thread.
    #[cfg(not(all(feature = "tokio", target_os = "linux")))]
    pub fn task(poller: Poller) -> Option<Self> {
        Some(Self::thread(poller))
    }

    /// The poller.
    pub fn poller(&self) -> &Arc<Poller> {
        &self.poller
    }

    /// Wakes the driver.
    pub fn kick(&self) -> Kick {
        self.kick.clone()
    }

    /// Starts the driver. `name` is the name of its thread.
    pub fn start<H: Drive>(self, hub: Arc<H>, name: &str) -> io::Result<Driver<H>> {
        let mut driver = Driver::new(hub);
        #[cfg(all(feature = "tokio", target_os = "linux"))]
        if let Some((runtime, notify)) = self.task {
            let poller = crate::tokio::AsyncPoller::new(self.poller)?;
            let hub = EndOnDrop(driver.hub.clone());
            let task = runtime.spawn(async move {
                if let Err(error) = run_task(&*hub.0, &poller, &notify).await {
                    hub.0.fail(error);
                }
            });
            driver.task = Some(task.abort_handle());
            return Ok(driver);
        }
        driver.spawn(name, move |hub| run_thread(hub, &self.poller))?;
        Ok(driver)
    }
}

/// Runs turns until the hub is over or the system fails.
fn run_thread(hub: &impl Drive, poller: &Poller) {
    let mut events = Events::default();
    loop {
        let turned = hub.turn(&events).and_then(|rest| poller.wait(&mut events, rest));
        if let Err(error) = turned {
            return hub.fail(error);
        }
    }
}

/// As [`run_thread`], in a task.
#[cfg(all(feature = "tokio", target_os = "linux"))]
async fn run_task(hub: &impl Drive, poller: &crate::tokio::AsyncPoller, notify: &Notify) -> io::Result<()> {
    let mut events = Events::default();
    loop {
        let rest = hub.turn(&events)?;
        events.clear();
        if rest == Some(Duration::ZERO) {
            // Lets other tasks run; the poller reports what arrived meanwhile.
            tokio::task::yield_now().await;
            poller.check(&mut events)?;
            continue;
        }
        let sleep = async {
            match rest {
                Some(rest) => tokio::time::sleep(rest).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            ready = poller.wait(&mut events) => ready?,
            () = notify.notified() => {}
            () = sleep => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::ErrorKind;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::mpsc::{Sender, channel};

    use super::*;

    /// Fails in its first turn, and reports how it ends.
    struct Failing {
        ends: Sender<Option<ErrorKind>>,
        is_over: AtomicBool,
    }

    impl Drive for Failing {
        fn turn(&self, _: &Events) -> io::Result<Option<Duration>> {
            Err(ErrorKind::HostUnreachable.into())
        }

        fn end(&self) {
            if !self.is_over.swap(true, Ordering::Relaxed) {
                self.ends.send(None).unwrap();
            }
        }

        fn fail(&self, error: io::Error) {
            if !self.is_over.swap(true, Ordering::Relaxed) {
                self.ends.send(Some(error.kind())).unwrap();
            }
        }
    }

    #[test]
    fn a_failed_system_call_is_passed_on_as_the_reason() {
        let (ends, end) = channel();
        let start = |launch: Launch| {
            launch.start(Arc::new(Failing { ends: ends.clone(), is_over: AtomicBool::new(false) }), "fails")
        };
        let thread = start(Launch::thread(Poller::new().unwrap())).unwrap();
        assert_eq!(end.recv().unwrap(), Some(ErrorKind::HostUnreachable));
        drop(thread);
        #[cfg(all(feature = "tokio", target_os = "linux"))]
        {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let task = start(Launch::task(Poller::new().unwrap()).unwrap()).unwrap();
                while task.task.as_ref().is_some_and(|task| !task.is_finished()) {
                    tokio::task::yield_now().await;
                }
            });
            assert_eq!(end.recv().unwrap(), Some(ErrorKind::HostUnreachable));
        }
    }
}
