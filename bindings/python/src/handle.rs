//! The thread that drives an endpoint, and the handle through which Python controls it.

use std::net::SocketAddr;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use netdyno_rtc::{Endpoint, Error, Settings, Waker};
use pyo3::prelude::*;

use crate::connections::Connections;
use crate::errors::{closed, to_py_err};
use crate::events::EventQueue;
use crate::shared::SharedChannel;

type Task = Box<dyn FnOnce(&mut Endpoint, &mut Connections) + Send>;

/// What the thread does between two turns.
enum Command {
    /// Send on the channel, or update its buffered amount.
    Feed(Arc<SharedChannel>),
    Task(Task),
}

/// Controls a driver's thread, which ends on `end` or when the last handle is dropped. All connections end
/// with it.
pub(crate) struct DriverHandle {
    commands: Mutex<Option<Sender<Command>>>,
    waker: Waker,
    pub(crate) queue: Arc<EventQueue>,
    pub(crate) address: SocketAddr,
    thread: Option<JoinHandle<()>>,
}

impl DriverHandle {
    pub(crate) fn bind(address: SocketAddr, settings: Settings) -> Result<Self, Error> {
        let endpoint = Endpoint::bind(address, settings)?;
        let queue = Arc::new(EventQueue::new()?);
        let (waker, address) = (endpoint.waker(), endpoint.local_address());
        let (commands, inbox) = channel();
        let connections = Connections::new(queue.clone());
        let thread = thread::Builder::new().name("netdyno-rtc".to_owned());
        let thread = thread.spawn(move || drop(drive(endpoint, connections, &inbox)))?;
        let commands = Mutex::new(Some(commands));
        Ok(Self { commands, waker, queue, address, thread: Some(thread) })
    }

    pub(crate) fn feed(&self, channel: &Arc<SharedChannel>) {
        self.send(Command::Feed(channel.clone()));
    }

    /// Runs a closure on the thread, without waiting.
    pub(crate) fn post(&self, task: impl FnOnce(&mut Endpoint, &mut Connections) + Send + 'static) {
        self.send(Command::Task(Box::new(task)));
    }

    /// Runs a closure on the thread and returns its result. Waits for at most one turn.
    pub(crate) fn run<T: Send + 'static>(
        &self,
        py: Python<'_>,
        task: impl FnOnce(&mut Endpoint, &mut Connections) -> Result<T, Error> + Send + 'static,
    ) -> PyResult<T> {
        let (give, result) = channel();
        self.post(move |endpoint, connections| {
            // The caller may be gone.
            let _ = give.send(task(endpoint, connections));
        });
        py.detach(move || result.recv()).map_err(|_| closed())?.map_err(to_py_err)
    }

    /// Ends the thread, which notifies every peer. Further commands are ignored.
    pub(crate) fn end(&self) {
        self.commands().take();
        self.waker.wake();
    }

    fn commands(&self) -> MutexGuard<'_, Option<Sender<Command>>> {
        self.commands.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn send(&self, command: Command) {
        // If the system failed and the thread has ended, its connections have ended too.
        if let Some(commands) = &*self.commands()
            && commands.send(command).is_ok()
        {
            self.waker.wake();
        }
    }
}

impl Drop for DriverHandle {
    fn drop(&mut self) {
        self.end();
        if let Some(thread) = self.thread.take() {
            // The panic hook has already reported a panic of the thread.
            let _ = thread.join();
        }
    }
}

/// Runs turns until no handle is left or the system fails.
fn drive(
    mut endpoint: Endpoint,
    mut connections: Connections,
    inbox: &Receiver<Command>,
) -> Result<(), Error> {
    let mut rest = None;
    loop {
        endpoint.poll(rest, &mut connections)?;
        loop {
            match inbox.try_recv() {
                Ok(Command::Feed(channel)) => connections.queue_channel(&channel),
                Ok(Command::Task(task)) => task(&mut endpoint, &mut connections),
                Err(TryRecvError::Empty) => break,
                Err(TryRecvError::Disconnected) => return Ok(()),
            }
        }
        rest = connections.feed(&mut endpoint).then_some(Duration::ZERO);
        connections.queue().tell();
    }
}
