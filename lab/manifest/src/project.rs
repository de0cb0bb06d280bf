//! `netdyno.toml`: settings of a library's repository.
//!
//! ```toml
//! workload = "datachannel"          # default workload of `run` and `compare`
//! contender = "my-lib"              # default contender of `compare`
//! contenders = ["netdyno"]          # folders with <workload>/<name>/contender.toml and <workload>.toml
//! baseline = "rustrtc"              # default baseline of `run`
//! fail-on = ["regression=3%"]       # default conditions of `compare --fail-on`
//! ```
//!
//! The file is searched for in the working directory and its parents. Paths are relative to its folder.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::{ManifestError, read_manifest, trust};

/// Name of the file.
pub const FILE: &str = "netdyno.toml";
/// Default folder of contenders.
pub const FOLDER: &str = "netdyno";

/// The settings.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Project {
    /// The folder of the file. Not in the file.
    #[serde(skip)]
    pub folder: PathBuf,
    /// The default workload.
    pub workload: Option<String>,
    /// The default contender of `compare`.
    pub contender: Option<String>,
    /// Folders of contenders.
    #[serde(default)]
    pub contenders: Vec<PathBuf>,
    /// The default baseline.
    pub baseline: Option<String>,
    /// The default of `--fail-on`.
    #[serde(default)]
    pub fail_on: Vec<String>,
}

impl Project {
    /// The nearest project file in `from` and its parents.
    ///
    /// A file that another user can write is an error, because it names programs that are built and run.
    pub fn find(from: &Path) -> Result<Option<Project>, ManifestError> {
        let Some(folder) = from.ancestors().find(|folder| folder.join(FILE).is_file()) else {
            return Ok(None);
        };
        let file = folder.join(FILE);
        if let Some(reason) = trust::objection(&file)? {
            return Err(ManifestError::Unreadable { file, reason });
        }
        let project: Project = read_manifest(&file)?;
        Ok(Some(Project { folder: folder.to_owned(), ..project }))
    }

    /// File and line of a value, for errors.
    #[must_use]
    pub fn place_of(&self, value: &str) -> String {
        let file = self.folder.join(FILE);
        let text = std::fs::read_to_string(&file).unwrap_or_default();
        let line = text.lines().position(|line| line.contains(value));
        line.map_or(file.display().to_string(), |line| format!("{}:{}", file.display(), line + 1))
    }

    /// The folders of contenders.
    pub fn folders(&self) -> impl Iterator<Item = PathBuf> {
        self.contenders.iter().map(|folder| self.folder.join(folder))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_others_can_write_is_rejected() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join(FILE);
        std::fs::write(&file, "workload = \"w\"\n").unwrap();
        for (mode, trusted) in [(0o644, true), (0o664, true), (0o666, false), (0o646, false)] {
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
            let found = Project::find(dir.path());
            assert_eq!(found.is_ok(), trusted, "{mode:o}: {found:?}");
        }
        // Only root can give a file away.
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
        if std::os::unix::fs::chown(&file, Some(4242), None).is_ok() {
            let error = Project::find(dir.path()).unwrap_err().to_string();
            assert!(error.contains("belongs to user 4242"), "{error}");
        }
    }

    #[test]
    fn it_is_found_from_below_and_its_mistakes_are_named() {
        let dir = tempfile::tempdir().unwrap();
        let below = dir.path().join("src/deep");
        std::fs::create_dir_all(&below).unwrap();
        let write = |text: &str| std::fs::write(dir.path().join(FILE), text).unwrap();
        write("workload = \"w\"\ncontenders = [\"bench\"]\nfail-on = [\"regression=3%\"]\n");
        let project = Project::find(&below).unwrap().unwrap();
        assert_eq!(project.folders().collect::<Vec<_>>(), [dir.path().join("bench")]);
        assert_eq!((project.workload.as_deref(), project.fail_on.len()), (Some("w"), 1));
        write("workload = \"w\"\n\nbaselin = \"x\"\n");
        let error = Project::find(&below).unwrap_err().to_string();
        assert!(error.contains("netdyno.toml:3: ") && error.contains("did you mean baseline?"), "{error}");
    }
}
