//! `netdyno site`.

use super::{CommandResult, GOOD, print, studies};
use crate::cli::SiteArgs;
use netdyno_lab_report::site;
use netdyno_lab_store::Store;

/// Writes the pages of the store to a folder.
pub(crate) fn run(args: &SiteArgs) -> CommandResult {
    let store = Store::open(&Store::default_path())?;
    let written = site::write(&store, studies(args.studies.as_deref()).as_ref(), &args.folder, args.runs)?;
    let index = args.folder.join("index.html");
    let (pages, changed, removed) = (written.pages, written.changed, written.removed);
    print(&format!("{}: {pages} pages, {changed} written, {removed} removed\n", index.display()));
    Ok(GOOD)
}
