//! Manifests: `workloads/<name>.toml` and `contenders/<workload>/<name>/contender.toml`, parsed and validated.
//!
//! Parses and validates manifests (each problem with file, line, field and rule), resolves parameters, computes the
//! gate's expected result, and finds workloads and contenders in a repository. Does not build or run anything, and
//! knows no workload or contender by name.

mod build_spec;
mod catalog;
mod contender;
pub mod dummy;
mod error;
mod gate;
mod input;
pub mod limits;
mod metric;
mod net;
mod params;
mod placeholder;
pub mod project;
pub mod read;
mod role;
#[cfg(test)]
mod tests;
mod trust;
mod turns;
mod workload;

pub use build_spec::{BuildSpec, Need, Tool};
pub use catalog::{Catalog, find_root};
pub use contender::{Contender, LibraryVersion, Tuning, version_matches};
use error::Checked;
pub use error::{ManifestError, nearest};
pub use gate::{Amount, AtMost, Expected, Gate, hex};
pub use input::InputSpec;
pub use metric::{Better, METER_FIELDS, Metric, Moment, Source, WIRE_FIELDS};
pub use net::{Link, Net};
pub use params::{ParamKind, ParamSpec, ParamValue, Params};
pub use placeholder::{Placeholder, substitute};
pub use read::read_manifest;
pub use role::RoleSpec;
pub use turns::TurnsSpec;
pub use workload::{Detect, Offered, Placement, Preset, Workload};
