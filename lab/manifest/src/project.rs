//! `netdyno.toml`: what a library's repository tells the lab, so that its authors type little.
//!
//! ```toml
//! workload = "datachannel"          # what `run` and `compare` are of, where none is typed
//! contender = "my-lib"              # whom `compare` compares
//! contenders = ["netdyno"]          # folders with <workload>/<name>/contender.toml, and workloads of one's own
//! baseline = "rustrtc"              # whom `run` compares with
//! fail-on = ["regression=3%"]       # what `compare` fails on
//! ```
//!
//! It is looked for from the working directory up. Paths are from its folder.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::{ManifestError, read_manifest};

/// Its name.
pub const FILE: &str = "netdyno.toml";
/// The folder of contenders that it names where it names none.
pub const FOLDER: &str = "netdyno";

/// What it says.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Project {
    /// Where it is. Not in the file.
    #[serde(skip)]
    pub folder: PathBuf,
    /// The workload.
    pub workload: Option<String>,
    /// The contender that is compared.
    pub contender: Option<String>,
    /// Folders of contenders, from its own.
    #[serde(default)]
    pub contenders: Vec<PathBuf>,
    /// The contender that others are compared with.
    pub baseline: Option<String>,
    /// As `--fail-on`.
    #[serde(default)]
    pub fail_on: Vec<String>,
}

impl Project {
    /// The nearest one, from a folder up.
    ///
    /// # Errors
    /// Its author's: it cannot be read, or says what it cannot mean.
    pub fn find(from: &Path) -> Result<Option<Project>, ManifestError> {
        let Some(folder) = from.ancestors().find(|folder| folder.join(FILE).is_file()) else {
            return Ok(None);
        };
        let project: Project = read_manifest(&folder.join(FILE))?;
        Ok(Some(Project { folder: folder.to_owned(), ..project }))
    }

    /// Its folders of contenders.
    pub fn folders(&self) -> impl Iterator<Item = PathBuf> {
        self.contenders.iter().map(|folder| self.folder.join(folder))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
