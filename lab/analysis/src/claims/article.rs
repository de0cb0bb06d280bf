//! A file of claims: an article, its claims, the methods that test them, and validation.

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
    /// Id on the command line: `D`.
    pub id: String,
    /// Title.
    pub title: String,
    /// Description of the comparison, in a sentence.
    pub about: String,
    /// Relevant conditions of its measurements.
    #[serde(default)]
    pub conditions: Vec<String>,
    /// Differences from these conditions.
    #[serde(default)]
    pub differs: Vec<String>,
    /// Methods by name, in the order of their runs.
    #[serde(default)]
    pub methods: IndexMap<String, Method>,
    /// Its claims.
    pub claims: Vec<ArticleClaim>,
}

/// A run of the lab.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Method {
    /// Description.
    pub about: String,
    /// Arguments of `netdyno run`.
    pub run: String,
    /// Default measuring time, in seconds.
    pub seconds: f64,
    /// Environment variables for the builds.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
}

/// One statement of an article.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ArticleClaim {
    /// Id within the article: `throughput`.
    pub id: String,
    /// Statement of the article.
    pub statement: String,
    /// Reason why it is not tested.
    pub untested: Option<String>,
    /// A metric of the workload, or lines of code (`code.library`, `code.adapter`, `code.generated`).
    #[serde(default)]
    pub metric: String,
    /// First side.
    #[serde(default)]
    pub a: Side,
    /// Second side.
    #[serde(default)]
    pub b: Side,
    /// Published values.
    #[serde(default)]
    pub published: Published,
    /// Claimed relation of a / b.
    pub claim: Option<Relation>,
    /// Test by the article's own method; by default the method `article`, if it exists.
    pub article: Option<Test>,
    /// Test by the fair method, which treats both sides alike; by default the method `fair`.
    pub fair: Option<Test>,
    /// Experiments about the cause.
    #[serde(default)]
    pub experiments: Vec<Experiment>,
    /// Remark.
    #[serde(default)]
    pub note: String,
}

/// Published values.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Published {
    /// Value of the first side.
    pub a: Option<f64>,
    /// Value of the second side.
    pub b: Option<f64>,
    /// Their unit.
    #[serde(default)]
    pub unit: String,
    /// Their ratio, if the values were not published.
    pub ratio: Option<f64>,
    /// Their kind; required with a value. If the values differ in kind, the least certain one.
    pub kind: Option<ValueKind>,
}

/// The kinds of published values, from the most to the least certain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ValueKind {
    /// The author prints the value.
    Quoted,
    /// Computed here from values that the author prints.
    Calculated,
    /// The author estimates the value, or a value that it is computed from.
    Estimated,
}

/// A test of a claim by one method.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Test {
    /// The method.
    #[serde(default)]
    pub method: String,
    /// Reason why there is none.
    pub untested: Option<String>,
    /// Metric, if different from the claim's.
    pub metric: Option<String>,
    /// Another side than the claim's.
    pub a: Option<Side>,
    /// Another side than the claim's.
    pub b: Option<Side>,
}

/// An experiment that varies one condition.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Experiment {
    /// The varied condition and the expected effect.
    pub about: String,
    /// A condition of the article that is added to the fair method. If the result is as expected, the condition is reported as
    /// responsible for the claim.
    pub with: Option<String>,
    /// A condition of the article that is removed from its own method; reported likewise.
    pub without: Option<String>,
    /// The method.
    pub method: String,
    /// Metric, if different from the claim's.
    pub metric: Option<String>,
    /// Another side than the claim's.
    pub a: Option<Side>,
    /// Another side than the claim's.
    pub b: Option<Side>,
    /// Expected relation of a / b; by default that of the claim, or its opposite for an experiment `without` a condition.
    pub expect: Option<Relation>,
}

impl Published {
    /// First value / second value.
    pub fn ratio(&self) -> Option<f64> {
        self.a.zip(self.b).map(|(a, b)| a / b).or(self.ratio)
    }

    fn check(&self, at: &str, problems: &mut Problems<'_>) {
        let has_value = [self.a, self.b, self.ratio].iter().any(Option::is_some);
        let rule = match (has_value, self.kind) {
            (true, None) => "must state the kind of the values: \"quoted\", \"calculated\" or \"estimated\"",
            (false, Some(_)) => "is only valid with a value: `a`, `b` or `ratio`",
            _ => return,
        };
        problems.push(format!("{at}.kind"), rule);
    }
}

impl Article {
    /// Parses and validates a file, except for references to a catalogue. The errors are all defects of the file.
    pub fn parse(file: &Path, text: &str) -> Result<Self, Vec<ManifestError>> {
        let mut article: Self = decode(file, text).map_err(|e| vec![e])?;
        let test_by = |name: &str| {
            let is_there = article.methods.contains_key(name);
            is_there.then(|| Test { method: name.to_owned(), ..Test::default() })
        };
        let (own, fair) = (test_by("article"), test_by("fair"));
        for claim in &mut article.claims {
            claim.article = claim.article.take().or_else(|| own.clone());
            claim.fair = claim.fair.take().or_else(|| fair.clone());
        }
        let mut problems = Problems::new(file, text);
        article.check(&mut problems);
        problems.finish(article)
    }

    fn check(&self, problems: &mut Problems<'_>) {
        let letters = "letters, digits and '-', starting with a letter";
        if !is_id(&self.id) {
            problems.push("id", format!("\"{}\" is not a valid id: use {letters}", self.id));
        }
        problems.not_empty("title", &self.title);
        problems.not_empty("about", &self.about);
        let count = self.methods.len();
        if count > METHODS_MAX {
            problems.push("methods", format!("{count} methods exceed the limit of {METHODS_MAX}"));
        }
        for (name, method) in &self.methods {
            problems.name(&format!("methods.{name}"), name);
            if !(1.0..=BUDGET_SECONDS_MAX).contains(&method.seconds) {
                let rule = format!("must be from 1 to {BUDGET_SECONDS_MAX}");
                problems.push(format!("methods.{name}.seconds"), rule);
            }
            for variable in method.env.keys().filter(|v| !v.starts_with(ENVIRONMENT)) {
                let rule = format!("\"{variable}\" is not a permitted variable: {ENVIRONMENT}*");
                problems.push(format!("methods.{name}.env"), rule);
            }
        }
        let count = self.claims.len();
        if !(1..=CLAIMS_MAX).contains(&count) {
            problems.push("claims", format!("1 to {CLAIMS_MAX} claims are allowed, not {count}"));
        }
        for (i, claim) in self.claims.iter().enumerate() {
            let at = format!("claims[{i}]");
            if !is_id(&claim.id) || self.claims[..i].iter().any(|c| c.id == claim.id) {
                let rule = format!("\"{}\" is not a unique id of {letters}", claim.id);
                problems.push(format!("{at}.id"), rule);
            }
            problems.not_empty(&format!("{at}.statement"), &claim.statement);
            claim.published.check(&format!("{at}.published"), problems);
            if claim.untested.is_none() {
                claim.check(&at, &self.methods, problems);
            }
        }
    }
}

impl ArticleClaim {
    fn check(&self, at: &str, methods: &IndexMap<String, Method>, problems: &mut Problems<'_>) {
        problems.not_empty(&format!("{at}.metric"), &self.metric);
        let Some(relation) = &self.claim else {
            let rule = "must state the claim, such as { is = \"more\" }, or give the reason in `untested`";
            return problems.push(format!("{at}.claim"), rule);
        };
        if let Err(rule) = self.region(Some(relation)) {
            problems.push(format!("{at}.claim"), rule);
        }
        if self.fair.is_none() {
            let rule = "must name the fair method, or give the reason in `untested`";
            problems.push(format!("{at}.fair"), rule);
        }
        if self.experiments.len() > EXPERIMENTS_MAX {
            let rule = format!("at most {EXPERIMENTS_MAX} experiments are allowed");
            problems.push(format!("{at}.experiments"), rule);
        }
        for (name, test) in [("article", &self.article), ("fair", &self.fair)] {
            if let Some(test) = test {
                self.check_test(&format!("{at}.{name}"), test, methods, problems);
            }
        }
        for (i, experiment) in self.experiments.iter().enumerate() {
            let at = format!("{at}.experiments[{i}]");
            problems.not_empty(&format!("{at}.about"), &experiment.about);
            if experiment.with.is_some() && experiment.without.is_some() {
                problems.push(format!("{at}.without"), "an experiment either adds or removes a condition");
            }
            self.check_test(&at, &experiment.test(), methods, problems);
            if let Err(rule) = self.region(experiment.expect.as_ref()) {
                problems.push(format!("{at}.expect"), rule);
            }
        }
    }

    fn check_test(
        &self,
        at: &str,
        test: &Test,
        methods: &IndexMap<String, Method>,
        problems: &mut Problems<'_>,
    ) {
        if test.untested.is_some() {
            return;
        }
        problems.known(&format!("{at}.method"), "method", &test.method, methods.keys());
        for (name, side, may_be_number) in [("a", self.a_of(test), false), ("b", self.b_of(test), true)] {
            let kinds = [side.contender.is_some(), !side.roles.is_empty(), side.figure.is_some()];
            let is_number = side.figure.is_some();
            if kinds.iter().filter(|k| **k).count() != 1 || is_number && !may_be_number {
                let number = if may_be_number { ", or be a `figure`" } else { "" };
                let rule = format!("must name either a contender or roles{number}");
                problems.push(format!("{at}.{name}"), rule);
            }
            if side.figure.is_some_and(|f| !(f.is_finite() && f > 0.0)) {
                problems.push(format!("{at}.{name}.figure"), "must be more than 0");
            }
        }
    }

    /// Expected relation with its ratio; by default that of the claim.
    pub fn relation(&self, expect: Option<&Relation>) -> Result<Relation, String> {
        let relation = expect.or(self.claim.as_ref()).ok_or("must state the claim")?;
        let published = if self.b.figure.is_some() { Some(1.0) } else { self.published.ratio() };
        // The published ratio applies to the claim only, not to an expected order.
        let published = published.filter(|_| expect.is_none() || relation.is == Is::About);
        Ok(Relation { ratio: relation.ratio.or(published), ..relation.clone() })
    }

    /// The range of the expected relation, or the violated rule.
    pub fn region(&self, expect: Option<&Relation>) -> Result<Region, String> {
        Region::new(&self.relation(expect)?)
    }

    /// First side of a test.
    pub fn a_of<'a>(&'a self, test: &'a Test) -> &'a Side {
        test.a.as_ref().unwrap_or(&self.a)
    }

    /// Second side of a test.
    pub fn b_of<'a>(&'a self, test: &'a Test) -> &'a Side {
        test.b.as_ref().unwrap_or(&self.b)
    }

    /// Metric of a test.
    pub fn metric_of<'a>(&'a self, test: &'a Test) -> &'a str {
        test.metric.as_deref().unwrap_or(&self.metric)
    }

    /// All tests of the claim, with their positions in the file.
    pub fn tests(&self) -> impl Iterator<Item = (String, Test)> + '_ {
        let own = [("article", &self.article), ("fair", &self.fair)];
        let own = own.into_iter().filter_map(|(at, test)| Some((at.to_owned(), test.clone()?)));
        let more = self.experiments.iter().enumerate();
        own.chain(more.map(|(i, e)| (format!("experiments[{i}]"), e.test())))
            .filter(|(_, test)| test.untested.is_none() && self.untested.is_none())
    }
}

impl Experiment {
    /// The test of the experiment.
    pub fn test(&self) -> Test {
        let Self { method, metric, a, b, .. } = self.clone();
        Test { method, untested: None, metric, a, b }
    }
}

/// Whether an id can follow a `.` on the command line: letters, digits and `-`, starting with a letter.
fn is_id(text: &str) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b == b'-';
    text.bytes().next().is_some_and(|b| b.is_ascii_alphabetic())
        && text.len() <= 64
        && text.bytes().all(plain)
}

/// Folder of the claims of a repository.
pub fn folder(root: &Path) -> PathBuf {
    root.join("claims")
}
