//! Tests of published comparisons: claims of an article as data, and their verdicts from stored runs.
//!
//! | does | does not |
//! |---|---|
//! | read and validate `claims/*.toml` and other files of claims | run contenders: `netdyno replicate` does |
//! | compute the ratio of each claim and its interval from stored runs | know an article or a contender by name |
//! | derive a verdict from the claim and two intervals, as a pure function | correct for the number of claims |
//!
//! `docs/CLAIMS.md` describes the file format.

mod article;
mod judged;
pub mod limits;
mod measured;
mod question;
mod region;
mod schedule;
mod sentence;
#[cfg(test)]
mod simulation_tests;
mod size;
mod summary;
mod tested;

use std::path::{Path, PathBuf};

pub use article::{Article, ArticleClaim, Experiment, Method, Published, Test, ValueKind, folder};
pub use judged::{Judged, JudgedClaim, JudgedExperiment, Ran, Replication, Runs, SCHEMA_VERSION, judge};
pub use measured::{CODE, Measured};
pub use question::{Asked, Standing, keep_asked, next, questions, standings, wanted};
pub use region::{ClaimVerdict, Finding, Region};
pub use schedule::{Continuation, FIRST_ROUNDS, soonest};
pub use size::Size;
pub use summary::{MethodSummary, Summary, Tally};
pub use tested::Tested;

use limits::ARTICLES_MAX;
use netdyno_lab_manifest::ManifestError;
use netdyno_lab_manifest::read::read_text;

/// A file of claims.
#[derive(Debug, Clone)]
pub struct Loaded {
    /// Path of the file.
    pub file: PathBuf,
    /// Its text.
    pub text: String,
    /// The parsed article.
    pub article: Article,
}

impl Method {
    /// Shell command that repeats the method, without a budget.
    pub fn command(&self) -> String {
        let env: String = self.env.iter().map(|(name, value)| format!("{name}={value} ")).collect();
        format!("{env}netdyno run {}", self.run)
    }
}

/// Reads one file. The error contains all its defects.
pub fn load(file: &Path) -> Result<Loaded, ManifestError> {
    let text = read_text(Path::new(""), file)?;
    match Article::parse(file, &text) {
        Ok(article) => Ok(Loaded { file: file.to_owned(), text, article }),
        Err(mut problems) if problems.len() == 1 => Err(problems.remove(0)),
        Err(problems) => Err(ManifestError::Broken(problems)),
    }
}

/// Reads the claims of a repository, in the order of their files; empty without the folder.
pub fn load_all(root: &Path) -> Result<Vec<Loaded>, ManifestError> {
    let folder = folder(root);
    let unreadable =
        |e: std::io::Error| ManifestError::Unreadable { file: folder.clone(), reason: e.to_string() };
    let entries = match std::fs::read_dir(&folder) {
        Ok(entries) => entries.collect::<Result<Vec<_>, _>>().map_err(unreadable)?,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Vec::new(),
        Err(e) => return Err(unreadable(e)),
    };
    let paths = entries.into_iter().map(|e| e.path());
    let mut files: Vec<PathBuf> = paths.filter(|p| p.extension().is_some_and(|e| e == "toml")).collect();
    files.sort();
    files.truncate(ARTICLES_MAX);
    let mut all: Vec<Loaded> = Vec::new();
    for file in files {
        let loaded = load(&file)?;
        if let Some(other) = all.iter().find(|l| l.article.id == loaded.article.id) {
            let rule = format!("\"{}\" is also the id of {}", loaded.article.id, other.file.display());
            return Err(ManifestError::Invalid {
                file,
                line: None,
                field: "id".to_owned(),
                rule,
                nearest: None,
            });
        }
        all.push(loaded);
    }
    Ok(all)
}

/// The claims of an article that are selected: all, the one with this id, or those whose id begins with it and `-`.
/// If there is none, the error names the nearest id.
pub fn named<'a>(article: &'a Article, wanted: Option<&str>) -> Result<Vec<&'a ArticleClaim>, ManifestError> {
    let Some(wanted) = wanted else { return Ok(article.claims.iter().collect()) };
    let is_named =
        |id: &str| id == wanted || id.strip_prefix(wanted).is_some_and(|rest| rest.starts_with('-'));
    let found: Vec<&ArticleClaim> = article.claims.iter().filter(|c| is_named(&c.id)).collect();
    if found.is_empty() {
        return Err(ManifestError::unknown("claim", wanted, article.claims.iter().map(|c| &c.id)));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_missing_folder_has_no_claims() {
        let root = tempfile::tempdir().unwrap();
        assert!(load_all(root.path()).unwrap().is_empty());
        std::fs::write(folder(root.path()), "").unwrap();
        let error = load_all(root.path()).unwrap_err().to_string();
        assert!(error.contains("cannot be read"), "{error}");
    }
}
