//! Checks whether an equalised property takes effect in a role, before anything is measured with it.

use std::fs;
use std::path::{Path, PathBuf};

use super::preload::{Preload, allocator_of};
use super::{Look, processes};
use netdyno_lab_store::Equal;
use netdyno_lab_store::probe::Found;

const STATIC: &str = "does not load the preloaded library: it is linked statically";
const GO: &str = "Go makes system calls and allocates without the C library";

pub(super) struct Acts {
    equal: Equal,
    page: Option<Preload>,
}

impl Acts {
    pub(super) fn new(
        equal: Option<&Equal>,
        language: &str,
        folder: &Path,
        env: &mut Vec<(String, String)>,
    ) -> Result<Self, String> {
        let equal = equal.ok_or("nothing is equalised")?.clone();
        if language == "go" && matches!(equal, Equal::Rcvbuf { .. } | Equal::Allocator { .. }) {
            return Err(GO.to_owned());
        }
        let page = match equal {
            Equal::Rcvbuf { .. } => Some(Preload::new(folder, env)?),
            _ => None,
        };
        Ok(Self { equal, page })
    }
}

impl Look for Acts {
    fn source(&self) -> String {
        self.equal.name().to_owned()
    }

    fn end(&mut self, root: i32) -> Result<(), String> {
        match &self.equal {
            Equal::Allocator { library } => is_allocated_by(root, library),
            _ => Ok(()),
        }
    }

    fn found(&mut self) -> Result<Found, String> {
        let times = match &self.page {
            Some(page) => match page.read()? {
                counts if counts.loaded == 0 => return Err(format!("it {STATIC}")),
                counts => counts.buffers,
            },
            None => 1,
        };
        Ok(Found::Acts { times })
    }
}

/// Checks that every process of the role loads the library and has no allocator of its own.
fn is_allocated_by(root: i32, library: &Path) -> Result<(), String> {
    let name = library.file_name().unwrap_or_default().to_string_lossy().into_owned();
    for pid in processes(root) {
        // A process that has ended in the meantime does not matter.
        let Ok(maps) = fs::read_to_string(format!("/proc/{pid}/maps")) else { continue };
        if !maps.contains(&name) {
            return Err(format!("one of its processes {STATIC}"));
        }
        if let Some(own) = allocator_of(&PathBuf::from(format!("/proc/{pid}/exe"))) {
            return Err(format!("it has its own allocator, {own}"));
        }
    }
    Ok(())
}
