//! Descriptions of nodes: a profile and objects, as data.

mod error;
#[cfg(feature = "description")]
mod file;
mod types;

pub use error::DescriptionError;
#[cfg(feature = "description")]
pub use file::DescriptionFileError;
pub use types::{Access, Description, ObjectDescription, PropertyDescription, WritePolicy};
