//! The device.

use std::time::Instant;

use crate::address::{Source, Transmit};
use crate::description::{Description, DescriptionError};
use crate::device::event::{Decision, DeviceEvent, DeviceStats, SetError, WriteId};
use crate::eoj::Eoj;
use crate::epc::Epc;
use crate::frame::Frame;

/// One node: its profile and its objects.
#[derive(Debug)]
pub struct Device {
    description: Description,
    stats: DeviceStats,
}

impl Device {
    /// A node as described. It says nothing until [`announce`](Self::announce).
    ///
    /// # Errors
    ///
    /// The description contradicts itself or is too large.
    pub fn new(description: Description) -> Result<Self, DescriptionError> {
        Ok(Self { description, stats: DeviceStats::default() })
    }

    /// What it counted.
    pub fn stats(&self) -> DeviceStats {
        self.stats
    }

    /// Its device objects, in ascending order.
    pub fn objects(&self) -> impl Iterator<Item = Eoj> {
        self.description.objects.iter().map(|object| object.eoj)
    }

    /// A property's value.
    pub fn get(&self, eoj: Eoj, epc: Epc) -> Option<&[u8]> {
        let _ = (eoj, epc);
        None
    }

    /// Gives a property a value, whoever may write it; says whether it is another than before. If it is, and the property
    /// is announced, all are told.
    ///
    /// # Errors
    ///
    /// There is no such property, it is computed, or the value's length is none of those described.
    pub fn set(&mut self, eoj: Eoj, epc: Epc, value: &[u8]) -> Result<bool, SetError> {
        let _ = value;
        Err(if eoj == Eoj::NODE_PROFILE { SetError::NoProperty(epc) } else { SetError::NoObject(eoj) })
    }

    /// Tells a property to all, though it did not change.
    ///
    /// # Errors
    ///
    /// There is no such property.
    pub fn notify(&mut self, eoj: Eoj, epc: Epc) -> Result<(), SetError> {
        self.set(eoj, epc, &[]).map(|_| ())
    }

    /// Tells all which objects the node has: do so at the start, and after the network was away.
    pub fn announce(&mut self) {}

    /// Decides a write that waits; says whether it still did. Then ask [`poll_transmit`](Self::poll_transmit).
    pub fn decide(&mut self, id: WriteId, decision: Decision) -> bool {
        let _ = (id, decision);
        false
    }

    /// Takes a datagram. Its answer stands in `out`; then ask [`poll_transmit`](Self::poll_transmit) for more.
    pub fn handle(
        &mut self,
        now: Instant,
        datagram: &[u8],
        from: Source,
        out: &mut [u8],
    ) -> Option<Transmit> {
        let _ = (now, from, out);
        if Frame::parse(datagram).is_err() {
            self.stats.malformed += 1;
        }
        None
    }

    /// Time has come to [`next_deadline`](Self::next_deadline); harmless before.
    pub fn handle_timeout(&mut self, now: Instant) {
        let _ = now;
    }

    /// The next datagram to send, written to the start of `out`; call until there is none.
    pub fn poll_transmit(&mut self, now: Instant, out: &mut [u8]) -> Option<Transmit> {
        let _ = (now, out);
        None
    }

    /// What happened; call until there is nothing more.
    pub fn poll_event(&mut self) -> Option<DeviceEvent> {
        None
    }

    /// When [`handle_timeout`](Self::handle_timeout) is due.
    pub fn next_deadline(&self) -> Option<Instant> {
        None
    }
}
