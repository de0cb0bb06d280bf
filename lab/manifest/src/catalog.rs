//! The catalogue: every workload and contender of a repository, and the problems of invalid ones.

use std::path::{Path, PathBuf};

use indexmap::IndexMap;

use super::limits::FOLDERS_MAX;
use super::read::{self, is_name, read_text};
use super::trust;
use super::{Checked, Contender, InputSpec, ManifestError, Workload};

/// The folder of `contenders/` that holds SDKs instead of a workload's contenders.
const SDK: &str = "sdk";
const MANIFEST: &str = "contender.toml";

/// Every workload and contender of a repository.
#[derive(Debug, Clone, Default)]
pub struct Catalog {
    /// Its root folder.
    pub root: PathBuf,
    /// The valid workloads, by name.
    pub workloads: IndexMap<String, Workload>,
    /// The valid contenders, by workload and name; those of a revision by `<name>@<revision>`.
    pub contenders: IndexMap<(String, String), Contender>,
    /// Problems of the others. Files are relative to the root, or absolute if they are outside it.
    pub problems: Vec<ManifestError>,
    /// Folders of workload manifests that are not in the root.
    elsewhere: IndexMap<String, PathBuf>,
}

impl Catalog {
    /// Reads a repository. Problems of single manifests are recorded, not returned.
    pub fn load(root: &Path) -> Result<Self, ManifestError> {
        let mut catalog = Self { root: root.to_owned(), ..Self::default() };
        catalog.load_workloads(root, Path::new("workloads"))?;
        catalog.load_contenders(root, Path::new("contenders"))?;
        Ok(catalog)
    }

    /// Adds contenders from `<workload>/<name>`, workloads from `<workload>.toml` and SDKs from `sdk` in another
    /// folder. Problems of single manifests, including duplicate names, are recorded.
    pub fn add(&mut self, folder: &Path) -> Result<(), ManifestError> {
        let folder = folder.canonicalize().map_err(|e| ManifestError::unreadable(folder, &e))?;
        self.load_workloads(Path::new(""), &folder)?;
        self.load_contenders(Path::new(""), &folder)
    }

    /// Adds a contender as it is in another folder of contenders, and returns its name, `<name>@<revision>`. `state`
    /// describes the revision.
    pub fn add_revision(
        &mut self,
        folder: &Path,
        (workload, name): (&str, &str),
        (revision, state): (&str, String),
    ) -> Result<String, ManifestError> {
        let mut contender = self
            .read_contender(Path::new(""), &folder.join(workload).join(name))
            .map_err(|mut all| if all.len() > 1 { ManifestError::Broken(all) } else { all.remove(0) })?;
        contender.revision = Some(state);
        let shown = format!("{name}@{revision}");
        self.contenders.insert((workload.to_owned(), shown.clone()), contender);
        Ok(shown)
    }

    /// The folder with a workload's manifest and, in a subfolder of the workload's name, the programs of its inputs.
    pub fn folder_of(&self, workload: &str) -> PathBuf {
        self.elsewhere.get(workload).cloned().unwrap_or_else(|| self.root.join("workloads"))
    }

    fn load_workloads(&mut self, root: &Path, folder: &Path) -> Result<(), ManifestError> {
        for name in entries(root, folder)? {
            if let Some(stem) = name.strip_suffix(".toml").filter(|stem| root == self.root || is_name(stem)) {
                self.load_workload(root, folder, stem);
            }
        }
        Ok(())
    }

    fn load_contenders(&mut self, root: &Path, folder: &Path) -> Result<(), ManifestError> {
        for workload in entries(root, folder)? {
            let of_workload = folder.join(&workload);
            if workload == SDK || !root.join(&of_workload).is_dir() {
                continue;
            }
            match entries(root, &of_workload) {
                Ok(names) => names
                    .iter()
                    .for_each(|name| self.load_contender(root, &of_workload.join(name), (&workload, name))),
                Err(error) => self.problems.push(error),
            }
        }
        Ok(())
    }

    /// Returns a workload by name, or the problem of its manifest.
    pub fn workload(&self, name: &str) -> Result<&Workload, ManifestError> {
        let unknown = || {
            let broken = self.problem_of(Path::new(&format!("{name}.toml")));
            let of = |c: &Contender| (c.name == name).then(|| c.workload.clone());
            let workloads: Vec<String> = self.contenders.values().filter_map(of).collect();
            broken.unwrap_or_else(|| match workloads.is_empty() {
                true => ManifestError::unknown("workload", name, self.workloads.keys()),
                false => ManifestError::ContenderForWorkload { name: name.to_owned(), workloads },
            })
        };
        self.workloads.get(name).ok_or_else(unknown)
    }

    /// Returns a contender of a workload by name, or the problem of its manifest.
    pub fn contender(&self, workload: &str, name: &str) -> Result<&Contender, ManifestError> {
        let unknown = || {
            let broken = self.problem_of(&Path::new(workload).join(name).join(MANIFEST));
            let known = self.contenders_of(workload).map(|c| &c.name);
            broken.unwrap_or_else(|| ManifestError::unknown("contender", name, known))
        };
        self.contenders.get(&(workload.to_owned(), name.to_owned())).ok_or_else(unknown)
    }

    /// The valid contenders of a workload, by name.
    pub fn contenders_of(&self, workload: &str) -> impl Iterator<Item = &Contender> {
        self.contenders.values().filter(move |c| c.workload == workload)
    }

    /// The programs that generate the inputs of the valid workloads.
    pub fn makers(&self) -> impl Iterator<Item = Contender> {
        let of = |workload: &Workload| -> Vec<Contender> {
            let folder = self.folder_of(&workload.name);
            let maker =
                |(name, input): (&String, &InputSpec)| Contender::maker(input, &folder, &workload.name, name);
            workload.inputs.iter().map(maker).collect()
        };
        self.workloads.values().flat_map(of)
    }

    /// The problem of the contender with this name in any workload, or of `<workload>/<name>`.
    pub fn broken_contender(&self, name: &str) -> Option<ManifestError> {
        let folder = self.problems.iter().filter_map(|p| p.file()).find(|file| {
            file.ends_with(MANIFEST) && file.parent().is_some_and(|folder| folder.ends_with(name))
        });
        self.problem_of(folder?)
    }

    /// The problems of all manifests except those of the named workloads and contenders.
    pub fn problems_beside<'a>(&'a self, named: &'a [&str]) -> impl Iterator<Item = &'a ManifestError> {
        let is_named = |file: &Path| {
            // The folder of a contender, or the file of a workload.
            let is_contender = file.ends_with(MANIFEST);
            let own = if is_contender { file.with_file_name("") } else { file.with_extension("") };
            named.iter().any(|name| own.ends_with(name))
        };
        self.problems.iter().filter(move |problem| !problem.file().is_some_and(is_named))
    }

    /// The problem of the manifest whose path ends with `file`.
    fn problem_of(&self, file: &Path) -> Option<ManifestError> {
        let is_it = |p: &&ManifestError| p.file().is_some_and(|of| of.ends_with(file));
        let mut all: Vec<_> = self.problems.iter().filter(is_it).cloned().collect();
        if all.len() > 1 { Some(ManifestError::Broken(all)) } else { all.pop() }
    }

    fn load_workload(&mut self, root: &Path, folder: &Path, stem: &str) {
        let file = folder.join(format!("{stem}.toml"));
        if self.workloads.contains_key(stem) {
            return self.taken(&file, &self.folder_of(stem).join(format!("{stem}.toml")));
        }
        let parsed = read_text(root, &file).map_err(|e| vec![e]);
        match parsed.and_then(|text| Workload::parse(&file, &text)) {
            Ok(workload) => {
                if root != self.root {
                    self.elsewhere.insert(workload.name.clone(), root.join(folder));
                }
                self.workloads.insert(workload.name.clone(), workload);
            }
            Err(problems) => self.problems.extend(problems),
        }
    }

    fn taken(&mut self, file: &Path, by: &Path) {
        let rule = format!("this name is already used by {}; rename one of them", by.display());
        self.problems.push(ManifestError::invalid(file, "name", rule));
    }

    /// Loads one contender. A folder without a manifest is build output or unfinished work, and is ignored.
    fn load_contender(&mut self, root: &Path, dir: &Path, (workload, name): (&str, &str)) {
        let file = dir.join(MANIFEST);
        if !is_name(name) || !root.join(&file).exists() {
            return;
        }
        let key = (workload.to_owned(), name.to_owned());
        if let Some(other) = self.contenders.get(&key) {
            let other = other.dir.with_file_name(name).join(MANIFEST);
            return self.taken(&file, &other);
        }
        match self.read_contender(root, dir) {
            Ok(contender) => drop(self.contenders.insert(key, contender)),
            Err(problems) => self.problems.extend(problems),
        }
    }

    /// Parses a variant. Missing fields of `[build]` are inherited from the sibling, which must not be a variant itself.
    fn parse_variant(root: &Path, file: &Path, text: &str, from: &str) -> Checked<Contender> {
        let broken = |rule| vec![ManifestError::invalid(file, "build.from", rule)];
        let manifest = file.parent().unwrap_or(Path::new("")).with_file_name(from).join(MANIFEST);
        let inherited = read_text(root, &manifest)
            .map_err(|_| broken(format!("there is no contender \"{from}\" beside it")))?;
        if read::build_of(&inherited).is_some_and(|build| build.contains_key("from")) {
            return Err(broken(format!(
                "\"{from}\" is a variant itself: name the one that it is built from"
            )));
        }
        let sibling = Contender::parse(&manifest, &inherited)
            .map_err(|_| broken(format!("the contender \"{from}\" is itself invalid")))?;
        let variant = Contender::parse_variant(file, text, &inherited)?;
        if (sibling.build.tool, &sibling.build.sdk) != (variant.build.tool, &variant.build.sdk) {
            return Err(broken(format!("\"{from}\" is built by another tool or SDK")));
        }
        Ok(variant)
    }

    /// Reads the contender in `root/dir`. Errors name the file relative to `root`.
    fn read_contender(&self, root: &Path, dir: &Path) -> Checked<Contender> {
        let file = dir.join(MANIFEST);
        let text = read_text(root, &file).map_err(|e| vec![e])?;
        let build = read::build_of(&text).unwrap_or_default();
        let mut contender = match build.get("from").and_then(toml::Value::as_str) {
            Some(from) => Self::parse_variant(root, &file, &text, from)?,
            None => Contender::parse(&file, &text)?,
        };
        // A variant uses its sibling's sources.
        let sources = contender.build.from.as_ref().map_or(dir.to_owned(), |from| dir.with_file_name(from));
        contender.dir = root.join(sources);
        match self.workload(&contender.workload) {
            Ok(workload) => contender.check_against(workload, &file, &text)?,
            // The problem of a broken workload is already recorded.
            Err(unknown @ ManifestError::Unknown { .. }) => {
                return Err(vec![ManifestError::invalid(&file, "workload", unknown.to_string())]);
            }
            Err(_) => {}
        }
        Ok(contender)
    }
}

/// The repository: `NETDYNO_ROOT`, else the nearest parent folder with `workloads/` and `contenders/`, if any.
///
/// A repository that was only found, not named, is an error if another user can write to it, because its programs are built
/// and run.
pub fn find_root() -> Result<Option<PathBuf>, ManifestError> {
    if let Some(root) = std::env::var_os("NETDYNO_ROOT").filter(|root| !root.is_empty()) {
        let file = PathBuf::from(root);
        if is_root(&file) {
            return std::path::absolute(&file).map(Some).map_err(|e| ManifestError::unreadable(&file, &e));
        }
        let reason = "NETDYNO_ROOT names it, but it has no workloads/ and contenders/".to_owned();
        return Err(ManifestError::Unreadable { file, reason });
    }
    root_above(&std::env::current_dir().unwrap_or_default())
}

/// The nearest repository in `from` and its parents.
fn root_above(from: &Path) -> Result<Option<PathBuf>, ManifestError> {
    let Some(root) = from.ancestors().find(|dir| is_root(dir)) else { return Ok(None) };
    for file in [root.to_owned(), root.join("workloads"), root.join("contenders")] {
        if let Some(reason) = trust::objection(&file)? {
            let reason = format!("{reason}; or name the repository in NETDYNO_ROOT");
            return Err(ManifestError::Unreadable { file, reason });
        }
    }
    Ok(Some(root.to_owned()))
}

fn is_root(dir: &Path) -> bool {
    dir.join("workloads").is_dir() && dir.join("contenders").is_dir()
}

/// The sorted names in a folder, without hidden and non-UTF-8 ones.
fn entries(root: &Path, folder: &Path) -> Result<Vec<String>, ManifestError> {
    let unreadable = |e: std::io::Error| ManifestError::unreadable(folder, &e);
    let mut names = Vec::new();
    for entry in std::fs::read_dir(root.join(folder)).map_err(unreadable)? {
        if let Ok(name) = entry.map_err(unreadable)?.file_name().into_string()
            && !name.starts_with('.')
        {
            names.push(name);
        }
        if names.len() > FOLDERS_MAX {
            let reason = format!("more than {FOLDERS_MAX} entries");
            return Err(ManifestError::Unreadable { file: folder.to_owned(), reason });
        }
    }
    names.sort();
    Ok(names)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_repository_that_others_can_write_to_is_not_used_unasked() {
        let dir = tempfile::tempdir().unwrap();
        let below = dir.path().join("contenders/w/one");
        std::fs::create_dir_all(&below).unwrap();
        assert_eq!(root_above(&below).unwrap(), None);
        std::fs::create_dir(dir.path().join("workloads")).unwrap();
        assert_eq!(root_above(&below).unwrap().as_deref(), Some(dir.path()));
        for name in ["", "workloads", "contenders"] {
            let folder = dir.path().join(name);
            let usual = std::fs::metadata(&folder).unwrap().permissions();
            // In a sticky folder, such as /tmp, only owners can replace what it contains.
            for (mode, is_trusted) in [(0o777, false), (0o1777, true), (0o775, true)] {
                std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(mode)).unwrap();
                let found = root_above(&below);
                assert_eq!(found.is_ok(), is_trusted, "{name} {mode:o}: {found:?}");
            }
            std::fs::set_permissions(&folder, usual).unwrap();
            // Only root can give a folder away.
            if std::os::unix::fs::chown(&folder, Some(4242), None).is_ok() {
                let error = root_above(&below).unwrap_err().to_string();
                assert!(error.contains("belongs to user 4242") && error.contains("NETDYNO_ROOT"), "{error}");
                std::os::unix::fs::chown(&folder, Some(nix::unistd::geteuid().as_raw()), None).unwrap();
            }
        }
    }
}
