//! Sources of a contender that are not a release, so that they may differ from the version in its manifest.
//!
//! These are folders outside the checkout or in their own git repository inside it, with their revision, and what the
//! build tool reports (archives, commits). The checkout's own stacks and SDKs do not count.

use std::path::{Path, PathBuf};

use super::ecosystem::Probe;

/// Most named sources; the others are counted.
const NAMED_MAX: usize = 3;

/// A description of the sources that are not a release; none if there are none. `folders` are those reported by the
/// tool.
pub(super) fn describe(
    probe: &Probe<'_>,
    root: &Path,
    folders: &[PathBuf],
    others: Vec<String>,
) -> Option<String> {
    let mut said: Vec<String> = Vec::new();
    let folders = folders.iter().filter_map(|folder| folder.canonicalize().ok());
    let local = folders.filter(|folder| folder.is_dir()).filter_map(|folder| place(&folder, root));
    for text in local.map(|place| place.describe(probe)).chain(others) {
        if !said.contains(&text) {
            said.push(text);
        }
    }
    let more = said.len().saturating_sub(NAMED_MAX);
    said.truncate(NAMED_MAX);
    if more > 0 {
        said.push(format!("{more} more"));
    }
    (!said.is_empty()).then(|| said.join("; "))
}

#[derive(Debug, PartialEq)]
enum Place {
    Folder(PathBuf),
    /// The enclosing repository.
    Git(PathBuf),
}

/// The place of a folder that does not belong to the checkout. Both paths are canonical.
fn place(folder: &Path, root: &Path) -> Option<Place> {
    let repository = folder.ancestors().find(|folder| folder.join(".git").exists());
    match repository {
        _ if !folder.starts_with(root) => {
            Some(repository.map_or(Place::Folder(folder.to_owned()), |git| Place::Git(git.to_owned())))
        }
        Some(git) if git != root && git.starts_with(root) => Some(Place::Git(git.to_owned())),
        _ => None,
    }
}

impl Place {
    fn describe(&self, probe: &Probe<'_>) -> String {
        let repository = match self {
            Place::Folder(folder) => return folder.display().to_string(),
            Place::Git(repository) => repository,
        };
        let git = |args: &[&str]| probe.ask_in(repository, "git", args).ok();
        let state = match git(&["rev-parse", "--short=12", "HEAD"]) {
            None => "no revision".to_owned(),
            // Takes no lock.
            Some(revision) => match git(&["--no-optional-locks", "status", "--porcelain"]) {
                Some(changes) if changes.is_empty() => format!("git {revision}"),
                _ => format!("git {revision} dirty"),
            },
        };
        format!("{} ({state})", repository.display())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_outside_or_has_a_repository_of_its_own_is_local() {
        let dir = tempfile::tempdir().unwrap();
        let at = |path: &str| {
            std::fs::create_dir_all(dir.path().join(path)).unwrap();
            dir.path().join(path)
        };
        let root = at("root");
        for repository in ["root/.git", "theirs/.git", "root/vendor/lib/.git"] {
            at(repository);
        }
        assert_eq!(place(&at("root/stacks/sctp"), &root), None);
        assert_eq!(place(&at("theirs/lib/part"), &root), Some(Place::Git(at("theirs"))));
        assert_eq!(place(&at("root/vendor/lib/src"), &root), Some(Place::Git(at("root/vendor/lib"))));
        assert_eq!(place(&at("plain/lib"), &root), Some(Place::Folder(at("plain/lib"))));
    }
}
