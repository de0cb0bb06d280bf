//! Classes, their properties and the formats of values, as data: one text file for each class in `data/`,
//! parsed by [`Class::from_table`], or the consortium's own files (feature `mra`).

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
