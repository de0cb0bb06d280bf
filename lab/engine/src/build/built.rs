//! A finished build: its record, and the commands of its roles.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{java, pip, read_whole};
use netdyno_lab_manifest::{Contender, Placeholder, Tool, substitute};
use netdyno_lab_store::code_lines::CodeLines;

/// The file that marks a finished build.
pub(super) const RECORD: &str = "build.json";

/// The record of a build, stored next to it as `build.json`, which marks a finished build.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Hash of all inputs, as 64 hex digits.
    pub key: String,
    /// The contender, as `<workload>/<name>`.
    pub contender: String,
    /// The build tool.
    pub tool: Tool,
    /// The hashed folders and files, relative to the repository.
    pub inputs: Vec<String>,
    /// The number of hashed files.
    pub files: usize,
    /// The toolchain's version output.
    pub toolchain: String,
    /// The flags of the build.
    pub flags: Vec<String>,
    /// The environment variables that affect the build and were set.
    pub environment: BTreeMap<String, String>,
    /// SHA-256 of the lock file, if there is one.
    pub lock_hash: Option<String>,
    /// Duration in seconds, without waiting for other labs.
    pub seconds: f64,
    /// When it was finished, in UTC.
    pub built_at: String,
    /// The log of the tools.
    pub log: PathBuf,
    /// Lines of code of its sources.
    #[serde(default = "not_counted")]
    pub lines: CodeLines,
}

/// The value for records of older versions, which still provide the duration of a build.
fn not_counted() -> CodeLines {
    CodeLines::not_measured("the build predates the counting of lines")
}

/// The value where netdyno was built without the feature that counts.
pub(super) fn not_countable() -> CodeLines {
    CodeLines::not_measured("netdyno was built without the feature \"lines\"")
}

/// A finished build.
#[derive(Debug, Clone)]
pub struct Built {
    /// The build's files: `{dir}`.
    pub dir: PathBuf,
    /// Its record.
    pub record: Record,
    /// Whether it was in the cache.
    pub cached: bool,
    /// Sources that are not a release, if any: folders with their revisions, archives, commits. Not in the record,
    /// since the files may be committed later.
    pub local: Option<String>,
    pub(super) contender: Contender,
    pub(super) node: Option<String>,
}

/// The command of a role.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoleCommand {
    /// The program and its arguments.
    pub argv: Vec<String>,
    /// Environment variables added to the inherited ones.
    pub env: BTreeMap<String, String>,
    /// Whether it only starts the program under test.
    pub is_adapter: bool,
}

impl Built {
    /// The command of a role; none if the contender does not play it.
    pub fn command(&self, role: &str) -> Option<RoleCommand> {
        let spec = self.contender.roles.get(role)?;
        let value = |placeholder| Some(self.value(placeholder));
        // A valid manifest only has placeholders of its tool.
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
            // The length of a program's path changes its memory layout and thereby its speed. It must not depend on where
            // a revision is stored. The copy also stays as it was built.
            Placeholder::Src if self.contender.build.tool == Tool::Pip => shown(&self.dir),
            Placeholder::Src => shown(&self.contender.dir),
            Placeholder::Python => shown(&pip::python(self.entry())),
            Placeholder::Node => self.node.clone().unwrap_or_default(),
        }
    }
}

/// The builder requires a UTF-8 cache path, so nothing is lost.
fn shown(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// The record of a complete build with this key. A build whose lines could not be counted is incomplete for a netdyno that
/// counts them.
pub(super) fn read_record(entry: &Path, key: &str, contender: &Contender) -> Option<Record> {
    let record = read_any_record(entry)?;
    let whole = match contender.build.tool {
        Tool::Cargo | Tool::Cc | Tool::Go => entry.join("files").join(&contender.name).is_file(),
        Tool::Npm => entry.join("files/node_modules").is_dir() || contender.build.sdk.is_none(),
        Tool::Java => java::runtime(entry).is_file(),
        // Also false if the Python of the environment was removed.
        Tool::Pip => pip::python(entry).is_file(),
        Tool::System => true,
    };
    let counted = cfg!(not(feature = "lines")) || record.lines != not_countable();
    (record.key == key && whole && counted).then_some(record)
}

pub(super) fn read_any_record(entry: &Path) -> Option<Record> {
    read_whole(entry, RECORD)
}
