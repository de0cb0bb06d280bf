//! Nodes, objects and properties as an application declares them.

use std::ops::RangeInclusive;

use crate::eoj::Eoj;
use crate::epc::Epc;

/// The access that other nodes have to a property (Part 2, section 6.2.4).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Access {
    /// It can be read.
    pub get: bool,
    /// It can be written.
    pub set: bool,
    /// Its changes are announced.
    pub announce: bool,
}

impl Access {
    /// Readable.
    pub const GET: Self = Self { get: true, set: false, announce: false };
    /// Readable and announced.
    pub const GET_ANNOUNCE: Self = Self { get: true, set: false, announce: true };
    /// Writable.
    pub const SET: Self = Self { get: false, set: true, announce: false };
    /// Readable and writable.
    pub const GET_SET: Self = Self { get: true, set: true, announce: false };
    /// Readable, writable and announced.
    pub const ALL: Self = Self { get: true, set: true, announce: true };
}

/// The treatment of a value of allowed length that another node writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum WritePolicy {
    /// Accept it and report it to the application.
    #[default]
    Accept,
    /// Ask the application, and answer when it has decided. It can validate the value with
    /// [`Definition::is_valid`](crate::Definition::is_valid).
    Ask,
    /// Refuse it, although the Set map lists the property.
    Refuse,
}

/// A property of an object.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct PropertyDescription {
    /// Its code.
    pub epc: Epc,
    /// Its initial value, at most 255 bytes.
    pub value: Vec<u8>,
    /// The access of other nodes.
    pub access: Access,
    /// The treatment of values that other nodes write.
    pub writes: WritePolicy,
    /// The allowed lengths in bytes. Values of other lengths are refused.
    pub lengths: RangeInclusive<usize>,
}

impl PropertyDescription {
    /// A property whose values all have the length of the initial one.
    pub fn new(epc: Epc, value: impl Into<Vec<u8>>, access: Access) -> Self {
        let value = value.into();
        let lengths = value.len()..=value.len();
        Self { epc, value, access, writes: WritePolicy::Accept, lengths }
    }

    /// Sets the treatment of values that other nodes write.
    #[must_use]
    pub fn writes(mut self, policy: WritePolicy) -> Self {
        self.writes = policy;
        self
    }

    /// Sets the allowed lengths in bytes.
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
    /// Its class and instance.
    pub eoj: Eoj,
    /// Its properties, in any order.
    pub properties: Vec<PropertyDescription>,
}

impl ObjectDescription {
    /// An object without properties except its property maps.
    pub fn new(eoj: Eoj) -> Self {
        Self { eoj, properties: Vec::new() }
    }

    /// An object with the mandatory properties of a device (super class of device objects): 80 on, 81
    /// location not set, 82 Appendix release R, 88 no fault, 8A the manufacturer.
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

/// A node: manufacturer, node profile and device objects.
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
    /// The node profile, 0x0EF001. Mandatory properties that it lacks are computed: 9D, 9E, 9F, D3 to D7.
    pub profile: ObjectDescription,
    /// The device objects.
    pub objects: Vec<ObjectDescription>,
}

impl Description {
    /// A node without device objects: 80 on, 82 version 1.13 with specified messages, 83 of the manufacturer
    /// code and 13 unique bytes, 8A the manufacturer.
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

    /// A node that controls others: like [`new`](Self::new), with a controller object 0x05FF01.
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
