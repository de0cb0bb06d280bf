//! Revisions of a contender's repository as contenders.
//!
//! | does | does not |
//! |---|---|
//! | write the files of a commit to the cache, as git would check them out | change the repository: its index,
//! worktrees or hooks |
//! | read the contender's manifest of that commit | build: builds are named by their files, so that equal revisions
//! are built once |
//! | include path dependencies inside the repository, since the whole tree is written | follow submodules |
//!
//! ```text
//! <cache>/revisions/<commit>/files/   the tree of the commit
//!                          /whole    written last: marks a complete tree
//! ```

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use netdyno_lab_manifest::{Catalog, ManifestError};

/// The name of the working tree, with uncommitted changes.
pub const WORKING_TREE: &str = ".";
/// Displayed digits of a commit.
const SHOWN_DIGITS: usize = 12;
/// Longest name of a revision, in bytes.
const NAME_BYTES_MAX: usize = 128;
/// Variables that would redirect git, as in a hook.
const GIT_VARIABLES: [&str; 6] =
    ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_OBJECT_DIRECTORY", "GIT_COMMON_DIR"];

/// Why a revision is unavailable.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages document the variants")]
pub enum RevisionError {
    #[error(
        "--rev {0:?} is not a revision: a branch, tag or commit as git names it, or \".\" for the working tree"
    )]
    Name(String),
    #[error(
        "no revision {revision:?} in {}: {said}; in a shallow clone, fetch it first: {}",
        repository.display(), fetch_command(revision)
    )]
    Unknown { revision: String, repository: PathBuf, said: String },
    #[error("{} is not in a git repository, which --rev needs: {said}", folder.display())]
    NoRepository { folder: PathBuf, said: String },
    #[error("{contender} at {revision}: {source}; the adapter must be part of both revisions")]
    Manifest { contender: String, revision: String, source: Box<ManifestError> },
    #[error(transparent)]
    Asked(#[from] ManifestError),
    #[error("git {step}: {said}")]
    Git { step: &'static str, said: String },
    #[error("the cache {}: {source}; {}", path.display(), crate::build::cache_remedy(source))]
    Cache { path: PathBuf, source: io::Error },
}

/// Adds a contender as it is in a revision to the catalogue. Returns its name, `<name>@<revision>`.
pub fn add(
    catalog: &mut Catalog,
    cache: &Path,
    (workload, name): (&str, &str),
    revision: &str,
) -> Result<String, RevisionError> {
    let odd = |c: char| c.is_control() || c.is_whitespace();
    if revision.is_empty() || revision.len() > NAME_BYTES_MAX || revision.contains(odd) {
        return Err(RevisionError::Name(revision.to_owned()));
    }
    let contender = catalog.contender(workload, name)?;
    // The manifest's own folder: a variant is built from its sibling's.
    let folder = contender.dir.with_file_name(name);
    let folder = folder.canonicalize().map_err(|source| RevisionError::Cache { path: folder, source })?;
    let top = git(&folder, &["rev-parse", "--show-toplevel"])
        .map_err(|said| RevisionError::NoRepository { folder: folder.clone(), said })?;
    let top = PathBuf::from(top);
    let contenders = folder.ancestors().nth(2).unwrap_or(&folder);
    let (contenders, state) = if revision == WORKING_TREE {
        (contenders.to_owned(), format!("the working tree of {}", state(&top)))
    } else {
        let commit = commit(&top, revision)?;
        let files = exported(&top, &commit, cache)?;
        let below = contenders.strip_prefix(&top).unwrap_or(contenders);
        (files.join(below), format!("git {}", shown(&commit)))
    };
    catalog.add_revision(&contenders, (workload, name), (label(revision), state)).map_err(|source| {
        RevisionError::Manifest {
            contender: format!("{workload}/{name}"),
            revision: revision.to_owned(),
            source: Box::new(source),
        }
    })
}

/// Extensions of source code.
const CODE: [&str; 22] = [
    "c", "cc", "cpp", "cs", "cxx", "go", "h", "hpp", "java", "js", "kt", "mjs", "php", "py", "pyi", "pyx",
    "rb", "rs", "swift", "ts", "whl", "zig",
];
/// Folders whose code is not part of a library.
const OTHER_CODE: [&str; 8] = ["bench", "benches", "docs", "examples", "test", "tests", ".ci", ".github"];

/// Folders without sources of a build, at the root of a repository.
const DOCUMENT_FOLDERS: [&str; 3] = [".github", "doc", "docs"];
/// Beginnings of the names of documents.
const DOCUMENTS: [&str; 13] = [
    "AUTHORS",
    "CHANGELOG",
    "CHANGES",
    "CODE_OF_CONDUCT",
    "CONTRIBUTING",
    "COPYING",
    "HISTORY",
    "LICENCE",
    "LICENSE",
    "NEWS",
    "NOTICE",
    "README",
    "SECURITY",
];
const DOCUMENT_EXTENSIONS: [&str; 5] = ["", "adoc", "md", "rst", "txt"];

/// The files that differ between two revisions of a contender's repository.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Changes {
    /// Paths relative to the repository.
    pub files: Vec<String>,
    /// Whether code of the library is among them.
    pub has_code: bool,
    /// Whether all of them are documents that no program contains. Not known of a working tree, since git may ignore files of it.
    pub is_documentation: bool,
}

/// The files that differ between two revisions of a contender's repository.
///
/// # Errors
/// If the contender is unknown, or git fails.
pub fn changes(
    catalog: &Catalog,
    (workload, name): (&str, &str),
    [from, to]: [&str; 2],
) -> Result<Changes, RevisionError> {
    let folder = &catalog.contender(workload, name)?.dir;
    let failed = |said| RevisionError::Git { step: "diff", said };
    let top = PathBuf::from(git(folder, &["rev-parse", "--show-toplevel"]).map_err(failed)?);
    let mut arguments = vec!["diff", "--name-only", "--no-renames"];
    arguments.extend([from, to].into_iter().filter(|revision| *revision != WORKING_TREE));
    let mut text = git(&top, &[&arguments[..], &["--"]].concat()).map_err(failed)?;
    let has_working_tree = [from, to].contains(&WORKING_TREE);
    if has_working_tree {
        let untracked = git(&top, &["ls-files", "--others", "--exclude-standard"]).map_err(failed)?;
        text = format!("{text}\n{untracked}");
    }
    let files: Vec<String> = text.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect();
    let has_code = files.iter().any(|file| is_library_code(Path::new(file)));
    let is_documentation =
        !has_working_tree && !files.is_empty() && files.iter().all(|file| is_document(Path::new(file)));
    Ok(Changes { files, has_code, is_documentation })
}

fn is_document(file: &Path) -> bool {
    let text = |part: Option<&std::ffi::OsStr>| part.and_then(|p| p.to_str()).unwrap_or_default().to_owned();
    let (name, extension) = (text(file.file_name()), text(file.extension()));
    let first = text(file.components().next().map(|part| part.as_os_str()));
    DOCUMENT_FOLDERS.contains(&first.as_str())
        || (DOCUMENTS.iter().any(|document| name.starts_with(document))
            && DOCUMENT_EXTENSIONS.contains(&extension.as_str()))
}

fn is_library_code(file: &Path) -> bool {
    let is_code = file.extension().and_then(|e| e.to_str()).is_some_and(|e| CODE.contains(&e));
    let stem = file.file_stem().and_then(|s| s.to_str()).unwrap_or_default();
    let is_test = stem.starts_with("test_") || stem.ends_with("_test");
    let is_other =
        |part: std::path::Component<'_>| part.as_os_str().to_str().is_some_and(|p| OTHER_CODE.contains(&p));
    is_code && !is_test && !file.components().any(is_other)
}

/// The command that fetches a revision into a shallow clone under its own name.
fn fetch_command(revision: &str) -> String {
    let refspec = match revision.strip_prefix("origin/") {
        Some(branch) => format!("{branch}:refs/remotes/origin/{branch}"),
        None if is_hash(revision) => revision.to_owned(),
        None => format!("{revision}:{revision}"),
    };
    format!("git fetch --depth 1 origin {refspec}")
}

/// The suffix of the contender's name: of a complete hash, only the first digits.
fn label(revision: &str) -> &str {
    if is_hash(revision) { shown(revision) } else { revision }
}

fn is_hash(text: &str) -> bool {
    text.len() >= 40 && text.bytes().all(|b| b.is_ascii_hexdigit())
}

fn commit(top: &Path, revision: &str) -> Result<String, RevisionError> {
    let wanted = format!("{revision}^{{commit}}");
    let found = git(top, &["rev-parse", "--verify", "--end-of-options", &wanted]);
    let unknown =
        |said| RevisionError::Unknown { revision: revision.to_owned(), repository: top.to_owned(), said };
    found.map_err(unknown).and_then(|hash| if is_hash(&hash) { Ok(hash) } else { Err(unknown(hash)) })
}

/// `0123456789ab, with changes`.
fn state(top: &Path) -> String {
    let head = git(top, &["rev-parse", "--verify", "HEAD"]).unwrap_or_default();
    // Takes no lock.
    match git(top, &["--no-optional-locks", "status", "--porcelain"]) {
        Ok(changes) if changes.is_empty() => format!("git {}", shown(&head)),
        _ => format!("git {}, with changes", shown(&head)),
    }
}

fn shown(commit: &str) -> &str {
    commit.get(..SHOWN_DIGITS).unwrap_or(commit)
}

/// The folder with a commit's files, written on first use.
fn exported(top: &Path, commit: &str, cache: &Path) -> Result<PathBuf, RevisionError> {
    let entry = cache.join("revisions").join(commit);
    let error = |path: &Path| {
        let path = path.to_owned();
        move |source| RevisionError::Cache { path, source }
    };
    let (files, whole) = (entry.join("files"), entry.join(crate::build::REVISION_RECORD));
    // Another lab may write the same revision.
    let _lock = crate::build::lock(cache, commit).map_err(error(cache))?;
    fs::create_dir_all(&entry).map_err(error(&entry))?;
    if whole.is_file() {
        return Ok(files);
    }
    crate::build::remove_folder(&files).and_then(|()| fs::create_dir(&files)).map_err(error(&files))?;
    let index = entry.join("index");
    let with_index = |step: &'static str, args: &[&str]| {
        let mut command = command(top, args);
        ask(command.env("GIT_INDEX_FILE", &index)).map_err(|said| RevisionError::Git { step, said })
    };
    with_index("read-tree", &["read-tree", commit])?;
    // As `git checkout` would write them, including filters; `git archive` omits files marked `export-ignore`.
    let prefix = format!("--prefix={}/", files.display());
    with_index("checkout-index", &["checkout-index", "--all", "--force", &prefix])?;
    fs::remove_file(&index).and_then(|()| fs::write(&whole, commit)).map_err(error(&whole))?;
    Ok(files)
}

/// Runs git in a folder. Returns its output, or its error message.
fn git(folder: &Path, args: &[&str]) -> Result<String, String> {
    ask(&mut command(folder, args))
}

fn command(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::new("git");
    command.arg("-C").arg(folder).args(args);
    for name in GIT_VARIABLES {
        command.env_remove(name);
    }
    command
}

fn ask(command: &mut Command) -> Result<String, String> {
    let output = command.output().map_err(|e| format!("cannot start git: {e}; apt-get install git"))?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim_end().to_owned();
    if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Repository(tempfile::TempDir);

    impl Repository {
        fn new() -> Repository {
            let repository = Repository(tempfile::tempdir().unwrap());
            repository.git(&["init", "-q", "-b", "main"]);
            repository
        }

        fn git(&self, args: &[&str]) -> String {
            let who = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"];
            git(self.0.path(), &[&who[..], args].concat()).unwrap()
        }

        fn write(&self, file: &str, text: &str) {
            let path = self.0.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }

        fn commit(&self) -> String {
            self.git(&["add", "-A"]);
            self.git(&["commit", "-q", "-m", "x"]);
            self.git(&["rev-parse", "HEAD"])
        }
    }

    /// Includes files that an archive of the commit would omit; staged files stay staged.
    #[test]
    fn a_commit_is_exported_whole_and_the_repository_stays_as_it_is() {
        let (repository, cache) = (Repository::new(), tempfile::tempdir().unwrap());
        repository.write(".gitattributes", "tests export-ignore\n");
        repository.write("src/lib.rs", "one");
        repository.write("tests/a.rs", "one");
        let first = repository.commit();
        repository.write("src/lib.rs", "two");
        repository.git(&["add", "-A"]);
        repository.write("src/lib.rs", "three");
        let before = repository.git(&["status", "--porcelain=v2"]);
        let files = exported(repository.0.path(), &first, cache.path()).unwrap();
        assert_eq!(fs::read_to_string(files.join("src/lib.rs")).unwrap(), "one");
        assert_eq!(fs::read_to_string(files.join("tests/a.rs")).unwrap(), "one");
        assert_eq!(repository.git(&["status", "--porcelain=v2"]), before);
        assert_eq!(repository.git(&["worktree", "list"]).lines().count(), 1);
        // An incomplete tree is written again; a complete one is not.
        fs::write(files.join("src/lib.rs"), "kept").unwrap();
        exported(repository.0.path(), &first, cache.path()).unwrap();
        assert_eq!(fs::read_to_string(files.join("src/lib.rs")).unwrap(), "kept");
        fs::remove_file(files.parent().unwrap().join("whole")).unwrap();
        exported(repository.0.path(), &first, cache.path()).unwrap();
        assert_eq!(fs::read_to_string(files.join("src/lib.rs")).unwrap(), "one");
    }

    #[test]
    fn code_outside_of_tests_and_documents_is_the_librarys() {
        for (file, is_code) in [
            ("src/lib.rs", true),
            ("word.py", true),
            ("netdyno/w/one/word-1.0.whl", true),
            ("README.md", false),
            ("tests/a.rs", false),
            ("pkg/a_test.go", false),
            ("test_a.py", false),
            (".github/workflows/ci.yml", false),
        ] {
            assert_eq!(is_library_code(Path::new(file)), is_code, "{file}");
        }
    }

    #[test]
    fn documents_are_known_by_name_or_folder() {
        for (file, is_known) in [
            ("README.md", true),
            ("crate/README", true),
            ("LICENSE-MIT", true),
            ("CHANGELOG.rst", true),
            (".github/workflows/ci.yml", true),
            ("docs/conf.py", true),
            ("src/lib.rs", false),
            ("src/docs/page.rs", false),
            ("notes.md", false),
            ("requirements.txt", false),
            ("README.py", false),
            ("Cargo.lock", false),
        ] {
            assert_eq!(is_document(Path::new(file)), is_known, "{file}");
        }
    }

    #[test]
    fn the_remedy_for_a_shallow_clone_fetches_the_revision() {
        let origin = Repository::new();
        origin.write("a", "a");
        let first = origin.commit();
        origin.git(&["tag", "v1"]);
        origin.git(&["config", "uploadpack.allowAnySHA1InWant", "true"]);
        origin.git(&["checkout", "-q", "-b", "feature"]);
        origin.write("a", "b");
        origin.commit();
        let url = format!("file://{}", origin.0.path().display());
        for revision in ["main", "origin/main", "v1", &first] {
            let folder = tempfile::tempdir().unwrap();
            let clone = folder.path().join("clone");
            let to = clone.to_str().unwrap();
            git(folder.path(), &["clone", "-q", "--depth", "1", "--branch", "feature", &url, to]).unwrap();
            let error = commit(&clone, revision).unwrap_err().to_string();
            let (_, remedy) = error.split_once("fetch it first: git ").unwrap();
            git(&clone, &remedy.split(' ').collect::<Vec<_>>()).unwrap();
            assert_eq!(commit(&clone, revision).unwrap(), first, "{revision}: {error}");
        }
    }

    #[test]
    fn a_revision_is_a_commit_and_no_option() {
        let repository = Repository::new();
        repository.write("a", "a");
        let head = repository.commit();
        let top = repository.0.path();
        assert_eq!(commit(top, "main").unwrap(), head);
        assert_eq!(commit(top, &head[..10]).unwrap(), head);
        for wrong in ["nothing", "--help", "main:a", "main..main"] {
            let error = commit(top, wrong).unwrap_err().to_string();
            assert!(error.contains(wrong) && error.contains("git fetch"), "{error}");
        }
        assert_eq!(state(top), format!("git {}", &head[..12]));
        repository.write("b", "b");
        assert_eq!(state(top), format!("git {}, with changes", &head[..12]));
    }
}
