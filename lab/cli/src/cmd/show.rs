//! `netdyno show`.

use super::{GOOD, Outcome, print, render};
use crate::cli::ShowArgs;
use netdyno_lab_store::Store;

/// Prints the report of a stored run, recomputed from its samples.
///
/// # Errors
/// If there is no such run, or the store cannot be read.
pub fn run(args: &ShowArgs) -> Outcome {
    let store = Store::open(&Store::default_path())?;
    let id = store.find(&args.run)?;
    print(&render(&store.load(&id)?, args.format)?.1);
    Ok(GOOD)
}
