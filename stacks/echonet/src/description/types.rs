//! Nodes, objects and properties as a program declares them.

use std::ops::RangeInclusive;

use crate::eoj::Eoj;
use crate::epc::Epc;

/// What others may do with a property (Part 2, section 6.2.4).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Access {
    /// Read it.
    pub get: bool,
    /// Write it.
    pub set: bool,
    /// Hear of each change.
    pub announce: bool,
}

impl Access {
    /// Read.
    pub const GET: Self = Self { get: true, set: false, announce: false };
    /// Read, and hear of changes.
    pub const GET_ANNOUNCE: Self = Self { get: true, set: false, announce: true };
    /// Write.
    pub const SET: Self = Self { get: false, set: true, announce: false };
    /// Read and write.
    pub const GET_SET: Self = Self { get: true, set: true, announce: false };
    /// Read, write, and hear of changes.
    pub const ALL: Self = Self { get: true, set: true, announce: true };
}

/// What becomes of a value that somebody else writes, if its length is right.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum WritePolicy {
    /// It is taken; the application is told.
    #[default]
    Accept,
    /// The application is asked, and the answer waits for it. It may look at the value, as with
    /// [`Definition::is_valid`](crate::Definition::is_valid).
    Ask,
    /// It is refused, though the Set map says that it can be written.
    Refuse,
}

/// A property of an object.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct PropertyDescription {
    /// Which.
    pub epc: Epc,
    /// Its value at the start, at most 255 bytes.
    pub value: Vec<u8>,
    /// What others may do with it.
    pub access: Access,
    /// What becomes of values that others write.
    pub writes: WritePolicy,
    /// How many bytes a value may have. Others are refused.
    pub lengths: RangeInclusive<usize>,
}

impl PropertyDescription {
    /// A property whose values are all as long as the first.
    pub fn new(epc: Epc, value: impl Into<Vec<u8>>, access: Access) -> Self {
        let value = value.into();
        let lengths = value.len()..=value.len();
        Self { epc, value, access, writes: WritePolicy::Accept, lengths }
    }

    /// Sets what becomes of values that others write.
    #[must_use]
    pub fn writes(mut self, policy: WritePolicy) -> Self {
        self.writes = policy;
        self
    }

    /// Sets how many bytes a value may have.
    #[must_use]
    pub fn lengths(mut self, bytes: RangeInclusive<usize>) -> Self {
        self.lengths = bytes;
        self
    }
}

/// A device object. Its property maps (9D, 9E, 9F) are computed.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct ObjectDescription {
    /// Which: class and instance.
    pub eoj: Eoj,
    /// Its properties, in any order.
    pub properties: Vec<PropertyDescription>,
}

impl ObjectDescription {
    /// An object of nothing but its property maps.
    pub fn new(eoj: Eoj) -> Self {
        Self { eoj, properties: Vec::new() }
    }

    /// An object with what every device must have (super class of device objects): 80 on, 81 location not set, 82
    /// Appendix release R, 88 no fault, 8A the manufacturer.
    pub fn device(eoj: Eoj, manufacturer: [u8; 3]) -> Self {
        Self::new(eoj)
            .property(Epc::OPERATION_STATUS, [0x30], Access::GET_ANNOUNCE)
            .property(Epc::INSTALLATION_LOCATION, [0x00], Access::ALL)
            .property(Epc::STANDARD_VERSION, [0, 0, b'R', 0], Access::GET)
            .property(Epc::FAULT_STATUS, [0x42], Access::GET_ANNOUNCE)
            .property(Epc::MANUFACTURER_CODE, manufacturer, Access::GET)
    }

    /// Adds a property, or replaces the one with its code.
    #[must_use]
    pub fn property(self, epc: Epc, value: impl Into<Vec<u8>>, access: Access) -> Self {
        self.with(PropertyDescription::new(epc, value, access))
    }

    /// Adds a property, or replaces the one with its code.
    #[must_use]
    pub fn with(mut self, property: PropertyDescription) -> Self {
        self.properties.retain(|other| other.epc != property.epc);
        self.properties.push(property);
        self
    }
}

/// A node: who made it, what its profile says, and its device objects.
///
/// ```
/// use netdyno_echonet_core::{Access, ClassCode, Description, Epc, ObjectDescription};
///
/// let maker = [0x00, 0x00, 0x0B];
/// let light = ObjectDescription::device(ClassCode(0x0291).instance(1), maker)
///     .property(Epc(0x80), [0x30], Access::ALL)
///     .property(Epc(0xB0), [100], Access::GET_SET);
/// let node = Description::new(maker, *b"a unique numb").object(light);
/// assert_eq!(node.objects.len(), 1);
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Description {
    /// The node profile, 0x0EF001. What it must have and does not stand here is computed: 9D, 9E, 9F, D3 to D7.
    pub profile: ObjectDescription,
    /// The device objects.
    pub objects: Vec<ObjectDescription>,
}

impl Description {
    /// A node without device objects: 80 on, 82 version 1.13 with specified messages, 83 of the manufacturer and 13
    /// bytes that no other node of it has, 8A the manufacturer.
    pub fn new(manufacturer: [u8; 3], unique: [u8; 13]) -> Self {
        let mut identification = [0xFE; 17];
        identification[1..4].copy_from_slice(&manufacturer);
        identification[4..].copy_from_slice(&unique);
        let profile = ObjectDescription::new(Eoj::NODE_PROFILE)
            .property(Epc::OPERATION_STATUS, [0x30], Access::GET_ANNOUNCE)
            .property(Epc::STANDARD_VERSION, [1, 13, 1, 0], Access::GET)
            .property(Epc::IDENTIFICATION_NUMBER, identification, Access::GET)
            .property(Epc::MANUFACTURER_CODE, manufacturer, Access::GET);
        Self { profile, objects: Vec::new() }
    }

    /// A node that controls others: like [`new`](Self::new), with a controller 0x05FF01.
    pub fn controller(manufacturer: [u8; 3], unique: [u8; 13]) -> Self {
        Self::new(manufacturer, unique).object(ObjectDescription::device(Eoj::CONTROLLER, manufacturer))
    }

    /// Adds a device object.
    #[must_use]
    pub fn object(mut self, object: ObjectDescription) -> Self {
        self.objects.push(object);
        self
    }

    /// Adds a property of the node profile, or replaces the one with its code.
    #[must_use]
    pub fn profile_property(mut self, property: PropertyDescription) -> Self {
        self.profile = self.profile.with(property);
        self
    }
}
