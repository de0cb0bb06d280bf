//! Property codes.

use core::fmt;
use core::str::FromStr;

use crate::hex::{self, CodeError};

/// EPC: identifies a property of an object (Part 2, section 3.2.7). Valid codes are 0x80 to 0xFF; 0xF0 and
/// above are for the manufacturer's use.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Epc(pub u8);

/// Properties of every object.
impl Epc {
    /// Operation status: on or off.
    pub const OPERATION_STATUS: Self = Self(0x80);
    /// Installation location.
    pub const INSTALLATION_LOCATION: Self = Self(0x81);
    /// Version of the specification (profile) or of the appendix (device).
    pub const STANDARD_VERSION: Self = Self(0x82);
    /// Unique identification number.
    pub const IDENTIFICATION_NUMBER: Self = Self(0x83);
    /// Fault status.
    pub const FAULT_STATUS: Self = Self(0x88);
    /// Manufacturer code: three bytes that the consortium assigns.
    pub const MANUFACTURER_CODE: Self = Self(0x8A);
    /// Properties that are announced when they change.
    pub const ANNOUNCEMENT_MAP: Self = Self(0x9D);
    /// Writable properties.
    pub const SET_MAP: Self = Self(0x9E);
    /// Readable properties.
    pub const GET_MAP: Self = Self(0x9F);
}

/// Properties of the node profile.
impl Epc {
    /// A number that is unique in the node's network.
    pub const UNIQUE_IDENTIFIER: Self = Self(0xBF);
    /// The number of instances, without profiles.
    pub const INSTANCE_COUNT: Self = Self(0xD3);
    /// The number of classes, including the node profile.
    pub const CLASS_COUNT: Self = Self(0xD4);
    /// Announced at the start, and when instances are added or removed.
    pub const INSTANCE_LIST_NOTIFICATION: Self = Self(0xD5);
    /// The instances.
    pub const INSTANCE_LIST: Self = Self(0xD6);
    /// The classes, without the node profile.
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
