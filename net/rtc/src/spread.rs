//! What it takes to have several reactors behind one address: a port for each, and the one with the fewest connections.

use std::io;
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::thread;

use crate::error::Error;
use crate::settings::Settings;

/// Starts one on each port: `address` is the first's, the others have the ports behind it, or all have what the kernel chooses.
pub(crate) fn start_each<T>(
    address: SocketAddr,
    settings: &Settings,
    mut start: impl FnMut(SocketAddr, Settings) -> Result<T, Error>,
) -> Result<Vec<T>, Error> {
    let count = match settings.reactors {
        0 => thread::available_parallelism().map_or(1, NonZeroUsize::get),
        count => count,
    };
    let one = |offset: usize| {
        let port = match address.port() {
            0 => Some(0),
            first => u16::try_from(offset).ok().and_then(|offset| first.checked_add(offset)),
        };
        let port = port.ok_or_else(|| {
            let why =
                format!("{count} reactors from port {} on: there are no ports beyond 65535", address.port());
            io::Error::new(io::ErrorKind::InvalidInput, why)
        })?;
        start(SocketAddr::new(address.ip(), port), settings.clone())
    };
    (0..count).map(one).collect()
}

/// The drivers of an endpoint, one for each reactor. What is connected holds the one that drives it.
#[derive(Debug)]
pub(crate) struct Drivers<D> {
    all: Arc<[Arc<D>]>,
}

impl<D> Clone for Drivers<D> {
    fn clone(&self) -> Self {
        Self { all: self.all.clone() }
    }
}

impl<D> Drivers<D> {
    pub(crate) fn start(
        address: SocketAddr,
        settings: &Settings,
        start: impl FnMut(SocketAddr, Settings) -> Result<D, Error>,
    ) -> Result<Self, Error> {
        let all = start_each(address, settings, start)?;
        Ok(Self { all: all.into_iter().map(Arc::new).collect() })
    }

    /// In the order of their ports; there is at least one.
    pub(crate) fn all(&self) -> &[Arc<D>] {
        &self.all
    }

    /// The one with the fewest connections: each of them has a reference to it.
    pub(crate) fn least(&self) -> Arc<D> {
        let least = self.all.iter().min_by_key(|driver| Arc::strong_count(driver));
        least.expect("there is at least one").clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn started(first_port: u16, reactors: usize) -> Result<Drivers<u16>, Error> {
        let mut settings = Settings::new().unwrap();
        settings.reactors = reactors;
        let address = SocketAddr::from(([127, 0, 0, 1], first_port));
        Drivers::start(address, &settings, |address, _| Ok(address.port()))
    }

    #[test]
    fn each_has_a_port_of_its_own() {
        for (first, count, expected) in
            [(0, 3, vec![0, 0, 0]), (7000, 3, vec![7000, 7001, 7002]), (65_534, 2, vec![65_534, 65_535])]
        {
            let ports: Vec<u16> = started(first, count).unwrap().all().iter().map(|port| **port).collect();
            assert_eq!(ports, expected);
        }
        let error = started(65_534, 3).unwrap_err().to_string();
        assert!(error.contains("3 reactors from port 65534 on"), "{error}");
        assert!(!started(0, 0).unwrap().all().is_empty(), "0: one for each CPU");
    }

    #[test]
    fn connections_go_where_there_are_fewest() {
        let drivers = started(1, 3).unwrap();
        let mut held: Vec<_> = (0..6).map(|_| drivers.least()).collect();
        let mut ports: Vec<u16> = held.iter().map(|driver| **driver).collect();
        ports.sort_unstable();
        assert_eq!(ports, [1, 1, 2, 2, 3, 3]);
        held.retain(|driver| **driver != 2);
        assert_eq!(*drivers.least(), 2);
    }
}
