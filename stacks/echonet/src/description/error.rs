//! Why a description is none.

use crate::eoj::Eoj;
use crate::epc::Epc;

/// Why a node cannot be made from its description.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DescriptionError {
    /// Two objects have the same code: give them different instances.
    #[error("two objects are {0}: give them different instances")]
    TwoObjects(Eoj),
    /// An object has a code that no device object can have.
    #[error("{0} is no device object: its instance must be 1 to 127 and its class group not 0E")]
    NoDevice(Eoj),
    /// A property stands there twice.
    #[error("object {0} has property {1} twice")]
    TwoProperties(Eoj, Epc),
    /// The code is below 0x80, or the property is computed: 9D, 9E, 9F; of the node profile D3 to D7 too.
    #[error("object {0} cannot be given property {1}: it is computed, or no property")]
    Reserved(Eoj, Epc),
    /// A value or the longest that it may become has more than 255 bytes.
    #[error("property {1} of object {0} has more than 255 bytes")]
    ValueTooLong(Eoj, Epc),
    /// More than the limit.
    #[error("more than {max} {what}: raise the limit, or describe less")]
    TooMany {
        /// Of what.
        what: &'static str,
        /// The limit.
        max: usize,
    },
}
