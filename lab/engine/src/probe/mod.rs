//! Probes: observed trials, which are not measurements.
//!
//! Does: run a trial for each kind of probe, and return the result for each role, or why there is none. Does not:
//! compute anything from it ([`netdyno_lab_analysis::explain::rank`] does), or store it.

mod acts;
mod kernel;
mod perf;
mod preload;
mod scratch;
mod strace;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use crate::trial::{self, Progress, TrialSpec, Watch};
use netdyno_lab_analysis::explain::figures::WorkUnit;
use netdyno_lab_analysis::metrics;
use netdyno_lab_arena::Arena;
use netdyno_lab_manifest::Params;
use netdyno_lab_store::probe::{Found, Probe, ProbeKind};
use netdyno_lab_store::{Equal, Outcome, TrialRecord};

pub use preload::library as preload_library;
pub use scratch::Scratch;

/// Units of work that suffice for counting system calls; each causes two events.
const SYSCALL_UNITS: f64 = 50_000.0;
/// Shortest window of a profile: a role that mostly waits has few samples.
const PROFILE_LEAST: Duration = Duration::from_secs(2);
/// Shortest window of other probes.
const WINDOW_LEAST: Duration = Duration::from_millis(300);

/// A method of observing the processes of a role.
trait Look {
    fn source(&self) -> String;
    /// Prepares, while the role is already running as process `root`.
    fn attach(&mut self, _root: i32) -> Result<(), String> {
        Ok(())
    }
    fn begin(&mut self, _root: i32) -> Result<(), String> {
        Ok(())
    }
    fn end(&mut self, _root: i32) -> Result<(), String> {
        Ok(())
    }
    fn found(&mut self) -> Result<Found, String>;
}

/// The common environment of a cell's probes.
pub struct Bench<'a> {
    /// The folder for the tools' files.
    pub scratch: &'a Scratch,
    /// The language of each role's program, which determines how stacks are unwound.
    pub languages: &'a BTreeMap<String, String>,
    /// The unit of work.
    pub unit: &'a WorkUnit,
    /// The equalised property of a trial that checks it.
    pub equal: Option<&'a Equal>,
    /// Units per second in undisturbed trials.
    pub undisturbed: Option<f64>,
    /// Cancels the probe.
    pub cancel: &'a AtomicBool,
}

impl Bench<'_> {
    /// Runs one observed trial. Returns the result for each role.
    pub fn probe(
        &self,
        kind: ProbeKind,
        mut spec: TrialSpec<'_>,
        arena: &Arena,
        progress: &mut dyn FnMut(Progress),
    ) -> BTreeMap<String, Probe> {
        spec.marks = vec![self.window(kind, spec.params)];
        let mut watcher = Watcher { roles: Vec::new() };
        for role in &mut spec.roles {
            let language = self.languages.get(&role.name).map_or("", String::as_str);
            let folder = self.scratch.folder(&format!("{}-{}", kind.as_str(), role.name));
            let look = folder.and_then(|folder| look(kind, language, &folder, &mut role.launch.env, self));
            watcher.roles.push(Watched { name: role.name.clone(), look, root: 0, begun: None, looked: None });
        }
        let report = trial::run(&spec, arena, self.cancel, progress, Some(&mut watcher));
        let failed = match &report.record.outcome {
            Outcome::Ok => None,
            Outcome::Failed { role, reason, .. } => Some(format!("the trial failed: {role} {reason}")),
            other => Some(format!("the trial did not end: {other:?}")),
        };
        let rate = rate(&report.record, self.unit);
        let roles = watcher.roles.into_iter();
        roles.map(|role| (role.name.clone(), self.probe_of(kind, role, rate, failed.as_deref()))).collect()
    }

    fn probe_of(&self, kind: ProbeKind, mut role: Watched, rate: Option<f64>, failed: Option<&str>) -> Probe {
        let units = rate.zip(role.looked).map_or(0.0, |(rate, looked)| rate * looked.as_secs_f64());
        let source = role.look.as_ref().map_or(String::new(), |look| look.source());
        let found = match (failed, &mut role.look) {
            (_, Err(why)) => Err(why.clone()),
            (Some(why), _) => Err(why.to_owned()),
            (None, Ok(_)) if units <= 0.0 => Err("no work was done while the probe was attached".to_owned()),
            (None, Ok(look)) => look.found(),
        };
        let speed = rate.zip(self.undisturbed).map(|(with, without)| with / without);
        Probe { kind, source, units, speed, found }
    }

    /// The cell's own window; longer for a profile if it is short, and shorter for many system calls.
    fn window(&self, kind: ProbeKind, params: &Params) -> Duration {
        let whole = trial::seconds(params, "seconds").max(WINDOW_LEAST);
        let enough = self.undisturbed.filter(|rate| *rate > 0.0).map(|rate| SYSCALL_UNITS / rate);
        let whole = if kind == ProbeKind::Profile { whole.max(PROFILE_LEAST) } else { whole };
        match (kind, enough.and_then(|s| Duration::try_from_secs_f64(s).ok())) {
            (ProbeKind::Syscalls, Some(enough)) => enough.clamp(WINDOW_LEAST, whole),
            _ => whole,
        }
    }
}

fn rate(trial: &TrialRecord, unit: &WorkUnit) -> Option<f64> {
    metrics::of_trial(&unit.rate(), &Params::default(), trial).value
}

/// The best available method on this machine.
fn look(
    kind: ProbeKind,
    language: &str,
    folder: &Path,
    env: &mut Vec<(String, String)>,
    bench: &Bench<'_>,
) -> Result<Box<dyn Look>, String> {
    Ok(match kind {
        ProbeKind::Kernel => Box::new(kernel::Counters::default()),
        ProbeKind::Syscalls => match perf::Recording::of_syscalls(folder) {
            Ok(recording) => Box::new(recording),
            Err(no_perf) => Box::new(strace::Strace::new(folder, &no_perf)?),
        },
        ProbeKind::Allocations => Box::new(preload::Allocator::new(language, folder, bench.scratch, env)?),
        ProbeKind::Profile => Box::new(perf::Recording::of_stacks(folder, language)?),
        ProbeKind::Acts => Box::new(acts::Acts::new(bench.equal, language, folder, env)?),
    })
}

/// An observed role, or why it is not observed, which does not affect the others.
struct Watched {
    name: String,
    look: Result<Box<dyn Look>, String>,
    root: i32,
    begun: Option<Instant>,
    looked: Option<Duration>,
}

struct Watcher {
    roles: Vec<Watched>,
}

impl Watcher {
    /// Runs a step of each probe that has not failed yet.
    fn each(&mut self, mut step: impl FnMut(&mut Watched, &mut dyn Look) -> Result<(), String>) {
        for role in &mut self.roles {
            let taken = std::mem::replace(&mut role.look, Err(String::new()));
            role.look = taken.and_then(|mut look| step(role, &mut *look).map(|()| look));
        }
    }
}

impl Watch for Watcher {
    fn attach(&mut self, roles: &[(String, i32)]) {
        self.each(|watched, look| {
            let root = roles.iter().find(|(name, pid)| *name == watched.name && *pid > 0);
            watched.root = root.ok_or("its process is unknown")?.1;
            look.attach(watched.root)
        });
    }

    fn begin(&mut self) {
        self.each(|watched, look| {
            look.begin(watched.root)?;
            watched.begun = Some(Instant::now());
            Ok(())
        });
    }

    fn end(&mut self) {
        self.each(|watched, look| {
            watched.looked = watched.begun.map(|begun| begun.elapsed());
            look.end(watched.root)
        });
    }
}

/// The processes of a role; the first is the one that was started.
fn processes(root: i32) -> Vec<i32> {
    let below = netdyno_lab_arena::meter::descendants(root);
    std::iter::once(root).chain(below.iter().map(procfs::process::Process::pid)).collect()
}
