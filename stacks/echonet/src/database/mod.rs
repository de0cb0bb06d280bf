//! What classes there are, which properties they have, and what their values mean: as data. Text a class in `data/`, read by
//! [`Class::from_table`]; or the consortium's own files (feature `mra`).

mod catalog;
mod class;
mod decode;
mod encode;
mod error;
mod kind;
#[cfg(feature = "mra")]
mod mra;
mod table;
mod value;

pub use catalog::{Database, manufacturer_name};
pub use class::{Class, Definition, Rule};
pub use error::{EncodeError, TableError};
pub use kind::{BitField, Format, Kind, Number};
#[cfg(feature = "mra")]
pub use mra::{Mra, MraError};
pub use value::{Quantity, Value};
