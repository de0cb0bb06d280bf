//! An object as a device keeps it: each property is found in one step, and has the room for its longest value from the
//! start.

use crate::description::{Access, DescriptionError, ObjectDescription, PropertyDescription, WritePolicy};
use crate::eoj::Eoj;
use crate::epc::Epc;
use crate::limits::EDT_BYTES_MAX;
use crate::property_map::PropertyMap;

/// No property has this place: there are 128 at the most.
const NOWHERE: u8 = u8::MAX;

/// A property and its present value.
#[derive(Debug)]
pub(crate) struct Stored {
    pub(crate) epc: Epc,
    pub(crate) access: Access,
    pub(crate) policy: WritePolicy,
    /// Follows from the description; nobody sets it.
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

    /// Takes a value of an allowed length; says whether it is another. Never allocates.
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
    /// Where each of the codes 0x80 to 0xFF is in `properties`.
    places: Box<[u8; 128]>,
}

impl Object {
    /// An object as described, its property maps added.
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
        // At most 128, since each has a code of its own.
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

    /// What is announced, can be set, can be read: the last with the maps themselves.
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

    /// Where a property is in `properties`.
    pub(crate) fn place(&self, epc: Epc) -> Option<usize> {
        let place = *self.places.get(usize::from(epc.0.checked_sub(0x80)?))?;
        (place != NOWHERE).then_some(usize::from(place))
    }

    pub(crate) fn property(&self, epc: Epc) -> Option<&Stored> {
        self.properties.get(self.place(epc)?)
    }
}
