//! An object of a device. A property is found in one step, and memory for its longest value is allocated at
//! the start.

use crate::description::{Access, DescriptionError, ObjectDescription, PropertyDescription, WritePolicy};
use crate::eoj::Eoj;
use crate::epc::Epc;
use crate::limits::EDT_BYTES_MAX;
use crate::property_map::PropertyMap;

/// Marks a code without a property; there are at most 128 properties.
const NOWHERE: u8 = u8::MAX;

/// A property and its current value.
#[derive(Debug)]
pub(crate) struct Stored {
    pub(crate) epc: Epc,
    pub(crate) access: Access,
    pub(crate) policy: WritePolicy,
    /// Derived from the description; cannot be set.
    pub(crate) computed: bool,
    /// A notification of it is queued.
    pub(crate) queued: bool,
    shortest: u8,
    longest: u8,
    value: Vec<u8>,
}

impl Stored {
    pub(crate) fn value(&self) -> &[u8] {
        &self.value
    }

    pub(crate) fn allows(&self, bytes: usize) -> bool {
        (usize::from(self.shortest)..=usize::from(self.longest)).contains(&bytes)
    }

    /// Sets a value of an allowed length; returns whether it changed. Never allocates.
    pub(crate) fn write(&mut self, value: &[u8]) -> bool {
        debug_assert!(self.allows(value.len()));
        if self.value == value {
            return false;
        }
        self.value.clear();
        self.value.extend_from_slice(value);
        true
    }
}

#[derive(Debug)]
pub(crate) struct Object {
    pub(crate) eoj: Eoj,
    pub(crate) properties: Vec<Stored>,
    /// The index in `properties` of each of the codes 0x80 to 0xFF.
    places: Box<[u8; 128]>,
}

impl Object {
    /// An object with this description, and its property maps.
    pub(crate) fn new(
        description: &ObjectDescription,
        computed: &[(Epc, Vec<u8>, Access)],
    ) -> Result<Self, DescriptionError> {
        let mut object =
            Self { eoj: description.eoj, properties: Vec::new(), places: Box::new([NOWHERE; 128]) };
        let maps = [Epc::ANNOUNCEMENT_MAP, Epc::SET_MAP, Epc::GET_MAP];
        for property in &description.properties {
            if maps.contains(&property.epc) || computed.iter().any(|(epc, ..)| *epc == property.epc) {
                return Err(DescriptionError::Computed(object.eoj, property.epc));
            }
            object.add(property, false)?;
        }
        for (epc, value, access) in computed {
            object.add(&PropertyDescription::new(*epc, value.clone(), *access), true)?;
        }
        for (epc, map) in maps.into_iter().zip(object.maps(&maps)) {
            let value = map.encode().as_bytes().to_vec();
            object.add(&PropertyDescription::new(epc, value, Access::GET), true)?;
        }
        Ok(object)
    }

    fn add(&mut self, property: &PropertyDescription, computed: bool) -> Result<(), DescriptionError> {
        let (eoj, epc) = (self.eoj, property.epc);
        let (shortest, longest) = (*property.lengths.start(), *property.lengths.end());
        if !property.lengths.contains(&property.value.len()) || longest > EDT_BYTES_MAX {
            return Err(DescriptionError::Length(eoj, epc));
        }
        let place = epc.0.checked_sub(0x80).ok_or(DescriptionError::NoProperty(eoj, epc))?;
        let place = &mut self.places[usize::from(place)];
        if *place != NOWHERE {
            return Err(DescriptionError::TwoProperties(eoj, epc));
        }
        // At most 128, since codes are unique.
        *place = u8::try_from(self.properties.len()).unwrap_or(NOWHERE);
        let mut value = Vec::with_capacity(longest);
        value.extend_from_slice(&property.value);
        self.properties.push(Stored {
            epc,
            access: property.access,
            policy: property.writes,
            computed,
            queued: false,
            shortest: u8::try_from(shortest).unwrap_or(u8::MAX),
            longest: u8::try_from(longest).unwrap_or(u8::MAX),
            value,
        });
        Ok(())
    }

    /// The announced, writable and readable properties; the last includes the maps themselves.
    fn maps(&self, maps: &[Epc]) -> [PropertyMap; 3] {
        let with = |choose: fn(Access) -> bool| {
            self.properties
                .iter()
                .filter(move |property| choose(property.access))
                .map(|property| property.epc)
        };
        [
            with(|access| access.announce).collect(),
            with(|access| access.set).collect(),
            with(|access| access.get).chain(maps.iter().copied()).collect(),
        ]
    }

    /// The index of a property in `properties`.
    pub(crate) fn place(&self, epc: Epc) -> Option<usize> {
        let place = *self.places.get(usize::from(epc.0.checked_sub(0x80)?))?;
        (place != NOWHERE).then_some(usize::from(place))
    }

    pub(crate) fn property(&self, epc: Epc) -> Option<&Stored> {
        self.properties.get(self.place(epc)?)
    }
}
