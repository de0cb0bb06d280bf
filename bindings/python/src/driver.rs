//! One endpoint and the thread that drives it. The thread never takes the interpreter's lock, so that neither waits for the other.

use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsRawFd;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use netdyno_rtc::{Endpoint, Error, IceServer, Port, Settings, Waker};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::bell::Mailbox;
use crate::ends::Ends;
use crate::errors::{closed, raised};
use crate::peer::Peer;
use crate::shared::SharedChannel;

type Task = Box<dyn FnOnce(&mut Endpoint, &mut Ends) + Send>;

/// What the thread does between two turns.
enum Order {
    /// There is something to send on the channel, or its buffered amount is asked for.
    Feed(Arc<SharedChannel>),
    Task(Task),
}

/// The way to a driver's thread, which ends when it is told to, or when the last of these is dropped, and with it all connections.
pub(crate) struct Hand {
    orders: Mutex<Option<Sender<Order>>>,
    waker: Waker,
    mailbox: Arc<Mailbox>,
    address: SocketAddr,
    thread: Option<JoinHandle<()>>,
}

impl Hand {
    fn bind(address: SocketAddr, settings: Settings) -> Result<Self, Error> {
        let endpoint = Endpoint::bind(address, settings)?;
        let mailbox = Arc::new(Mailbox::new()?);
        let (waker, address) = (endpoint.waker(), endpoint.local_address());
        let (orders, inbox) = channel();
        let ends = Ends::new(mailbox.clone());
        let thread = thread::Builder::new().name("netdyno-rtc".to_owned());
        let thread = thread.spawn(move || drop(drive(endpoint, ends, &inbox)))?;
        let orders = Mutex::new(Some(orders));
        Ok(Self { orders, waker, mailbox, address, thread: Some(thread) })
    }

    pub(crate) fn feed(&self, channel: &Arc<SharedChannel>) {
        self.order(Order::Feed(channel.clone()));
    }

    /// Has the thread do something, some time soon.
    pub(crate) fn post(&self, task: impl FnOnce(&mut Endpoint, &mut Ends) + Send + 'static) {
        self.order(Order::Task(Box::new(task)));
    }

    /// Has the thread do something and waits for what comes of it: as long as one turn takes at most.
    pub(crate) fn run<T: Send + 'static>(
        &self,
        py: Python<'_>,
        task: impl FnOnce(&mut Endpoint, &mut Ends) -> Result<T, Error> + Send + 'static,
    ) -> PyResult<T> {
        let (give, result) = channel();
        self.post(move |endpoint, ends| {
            // Nobody takes it if who asked is gone.
            let _ = give.send(task(endpoint, ends));
        });
        py.detach(move || result.recv()).map_err(|_| closed())?.map_err(raised)
    }

    /// Tells every peer, and then the thread ends. Nothing can be ordered any more.
    fn end(&self) {
        self.orders().take();
        self.waker.wake();
    }

    fn orders(&self) -> MutexGuard<'_, Option<Sender<Order>>> {
        self.orders.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn order(&self, order: Order) {
        // Where the system failed and the thread is gone, its connections are too.
        if let Some(orders) = &*self.orders()
            && orders.send(order).is_ok()
        {
            self.waker.wake();
        }
    }
}

impl Drop for Hand {
    fn drop(&mut self) {
        self.end();
        if let Some(thread) = self.thread.take() {
            // A panic of the thread has been told by itself.
            let _ = thread.join();
        }
    }
}

/// Takes turns until nobody can give orders any more, or the system fails.
fn drive(mut endpoint: Endpoint, mut ends: Ends, inbox: &Receiver<Order>) -> Result<(), Error> {
    let mut rest = None;
    loop {
        endpoint.poll(rest, &mut ends)?;
        loop {
            match inbox.try_recv() {
                Ok(Order::Feed(channel)) => ends.has_some(&channel),
                Ok(Order::Task(task)) => task(&mut endpoint, &mut ends),
                Err(TryRecvError::Empty) => break,
                Err(TryRecvError::Disconnected) => return Ok(()),
            }
        }
        rest = ends.feed(&mut endpoint).then_some(Duration::ZERO);
        ends.mailbox().tell();
    }
}

/// The driver of one event loop.
#[pyclass(frozen, module = "netdyno_rtc._native")]
pub(crate) struct Driver {
    hand: Arc<Hand>,
}

#[pymethods]
impl Driver {
    /// Binds a UDP port of that address (0: the system chooses one), and starts the thread. A server is a URL, a name and a password; both
    /// empty for STUN.
    #[new]
    #[expect(clippy::too_many_arguments, reason = "what may be set")]
    fn new(
        py: Python<'_>,
        address: &str,
        port: u16,
        ice_servers: Vec<(String, String, String)>,
        relay_only: bool,
        public_addresses: Vec<String>,
        ports: Option<(u16, u16)>,
        tcp_port: Option<u16>,
        server_roots: Option<String>,
    ) -> PyResult<Self> {
        let address = SocketAddr::new(ip_address("address", address)?, port);
        let mut settings = Settings::new().map_err(raised)?;
        settings.ice_servers =
            ice_servers.into_iter().map(|(url, name, word)| IceServer::turn(url, name, word)).collect();
        (settings.relay_only, settings.tcp_port) = (relay_only, tcp_port);
        settings.server_roots = server_roots;
        let public = public_addresses.iter().map(|text| ip_address("publicAddresses", text));
        settings.public_addresses = public.collect::<PyResult<_>>()?;
        settings.ports = ports.map(|(first, last)| first..=last);
        if let Some((first, last)) = ports.filter(|(first, last)| *first == 0 || first > last) {
            let text = format!("ports: {first} to {last} is no range, such as (50000, 50999)");
            return Err(PyValueError::new_err(text));
        }
        let hand = py.detach(|| Hand::bind(address, settings)).map_err(raised)?;
        Ok(Self { hand: Arc::new(hand) })
    }

    /// What is readable when there is news.
    fn fileno(&self) -> i32 {
        self.hand.mailbox.reader().as_raw_fd()
    }

    /// The address and port that it is bound to.
    #[getter]
    fn address(&self) -> (String, u16) {
        (self.hand.address.ip().to_string(), self.hand.address.port())
    }

    /// Who has news, by number, and which, as bits.
    fn take(&self) -> Vec<(u64, u8)> {
        self.hand.mailbox.take()
    }

    /// Ends the thread, and all connections.
    fn end(&self) {
        self.hand.end();
    }

    /// A new connection, on a port of its own or on the driver's.
    fn add(&self, py: Python<'_>, own_port: bool) -> PyResult<Peer> {
        let port = if own_port { Port::Own } else { Port::Shared };
        let shared = self.hand.run(py, move |endpoint, ends| ends.add(endpoint, port))?;
        Ok(Peer::new(self.hand.clone(), shared))
    }
}

fn ip_address(name: &str, text: &str) -> PyResult<IpAddr> {
    let wrong = |_| PyValueError::new_err(format!("{name}: {text:?} is no IP address, such as 192.0.2.1"));
    text.parse().map_err(wrong)
}
