//! `netdyno show`.

use super::{GOOD, Outcome, print, render};
use crate::cli::ShowArgs;
use netdyno_lab_store::Store;

/// Prints a stored run, computed anew from its samples.
///
/// # Errors
/// When there is no such run, or the store cannot be read.
pub fn run(args: &ShowArgs) -> Outcome {
    let store = Store::open(&Store::default_path())?;
    let id = store.find(&args.run)?;
    print(&render(&store.load(&id)?, args.format)?.1);
    Ok(GOOD)
}
