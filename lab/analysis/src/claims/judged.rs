//! An article's claims and the runs of its methods, to verdicts. Nothing is measured here: runs come from the store.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::article::{Article, Claim, Published, Test};
use super::measured::{Measured, measured};
use super::region::{Finding, Region, Verdict, verdict};
use crate::report;
use netdyno_lab_manifest::Workload;
use netdyno_lab_store::Side;
use netdyno_lab_store::{Run, StoreError};

/// Version of the JSON.
pub const SCHEMA_VERSION: u32 = 1;

/// What came out of a replication.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Replication {
    /// Version of this schema.
    pub schema_version: u32,
    /// The articles, as they were asked for.
    pub articles: Vec<Judged>,
}

/// An article, put to the test.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Judged {
    /// Its id.
    pub id: String,
    /// Its title.
    pub title: String,
    /// What it compares.
    pub about: String,
    /// How it measured.
    pub conditions: Vec<String>,
    /// What of that is otherwise here.
    pub differs: Vec<String>,
    /// Its methods, as they were run.
    pub methods: Vec<Ran>,
    /// Its claims.
    pub claims: Vec<JudgedClaim>,
}

/// A method, as it was run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Ran {
    /// Its name.
    pub name: String,
    /// What it is.
    pub about: String,
    /// The command that repeats it.
    pub command: String,
    /// The run; empty: none.
    pub run: String,
    /// What was run, in a line; or why nothing was.
    pub headline: String,
    /// The machine.
    pub host: String,
}

/// A claim with its verdict.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JudgedClaim {
    /// `D.throughput`
    pub id: String,
    /// What the article says.
    pub statement: String,
    /// What it printed.
    pub published: Published,
    /// The ratio of that.
    pub published_ratio: Option<f64>,
    /// By the article's own method.
    pub article: Tested,
    /// Where both sides are treated alike.
    pub fair: Tested,
    /// What shows the cause.
    pub experiments: Vec<JudgedExperiment>,
    /// The verdict.
    pub verdict: Verdict,
    /// The conditions that make it so, where it holds only under those of the article.
    pub conditions: Vec<String>,
    /// The verdict in words.
    pub sentence: String,
    /// What a reader should know beside it.
    pub note: String,
}

/// A claim by one method.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Tested {
    /// The method; empty: none.
    pub method: String,
    /// What was compared: `throughput`.
    pub metric: String,
    /// Of whom: `one : other`.
    pub sides: String,
    /// What it says.
    pub finding: Finding,
    /// The ratio.
    pub measured: Option<Measured>,
    /// Why there is none.
    pub why: String,
    /// About how many more sessions or blocks would decide it, where it is open and that can be told.
    #[serde(default)]
    pub needs: Option<u32>,
}

/// An experiment, and whether it showed what was expected.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JudgedExperiment {
    /// What is varied, and what that would show.
    pub about: String,
    /// What came out; the finding is of what was expected.
    pub tested: Tested,
}

/// The runs of an article's methods: each, or why there is none.
pub type Runs = BTreeMap<String, Result<Run, String>>;

/// Judges these claims of an article.
///
/// # Errors
/// When a stored manifest cannot be read.
pub fn judge(article: &Article, claims: &[&Claim], runs: &Runs) -> Result<Judged, StoreError> {
    let mut workloads = BTreeMap::new();
    for (name, run) in runs {
        if let Ok(run) = run {
            workloads.insert(name.as_str(), run.header.parsed_workload()?);
        }
    }
    let bench = Bench { runs, workloads };
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
    Ok(Judged {
        id: article.id.clone(),
        title: article.title.clone(),
        about: article.about.clone(),
        conditions: article.conditions.clone(),
        differs: article.differs.clone(),
        methods: methods.map(ran).collect::<Result<_, StoreError>>()?,
        claims: claims.iter().map(|claim| bench.judge(&article.id, claim)).collect(),
    })
}

struct Bench<'a> {
    runs: &'a Runs,
    workloads: BTreeMap<&'a str, Workload>,
}

impl Bench<'_> {
    fn judge(&self, article: &str, claim: &Claim) -> JudgedClaim {
        let region = claim.region(None).ok();
        let missing = |why: &str| Tested::missing("", claim.metric.clone(), String::new(), why.to_owned());
        let of = |test: &Option<Test>, none: &str| match (test, region, &claim.untested) {
            (_, _, Some(why)) => missing(why),
            (Some(test), Some(region), None) => self.tested(claim, test, region),
            _ => missing(none),
        };
        let own = of(&claim.article, "the article's method is the fair one");
        let fair = of(&claim.fair, "no fair method is named").strict();
        let experiments: Vec<JudgedExperiment> = claim
            .experiments
            .iter()
            .filter_map(|e| {
                let mut tested = self.tested(claim, &e.test(), claim.region(e.expect.as_ref()).ok()?);
                if e.without.is_some() && e.expect.is_none() {
                    tested.finding = tested.finding.turned();
                }
                Some(JudgedExperiment { about: e.about.clone(), tested })
            })
            .collect();
        let verdict = verdict(own.finding, fair.finding);
        let named = |(e, judged): (&super::Experiment, &JudgedExperiment)| {
            e.with.clone().or(e.without.clone()).filter(|_| judged.tested.finding == Finding::Shown)
        };
        let mut conditions: Vec<String> =
            claim.experiments.iter().zip(&experiments).filter_map(named).collect();
        if verdict != Verdict::OnlyAsPublished {
            conditions.clear();
        }
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

    fn tested(&self, claim: &Claim, test: &Test, region: Region) -> Tested {
        let (a, b, metric) = (claim.a_of(test), claim.b_of(test), claim.metric_of(test));
        let missing = |why: String| Tested::missing(&test.method, metric.to_owned(), sides(a, b), why);
        if let Some(why) = &test.untested {
            return missing(why.clone());
        }
        let run = match self.runs.get(&test.method) {
            Some(Ok(run)) => run,
            Some(Err(why)) => return missing(why.clone()),
            None => return missing(format!("no run of the method {}", test.method)),
        };
        match measured(run, &self.workloads[test.method.as_str()], metric, a, b) {
            Err(why) => missing(why),
            Ok((measured, logs)) => {
                let finding = region.finding(measured.low, measured.high);
                let needs = || region.needs(&logs, run.header.settings.alpha);
                let needs = (finding == Finding::Open).then(needs).flatten();
                Tested { finding, needs, measured: Some(measured), ..missing(String::new()) }
            }
        }
    }
}

impl Tested {
    fn missing(method: &str, metric: String, sides: String, why: String) -> Self {
        Self {
            method: method.to_owned(),
            metric,
            sides,
            finding: Finding::Missing,
            measured: None,
            why,
            needs: None,
        }
    }

    /// What is another's figure is no fair one.
    fn strict(mut self) -> Self {
        let notes = self.measured.as_ref().map(|m| m.notes.join("; ")).filter(|notes| !notes.is_empty());
        if let Some(notes) = notes {
            (self.finding, self.why) = (Finding::Missing, notes);
        }
        self
    }
}

fn sides(a: &Side, b: &Side) -> String {
    format!("{} : {}", a.label(), b.label())
}

/// The verdict in words.
fn sentence(
    verdict: Verdict,
    conditions: &[String],
    (own, fair): (&Tested, &Tested),
    region: Option<Region>,
) -> String {
    let by_own = |finding| own.finding == finding;
    let equal = fair.measured.as_ref().and_then(|m| region?.equal(m.low, m.high));
    let not = equal.map_or_else(
        || "does not hold".to_owned(),
        |factor| format!("does not hold: equal within {:.0} %", (factor - 1.0) * 100.0),
    );
    match verdict {
        Verdict::Holds if by_own(Finding::Refuted) => {
            "holds, though not by the article's own method here".to_owned()
        }
        Verdict::Holds => "holds".to_owned(),
        Verdict::OnlyAsPublished if conditions.is_empty() => {
            "holds only under the article's conditions (which of them makes it so was not found)".to_owned()
        }
        Verdict::OnlyAsPublished => {
            format!("holds only under the article's conditions: {}", conditions.join("; "))
        }
        Verdict::DoesNotHold if by_own(Finding::Open) => {
            format!("{not}; whether by the article's own method is undecided")
        }
        Verdict::DoesNotHold if by_own(Finding::Refuted) => {
            format!("{not}, by the article's own method neither")
        }
        Verdict::DoesNotHold => not,
        Verdict::Undecided if by_own(Finding::Shown) => {
            format!(
                "undecided: shown by the article's own method, open where both are treated alike; {}",
                remedy(fair)
            )
        }
        Verdict::Undecided => format!("undecided: {}", remedy(fair)),
        Verdict::NotTested => {
            let own = match own.finding {
                Finding::Shown => "; shown by the article's own method",
                Finding::Refuted => "; refuted by the article's own method",
                Finding::Open | Finding::Missing => "",
            };
            format!("not tested: {}{own}", fair.why)
        }
    }
}

/// What would decide it.
fn remedy(fair: &Tested) -> String {
    let unit = fair.measured.as_ref().and_then(|m| Some(m.of.split_once(' ')?.1.trim_end_matches('s')));
    match (fair.needs, unit) {
        (Some(1), Some(unit)) => format!("one more {unit} would tell: --resume"),
        (Some(count), Some(unit)) => format!("about {count} more {unit}s would tell: --resume"),
        _ => "too near to what is claimed for any --budget".to_owned(),
    }
}
