//! `netdyno show`.

use super::import::load;
use super::{GOOD, Outcome, print, render};
use crate::cli::ShowArgs;

/// Prints the report of a stored or exported run, recomputed from its samples.
///
/// # Errors
/// If there is no such run or file, or it cannot be read.
pub fn run(args: &ShowArgs) -> Outcome {
    print(&render(&load(&args.run)?.0, args.format)?.1);
    Ok(GOOD)
}
