//! `netdyno doctor --against-itself`: duels of contenders with themselves, and their false-positive rate.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::held::hold;
use crate::cmd::{CELL_FAILED, CommandResult, DIFFERS, Fallible, GOOD, INTERRUPTED, Lab, print};
use crate::doctor::against_itself::{Duel, SESSIONS, SHARE_MOST, Tally, Terms, is_done, resolved};
use crate::doctor::self_duels;
use netdyno_lab_engine::build::Availability;
use netdyno_lab_engine::host;
use netdyno_lab_engine::run::{Position, Resolved};
use netdyno_lab_manifest::{Contender, ManifestError, Workload};
use netdyno_lab_report::{columns, grid, wrapped};

/// Limit of stored runs searched for earlier duels: all.
const RUNS_MAX: usize = 1 << 24;

/// Limit of printed warnings. On a busy machine, every duel may have one.
const WARNINGS_MAX: usize = 10;

/// A contender with its duels. A duel in which a side failed is `None`.
struct Entrant {
    name: String,
    plan: Resolved,
    duels: Vec<Option<Duel>>,
    /// Warnings, each with the duel it belongs to.
    warnings: Vec<String>,
}

impl Entrant {
    fn add(&mut self, duel: Option<Duel>, warnings: &[String]) {
        self.duels.push(duel);
        let place = format!("{}, duel {}", self.name, self.duels.len());
        self.warnings.extend(warnings.iter().map(|text| format!("warning: {place}: {text}")));
    }
}

/// Runs duels until each contender has `duels`, cycling through the contenders so that an interruption leaves equal counts.
pub(super) fn run(duels: u32, workload: &str, names: &[String], cancel: Arc<AtomicBool>) -> CommandResult {
    let mut lab = Lab::open(&[workload], cancel)?;
    let mut contenders = contenders(&lab, workload, names)?;
    for index in 0..duels as usize {
        for contender in contenders.iter_mut().filter(|c| c.duels.len() <= index) {
            let place = format!("{}: duel {} of {duels}", contender.name, index + 1);
            // Resolving anew gives each duel its own seed.
            let plan = resolved(&lab.catalog, &contender.plan.workload, &contender.name, Terms::EQUAL)?;
            let so_far = |at: &Position<'_>| format!("session {} of {}", at.block + 1, at.max_blocks);
            let Some((run, duel)) = hold(&mut lab, &plan, place, so_far)? else { break };
            contender.add(duel, &run.header.warnings);
        }
        if lab.is_cancelled() {
            break;
        }
    }
    let code = print_table(&contenders);
    Ok(if lab.is_cancelled() { INTERRUPTED } else { code })
}

/// The contenders with their stored duels on this machine.
fn contenders(lab: &Lab, workload: &str, names: &[String]) -> Fallible<Vec<Entrant>> {
    let Lab { catalog, store, .. } = lab;
    let workload = catalog.workload(workload)?;
    let named = names.iter().map(|name| Ok(catalog.contender(&workload.name, name)?.name.clone()));
    let mut names: Vec<String> = named.collect::<Result<_, ManifestError>>()?;
    if names.is_empty() {
        names = able(lab, workload);
    }
    let mut seen = BTreeSet::new();
    names.retain(|name| seen.insert(name.clone()));
    let here = host::this_machine();
    let mut runs = store.runs(RUNS_MAX)?;
    runs.retain(|run| run.header.host.headline() == here);
    let with_duels = |name: String| {
        let plan = resolved(catalog, workload, &name, Terms::EQUAL)?;
        let mut entrant = Entrant { name, plan, duels: Vec::new(), warnings: Vec::new() };
        for run in &runs {
            if is_done(run, &entrant.plan) && !store.is_imported(&run.header.id)? {
                entrant.add(Duel::of(&store.load(&run.header.id)?)?, &run.header.warnings);
            }
        }
        Ok(entrant)
    };
    names.into_iter().map(with_duels).collect()
}

/// Names of the contenders that can be compared here.
pub(super) fn able(lab: &Lab, workload: &Workload) -> Vec<String> {
    let compared = |c: &&Contender| !c.ceiling && workload.compared().any(|role| c.plays(role));
    let is_here = |c: &&Contender| matches!(lab.builder.availability(c), Availability::Available);
    let able = lab.catalog.contenders_of(&workload.name).filter(compared).filter(is_here);
    able.map(|c| c.name.clone()).collect()
}

/// Prints a row per contender and a total. Returns the exit code.
fn print_table(contenders: &[Entrant]) -> u8 {
    let mut rows: Vec<(&str, Tally)> =
        contenders.iter().map(|c| (c.name.as_str(), Tally::of(&c.duels))).collect();
    if contenders.len() > 1 {
        let all: Vec<Option<Duel>> = contenders.iter().flat_map(|c| c.duels.clone()).collect();
        rows.push(("all", Tally::of(&all)));
    }
    let head = ["contender", "duels", "better", "worse", "neither", "failed", "ratio", "s.d.", "cover 1"];
    let text: Vec<Vec<String>> = rows.iter().map(|(name, tally)| row(name, tally)).collect();
    print(&format!("{}\n", grid(&head.map(str::to_owned), &text, columns())));
    let note = format!(
        "Each duel has {SESSIONS} sessions. ratio: median over duels; s.d.: standard deviation of the log ratio \
         between sessions; cover 1: intervals that contain 1."
    );
    print(&format!("{}\n", wrapped(&note, columns(), " ", " ")));
    warnings(contenders).for_each(|text| print(&format!("{}\n", wrapped(&text, columns(), " ", "   "))));
    let (kept, differ): (Vec<_>, Vec<_>) = rows.iter().partition(|(_, tally)| tally.is_kept(rows.len()));
    // If all rows pass, the last one summarises them.
    let last = kept.last().filter(|_| differ.is_empty());
    for (name, tally) in differ.iter().chain(last) {
        super::verdict(differ.is_empty(), name, &found(tally));
    }
    match rows.iter().any(|(_, tally)| tally.failed > 0) {
        _ if !differ.is_empty() => DIFFERS,
        true => CELL_FAILED,
        false => GOOD,
    }
}

/// The first warnings, and the number of omitted ones.
fn warnings(contenders: &[Entrant]) -> impl Iterator<Item = String> {
    let all = || contenders.iter().flat_map(|c| &c.warnings);
    let more = all().count().saturating_sub(WARNINGS_MAX);
    let more = (more > 0).then(|| format!("{more} more warnings; see the runs in netdyno history"));
    all().take(WARNINGS_MAX).cloned().chain(more)
}

fn found(tally: &Tally) -> String {
    let wrong = tally.better + tally.worse;
    let most = format!("expected rate: at most {:.0} %", 100.0 * SHARE_MOST);
    format!("{wrong} of {} duels significantly better or worse ({most})", tally.duels)
}

/// Short duels of a dummy with itself, as a part of the self-test.
pub(super) fn dummies(duels: u32, sessions: u32, cancel: &AtomicBool) -> bool {
    let tally = self_duels::hold(duels, sessions, cancel).map(|held| Tally::of(&held));
    let result = tally.map(|tally| (tally.is_kept(1), found(&tally)));
    let (is_kept, found) = result.unwrap_or_else(|error| (false, error.to_string()));
    super::verdict(is_kept, "a dummy against itself", &found)
}

fn row(name: &str, tally: &Tally) -> Vec<String> {
    let neither = tally.duels - tally.better - tally.worse;
    let counts = [tally.duels, tally.better, tally.worse, neither, tally.failed].map(|n| n.to_string());
    let figure = |value: Option<f64>, scale: f64, digits: usize, unit: &str| {
        value.map_or_else(|| "-".to_owned(), |v| format!("{:.digits$}{unit}", scale * v))
    };
    let hold_one = (tally.duels > 0).then(|| tally.hold_one as f64 / tally.duels as f64);
    let figures = [
        figure(tally.ratio, 1.0, 4, ""),
        figure(tally.deviation, 100.0, 2, " %"),
        figure(hold_one, 100.0, 1, " %"),
    ];
    [name.to_owned()].into_iter().chain(counts).chain(figures).collect()
}
