//! The schedule of a replication: first rounds for every method, then the rest of the time where it decides a question soonest.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::super::Fallible;
use super::{Asked, Found, runs};
use netdyno_lab_analysis::claims::{self, Continuation, FIRST_ROUNDS, JudgedClaim, Method, Runs};
use netdyno_lab_engine::run::Resolved;
use netdyno_lab_store::{Question, Run, Store, StoreError};

/// Estimated seconds of a trial in addition to its window and warm-up: setup, gate, shutdown.
const AROUND_S: f64 = 1.0;

/// A method and its progress.
struct Course<'a> {
    of: &'a Asked,
    name: &'a str,
    plan: &'a Resolved,
    /// The run, or the reason why there is none.
    run: Option<Result<Run, String>>,
    /// The run is from the store and has not been extended yet.
    is_old: bool,
    /// No further rounds are planned.
    is_over: bool,
}

/// Measures until the budget is exhausted or every question is decided. A method that cannot run is not an error: its claims are
/// reported as not tested, with the reason.
pub(super) fn measured(
    asked: &[Asked],
    budget: Option<Duration>,
    resumes: bool,
    cancel: &AtomicBool,
) -> Fallible<Found> {
    let mut courses = Vec::new();
    for of in asked {
        for (name, plan) in &of.plans {
            courses.push(Course { of, name, plan, run: None, is_old: false, is_over: false });
        }
    }
    if resumes {
        let store = Store::open(&Store::default_path())?;
        for course in &mut courses {
            course.run = runs::begun(&store, course.plan, course.method())?.map(Ok);
            course.is_old = course.run.is_some();
        }
    }
    let usual: f64 = courses.iter().map(|course| course.method().seconds).sum();
    let mut left_s = budget.map_or(usual, |budget| budget.as_secs_f64());
    while left_s > 0.0 && !cancel.load(Ordering::Relaxed) {
        let open = open(asked, &courses)?;
        let turns: Vec<Option<Continuation>> =
            courses.iter().zip(&open).map(|(c, questions)| c.turn(questions)).collect();
        let Some((at, turn)) = claims::soonest(&turns).and_then(|at| Some((at, turns[at]?))) else { break };
        left_s -= courses[at].go_on(&open[at], &turn, left_s, cancel)?;
    }
    let none = if cancel.load(Ordering::Relaxed) {
        "interrupted"
    } else {
        "the budget was exhausted before this method started"
    };
    let of = |one: &Asked| {
        let ours = courses.iter().filter(|course| std::ptr::eq(course.of, one));
        let run = |course: &Course<'_>| course.run.clone().unwrap_or_else(|| Err(none.to_owned()));
        ours.map(|course| (course.name.to_owned(), run(course))).collect()
    };
    Ok(asked.iter().map(of).collect())
}

/// The open questions of each method.
fn open(asked: &[Asked], courses: &[Course<'_>]) -> Result<Vec<Vec<Question>>, StoreError> {
    let mut known: Vec<Vec<JudgedClaim>> = Vec::new();
    for one in asked {
        let ours = courses.iter().filter(|course| std::ptr::eq(course.of, one));
        let runs: Runs = ours.filter_map(|c| Some((c.name.to_owned(), c.run.clone()?))).collect();
        known.push(claims::judge(&one.loaded.article, &one.claims(), &runs)?.claims);
    }
    let of = |course: &Course<'_>| {
        let (one, known) = asked.iter().zip(&known).find(|(one, _)| std::ptr::eq(course.of, *one))?;
        let has_run = matches!(course.run, Some(Ok(_)));
        // Before its first rounds, a method has all questions, so that its run gets all cells.
        let known: &[JudgedClaim] = if has_run { known } else { &[] };
        Some(claims::questions(&one.loaded.article.with(&one.claims(), known), course.name))
    };
    Ok(courses.iter().map(|course| of(course).unwrap_or_default()).collect())
}

impl Course<'_> {
    fn method(&self) -> &Method {
        &self.of.loaded.article.methods[self.name]
    }

    /// The next rounds of this method; `None` if it is over.
    fn turn(&self, questions: &[Question]) -> Option<Continuation> {
        match &self.run {
            _ if self.is_over => None,
            Some(Err(_)) => None,
            None => {
                let rank = questions.iter().map(|q| q.rank).min()?;
                let seconds = self.guess_s() * f64::from(FIRST_ROUNDS);
                Some(Continuation { is_first: true, rank, rounds: FIRST_ROUNDS, seconds })
            }
            Some(Ok(run)) => {
                let rounds = rounds(run);
                let standings = claims::standings(run, &self.plan.workload, questions);
                let ranked: Vec<_> = questions.iter().map(|q| q.rank).zip(standings).collect();
                let turn = Continuation::new(&ranked, rounds, run.elapsed_s() / f64::from(rounds.max(1)))?;
                (rounds < run.header.settings.max_blocks).then_some(turn)
            }
        }
    }

    /// Estimated seconds of a round, before the first one.
    fn guess_s(&self) -> f64 {
        let of = |name, params: &netdyno_lab_manifest::Params| params.number(name).unwrap_or(0.0);
        let cells = self.plan.cells.iter().map(|cell| &cell.params);
        cells.map(|p| of("seconds", p) + of("warmup_seconds", p) + AROUND_S).sum()
    }

    /// Measures these rounds. Returns the seconds spent.
    fn go_on(
        &mut self,
        questions: &[Question],
        turn: &Continuation,
        left_s: f64,
        cancel: &AtomicBool,
    ) -> Fallible<f64> {
        let asked = claims::Asked { questions: questions.to_vec(), rounds: turn.rounds };
        let (begun, had_s) = match &self.run {
            Some(Ok(run)) => (Some(run.header.id.clone()), run.elapsed_s()),
            _ => (None, 0.0),
        };
        self.tell(begun.as_deref(), turn, left_s);
        let now = runs::go_on(self.method(), begun.as_deref(), (&asked, left_s), cancel)?;
        if now.is_err() && begun.is_some() {
            // The child printed the error. A stored run may have another build: start a new run. Samples are kept.
            if std::mem::take(&mut self.is_old) && !cancel.load(Ordering::Relaxed) {
                self.run = None;
            } else {
                self.is_over = true;
            }
            return Ok(0.0);
        }
        self.is_old = false;
        let took_s = now.as_ref().map_or(0.0, |run| run.elapsed_s() - had_s);
        self.is_over = took_s <= 0.0;
        self.run = Some(now);
        Ok(took_s)
    }

    fn tell(&self, begun: Option<&str>, turn: &Continuation, left_s: f64) {
        let (article, name) = (&self.of.loaded.article.id, self.name);
        let s = if turn.rounds == 1 { "" } else { "s" };
        let what = match begun {
            Some(id) => format!("{} more round{s} of run {id}", turn.rounds),
            None => format!("{} round{s} of {}", turn.rounds, self.method().command()),
        };
        crate::cmd::tell(&format!("{article} {name}: up to {what}; {left_s:.0} s of measuring time left"));
    }
}

fn rounds(run: &Run) -> u32 {
    run.trials.iter().map(|t| t.block + 1).max().unwrap_or(0)
}
