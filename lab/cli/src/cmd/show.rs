//! `netdyno show`.

use super::import::load;
use super::{CommandResult, GOOD, print, render};
use crate::cli::ShowArgs;

/// Prints the report of a stored or exported run, recomputed from its samples.
pub(crate) fn run(args: &ShowArgs) -> CommandResult {
    print(&render(&load(&args.run)?.0, args.format)?.1);
    Ok(GOOD)
}
