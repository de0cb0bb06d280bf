//! mDNS names that are queried, and local names that are answered.

use std::net::IpAddr;
use std::time::Instant;

use netdyno_io::Interface;

use super::pending::Questions;
use crate::limits::LOCAL_ADDRESSES;

/// A local name.
#[derive(Debug)]
pub(super) struct OwnName {
    pub(super) name: String,
    pub(super) address: IpAddr,
}

/// Pending queries and local names.
#[derive(Debug)]
pub(crate) struct Names {
    pub(super) questions: Questions,
    pub(super) own: Vec<OwnName>,
    /// The port of the group, and the links on which it is joined.
    pub(super) port: Option<(u32, Vec<Interface>)>,
}

impl Names {
    pub(crate) fn new(now: Instant) -> Self {
        Self { questions: Questions::new(now), own: Vec::new(), port: None }
    }

    /// When there is something to do next.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.questions.next()
    }

    /// The name of a local address.
    pub(super) fn name_for(&mut self, address: IpAddr) -> Option<&str> {
        let known = self.own.iter().position(|own| own.address == address);
        let at = match known {
            Some(at) => at,
            None => {
                if self.own.len() >= LOCAL_ADDRESSES {
                    self.own.remove(0);
                }
                self.own.push(OwnName { name: random_name()?, address });
                self.own.len() - 1
            }
        };
        self.own.get(at).map(|own| own.name.as_str())
    }
}

/// A UUID of version 4 (RFC 9562, section 5.4) below "local". `None`: the system's random number generator
/// failed.
pub(super) fn random_name() -> Option<String> {
    let mut bytes = [0; 16];
    aws_lc_rs::rand::fill(&mut bytes).ok()?;
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let parts = [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]];
    Some(format!("{}.local", parts.join("-")))
}
