//! Property codes.

use core::fmt;
use core::str::FromStr;

use crate::hex::{self, CodeError};

/// EPC: which property of an object (Part 2, section 3.2.7). Those in use are 0x80 to 0xFF; 0xF0 and above belong to
/// the manufacturer.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Epc(pub u8);

/// Of every object.
impl Epc {
    /// On, off.
    pub const OPERATION_STATUS: Self = Self(0x80);
    /// Where a device stands.
    pub const INSTALLATION_LOCATION: Self = Self(0x81);
    /// Which version of the specification (profile) or of the appendix (device) it keeps to.
    pub const STANDARD_VERSION: Self = Self(0x82);
    /// A number that no other node has.
    pub const IDENTIFICATION_NUMBER: Self = Self(0x83);
    /// Whether something is wrong.
    pub const FAULT_STATUS: Self = Self(0x88);
    /// Who made it: three bytes that the consortium gives out.
    pub const MANUFACTURER_CODE: Self = Self(0x8A);
    /// What it tells by itself when it changes.
    pub const ANNOUNCEMENT_MAP: Self = Self(0x9D);
    /// What can be set.
    pub const SET_MAP: Self = Self(0x9E);
    /// What can be read.
    pub const GET_MAP: Self = Self(0x9F);
}

/// Of the node profile.
impl Epc {
    /// A number that is the node's own in its network.
    pub const UNIQUE_IDENTIFIER: Self = Self(0xBF);
    /// How many instances, profiles left out.
    pub const INSTANCE_COUNT: Self = Self(0xD3);
    /// How many classes, the node profile among them.
    pub const CLASS_COUNT: Self = Self(0xD4);
    /// Told at the start, and when instances come or go.
    pub const INSTANCE_LIST_NOTIFICATION: Self = Self(0xD5);
    /// The instances.
    pub const INSTANCE_LIST: Self = Self(0xD6);
    /// The classes, the node profile left out.
    pub const CLASS_LIST: Self = Self(0xD7);
}

impl fmt::Display for Epc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:02X}", self.0)
    }
}

impl fmt::Debug for Epc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Epc({self})")
    }
}

impl FromStr for Epc {
    type Err = CodeError;

    /// Two hexadecimal digits, `80` or `0x80`.
    fn from_str(text: &str) -> Result<Self, CodeError> {
        hex::parse(text).map(|[byte]| Self(byte))
    }
}
