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
    let describe = |folder: PathBuf| Some(describe_place(probe, place(&folder, root)?));
    for text in folders.filter(|folder| folder.is_dir()).filter_map(describe).chain(others) {
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

/// The place of a folder that does not belong to the checkout: the enclosing repository, or the folder itself. Both
/// paths are canonical.
fn place<'a>(folder: &'a Path, root: &Path) -> Option<(&'a Path, bool)> {
    let repository = folder.ancestors().find(|folder| folder.join(".git").exists());
    match repository {
        _ if !folder.starts_with(root) => Some((repository.unwrap_or(folder), repository.is_some())),
        Some(git) if git != root && git.starts_with(root) => Some((git, true)),
        _ => None,
    }
}

/// Describes a folder or, with its revision, a repository.
fn describe_place(probe: &Probe<'_>, (place, is_repository): (&Path, bool)) -> String {
    if !is_repository {
        return place.display().to_string();
    }
    let git = |args: &[&str]| probe.ask_in(place, "git", args).ok();
    let state = git(&["rev-parse", "--short=12", "HEAD"]).map_or("no revision".to_owned(), |revision| {
        // Takes no lock.
        let changes = git(&["--no-optional-locks", "status", "--porcelain"]);
        let is_clean = changes.is_some_and(|changes| changes.is_empty());
        format!("git {revision}{}", if is_clean { "" } else { " dirty" })
    });
    format!("{} ({state})", place.display())
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
        assert_eq!(place(&at("theirs/lib/part"), &root), Some((&*at("theirs"), true)));
        assert_eq!(place(&at("root/vendor/lib/src"), &root), Some((&*at("root/vendor/lib"), true)));
        assert_eq!(place(&at("plain/lib"), &root), Some((&*at("plain/lib"), false)));
    }
}
