//! The implementations of the build tools.

use super::ecosystem::Ecosystem;
use super::{cargo, cc, go, java, npm, pip, system};
use netdyno_lab_manifest::Tool;

/// The implementation of a tool.
pub(super) fn ecosystem(tool: Tool) -> &'static dyn Ecosystem {
    match tool {
        Tool::Cargo => &cargo::Cargo,
        Tool::Cc => &cc::Cc,
        Tool::Go => &go::Go,
        Tool::Java => &java::Java,
        Tool::Npm => &npm::Npm,
        Tool::Pip => &pip::Pip,
        Tool::System => &system::System,
    }
}
