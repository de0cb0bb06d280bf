//! An endpoint as the Python half sees it.

use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsRawFd;
use std::sync::Arc;

use netdyno_rtc::{IceServer, Port, Settings};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::errors::to_py_err;
use crate::handle::DriverHandle;
use crate::peer::Peer;

/// The driver of one event loop.
#[pyclass(frozen, module = "netdyno_rtc._native")]
pub(crate) struct Driver {
    handle: Arc<DriverHandle>,
}

#[pymethods]
impl Driver {
    /// Binds a UDP port of the address (0: the system chooses one) and starts the thread. A server is a URL,
    /// a username and a password; the latter two are empty for STUN.
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
        let mut settings = Settings::new().map_err(to_py_err)?;
        settings.ice_servers =
            ice_servers.into_iter().map(|(url, name, word)| IceServer::turn(url, name, word)).collect();
        (settings.relay_only, settings.tcp_port) = (relay_only, tcp_port);
        settings.server_roots = server_roots;
        let public = public_addresses.iter().map(|text| ip_address("publicAddresses", text));
        settings.public_addresses = public.collect::<PyResult<_>>()?;
        settings.ports = ports.map(|(first, last)| first..=last);
        if let Some((first, last)) = ports.filter(|(first, last)| *first == 0 || first > last) {
            let text = format!("ports: {first} to {last} is not a range, such as (50000, 50999)");
            return Err(PyValueError::new_err(text));
        }
        let handle = py.detach(|| DriverHandle::bind(address, settings)).map_err(to_py_err)?;
        Ok(Self { handle: Arc::new(handle) })
    }

    /// The file descriptor that is readable when there are events.
    fn fileno(&self) -> i32 {
        self.handle.queue.reader().as_raw_fd()
    }

    /// The bound address and port.
    #[getter]
    fn address(&self) -> (String, u16) {
        (self.handle.address.ip().to_string(), self.handle.address.port())
    }

    /// Pending events: numbers of channels and connections, each with its events as bits.
    fn take(&self) -> Vec<(u64, u8)> {
        self.handle.queue.take()
    }

    /// Ends the thread and all connections.
    fn end(&self) {
        self.handle.end();
    }

    /// Creates a connection, on a separate port or on the driver's.
    fn add(&self, py: Python<'_>, own_port: bool) -> PyResult<Peer> {
        let port = if own_port { Port::Own } else { Port::Shared };
        let shared = self.handle.run(py, move |endpoint, connections| connections.add(endpoint, port))?;
        Ok(Peer::new(self.handle.clone(), shared))
    }
}

fn ip_address(name: &str, text: &str) -> PyResult<IpAddr> {
    let wrong =
        |_| PyValueError::new_err(format!("{name}: {text:?} is not an IP address, such as 192.0.2.1"));
    text.parse().map_err(wrong)
}
