//! Network traffic, from the counters of a network namespace.

use std::fs;

use procfs::net::DeviceStatus;
use procfs::process::Process;
use serde::{Deserialize, Serialize};

use super::Reading;

/// The network that the agent sees.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NetScope {
    /// The host's, shared with other programs.
    Host,
    /// One private namespace for all roles, with all traffic on its loopback.
    Loopback,
    /// A private namespace per role, with this interface to the other one.
    Veth(String),
    /// Like `Veth`, with a TUN device, which has no Ethernet headers.
    Tun(String),
}

/// Network counters.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NetSnapshot {
    /// Whether all roles read the same counters. If not, `bytes` and `packets` of each side cover the whole traffic
    /// and must not be added; the other counters cover one side only, and must be.
    pub shared_by_roles: bool,
    /// Bytes on the wire, in both directions.
    pub bytes: Reading,
    /// Packets in both directions; a GSO or GRO packet counts once.
    pub packets: Reading,
    /// Received IPv4 packets, with every segment of a GSO or GRO packet counted: the number on a real wire.
    pub ip_packets: Reading,
    /// Datagrams for sockets, received or dropped. Every datagram of a segmented send counts; a coalesced receive
    /// (GRO) counts once.
    pub udp_datagrams: Reading,
    /// Datagrams dropped because of a full receive buffer.
    pub udp_drops: Reading,
    /// Datagrams dropped by the receiver for any reason, including full buffers.
    pub udp_errors: Reading,
    /// Packets dropped by the interface.
    pub interface_drops: Reading,
}

impl NetSnapshot {
    /// Every reading, by field name.
    pub fn readings(&self) -> [(&'static str, &Reading); 7] {
        [
            ("bytes", &self.bytes),
            ("packets", &self.packets),
            ("ip_packets", &self.ip_packets),
            ("udp_datagrams", &self.udp_datagrams),
            ("udp_drops", &self.udp_drops),
            ("udp_errors", &self.udp_errors),
            ("interface_drops", &self.interface_drops),
        ]
    }
}

impl NetScope {
    pub(crate) fn read(&self) -> NetSnapshot {
        let (interface, counted_from) = match self {
            Self::Host => return nothing("the host's network is shared with other programs"),
            Self::Loopback => ("lo", "including IP headers"),
            Self::Veth(interface) => (interface.as_str(), "including Ethernet headers"),
            Self::Tun(interface) => (interface.as_str(), "including IP headers"),
        };
        let shared = *self == Self::Loopback;
        let device = Process::myself()
            .and_then(|this| this.dev_status())
            .ok()
            .and_then(|mut all| all.remove(interface));
        let Some(device) = device else {
            return nothing(&format!("no interface {interface} in /proc/self/net/dev"));
        };
        let snmp = counters("/proc/self/net/snmp", "Udp");
        let netstat = counters("/proc/self/net/netstat", "IpExt");
        let (bytes, packets) = traffic(&device, shared, counted_from);
        NetSnapshot {
            shared_by_roles: shared,
            bytes,
            packets,
            // The kernel counts them by ECN codepoint, and counts every segment of a packet.
            ip_packets: netstat(&["InNoECTPkts", "InECT1Pkts", "InECT0Pkts", "InCEPkts"]),
            udp_datagrams: snmp(&["InDatagrams", "InErrors", "NoPorts"]),
            udp_drops: snmp(&["RcvbufErrors"]),
            udp_errors: snmp(&["InErrors"]),
            interface_drops: Reading::of(
                device.recv_drop + device.sent_drop,
                format!("{interface} drops in /proc/self/net/dev"),
            ),
        }
    }
}

/// Every packet on the loopback is both sent and received: only one direction counts.
fn traffic(device: &DeviceStatus, loopback: bool, counted_from: &str) -> (Reading, Reading) {
    let (bytes, packets, source) = match loopback {
        true => {
            (device.recv_bytes, device.recv_packets, format!("received on lo by all roles, {counted_from}"))
        }
        false => (
            device.recv_bytes + device.sent_bytes,
            device.recv_packets + device.sent_packets,
            format!("received and sent on {}, {counted_from}", device.name),
        ),
    };
    (Reading::of(bytes, source.clone()), Reading::of(packets, source + "; a GSO or GRO packet counts once"))
}

fn nothing(reason: &str) -> NetSnapshot {
    let none = || Reading::not_measured(reason);
    NetSnapshot {
        shared_by_roles: true,
        bytes: none(),
        packets: none(),
        ip_packets: none(),
        udp_datagrams: none(),
        udp_drops: none(),
        udp_errors: none(),
        interface_drops: none(),
    }
}

/// Returns a function that adds up counters of a protocol in a file.
fn counters(file: &'static str, protocol: &'static str) -> impl Fn(&[&str]) -> Reading {
    let text = fs::read_to_string(file).unwrap_or_default();
    move |names| {
        let what = names.join(" + ");
        match names.iter().map(|name| counter(&text, protocol, name)).sum() {
            Some(value) => Reading::of(value, format!("{file} {protocol} {what}")),
            None => Reading::not_measured(format!("no {protocol} {what} in {file}")),
        }
    }
}

/// Such a file has two lines per protocol: names, then values.
fn counter(text: &str, protocol: &str, name: &str) -> Option<u64> {
    let mut lines = text.lines().filter_map(|line| line.strip_prefix(protocol)?.strip_prefix(": "));
    let column = lines.next()?.split_whitespace().position(|other| other == name)?;
    lines.next()?.split_whitespace().nth(column)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_by_protocol_and_name() {
        let snmp = "Ip: Forwarding\nIp: 1\nUdp: InDatagrams InErrors RcvbufErrors\nUdp: 9 3 2\nUdpLite: InErrors\nUdpLite: 7\n";
        assert_eq!(counter(snmp, "Udp", "RcvbufErrors"), Some(2));
        assert_eq!(counter(snmp, "Udp", "InErrors"), Some(3));
        assert_eq!(counter(snmp, "UdpLite", "InErrors"), Some(7));
        assert_eq!(counter(snmp, "Udp", "MemErrors"), None);
        assert_eq!(counter("Udp: InErrors\n", "Udp", "InErrors"), None);
        assert_eq!(counter("", "Udp", "InErrors"), None);
    }
}
