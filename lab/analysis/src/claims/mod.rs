//! Published comparisons, put to the test: what an article claims, as data, and what runs say of it.
//!
//! | does | does not |
//! |---|---|
//! | read and validate `claims/*.toml` and files of others' | run anything: `netdyno replicate` does |
//! | take each claim's ratio from stored runs, with its interval | know an article or a contender by name |
//! | give a verdict by a pure function of what was claimed and two intervals | correct for the number of claims |
//!
//! `docs/CLAIMS.md` says how such a file is written.

mod article;
mod judged;
pub mod limits;
mod measured;
mod question;
mod region;
#[cfg(test)]
mod simulated;
mod turn;

use std::path::{Path, PathBuf};

pub use article::{Article, Claim, Experiment, Method, Published, Test, folder};
pub use judged::{
    Judged, JudgedClaim, JudgedExperiment, Ran, Replication, Runs, SCHEMA_VERSION, Tested, judge,
};
pub use measured::{CODE, Measured};
pub use question::{Asked, Standing, keep_asked, next, questions, standings, wanted};
pub use region::{Finding, Region, Verdict};
pub use turn::{FIRST_ROUNDS, Turn, soonest};

use limits::ARTICLES_MAX;
use netdyno_lab_manifest::ManifestError;
use netdyno_lab_manifest::read::read_text;

/// A file of claims.
#[derive(Debug, Clone)]
pub struct Loaded {
    /// Where it is.
    pub file: PathBuf,
    /// As it is written.
    pub text: String,
    /// What it says.
    pub article: Article,
}

impl Method {
    /// The command that repeats it, as a shell takes it; how long it measures is left to that command.
    #[must_use]
    pub fn command(&self) -> String {
        let env: String = self.env.iter().map(|(name, value)| format!("{name}={value} ")).collect();
        format!("{env}netdyno run {}", self.run)
    }
}

/// Reads one file.
///
/// # Errors
/// Everything that is wrong with it.
pub fn load(file: &Path) -> Result<Loaded, ManifestError> {
    let text = read_text(Path::new(""), file)?;
    match Article::parse(file, &text) {
        Ok(article) => Ok(Loaded { file: file.to_owned(), text, article }),
        Err(mut problems) if problems.len() == 1 => Err(problems.remove(0)),
        Err(problems) => Err(ManifestError::Broken(problems)),
    }
}

/// Reads the claims of a repository, in the order of their files; none where it has no such folder.
///
/// # Errors
/// Everything that is wrong with the first broken one, or two of one id.
pub fn load_all(root: &Path) -> Result<Vec<Loaded>, ManifestError> {
    let folder = folder(root);
    let mut files: Vec<PathBuf> = match std::fs::read_dir(&folder) {
        Ok(entries) => entries
            .filter_map(|e| Some(e.ok()?.path()))
            .filter(|p| p.extension().is_some_and(|e| e == "toml"))
            .collect(),
        Err(_) => Vec::new(),
    };
    files.sort();
    files.truncate(ARTICLES_MAX);
    let mut all: Vec<Loaded> = Vec::new();
    for file in files {
        let loaded = load(&file)?;
        if let Some(other) = all.iter().find(|l| l.article.id == loaded.article.id) {
            let rule = format!("\"{}\" is the id of {}, too", loaded.article.id, other.file.display());
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

/// The claims of an article that are named: all, that of this id, or those whose id begins with it and a `-`.
///
/// # Errors
/// When there is none, with the nearest.
pub fn named<'a>(article: &'a Article, wanted: Option<&str>) -> Result<Vec<&'a Claim>, ManifestError> {
    let Some(wanted) = wanted else { return Ok(article.claims.iter().collect()) };
    let is_named =
        |id: &str| id == wanted || id.strip_prefix(wanted).is_some_and(|rest| rest.starts_with('-'));
    let found: Vec<&Claim> = article.claims.iter().filter(|c| is_named(&c.id)).collect();
    if found.is_empty() {
        return Err(ManifestError::unknown("claim", wanted, article.claims.iter().map(|c| &c.id)));
    }
    Ok(found)
}
