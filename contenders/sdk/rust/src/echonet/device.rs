//! The device's messages to the lab.

use std::net::IpAddr;

use serde_json::json;

use super::IDENTIFIER_BYTES;
use super::values::{MANUFACTURER, identifier};
use crate::{Event, Lab, Setup, end};

/// The first byte of 83: the manufacturer's code and a number of its choice follow.
const OWN_FORM: u8 = 0xfe;

/// The role that is discovered and answers reads.
#[derive(Debug)]
pub struct Device {
    /// For `ready`, `unsupported` and `failed`.
    pub lab: Lab,
    /// The address of the interface to use.
    pub local: IpAddr,
    seed: u64,
}

impl Device {
    pub(super) fn new(lab: Lab, setup: &Setup) -> Self {
        Self { lab, local: setup.local, seed: setup.seed }
    }

    /// The value of 83 of the node profile for the 8A of [`Device::manufacturer`].
    pub fn identification(&self) -> [u8; 1 + MANUFACTURER.len() + IDENTIFIER_BYTES] {
        let mut value = [0; _];
        value[0] = OWN_FORM;
        value[1..=MANUFACTURER.len()].copy_from_slice(&MANUFACTURER);
        value[1 + MANUFACTURER.len()..].copy_from_slice(&identifier(self.seed));
        value
    }

    /// The value of 8A, if the library allows a choice.
    pub fn manufacturer(&self) -> [u8; 3] {
        MANUFACTURER
    }

    /// Reports that the library's node answers. Call it after `ready`. The process ends on `stop`.
    pub fn serves(&self) {
        self.lab.signal("controller", json!({ "ready": true }));
        self.lab.connected(&[]);
    }

    pub(super) fn handle(&self, event: Event) {
        match event {
            Event::Start(_) => {}
            Event::Mark { id } => self.lab.counters(id, &[]),
            Event::Stop => {
                self.lab.result(&[]);
                end(0);
            }
            Event::Signal { from, .. } => {
                self.lab.failed(format!("a signal from {from}: the device expects none"))
            }
        }
    }
}
