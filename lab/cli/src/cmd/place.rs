//! Locates workloads and contenders: a checkout or the embedded catalogue, and additional folders.

use std::path::{Path, PathBuf};
use std::sync::{Once, OnceLock};

use super::Fallible;
use crate::embedded;
use netdyno_lab_engine::build::cache_remedy;
use netdyno_lab_manifest::project::{self, Project};
use netdyno_lab_manifest::{Catalog, ManifestError, find_root};

/// The values of `--contenders`.
static FOLDERS: OnceLock<Vec<PathBuf>> = OnceLock::new();

/// Sets the values of `--contenders`. Called once, before any verb.
pub(crate) fn also_in(folders: Vec<PathBuf>) {
    // A second call has no effect.
    let _ = FOLDERS.set(folders);
}

/// The project that contains the working directory, if any. Its file is named on stderr, since it decides which programs
/// are built and run.
pub(super) fn project() -> Result<Option<Project>, ManifestError> {
    static NAMED: Once = Once::new();
    let found = Project::find(&std::env::current_dir().unwrap_or_default())?;
    if let Some(project) = &found {
        let file = project.folder.join(project::FILE);
        NAMED.call_once(|| super::tell(&format!("using the settings in {}", file.display())));
    }
    Ok(found)
}

/// All available workloads and contenders.
pub(super) fn catalog(cache: &Path) -> Fallible<Catalog> {
    let root = match find_root()? {
        Some(root) => root,
        None => {
            let unpacked = embedded::unpacked(cache).map_err(|e| {
                let (cache, remedy) = (cache.display(), cache_remedy(&e));
                format!("cannot unpack the catalogue to the cache {cache}: {}; {remedy}", with_causes(&e))
            })?;
            let root = unpacked.ok_or(ManifestError::NoRoot)?;
            let (version, folder) = (env!("CARGO_PKG_VERSION"), root.display());
            super::tell(&format!("not in a checkout: using the catalogue of netdyno {version}, in {folder}"));
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

fn with_causes(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

#[derive(Debug)]
pub(super) enum Home {
    /// A checkout, which has the SDKs.
    Checkout(PathBuf),
    /// Another folder, to which the SDK is copied.
    Own {
        folder: PathBuf,
        /// The project file to create, if there is none.
        project: Option<PathBuf>,
    },
}

/// The folder that the project names, else the checkout's, else one in the working directory.
pub(super) fn home() -> Fallible<Home> {
    if let Some(project) = project()? {
        let folder = project.folders().next().ok_or_else(|| {
            let (file, folder) = (project.folder.join(project::FILE), project::FOLDER);
            format!("{} has no folder for contenders: add contenders = [\"{folder}\"]", file.display())
        })?;
        return Ok(Home::Own { folder, project: None });
    }
    if let Some(root) = find_root()? {
        return Ok(Home::Checkout(root.join("contenders")));
    }
    let here = std::env::current_dir()?;
    Ok(Home::Own { folder: here.join(project::FOLDER), project: Some(here.join(project::FILE)) })
}
