//! What a node is: its profile and its objects, as data.

mod error;
mod types;

pub use error::DescriptionError;
pub use types::{Access, Description, ObjectDescription, PropertyDescription, WritePolicy};
