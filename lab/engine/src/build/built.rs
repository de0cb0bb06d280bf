//! A finished build: its record, and how to start a role from it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{java, pip, read_whole};
use netdyno_lab_manifest::{Contender, Placeholder, Tool, substitute};
use netdyno_lab_store::code_lines::CodeLines;

/// Its presence is what makes a build finished.
pub(super) const RECORD: &str = "build.json";

/// What is known of a build; kept beside it as `build.json`, whose presence is what makes a build finished.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// The hash of everything that decided the outcome, as 64 hex digits.
    pub key: String,
    /// The contender, as `<workload>/<name>`.
    pub contender: String,
    /// The tool that built.
    pub tool: Tool,
    /// The folders and files that were hashed, relative to the repository.
    pub inputs: Vec<String>,
    /// How many files that were.
    pub files: usize,
    /// The toolchain, in its own words.
    pub toolchain: String,
    /// The flags of the build.
    pub flags: Vec<String>,
    /// The variables that decided the outcome and were set.
    pub environment: BTreeMap<String, String>,
    /// The SHA-256 of the lock file, where there is one.
    pub lock_hash: Option<String>,
    /// How long it took, without waiting for other labs.
    pub seconds: f64,
    /// When it was finished, in UTC.
    pub built_at: String,
    /// Everything that the tools printed.
    pub log: PathBuf,
    /// How many lines of code it was built from.
    #[serde(default = "not_counted")]
    pub lines: CodeLines,
}

/// Of the record of an older netdyno, which is still read to say how long a build takes.
fn not_counted() -> CodeLines {
    CodeLines::not_measured("the build is older than the count of lines")
}

/// A finished build.
#[derive(Debug, Clone)]
pub struct Built {
    /// What was built: `{dir}`.
    pub dir: PathBuf,
    /// What is known of it.
    pub record: Record,
    /// Whether it was found in the cache.
    pub cached: bool,
    /// Which of its sources are no release, if any: folders with their revisions, archives, commits. Not in the record: the
    /// same files may have been committed since.
    pub local: Option<String>,
    pub(super) contender: Contender,
    pub(super) node: Option<String>,
}

/// How to start a role.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoleCommand {
    /// The program and its arguments.
    pub argv: Vec<String>,
    /// Its environment beside the inherited one.
    pub env: BTreeMap<String, String>,
    /// It only starts the program under test.
    pub is_adapter: bool,
}

impl Built {
    /// How to start a role; nothing if the contender does not play it.
    pub fn command(&self, role: &str) -> Option<RoleCommand> {
        let spec = self.contender.roles.get(role)?;
        let value = |placeholder| Some(self.value(placeholder));
        // A valid manifest has only placeholders that its tool offers.
        let fill = |text: &String| substitute(text, value).ok();
        let argv = spec.run.iter().map(fill).collect::<Option<_>>()?;
        let mut env: BTreeMap<String, String> = BTreeMap::new();
        if self.contender.build.tool == Tool::Pip && self.contender.build.sdk.is_some() {
            env.insert("PYTHONPATH".to_owned(), shown(&pip::sdk_folder(self.entry())));
        }
        for (key, text) in &spec.env {
            env.insert(key.clone(), fill(text)?);
        }
        Some(RoleCommand { argv, env, is_adapter: spec.adapter })
    }

    fn entry(&self) -> &Path {
        self.dir.parent().unwrap_or(&self.dir)
    }

    fn value(&self, placeholder: Placeholder) -> String {
        match placeholder {
            Placeholder::Bin => shown(&self.dir.join(&self.contender.name)),
            Placeholder::Dir => shown(&self.dir),
            Placeholder::Src => shown(&self.contender.dir),
            Placeholder::Python => shown(&pip::python(self.entry())),
            Placeholder::Node => self.node.clone().unwrap_or_default(),
        }
    }
}

/// The builder takes only a cache whose path is UTF-8, so nothing is lost here.
fn shown(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// The record of a finished build with this key, if it is there and whole.
pub(super) fn read_record(entry: &Path, key: &str, contender: &Contender) -> Option<Record> {
    let record = read_any_record(entry)?;
    let whole = match contender.build.tool {
        Tool::Cargo | Tool::Cc | Tool::Go => entry.join("files").join(&contender.name).is_file(),
        Tool::Npm => entry.join("files/node_modules").is_dir() || contender.build.sdk.is_none(),
        Tool::Java => java::runtime(entry).is_file(),
        // False also where the Python that the environment was made of is gone.
        Tool::Pip => pip::python(entry).is_file(),
        Tool::System => true,
    };
    (record.key == key && whole).then_some(record)
}

/// The record of a finished build, whatever became of the rest.
pub(super) fn read_any_record(entry: &Path) -> Option<Record> {
    read_whole(entry, RECORD)
}
