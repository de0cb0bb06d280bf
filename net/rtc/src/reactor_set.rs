//! Starts several reactors at one address, with a port each or a shared one, and chooses the one with the
//! fewest connections.

use std::io;
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::thread;

use crate::error::Error;
use crate::settings::Settings;
use crate::switch::PortMember;

/// Starts one reactor on each port: the first on the port of `address`, the others on the following ports, or
/// all on ports that the kernel chooses. All share one port if the settings ask for it and the system
/// supports it.
pub(crate) fn start_each<T>(
    address: SocketAddr,
    settings: &Settings,
    mut start: impl FnMut(SocketAddr, Settings, Option<PortMember>) -> Result<T, Error>,
) -> Result<Vec<T>, Error> {
    let count = match settings.reactors {
        0 => thread::available_parallelism().map_or(1, NonZeroUsize::get),
        count => count,
    };
    // Only Linux distributes datagrams over the sockets of one port.
    if settings.one_port && count > 1 && cfg!(target_os = "linux") {
        let members = PortMember::group(count).into_iter().enumerate();
        return members
            .map(|(offset, member)| start(address, of_one(settings, offset, count)?, Some(member)))
            .collect();
    }
    let one = |offset: usize| {
        let port = port_of(address.port(), offset, count)?;
        start(SocketAddr::new(address.ip(), port), of_one(settings, offset, count)?, None)
    };
    let all: Result<_, _> = (0..count).map(one).collect();
    all.map_err(|error| of_several(error, address.port(), count))
}

/// The settings of one reactor: its TCP port, and its share of the checks to strangers.
fn of_one(settings: &Settings, offset: usize, count: usize) -> io::Result<Settings> {
    let share = |of_all: u32| of_all / u32::try_from(count).unwrap_or(u32::MAX).max(1);
    let mut settings = settings.clone();
    settings.stranger_checks_per_s = share(settings.stranger_checks_per_s);
    settings.stranger_checks_at_once = share(settings.stranger_checks_at_once);
    settings.tcp_port = settings.tcp_port.map(|first| port_of(first, offset, count)).transpose()?;
    Ok(settings)
}

/// The port of the reactor with this index; 0 stands for any.
fn port_of(first: u16, offset: usize, count: usize) -> io::Result<u16> {
    if first == 0 {
        return Ok(0);
    }
    let port = u16::try_from(offset).ok().and_then(|offset| first.checked_add(offset));
    port.ok_or_else(|| {
        let why = format!("{count} reactors from port {first} on: there are no ports beyond 65535");
        io::Error::new(io::ErrorKind::InvalidInput, why)
    })
}

/// Explains that several ports are needed, because the caller asked for one.
fn of_several(error: Error, first: u16, count: usize) -> Error {
    match error {
        Error::Bind { address, source, .. }
            if first > 0 && count > 1 && source.kind() == io::ErrorKind::AddrInUse =>
        {
            let last = usize::from(first) + count - 1;
            let remedy = format!(
                "{count} reactors take the ports {first} to {last}: choose a first port with that many free, fewer reactors, or port 0"
            );
            Error::Bind { address, source, remedy }
        }
        other => other,
    }
}

/// The drivers of an endpoint, one for each reactor. A connection keeps its driver alive.
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
        start: impl FnMut(SocketAddr, Settings, Option<PortMember>) -> Result<D, Error>,
    ) -> Result<Self, Error> {
        let all = start_each(address, settings, start)?;
        Ok(Self { all: all.into_iter().map(Arc::new).collect() })
    }

    /// In the order of their ports; at least one.
    pub(crate) fn all(&self) -> &[Arc<D>] {
        &self.all
    }

    /// The driver with the fewest connections, each of which holds a reference to it.
    pub(crate) fn least_loaded(&self) -> Arc<D> {
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
        Drivers::start(address, &settings, |address, _, _| Ok(address.port()))
    }

    #[test]
    fn each_has_a_port_of_its_own() {
        for (first, count, expected) in
            [(0, 3, vec![0, 0, 0]), (7000, 3, vec![7000, 7001, 7002]), (65_534, 2, vec![65_534, 65_535])]
        {
            let ports: Vec<u16> = started(first, count).unwrap().all().iter().map(|port| **port).collect();
            assert_eq!(ports, expected);
        }
        let mut settings = Settings::new().unwrap();
        (settings.reactors, settings.tcp_port) = (3, Some(443));
        for one_port in [false, true] {
            settings.one_port = one_port;
            let start = |_, settings: Settings, _: Option<PortMember>| Ok(settings.tcp_port.unwrap());
            let any = SocketAddr::from(([127, 0, 0, 1], 0));
            assert_eq!(start_each(any, &settings, start).unwrap(), [443, 444, 445], "over TCP, always");
        }
        let error = started(65_534, 3).unwrap_err().to_string();
        assert!(error.contains("3 reactors from port 65534 on"), "{error}");
        assert!(!started(0, 0).unwrap().all().is_empty(), "0: one for each CPU");
    }

    #[test]
    fn an_occupied_port_is_reported_with_the_range() {
        let mut settings = Settings::new().unwrap();
        settings.reactors = 3;
        let fail = |first_port: u16, kind: io::ErrorKind| {
            let address = SocketAddr::from(([127, 0, 0, 1], first_port));
            let start = |address: SocketAddr, _, _: Option<PortMember>| {
                let is_second = address.port() == 0 || address.port() == first_port + 1;
                if is_second { Err(Error::bind(address, kind.into())) } else { Ok(()) }
            };
            start_each(address, &settings, start).unwrap_err().to_string()
        };
        let text = fail(7000, io::ErrorKind::AddrInUse);
        assert!(
            text.contains("127.0.0.1:7001") && text.contains("3 reactors take the ports 7000 to 7002"),
            "{text}"
        );
        for (first, kind, remedy) in [
            (0, io::ErrorKind::AddrInUse, "0 for any"),
            (7000, io::ErrorKind::AddrNotAvailable, "an address of this machine"),
            (7000, io::ErrorKind::PermissionDenied, "below 1024"),
        ] {
            let text = fail(first, kind);
            assert!(text.contains(remedy) && !text.contains("reactors"), "{text}");
        }
    }

    #[test]
    fn connections_go_to_the_least_loaded_reactor() {
        let drivers = started(1, 3).unwrap();
        let mut held: Vec<_> = (0..6).map(|_| drivers.least_loaded()).collect();
        let mut ports: Vec<u16> = held.iter().map(|driver| **driver).collect();
        ports.sort_unstable();
        assert_eq!(ports, [1, 1, 2, 2, 3, 3]);
        held.retain(|driver| **driver != 2);
        assert_eq!(*drivers.least_loaded(), 2);
    }
}
