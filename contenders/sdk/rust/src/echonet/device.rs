//! The device's side of the lab.

use std::net::IpAddr;

use serde_json::json;

use super::IDENTIFIER_BYTES;
use super::values::{MANUFACTURER, identifier};
use crate::{Event, Lab, Setup, end};

/// What 83 begins with, before the manufacturer: the number is of the manufacturer's own choice.
const OWN_FORM: u8 = 0xfe;

/// The role that is found and answers.
#[derive(Debug)]
pub struct Device {
    /// For `ready`, `unsupported` and `failed`.
    pub lab: Lab,
    /// The address of the interface to be on.
    pub local: IpAddr,
    seed: u64,
}

impl Device {
    pub(super) fn new(lab: Lab, setup: &Setup) -> Self {
        Self { lab, local: setup.local, seed: setup.seed }
    }

    /// The value of 83 of the node profile, where 8A is that of [`Device::manufacturer`].
    pub fn identification(&self) -> [u8; 1 + MANUFACTURER.len() + IDENTIFIER_BYTES] {
        let mut value = [0; _];
        value[0] = OWN_FORM;
        value[1..=MANUFACTURER.len()].copy_from_slice(&MANUFACTURER);
        value[1 + MANUFACTURER.len()..].copy_from_slice(&identifier(self.seed));
        value
    }

    /// The value of 8A, where the library lets one choose.
    pub fn manufacturer(&self) -> [u8; 3] {
        MANUFACTURER
    }

    /// The library's node answers: says so. The process ends on `stop`. After `ready`.
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
                self.lab.failed(format!("a signal from {from}: the device awaits none"))
            }
        }
    }
}
