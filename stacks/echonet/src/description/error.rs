//! Errors of descriptions.

use crate::eoj::Eoj;
use crate::epc::Epc;

/// Why no node can be built from a description.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DescriptionError {
    /// Two objects have the same code: give them different instances.
    #[error("two objects are {0}: give them different instances")]
    TwoObjects(Eoj),
    /// No device object can have this code.
    #[error("{0} is not a device object: its instance must be 1 to 127 and its class group not 0E")]
    NoDevice(Eoj),
    /// The code of the node profile is wrong.
    #[error("{0} is not a node profile: it must be 0EF001, or 0EF002 for a node that only transmits")]
    NoProfile(Eoj),
    /// A property is listed twice.
    #[error("object {0} has property {1} twice")]
    TwoProperties(Eoj, Epc),
    /// The code is below 0x80.
    #[error("object {0} cannot have property {1}: properties are 80 to FF")]
    NoProperty(Eoj, Epc),
    /// The property is computed: 9D, 9E, 9F; for the node profile also D3 to D7.
    #[error("object {0} cannot be given property {1}: it is computed from what the node has")]
    Computed(Eoj, Epc),
    /// Values may be longer than a property can be, or the initial value has a length that is not allowed.
    #[error(
        "property {1} of object {0}: its value must have a length that `lengths` allows, at most 255 bytes"
    )]
    Length(Eoj, Epc),
    /// A limit is exceeded.
    #[error("more than {max} {what}: raise the limit, or describe less")]
    TooMany {
        /// What is limited.
        what: &'static str,
        /// The limit.
        max: usize,
    },
}
