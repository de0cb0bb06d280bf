//! Verdicts on the claims of an article, from the stored runs of its methods.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::article::{Article, ArticleClaim, Published, Test};
use super::measured::measured;
use super::region::{ClaimVerdict, Finding, verdict};
use super::sentence::sentence;
use super::summary::Summary;
use super::tested::Tested;
use crate::report;
use netdyno_lab_manifest::Workload;
use netdyno_lab_store::{Relation, Run, StoreError};

/// Version of the schema of [`Replication`].
pub const SCHEMA_VERSION: u32 = 1;

/// Result of a replication.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Replication {
    /// Version of this schema.
    pub schema_version: u32,
    /// The articles, in the requested order.
    pub articles: Vec<Judged>,
}

/// A tested article.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Judged {
    /// Its id.
    pub id: String,
    /// Its title.
    pub title: String,
    /// What it compares.
    pub about: String,
    /// Conditions of its measurements.
    pub conditions: Vec<String>,
    /// Differences from these conditions.
    pub differs: Vec<String>,
    /// The runs of its methods.
    pub methods: Vec<Ran>,
    /// Its claims.
    pub claims: Vec<JudgedClaim>,
    /// The number of claims by result.
    pub summary: Summary,
}

/// The run of a method.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Ran {
    /// Its name.
    pub name: String,
    /// Description.
    pub about: String,
    /// The command that repeats it.
    pub command: String,
    /// Id of the run; empty: none.
    pub run: String,
    /// Headline of the run, or the reason why there is none.
    pub headline: String,
    /// The machine.
    pub host: String,
}

/// A claim with its verdict.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct JudgedClaim {
    /// `D.throughput`
    pub id: String,
    /// Statement of the article.
    pub statement: String,
    /// Published values.
    pub published: Published,
    /// Their ratio.
    pub published_ratio: Option<f64>,
    /// Result of the article's own method.
    pub article: Tested,
    /// Result of the fair method, which treats both sides alike.
    pub fair: Tested,
    /// Experiments about the cause.
    pub experiments: Vec<JudgedExperiment>,
    /// The verdict.
    pub verdict: ClaimVerdict,
    /// Conditions of the article that explain its result, if it holds only under these.
    pub conditions: Vec<String>,
    /// The verdict in words.
    pub sentence: String,
    /// Remark.
    pub note: String,
}

/// Result of an experiment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct JudgedExperiment {
    /// The varied condition and the expected effect.
    pub about: String,
    /// The result, relative to the expectation.
    pub tested: Tested,
}

/// The runs of an article's methods, or the reasons why there are none.
pub type Runs = BTreeMap<String, Result<Run, String>>;

/// Judges claims of an article.
pub fn judge(article: &Article, claims: &[&ArticleClaim], runs: &Runs) -> Result<Judged, StoreError> {
    let mut workloads = BTreeMap::new();
    for (name, run) in runs {
        if let Ok(run) = run {
            workloads.insert(name.as_str(), run.header.parsed_workload()?);
        }
    }
    let evidence = Evidence { runs, workloads };
    let methods = article.methods.iter().filter(|(name, _)| runs.contains_key(*name));
    let ran = |(name, method): (&String, &super::Method)| {
        let run = runs[name].as_ref();
        let headline = run.map_or_else(|why| Ok(why.clone()), |run| Ok(report::build(run)?.run.headline))?;
        Ok(Ran {
            name: name.clone(),
            about: method.about.clone(),
            command: method.command(),
            run: run.map_or(String::new(), |run| run.header.id.clone()),
            headline,
            host: run.map_or(String::new(), |run| run.header.host.headline()),
        })
    };
    let claims: Vec<JudgedClaim> = claims.iter().map(|claim| evidence.judge(&article.id, claim)).collect();
    Ok(Judged {
        id: article.id.clone(),
        title: article.title.clone(),
        about: article.about.clone(),
        conditions: article.conditions.clone(),
        differs: article.differs.clone(),
        methods: methods.map(ran).collect::<Result<_, StoreError>>()?,
        summary: Summary::new(&claims.iter().map(|claim| (&claim.article, &claim.fair)).collect::<Vec<_>>()),
        claims,
    })
}

struct Evidence<'a> {
    runs: &'a Runs,
    workloads: BTreeMap<&'a str, Workload>,
}

impl Evidence<'_> {
    fn judge(&self, article: &str, claim: &ArticleClaim) -> JudgedClaim {
        let relation = claim.relation(None).ok();
        let region = claim.region(None).ok();
        let missing = |why: &str| Tested::missing("", claim.metric.clone(), String::new(), why.to_owned());
        let result = |test: &Option<Test>, none: &str| match (test, &relation, &claim.untested) {
            (_, _, Some(why)) => missing(why),
            (Some(test), Some(relation), None) => self.tested(claim, test, relation),
            _ => missing(none),
        };
        let own = result(&claim.article, "the article's method is the fair one");
        let fair = result(&claim.fair, "no fair method is named").strict();
        let experiments: Vec<JudgedExperiment> = claim
            .experiments
            .iter()
            .filter_map(|e| {
                let mut tested = self.tested(claim, &e.test(), &claim.relation(e.expect.as_ref()).ok()?);
                if e.without.is_some() && e.expect.is_none() {
                    tested.finding = tested.finding.negated();
                }
                Some(JudgedExperiment { about: e.about.clone(), tested })
            })
            .collect();
        let verdict = verdict(own.finding, fair.finding);
        let named = |(e, judged): (&super::Experiment, &JudgedExperiment)| {
            e.with.clone().or(e.without.clone()).filter(|_| judged.tested.finding == Finding::Shown)
        };
        let explained = claim.experiments.iter().filter(|_| verdict == ClaimVerdict::OnlyAsPublished);
        let conditions: Vec<String> = explained.zip(&experiments).filter_map(named).collect();
        JudgedClaim {
            id: format!("{article}.{}", claim.id),
            statement: claim.statement.clone(),
            published: claim.published.clone(),
            published_ratio: claim.published.ratio(),
            sentence: sentence(verdict, &conditions, (&own, &fair), region),
            article: own,
            fair,
            experiments,
            verdict,
            conditions,
            note: claim.note.clone(),
        }
    }

    fn tested(&self, claim: &ArticleClaim, test: &Test, relation: &Relation) -> Tested {
        let (a, b, metric) = (claim.a_of(test), claim.b_of(test), claim.metric_of(test));
        let missing = |why: String| {
            Tested::missing(&test.method, metric.to_owned(), format!("{} : {}", a.label(), b.label()), why)
        };
        if let Some(why) = &test.untested {
            return missing(why.clone());
        }
        let run = match self.runs.get(&test.method) {
            Some(Ok(run)) => run,
            Some(Err(why)) => return missing(why.clone()),
            None => return missing(format!("no run of the method {}", test.method)),
        };
        let workload = &self.workloads[test.method.as_str()];
        let tested = |(measured, logs): (_, Vec<f64>)| {
            missing(String::new()).with(relation, measured, &logs, run.header.settings.alpha)
        };
        measured(run, workload, metric, a, b).map_or_else(missing, tested)
    }
}
