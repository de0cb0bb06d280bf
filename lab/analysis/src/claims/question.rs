//! What a run is to find out for its claims, and what of that is still open.
//!
//! Does: say of each question of a run whether its interval says something, and how many more rounds it is likely to take; choose
//! those that the next round brings nearest to their end. Does not: judge claims; a question that is answered may be so either way.
//!
//! Which question has the next round depends on what was measured, and so does when it has no more. Each interval is valid at any such
//! time (docs/METHOD.md), so that the choice costs speed where it is bad, and never truth.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::article::{Article, Claim, Experiment};
use super::judged::JudgedClaim;
use super::measured::{CODE, Pair};
use super::region::{Finding, Region};
use crate::duels::{self, Duels};
use crate::verdicts::{baseline_among, groups};
use netdyno_lab_manifest::Workload;
use netdyno_lab_store::PlannedCell;
use netdyno_lab_store::{CellStatus, Run};
use netdyno_lab_store::{Question, Side};

/// What is asked of a run from outside.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Asked {
    /// All that it is to find out.
    pub questions: Vec<Question>,
    /// In so many rounds at the most.
    pub rounds: u32,
}

/// How far a question is from its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// Its interval says something, or there can be none.
    Closed,
    /// About so many more rounds, if noise and ratio stay as they are. A forecast that is taken too seriously, since one session was
    /// disturbed, costs less than one that is not (`simulated`).
    Open(u32),
}

impl Standing {
    /// Of a question with these logarithms by now.
    #[must_use]
    pub(super) fn of(region: Region, logs: &[f64], alpha: f64) -> Standing {
        if region.is_told(logs, alpha) {
            return Standing::Closed;
        }
        Standing::Open(region.needs(logs, alpha).unwrap_or(u32::MAX))
    }
}

/// Where both sides are treated alike, first: alone it decides between most verdicts.
const FAIR: u8 = 0;
/// The article's own method, and what may show the condition that makes it so.
const OWN: u8 = 1;
/// What changes no verdict.
const ASIDE: u8 = 2;

/// What a method is still to find out for these claims; with what is known of them by now, if anything is.
#[must_use]
pub fn questions(claims: &[(&Claim, Option<&JudgedClaim>)], method: &str) -> Vec<Question> {
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

fn of_claim(claim: &Claim, known: Option<&JudgedClaim>, method: &str) -> Vec<Question> {
    let finding = |tested: fn(&JudgedClaim) -> Finding| known.map(tested);
    let (fair, own) = (finding(|k| k.fair.finding), finding(|k| k.article.finding));
    // Shown fairly it holds, whatever the article's method says; and only what that one shows has a condition to be found.
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

/// The cells that somebody asks for, and the baseline of those that are compared with one.
pub fn keep_asked(
    cells: &mut Vec<PlannedCell>,
    questions: &[Question],
    baseline: Option<&str>,
    in_duels: impl Fn(&PlannedCell) -> bool,
) {
    let is_asked =
        |cell: &PlannedCell| questions.iter().any(|q| q.a.is(cell) || q.b.figure.is_none() && q.b.is(cell));
    let asked: Vec<PlannedCell> = cells.iter().filter(|cell| is_asked(cell)).cloned().collect();
    let has_rival = |cell: &PlannedCell| asked.iter().any(|other| other.params == cell.params);
    let named = |name: &str| Side { contender: Some(name.to_owned()), ..Side::default() };
    let is_baseline = |cell: &PlannedCell| baseline.is_some_and(|name| named(name).is(cell));
    cells.retain(|cell| asked.contains(cell) || is_baseline(cell) && in_duels(cell) && has_rival(cell));
}

/// How each question of a run stands.
#[must_use]
pub fn standings(run: &Run, workload: &Workload, questions: &[Question]) -> Vec<Standing> {
    let duels = Duels::of(run, workload);
    questions.iter().map(|q| standing(run, workload, &duels, q).unwrap_or(Standing::Closed)).collect()
}

/// None where there can be no answer.
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
    let region = Region::of(&question.says).ok()?;
    if logs.iter().any(|log| !log.is_finite()) {
        return None;
    }
    let is_in_doubt =
        |&cell: &usize| duels::disturbance(run, workload, cell).is_some_and(|d| d.is_in_doubt());
    match Standing::of(region, &logs, alpha) {
        Standing::Closed if cells.iter().any(is_in_doubt) => Some(Standing::Open(1)),
        standing => Some(standing),
    }
}

/// The cells of its sides: one where the other is a figure.
fn sides(run: &Run, question: &Question) -> Option<Vec<usize>> {
    let second = if question.b.figure.is_some() { None } else { Some(run.cell_of(&question.b)?) };
    Some([Some(run.cell_of(&question.a)?), second].into_iter().flatten().collect())
}

/// The questions that the next round is for: those that are nearest to their end, and those up to twice as far. With each their rank
/// counts as distance.
#[must_use]
pub fn next(questions: &[(u8, Standing)]) -> BTreeSet<usize> {
    let far = |&(rank, standing): &(u8, Standing)| match standing {
        Standing::Closed => None,
        Standing::Open(rounds) => Some(u64::from(rounds) << rank.min(ASIDE)),
    };
    let nearest = questions.iter().filter_map(far).min();
    let is_next = |far: u64| nearest.is_some_and(|nearest| far <= 2 * nearest);
    questions.iter().enumerate().filter(|(_, q)| far(q).is_some_and(is_next)).map(|(i, _)| i).collect()
}

/// The cells that the next round of a run is for; none when all its questions are closed. The baseline of a duel takes part in any
/// case, and is not among them.
#[must_use]
pub fn wanted(run: &Run, workload: &Workload) -> BTreeSet<usize> {
    let questions = &run.header.settings.questions;
    let standings = standings(run, workload, questions);
    let ranked: Vec<(u8, Standing)> = questions.iter().map(|q| q.rank).zip(standings).collect();
    let asked = next(&ranked).into_iter().filter_map(|i| sides(run, &questions[i]));
    let mut wanted: BTreeSet<usize> = asked.flatten().collect();
    let duels = Duels::of(run, workload);
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
    /// The claims with what is known of them, as [`questions`] takes them.
    #[must_use]
    pub fn with<'a>(
        &self,
        claims: &[&'a Claim],
        known: &'a [JudgedClaim],
    ) -> Vec<(&'a Claim, Option<&'a JudgedClaim>)> {
        let of = |claim: &Claim| known.iter().find(|k| k.id == format!("{}.{}", self.id, claim.id));
        claims.iter().map(|claim| (*claim, of(claim))).collect()
    }
}
