//! The catalog: every workload and contender of a repository, and everything wrong with any of them.

use std::path::{Path, PathBuf};

use indexmap::IndexMap;

use super::limits::FOLDERS_MAX;
use super::read::{is_name, read_text};
use super::{Contender, ManifestError, Workload};

/// The folder of `contenders/` that holds helpers, not a workload's contenders.
const SDK: &str = "sdk";
const MANIFEST: &str = "contender.toml";

/// Every workload and contender of a repository.
#[derive(Debug, Clone, Default)]
pub struct Catalog {
    /// The repository.
    pub root: PathBuf,
    /// The valid workloads, by name.
    pub workloads: IndexMap<String, Workload>,
    /// The valid contenders, by workload and name.
    pub contenders: IndexMap<(String, String), Contender>,
    /// What is wrong with the others. Files are relative to the root.
    pub problems: Vec<ManifestError>,
}

impl Catalog {
    /// Reads a repository. Fails only if it is none; a broken manifest is one of the problems.
    pub fn load(root: &Path) -> Result<Self, ManifestError> {
        let mut catalog = Self { root: root.to_owned(), ..Self::default() };
        for name in entries(root, Path::new("workloads"))? {
            if let Some(stem) = name.strip_suffix(".toml") {
                catalog.load_workload(stem);
            }
        }
        let contenders = Path::new("contenders");
        for workload in entries(root, contenders)? {
            let folder = contenders.join(&workload);
            if workload == SDK || !root.join(&folder).is_dir() {
                continue;
            }
            match entries(root, &folder) {
                Ok(names) => names.iter().for_each(|name| catalog.load_contender(&workload, name)),
                Err(error) => catalog.problems.push(error),
            }
        }
        Ok(catalog)
    }

    /// A workload by name. A broken one gives its own error.
    pub fn workload(&self, name: &str) -> Result<&Workload, ManifestError> {
        let unknown = || {
            let broken = self.problem_of(&Path::new("workloads").join(format!("{name}.toml")));
            let of = |c: &Contender| (c.name == name).then(|| c.workload.clone());
            let workloads: Vec<String> = self.contenders.values().filter_map(of).collect();
            broken.unwrap_or_else(|| match workloads.is_empty() {
                true => ManifestError::unknown("workload", name, self.workloads.keys()),
                false => ManifestError::ContenderForWorkload { name: name.to_owned(), workloads },
            })
        };
        self.workloads.get(name).ok_or_else(unknown)
    }

    /// A contender of a workload by name. A broken one gives its own error.
    pub fn contender(&self, workload: &str, name: &str) -> Result<&Contender, ManifestError> {
        let unknown = || {
            let broken = self.problem_of(&Path::new("contenders").join(workload).join(name).join(MANIFEST));
            let known = self.contenders_of(workload).map(|c| &c.name);
            broken.unwrap_or_else(|| ManifestError::unknown("contender", name, known))
        };
        self.contenders.get(&(workload.to_owned(), name.to_owned())).ok_or_else(unknown)
    }

    /// The valid contenders of a workload, by name.
    pub fn contenders_of(&self, workload: &str) -> impl Iterator<Item = &Contender> {
        self.contenders.values().filter(move |c| c.workload == workload)
    }

    fn problem_of(&self, file: &Path) -> Option<ManifestError> {
        self.problems.iter().find(|problem| problem.file() == Some(file)).cloned()
    }

    fn load_workload(&mut self, stem: &str) {
        let file = Path::new("workloads").join(format!("{stem}.toml"));
        let parsed = read_text(&self.root, &file).map_err(|e| vec![e]);
        match parsed.and_then(|text| Workload::parse(&file, &text)) {
            Ok(workload) => drop(self.workloads.insert(workload.name.clone(), workload)),
            Err(problems) => self.problems.extend(problems),
        }
    }

    /// Loads one contender. A folder without a manifest is somebody's build output, or work not yet begun.
    fn load_contender(&mut self, workload: &str, name: &str) {
        let dir = Path::new("contenders").join(workload).join(name);
        let file = dir.join(MANIFEST);
        if !is_name(name) || !self.root.join(&file).exists() {
            return;
        }
        match self.read_contender(workload, &file) {
            Ok(mut contender) => {
                // The sources of the contender that it is a variant of, or its own.
                let dir = contender.build.from.as_ref().map_or(dir.clone(), |from| dir.with_file_name(from));
                contender.dir = self.root.join(dir);
                self.contenders.insert((workload.to_owned(), name.to_owned()), contender);
            }
            Err(problems) => self.problems.extend(problems),
        }
    }

    /// A variant shares its sibling's folder: that must be a contender of its own, built by the same tool and SDK.
    fn can_be_built_from(&self, file: &Path, from: &str, contender: &Contender) -> Result<(), String> {
        let folder = file.parent().unwrap_or(Path::new("")).with_file_name(from);
        let text = read_text(&self.root, &folder.join(MANIFEST))
            .map_err(|_| format!("there is no contender \"{from}\" beside it"))?;
        let sibling = Contender::parse(&folder.join(MANIFEST), &text)
            .map_err(|_| format!("the contender \"{from}\" is broken itself"))?;
        if sibling.build.from.is_some() {
            return Err(format!("\"{from}\" is a variant itself: name the one that it is built from"));
        }
        if (sibling.build.tool, &sibling.build.sdk) != (contender.build.tool, &contender.build.sdk) {
            return Err(format!("\"{from}\" is built by another tool or SDK"));
        }
        Ok(())
    }

    fn read_contender(&self, workload: &str, file: &Path) -> Result<Contender, Vec<ManifestError>> {
        let text = read_text(&self.root, file).map_err(|e| vec![e])?;
        let contender = Contender::parse(file, &text)?;
        if let Some(from) = &contender.build.from
            && let Err(rule) = self.can_be_built_from(file, from, &contender)
        {
            let field = "build.from".to_owned();
            let file = file.to_owned();
            return Err(vec![ManifestError::Invalid { file, line: None, field, rule, nearest: None }]);
        }
        match self.workload(workload) {
            Ok(workload) => contender.check_against(workload, file, &text)?,
            // A broken workload has said so itself.
            Err(unknown @ ManifestError::Unknown { .. }) => {
                let rule = unknown.to_string();
                let field = "workload".to_owned();
                let file = file.to_owned();
                return Err(vec![ManifestError::Invalid { file, line: None, field, rule, nearest: None }]);
            }
            Err(_) => {}
        }
        Ok(contender)
    }
}

/// The repository: `NETDYNO_ROOT`, else the nearest folder from here up that has both `workloads/` and
/// `contenders/`, else the one that this program was compiled in.
pub fn find_root() -> Result<PathBuf, ManifestError> {
    if let Some(root) = std::env::var_os("NETDYNO_ROOT").filter(|root| !root.is_empty()) {
        let file = PathBuf::from(root);
        if is_root(&file) {
            return std::path::absolute(&file).map_err(|e| ManifestError::unreadable(&file, &e));
        }
        let reason = "NETDYNO_ROOT names it, but it has no workloads/ and contenders/".to_owned();
        return Err(ManifestError::Unreadable { file, reason });
    }
    let here = std::env::current_dir().unwrap_or_default();
    let compiled_in = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let compiled_in = compiled_in.canonicalize().unwrap_or(compiled_in);
    let mut candidates = here.ancestors().chain(std::iter::once(compiled_in.as_path()));
    candidates.find(|dir| is_root(dir)).map(Path::to_owned).ok_or(ManifestError::NoRoot)
}

fn is_root(dir: &Path) -> bool {
    dir.join("workloads").is_dir() && dir.join("contenders").is_dir()
}

/// The names in a folder of the repository, sorted; hidden ones and those that are not UTF-8 left out.
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
