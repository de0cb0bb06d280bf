//! `netdyno site`.

use super::{GOOD, Outcome, print, studies};
use crate::cli::SiteArgs;
use netdyno_lab_report::site;
use netdyno_lab_store::Store;

/// Writes the pages of the store to a folder.
///
/// # Errors
/// If the store cannot be read, the folder cannot be written, or a page would replace a file that this command did not write.
pub fn run(args: &SiteArgs) -> Outcome {
    let store = Store::open(&Store::default_path())?;
    let written = site::write(&store, studies(args.studies.as_deref()).as_ref(), &args.folder, args.runs)?;
    let index = args.folder.join("index.html");
    let (pages, changed, removed) = (written.pages, written.changed, written.removed);
    print(&format!("{}: {pages} pages, {changed} written, {removed} removed\n", index.display()));
    Ok(GOOD)
}
