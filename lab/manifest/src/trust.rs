//! Files and folders that name programs to build and run: whether only trusted users can write to them.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::ManifestError;

/// The bit of a mode that permits every user to write, and the sticky bit of a folder, in which only owners can then
/// replace files.
const OTHERS_WRITE: u32 = 0o002;
const STICKY: u32 = 0o1000;

/// Why a file or folder cannot be trusted, if so. Of a symbolic link, the owner counts too.
pub(crate) fn objection(file: &Path) -> Result<Option<String>, ManifestError> {
    let unreadable = |e| ManifestError::unreadable(file, &e);
    let link = std::fs::symlink_metadata(file).map_err(unreadable)?;
    let target = std::fs::metadata(file).map_err(unreadable)?;
    let is_shared = target.mode() & OTHERS_WRITE != 0 && !(target.is_dir() && target.mode() & STICKY != 0);
    let owners = [link.uid(), target.uid()];
    Ok(owners.into_iter().find_map(|owner| untrusted(owner, is_shared, &callers())))
}

/// The users whose files are trusted: the caller and root. With sudo, also the user who called it.
fn callers() -> Vec<u32> {
    let caller = nix::unistd::geteuid().as_raw();
    let sudo = std::env::var("SUDO_UID").ok().filter(|_| caller == 0).and_then(|uid| uid.parse().ok());
    [caller, 0].into_iter().chain(sudo).collect()
}

fn untrusted(owner: u32, is_shared: bool, trusted: &[u32]) -> Option<String> {
    if !trusted.contains(&owner) {
        return Some(format!(
            "it belongs to user {owner}, not to you or root: check it, then change its owner with chown"
        ));
    }
    is_shared.then(|| "every user can write to it: check it, then run chmod o-w".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_of_the_caller_and_root_are_trusted() {
        for (owner, is_trusted) in [(1000, true), (0, true), (1001, false)] {
            assert_eq!(untrusted(owner, false, &[1000, 0]).is_none(), is_trusted, "{owner}");
        }
    }
}
