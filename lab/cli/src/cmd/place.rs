//! Where a verb finds workloads and contenders: a checkout, or the catalogue that the program carries; and folders beside it.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::catalogue;
use netdyno_lab_manifest::project::{self, Project};
use netdyno_lab_manifest::{Catalog, ManifestError, find_root};

/// What was typed before or after the verb: `--contenders`.
static FOLDERS: OnceLock<Vec<PathBuf>> = OnceLock::new();

/// Notes the folders of contenders that were typed; once, before any verb.
pub fn also_in(folders: Vec<PathBuf>) {
    // A second call would be the program's own mistake, and changes nothing.
    let _ = FOLDERS.set(folders);
}

/// The project that the working directory is in, if it is in one.
pub(super) fn project() -> Result<Option<Project>, ManifestError> {
    Project::find(&std::env::current_dir().unwrap_or_default())
}

/// Everything that there is here.
pub(super) fn catalog(cache: &Path) -> Result<Catalog, Box<dyn std::error::Error>> {
    let root = match find_root()? {
        Some(root) => root,
        None => {
            let unpacked = catalogue::unpacked(cache).map_err(|e| {
                format!(
                    "the cache {}: {e}. Set NETDYNO_CACHE to a folder that can be written",
                    cache.display()
                )
            })?;
            let root = unpacked.ok_or(ManifestError::NoRoot)?;
            let version = env!("CARGO_PKG_VERSION");
            super::tell(&format!(
                "no checkout here: using the catalogue of netdyno {version}, in {}",
                root.display()
            ));
            root
        }
    };
    let mut catalog = Catalog::load(&root)?;
    let typed = FOLDERS.get().into_iter().flatten().cloned();
    let mut seen: Vec<PathBuf> = Vec::new();
    for folder in typed.chain(project()?.iter().flat_map(Project::folders)) {
        let canonical = folder.canonicalize().unwrap_or_else(|_| folder.clone());
        if !seen.contains(&canonical) {
            catalog.add(&folder)?;
            seen.push(canonical);
        }
    }
    Ok(catalog)
}

/// Where a new contender is put.
#[derive(Debug)]
pub(super) enum Home {
    /// Into a checkout, which has the SDKs.
    Checkout(PathBuf),
    /// Into a folder of one's own, which gets the SDK that it uses.
    Own {
        /// The folder of contenders.
        folder: PathBuf,
        /// The file that will name it, where there is none yet.
        project: Option<PathBuf>,
    },
}

/// The folder that the project names, else the checkout's, else one in the working directory.
pub(super) fn home() -> Result<Home, Box<dyn std::error::Error>> {
    if let Some(project) = project()? {
        let folder = project.folders().next().ok_or_else(|| {
            let file = project.folder.join(project::FILE);
            format!("{} names no folder for it: add contenders = [\"{}\"]", file.display(), project::FOLDER)
        })?;
        return Ok(Home::Own { folder, project: None });
    }
    if let Some(root) = find_root()? {
        return Ok(Home::Checkout(root.join("contenders")));
    }
    let here = std::env::current_dir()?;
    Ok(Home::Own { folder: here.join(project::FOLDER), project: Some(here.join(project::FILE)) })
}
