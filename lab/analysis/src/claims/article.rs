//! One published comparison as a file: its claims, the methods that put them to the test, and what is wrong with it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

use super::limits::{CLAIMS_MAX, ENVIRONMENT, EXPERIMENTS_MAX, METHODS_MAX};
use super::region::Region;
use netdyno_lab_manifest::ManifestError;
use netdyno_lab_manifest::limits::BUDGET_SECONDS_MAX;
use netdyno_lab_manifest::read::{Problems, decode};
use netdyno_lab_store::{Is, Relation, Side};

/// A published comparison.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Article {
    /// What it is called on the command line: `D`.
    pub id: String,
    /// Its title.
    pub title: String,
    /// What was compared, in a sentence.
    pub about: String,
    /// How it measured, as far as that may matter.
    #[serde(default)]
    pub conditions: Vec<String>,
    /// What of that is otherwise here.
    #[serde(default)]
    pub differs: Vec<String>,
    /// Runs, by name, in the order in which they are made.
    #[serde(default)]
    pub methods: IndexMap<String, Method>,
    /// What it says.
    pub claims: Vec<Claim>,
}

/// A run of the lab.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Method {
    /// What it is.
    pub about: String,
    /// What stands behind `netdyno run`.
    pub run: String,
    /// How long it measures, in seconds, unless a budget says otherwise.
    pub seconds: f64,
    /// Variables that change how contenders are built.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
}

/// One statement of an article.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// Within its article: `throughput`.
    pub id: String,
    /// What the article says.
    pub statement: String,
    /// Why it is not tested, where it is not.
    pub untested: Option<String>,
    /// What is compared: a metric of the workload, or lines of code (`code.library`, `code.adapter`, `code.generated`).
    #[serde(default)]
    pub metric: String,
    /// Of whom.
    #[serde(default)]
    pub a: Side,
    /// With whom, or with what.
    #[serde(default)]
    pub b: Side,
    /// What the article measured.
    #[serde(default)]
    pub published: Published,
    /// What it says of a / b.
    pub claim: Option<Relation>,
    /// Its own method; if nothing is said, the one named `article`, where there is one.
    pub article: Option<Test>,
    /// The one that treats both alike; if nothing is said, the one named `fair`.
    pub fair: Option<Test>,
    /// What shows the cause.
    #[serde(default)]
    pub experiments: Vec<Experiment>,
    /// What a reader should know beside it.
    #[serde(default)]
    pub note: String,
}

/// What an article printed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Published {
    /// Figure of the first side.
    pub a: Option<f64>,
    /// Figure of the second.
    pub b: Option<f64>,
    /// Their unit.
    #[serde(default)]
    pub unit: String,
    /// Their ratio, where the figures themselves are not printed.
    pub ratio: Option<f64>,
}

/// A claim by one method.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Test {
    /// The method.
    #[serde(default)]
    pub method: String,
    /// Why there is none.
    pub untested: Option<String>,
    /// Another metric than the claim's.
    pub metric: Option<String>,
    /// Another side than the claim's.
    pub a: Option<Side>,
    /// Another side than the claim's.
    pub b: Option<Side>,
}

/// One thing varied, and what that should do.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Experiment {
    /// What is varied, and what that would show.
    pub about: String,
    /// A condition of the article that the fair method has not, and this one has: if this comes out as expected, it is named as one
    /// that makes the claim so.
    pub with: Option<String>,
    /// A condition of the article that only its own method has, and this one has not: named likewise.
    pub without: Option<String>,
    /// The method.
    pub method: String,
    /// Another metric than the claim's.
    pub metric: Option<String>,
    /// Another side than the claim's.
    pub a: Option<Side>,
    /// Another side than the claim's.
    pub b: Option<Side>,
    /// What is expected of a / b; if nothing is said, what the claim says, or, `without` a condition, that it is not so.
    pub expect: Option<Relation>,
}

impl Published {
    /// The first figure by the second.
    #[must_use]
    pub fn ratio(&self) -> Option<f64> {
        self.a.zip(self.b).map(|(a, b)| a / b).or(self.ratio)
    }
}

impl Article {
    /// Parses and validates a file, but for what only a catalog knows.
    ///
    /// # Errors
    /// Every defect that was found.
    pub fn parse(file: &Path, text: &str) -> Result<Self, Vec<ManifestError>> {
        let mut article: Self = decode(file, text).map_err(|e| vec![e])?;
        let of = |name: &str| {
            let is_there = article.methods.contains_key(name);
            is_there.then(|| Test { method: name.to_owned(), ..Test::default() })
        };
        let (own, fair) = (of("article"), of("fair"));
        for claim in &mut article.claims {
            claim.article = claim.article.take().or_else(|| own.clone());
            claim.fair = claim.fair.take().or_else(|| fair.clone());
        }
        let mut problems = Problems::new(file, text);
        article.check(&mut problems);
        problems.finish(article)
    }

    fn check(&self, problems: &mut Problems<'_>) {
        if !is_id(&self.id) {
            problems
                .push("id", format!("\"{}\" is not an id: letters, digits and '-', first a letter", self.id));
        }
        problems.not_empty("title", &self.title);
        problems.not_empty("about", &self.about);
        if self.methods.len() > METHODS_MAX {
            problems.push("methods", format!("{} of them; the most is {METHODS_MAX}", self.methods.len()));
        }
        for (name, method) in &self.methods {
            problems.name(&format!("methods.{name}"), name);
            if !(1.0..=BUDGET_SECONDS_MAX).contains(&method.seconds) {
                problems.push(
                    format!("methods.{name}.seconds"),
                    format!("must be from 1 to {BUDGET_SECONDS_MAX}"),
                );
            }
            for variable in method.env.keys().filter(|v| !v.starts_with(ENVIRONMENT)) {
                let rule =
                    format!("\"{variable}\" is none of the variables that a method may set: {ENVIRONMENT}*");
                problems.push(format!("methods.{name}.env"), rule);
            }
        }
        if self.claims.is_empty() || self.claims.len() > CLAIMS_MAX {
            problems.push("claims", format!("from 1 to {CLAIMS_MAX} of them, not {}", self.claims.len()));
        }
        for (i, claim) in self.claims.iter().enumerate() {
            let at = format!("claims[{i}]");
            if !is_id(&claim.id) || self.claims[..i].iter().any(|c| c.id == claim.id) {
                let rule = format!(
                    "\"{}\" is not an id of its own: letters, digits and '-', first a letter",
                    claim.id
                );
                problems.push(format!("{at}.id"), rule);
            }
            problems.not_empty(&format!("{at}.statement"), &claim.statement);
            if claim.untested.is_none() {
                claim.check(&at, &self.methods, problems);
            }
        }
    }
}

impl Claim {
    fn check(&self, at: &str, methods: &IndexMap<String, Method>, problems: &mut Problems<'_>) {
        problems.not_empty(&format!("{at}.metric"), &self.metric);
        let Some(relation) = &self.claim else {
            let rule = "must say what is claimed, as { is = \"more\" }; or `untested` why nothing is tested";
            return problems.push(format!("{at}.claim"), rule);
        };
        if let Err(rule) = self.region(Some(relation)) {
            problems.push(format!("{at}.claim"), rule);
        }
        if self.fair.is_none() {
            problems.push(format!("{at}.fair"), "must name the fair method, or say why it is untested");
        }
        if self.experiments.len() > EXPERIMENTS_MAX {
            problems.push(format!("{at}.experiments"), format!("at most {EXPERIMENTS_MAX} of them"));
        }
        let known = |field: String, test: &Test, problems: &mut Problems<'_>| {
            if test.untested.is_none() {
                problems.known(&field, "method", &test.method, methods.keys());
            }
        };
        for (name, test) in [("article", &self.article), ("fair", &self.fair)] {
            let Some(test) = test else { continue };
            known(format!("{at}.{name}.method"), test, problems);
            self.check_sides(&format!("{at}.{name}"), test, problems);
        }
        for (i, experiment) in self.experiments.iter().enumerate() {
            let at = format!("{at}.experiments[{i}]");
            problems.not_empty(&format!("{at}.about"), &experiment.about);
            if experiment.with.is_some() && experiment.without.is_some() {
                problems.push(
                    format!("{at}.without"),
                    "an experiment has a condition or leaves one out, not both",
                );
            }
            known(format!("{at}.method"), &experiment.test(), problems);
            self.check_sides(&at, &experiment.test(), problems);
            if let Err(rule) = self.region(experiment.expect.as_ref()) {
                problems.push(format!("{at}.expect"), rule);
            }
        }
    }

    fn check_sides(&self, at: &str, test: &Test, problems: &mut Problems<'_>) {
        if test.untested.is_some() {
            return;
        }
        for (name, side, may_be_number) in [("a", self.a_of(test), false), ("b", self.b_of(test), true)] {
            let kinds = [side.contender.is_some(), !side.roles.is_empty(), side.figure.is_some()];
            let is_number = side.figure.is_some();
            if kinds.iter().filter(|k| **k).count() != 1 || is_number && !may_be_number {
                let number = if may_be_number { ", or be a `figure`" } else { "" };
                problems
                    .push(format!("{at}.{name}"), format!("must name either a contender or roles{number}"));
            }
            if side.figure.is_some_and(|f| !(f.is_finite() && f > 0.0)) {
                problems.push(format!("{at}.{name}.figure"), "must be more than 0");
            }
        }
    }

    /// What is expected of a ratio, with its amount: of the claim itself where nothing else is said.
    ///
    /// # Errors
    /// When nothing is claimed.
    pub fn relation(&self, expect: Option<&Relation>) -> Result<Relation, String> {
        let relation = expect.or(self.claim.as_ref()).ok_or("must say what is claimed")?;
        let published = if self.b.figure.is_some() { Some(1.0) } else { self.published.ratio() };
        // An order that is expected elsewhere has nothing to do with what was published of this one.
        let published = published.filter(|_| expect.is_none() || relation.is == Is::About);
        Ok(Relation { ratio: relation.ratio.or(published), ..relation.clone() })
    }

    /// The ratios for which this is so.
    ///
    /// # Errors
    /// The rule that is broken.
    pub fn region(&self, expect: Option<&Relation>) -> Result<Region, String> {
        Region::of(&self.relation(expect)?)
    }

    /// The first side of a test.
    #[must_use]
    pub fn a_of<'a>(&'a self, test: &'a Test) -> &'a Side {
        test.a.as_ref().unwrap_or(&self.a)
    }

    /// The second.
    #[must_use]
    pub fn b_of<'a>(&'a self, test: &'a Test) -> &'a Side {
        test.b.as_ref().unwrap_or(&self.b)
    }

    /// What a test compares.
    #[must_use]
    pub fn metric_of<'a>(&'a self, test: &'a Test) -> &'a str {
        test.metric.as_deref().unwrap_or(&self.metric)
    }

    /// All tests of it, with their places in the file.
    pub fn tests(&self) -> impl Iterator<Item = (String, Test)> + '_ {
        let own = [("article", &self.article), ("fair", &self.fair)];
        let own = own.into_iter().filter_map(|(at, test)| Some((at.to_owned(), test.clone()?)));
        let more = self.experiments.iter().enumerate();
        own.chain(more.map(|(i, e)| (format!("experiments[{i}]"), e.test())))
            .filter(|(_, test)| test.untested.is_none() && self.untested.is_none())
    }
}

impl Experiment {
    /// What is measured of it.
    #[must_use]
    pub fn test(&self) -> Test {
        let Self { method, metric, a, b, .. } = self.clone();
        Test { method, untested: None, metric, a, b }
    }
}

/// Letters, digits and `-`, first a letter: what can follow a `.` on the command line.
fn is_id(text: &str) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b == b'-';
    text.bytes().next().is_some_and(|b| b.is_ascii_alphabetic())
        && text.len() <= 64
        && text.bytes().all(plain)
}

/// Where the claims of a repository are.
#[must_use]
pub fn folder(root: &Path) -> PathBuf {
    root.join("claims")
}
