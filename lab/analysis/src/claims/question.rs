//! Questions that a run answers for its claims: which are open, how many rounds they need, and which come next.
//!
//! A question is closed when its interval decides it either way. The order and the number of rounds depend on measured values.
//! Every interval is valid at any stopping time (docs/METHOD.md), so that a bad order costs time but no accuracy.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::article::{Article, ArticleClaim, Experiment};
use super::judged::JudgedClaim;
use super::measured::{CODE, Pair, interval};
use super::region::{Finding, Region};
use super::size::Size;
use crate::duels::{self, Duels};
use crate::verdicts::{baseline_among, groups};
use netdyno_lab_manifest::Workload;
use netdyno_lab_store::{CellRecord, CellStatus, Question, Run, Side};

/// Questions passed to a run by another process.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Asked {
    /// The questions.
    pub questions: Vec<Question>,
    /// Maximum number of rounds.
    pub rounds: u32,
}

/// Progress of a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// Its interval decides it, or there can be none.
    Closed,
    /// Estimated number of further rounds, if noise and ratio stay the same.
    Open(u32),
}

impl Standing {
    /// Progress of a question about a range and a published ratio, with these log ratios so far.
    pub(super) fn new(region: Region, size: Option<Size>, logs: &[f64], alpha: f64) -> Standing {
        // Without an interval, nothing is decided, as with an unbounded one.
        let (low, high) = interval(logs, alpha).map_or((None, None), |interval| {
            let (_, low, high) = interval.ratios();
            (low, high)
        });
        let claim = (region.finding(low, high) == Finding::Open).then(|| region.needs(logs, alpha));
        let size = size.filter(|size| size.finding(low, high) == Finding::Open);
        let size = size.map(|size| size.needs(logs, alpha));
        match (claim, size) {
            (None, None) => Standing::Closed,
            // The claim has priority over its size, unless no number of rounds decides it.
            (claim, size) => Standing::Open(claim.flatten().or(size.flatten()).unwrap_or(u32::MAX)),
        }
    }
}

/// Rank of the fair method, which decides between most verdicts.
const FAIR: u8 = 0;
/// Rank of the article's own method, and of experiments about the responsible condition.
const OWN: u8 = 1;
/// Rank of tests that change no verdict.
const ASIDE: u8 = 2;

/// Questions of a method for these claims, given their results so far.
pub fn questions(claims: &[(&ArticleClaim, Option<&JudgedClaim>)], method: &str) -> Vec<Question> {
    let mut all: Vec<Question> = Vec::new();
    for (claim, known) in claims.iter().filter(|(claim, _)| claim.untested.is_none()) {
        for question in of_claim(claim, *known, method) {
            match all.iter_mut().find(|q| Question { rank: question.rank, ..(*q).clone() } == question) {
                Some(same) => same.rank = same.rank.min(question.rank),
                None => all.push(question),
            }
        }
    }
    all
}

fn of_claim(claim: &ArticleClaim, known: Option<&JudgedClaim>, method: &str) -> Vec<Question> {
    let finding = |finding: fn(&JudgedClaim) -> Finding| known.map(finding);
    let (fair, own) = (finding(|k| k.fair.finding), finding(|k| k.article.finding));
    // A claim confirmed by the fair method holds in any case. Otherwise, a condition can only explain a claim that the article's
    // method confirms.
    let is_fair = fair == Some(Finding::Shown);
    let has_condition = !is_fair && own != Some(Finding::Refuted);
    let tests = [(&claim.article, if is_fair { ASIDE } else { OWN }), (&claim.fair, FAIR)];
    let tests = tests.into_iter().filter_map(|(test, rank)| Some((test.clone()?, None, rank)));
    let rank = |e: &Experiment| match e.with.is_some() || e.without.is_some() {
        true => has_condition.then_some(OWN),
        false => Some(ASIDE),
    };
    let more = claim.experiments.iter().filter_map(|e| Some((e.test(), e.expect.as_ref(), rank(e)?)));
    tests
        .chain(more)
        .filter(|(test, ..)| test.method == method && test.untested.is_none())
        .filter_map(|(test, expect, rank)| {
            let (a, b) = (claim.a_of(&test).clone(), claim.b_of(&test).clone());
            let metric = claim.metric_of(&test).to_owned();
            Some(Question { metric, a, b, says: claim.relation(expect).ok()?, rank })
        })
        .collect()
}

/// Keeps the cells that questions refer to, and the baselines of those that are compared in duels.
pub fn keep_asked(
    cells: &mut Vec<CellRecord>,
    questions: &[Question],
    baseline: Option<&str>,
    in_duels: impl Fn(&CellRecord) -> bool,
) {
    let is_asked = |cell: &CellRecord| {
        questions.iter().any(|q| cell.is_side(&q.a) || q.b.figure.is_none() && cell.is_side(&q.b))
    };
    let asked: Vec<CellRecord> = cells.iter().filter(|cell| is_asked(cell)).cloned().collect();
    let has_rival = |cell: &CellRecord| asked.iter().any(|other| other.params == cell.params);
    let named = |name: &str| Side { contender: Some(name.to_owned()), ..Side::default() };
    let is_baseline = |cell: &CellRecord| baseline.is_some_and(|name| cell.is_side(&named(name)));
    cells.retain(|cell| asked.contains(cell) || is_baseline(cell) && in_duels(cell) && has_rival(cell));
}

/// Progress of each question of a run.
pub fn standings(run: &Run, workload: &Workload, questions: &[Question]) -> Vec<Standing> {
    let duels = Duels::new(run, workload);
    questions.iter().map(|q| standing(run, workload, &duels, q).unwrap_or(Standing::Closed)).collect()
}

/// `None` if there can be no answer.
fn standing(run: &Run, workload: &Workload, duels: &Duels<'_>, question: &Question) -> Option<Standing> {
    let cells = sides(run, question)?;
    let alive = |&i: &usize| matches!(run.cells[i].status, CellStatus::Planned | CellStatus::Ok);
    if !cells.iter().all(alive) {
        return None;
    }
    if question.metric.starts_with(CODE) {
        let is_planned = |&i: &usize| run.cells[i].status == CellStatus::Planned;
        return cells.iter().any(is_planned).then_some(Standing::Open(1));
    }
    let (&a, b) = (cells.first()?, cells.get(1).copied().ok_or(question.b.figure.unwrap_or(f64::NAN)));
    let metric = workload.metric(&question.metric).ok()?;
    let (logs, _) = Pair { run, duels, metric }.logs(a, b).ok()?;
    let alpha = run.header.settings.alpha;
    let region = Region::new(&question.says).ok()?;
    if logs.iter().any(|log| !log.is_finite()) {
        return None;
    }
    let is_in_doubt =
        |&cell: &usize| duels::disturbance(run, workload, cell).is_some_and(|d| d.is_in_doubt());
    match Standing::new(region, Size::new(&question.says), &logs, alpha) {
        Standing::Closed if cells.iter().any(is_in_doubt) => Some(Standing::Open(1)),
        standing => Some(standing),
    }
}

/// The cells of both sides; a single cell if the other side is a figure.
fn sides(run: &Run, question: &Question) -> Option<Vec<usize>> {
    let second = if question.b.figure.is_some() { None } else { Some(run.cell_of(&question.b)?) };
    Some([Some(run.cell_of(&question.a)?), second].into_iter().flatten().collect())
}

/// Indices of the questions of the next round: those with the fewest estimated rounds, and those with up to twice as many. Each
/// rank doubles the rounds.
pub fn next(questions: &[(u8, Standing)]) -> BTreeSet<usize> {
    let far = |&(rank, standing): &(u8, Standing)| match standing {
        Standing::Closed => None,
        Standing::Open(rounds) => Some(u64::from(rounds) << rank.min(ASIDE)),
    };
    let nearest = questions.iter().filter_map(far).min();
    let is_next = |far: u64| nearest.is_some_and(|nearest| far <= 2 * nearest);
    questions.iter().enumerate().filter(|(_, q)| far(q).is_some_and(is_next)).map(|(i, _)| i).collect()
}

/// The cells of the next round; empty if all questions are closed. Baselines of duels take part in any case and are not included.
pub fn wanted(run: &Run, workload: &Workload) -> BTreeSet<usize> {
    let questions = &run.header.settings.questions;
    let standings = standings(run, workload, questions);
    let ranked: Vec<(u8, Standing)> = questions.iter().map(|q| q.rank).zip(standings).collect();
    let asked = next(&ranked).into_iter().filter_map(|i| sides(run, &questions[i]));
    let mut wanted: BTreeSet<usize> = asked.flatten().collect();
    let duels = Duels::new(run, workload);
    for (_, members) in groups(run) {
        let baseline = baseline_among(run, &members);
        let rivals: Vec<usize> = members
            .iter()
            .copied()
            .filter(|&i| baseline.is_some_and(|base| duels.pace(i, base).is_some()))
            .filter(|&i| matches!(run.cells[i].status, CellStatus::Planned | CellStatus::Ok))
            .collect();
        let Some(baseline) = baseline.filter(|_| !rivals.is_empty()) else { continue };
        if wanted.remove(&baseline) && !rivals.iter().any(|rival| wanted.contains(rival)) {
            wanted.insert(rivals[0]);
        }
    }
    wanted
}

impl Article {
    /// Pairs claims with their results, for [`questions`].
    pub fn with<'a>(
        &self,
        claims: &[&'a ArticleClaim],
        known: &'a [JudgedClaim],
    ) -> Vec<(&'a ArticleClaim, Option<&'a JudgedClaim>)> {
        let result =
            |claim: &ArticleClaim| known.iter().find(|k| k.id == format!("{}.{}", self.id, claim.id));
        claims.iter().map(|claim| (*claim, result(claim))).collect()
    }
}
