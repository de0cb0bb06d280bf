//! Objects and their classes.

use core::fmt;
use core::str::FromStr;

use crate::hex::{self, CodeError};

/// A class: the class group in the high byte, the class in the low one (Part 2, section 3.2.4).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClassCode(pub u16);

impl ClassCode {
    /// The node profile, which every node has.
    pub const NODE_PROFILE: Self = Self(0x0EF0);
    /// A controller.
    pub const CONTROLLER: Self = Self(0x05FF);

    /// The class group: 00 sensors, 01 air conditioners, 02 housing, 03 housework, 04 health, 05 management, 06 audio
    /// and video, 0E profiles.
    pub const fn group(self) -> u8 {
        self.0.to_be_bytes()[0]
    }

    /// The class within its group.
    pub const fn class(self) -> u8 {
        self.0.to_be_bytes()[1]
    }

    /// An object of this class. Instances count from 1; 0 addresses all of them.
    pub const fn instance(self, instance: u8) -> Eoj {
        Eoj([self.group(), self.class(), instance])
    }
}

impl fmt::Display for ClassCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04X}", self.0)
    }
}

impl fmt::Debug for ClassCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ClassCode({self})")
    }
}

impl FromStr for ClassCode {
    type Err = CodeError;

    /// Four hexadecimal digits, `0291` or `0x0291`.
    fn from_str(text: &str) -> Result<Self, CodeError> {
        hex::parse(text).map(|bytes| Self(u16::from_be_bytes(bytes)))
    }
}

/// An ECHONET object: class group, class, instance (Part 2, section 3.2.4).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Eoj(pub [u8; 3]);

impl Eoj {
    /// The node profile of a general node. One that only transmits is instance 2.
    pub const NODE_PROFILE: Self = Self([0x0E, 0xF0, 0x01]);
    /// The first controller of a node.
    pub const CONTROLLER: Self = Self([0x05, 0xFF, 0x01]);

    /// The class.
    pub const fn class(self) -> ClassCode {
        ClassCode(u16::from_be_bytes([self.0[0], self.0[1]]))
    }

    /// The instance, from 1 to 0x7F; 0 addresses all instances of the class.
    pub const fn instance(self) -> u8 {
        self.0[2]
    }

    /// Whether it addresses all instances of the class.
    pub const fn is_all_instances(self) -> bool {
        self.0[2] == 0
    }

    /// Whether this is a profile object, not a device.
    pub const fn is_profile(self) -> bool {
        self.0[0] == 0x0E
    }
}

impl fmt::Display for Eoj {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [group, class, instance] = self.0;
        write!(f, "{group:02X}{class:02X}{instance:02X}")
    }
}

impl fmt::Debug for Eoj {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Eoj({self})")
    }
}

impl FromStr for Eoj {
    type Err = CodeError;

    /// Six hexadecimal digits, `029101` or `0x029101`.
    fn from_str(text: &str) -> Result<Self, CodeError> {
        hex::parse(text).map(Self)
    }
}

#[cfg(all(test, feature = "std"))]
mod tests {
    use super::*;

    #[test]
    fn codes_are_read_as_they_are_written() {
        for text in ["029101", "0EF001", "05FF01", "0130FF"] {
            let eoj: Eoj = text.parse().unwrap();
            assert_eq!((eoj.to_string(), eoj.class().instance(eoj.instance())), (text.to_owned(), eoj));
            assert_eq!(format!("0x{text}").parse(), Ok(eoj));
            assert_eq!(text[..4].parse(), Ok(eoj.class()));
        }
        for wrong in ["", "0", "02910", "0291011", "02910g", "0x02", "é2910", "+29101", "0x0x01"] {
            assert_eq!(wrong.parse::<Eoj>(), Err(CodeError { digits: 6 }), "{wrong}");
        }
    }

    #[test]
    fn the_parts_of_a_class() {
        let class = ClassCode(0x027D);
        assert_eq!((class.group(), class.class(), class.instance(3)), (0x02, 0x7D, Eoj([2, 0x7D, 3])));
        assert!(Eoj::NODE_PROFILE.is_profile() && !Eoj::CONTROLLER.is_profile());
        assert!(class.instance(0).is_all_instances() && !class.instance(1).is_all_instances());
    }
}
