//! The network interfaces of this network namespace.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use nix::ifaddrs::getifaddrs;
use nix::net::if_::{InterfaceFlags, if_nametoindex};
use nix::sys::socket::SockaddrStorage;

/// A network interface that is up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interface {
    /// Its name, such as `eth0`.
    pub name: String,
    /// Its index, which is the scope of link-local IPv6 addresses.
    pub index: u32,
    /// Its first IPv4 address.
    pub v4: Option<Ipv4Addr>,
    /// Its first IPv6 address; a link-local one is preferred.
    pub v6: Option<Ipv6Addr>,
    /// Whether it is a loopback interface.
    pub is_loopback: bool,
    /// Whether the system reports multicast support. Loopback supports multicast without reporting it.
    pub is_multicast: bool,
}

/// A network that is attached to this machine: its addresses are reached without a router.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Network {
    /// The index of the interface.
    pub interface: u32,
    /// An address of this machine or, for a point-to-point interface, of its other end.
    pub address: IpAddr,
    /// The leading bits that all addresses of the network share.
    pub prefix_bits: u32,
}

impl Network {
    /// Lists the networks of the interfaces that are up.
    pub fn list() -> io::Result<Vec<Self>> {
        let mut all = Vec::new();
        for entry in getifaddrs()?.filter(|entry| entry.flags.contains(InterfaceFlags::IFF_UP)) {
            // The interface disappeared meanwhile.
            let Ok(interface) = if_nametoindex(entry.interface_name.as_str()) else { continue };
            if let (Some(address), Some(mask)) = (ip(entry.address), ip(entry.netmask)) {
                let prefix_bits = bits(mask).leading_ones();
                all.push(Self { interface, address, prefix_bits });
            }
            if let Some(address) = ip(entry.destination) {
                all.push(Self { interface, address, prefix_bits: if address.is_ipv4() { 32 } else { 128 } });
            }
        }
        Ok(all)
    }

    /// Whether the network has this address.
    pub fn contains(&self, address: IpAddr) -> bool {
        self.address.is_ipv4() == address.is_ipv4()
            && (bits(self.address) ^ bits(address)).leading_zeros() >= self.prefix_bits
    }
}

fn ip(address: Option<SockaddrStorage>) -> Option<IpAddr> {
    let address = address?;
    let v4 = address.as_sockaddr_in().map(|v4| IpAddr::V4(v4.ip()));
    v4.or_else(|| address.as_sockaddr_in6().map(|v6| IpAddr::V6(v6.ip())))
}

/// The bits of an address, from the highest of 128 on.
fn bits(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(v4) => u128::from(v4.to_bits()) << 96,
        IpAddr::V6(v6) => v6.to_bits(),
    }
}

/// No interface matches the name or address.
#[derive(Debug)]
pub struct InterfaceError {
    requested: String,
    known: String,
}

impl std::fmt::Display for InterfaceError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "no active interface matches {}", self.requested)?;
        match &*self.known {
            "" => f.write_str("; no interface is up: enable one, for example with ip link set lo up"),
            known => write!(f, "; active interfaces: {known}"),
        }
    }
}

impl std::error::Error for InterfaceError {}

impl Interface {
    /// Lists the interfaces that are up, by index.
    pub fn list() -> io::Result<Vec<Self>> {
        let mut all: Vec<Self> = Vec::new();
        for entry in getifaddrs()? {
            if !entry.flags.contains(InterfaceFlags::IFF_UP) {
                continue;
            }
            let at = match all.iter().position(|known| known.name == entry.interface_name) {
                Some(at) => at,
                None => {
                    // The interface disappeared meanwhile.
                    let Ok(index) = if_nametoindex(entry.interface_name.as_str()) else { continue };
                    all.push(Self {
                        name: entry.interface_name.clone(),
                        index,
                        v4: None,
                        v6: None,
                        is_loopback: entry.flags.contains(InterfaceFlags::IFF_LOOPBACK),
                        is_multicast: entry.flags.contains(InterfaceFlags::IFF_MULTICAST),
                    });
                    all.len() - 1
                }
            };
            let Some(address) = entry.address else { continue };
            if let Some(v4) = address.as_sockaddr_in() {
                all[at].v4.get_or_insert(v4.ip());
            } else if let Some(v6) = address.as_sockaddr_in6() {
                let is_closer = v6.ip().is_unicast_link_local();
                if all[at].v6.is_none_or(|known| is_closer && !known.is_unicast_link_local()) {
                    all[at].v6 = Some(v6.ip());
                }
            }
        }
        all.sort_by_key(|interface| interface.index);
        Ok(all)
    }

    /// Lists the addresses of all interfaces that are up, each once, except loopback and link-local
    /// addresses.
    pub fn addresses() -> io::Result<Vec<IpAddr>> {
        let mut all = Vec::new();
        for entry in getifaddrs()? {
            let flags = entry.flags;
            let is_up =
                flags.contains(InterfaceFlags::IFF_UP) && !flags.contains(InterfaceFlags::IFF_LOOPBACK);
            let Some(address) = entry.address.filter(|_| is_up) else { continue };
            let v4 = address.as_sockaddr_in().map(|v4| v4.ip());
            let v4 = v4.filter(|ip| !ip.is_link_local() && !ip.is_unspecified()).map(IpAddr::V4);
            let v6 = address.as_sockaddr_in6().map(|v6| v6.ip());
            let v6 = v6.filter(|ip| !ip.is_unicast_link_local() && !ip.is_unspecified()).map(IpAddr::V6);
            all.extend(v4.or(v6).filter(|ip| !all.contains(ip)));
        }
        Ok(all)
    }

    /// Finds an interface by name or by address.
    ///
    /// # Errors
    ///
    /// If none matches, the error has the kind `NotFound` and lists the active interfaces.
    pub fn find(name_or_address: &str) -> io::Result<Self> {
        let (all, address) = (Self::list()?, name_or_address.parse::<IpAddr>().ok());
        let found = match address {
            None => all.iter().find(|known| known.name == name_or_address).cloned(),
            Some(address) => Self::with_address(&all, address)?,
        };
        found.ok_or_else(|| {
            let known: Vec<_> = all.iter().map(ToString::to_string).collect();
            let error = InterfaceError { requested: name_or_address.to_owned(), known: known.join(", ") };
            io::Error::new(io::ErrorKind::NotFound, error)
        })
    }

    fn with_address(all: &[Self], address: IpAddr) -> io::Result<Option<Self>> {
        let entry = getifaddrs()?.find(|entry| {
            entry.address.as_ref().is_some_and(|known| match address {
                IpAddr::V4(v4) => known.as_sockaddr_in().is_some_and(|known| known.ip() == v4),
                IpAddr::V6(v6) => known.as_sockaddr_in6().is_some_and(|known| known.ip() == v6),
            })
        });
        let found =
            entry.and_then(|entry| all.iter().find(|known| known.name == entry.interface_name).cloned());
        Ok(found.map(|mut interface| {
            match address {
                IpAddr::V4(v4) => interface.v4 = Some(v4),
                IpAddr::V6(v6) => interface.v6 = Some(v6),
            }
            interface
        }))
    }
}

impl std::fmt::Display for Interface {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.name)?;
        match (self.v4, self.v6) {
            (Some(v4), _) => write!(f, " ({v4})"),
            (None, Some(v6)) => write!(f, " ({v6})"),
            (None, None) => f.write_str(" (no address)"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_contains_the_addresses_with_its_prefix() {
        for (network, prefix_bits, inside, outside) in [
            ("192.0.2.1", 24, "192.0.2.255", "192.0.3.1"),
            ("192.0.2.1", 32, "192.0.2.1", "192.0.2.2"),
            ("192.0.2.1", 0, "203.0.113.9", "::1"),
            ("10.1.2.3", 20, "10.1.15.255", "10.1.16.0"),
            ("2001:db8::1", 64, "2001:db8::ffff:0:0:1", "2001:db8:0:1::1"),
            ("2001:db8::1", 128, "2001:db8::1", "2001:db8::2"),
            ("::c000:201", 96, "::c000:202", "192.0.2.2"),
        ] {
            let network = Network { interface: 1, address: network.parse().unwrap(), prefix_bits };
            assert!(network.contains(inside.parse().unwrap()), "{network:?} {inside}");
            assert!(!network.contains(outside.parse().unwrap()), "{network:?} {outside}");
        }
        let loopback = Network::list().unwrap().into_iter().find(|network| network.address.is_loopback());
        assert!(loopback.is_some_and(|loopback| loopback.contains(loopback.address)));
    }

    #[test]
    fn an_error_lists_the_active_interfaces() {
        let message = |known: &str| {
            InterfaceError { requested: "eth9".to_owned(), known: known.to_owned() }.to_string()
        };
        assert_eq!(
            message("lo (127.0.0.1)"),
            "no active interface matches eth9; active interfaces: lo (127.0.0.1)"
        );
        assert_eq!(
            message(""),
            "no active interface matches eth9; no interface is up: enable one, for example with ip link set lo up"
        );
    }
}
