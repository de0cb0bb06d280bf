//! The runs of a replication, from a child process `netdyno run` per method or from the store.
//!
//! A child process gives each method its own environment variables for builds, and runs the same command as a user would.

use std::io::Read;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::super::Fallible;
use super::super::import::load;
use super::{Asked, Found, plans};
use crate::cli::ASK;
use netdyno_lab_analysis::claims::{self, Method, limits};
use netdyno_lab_analysis::report::Report;
use netdyno_lab_engine::run::Resolved;
use netdyno_lab_manifest::Net;
use netdyno_lab_store::{Listing, Run, RunStatus, Store, StoreError};

/// Interval of polling the child process.
const LOOK: Duration = Duration::from_millis(200);
/// Limit of stored runs searched for one to resume.
const LOOKED_AT: usize = 1000;

/// Starts or resumes the run of a method. Its progress goes to our stderr; its report identifies the run.
pub(super) fn go_on(
    method: &Method,
    begun: Option<&str>,
    (asked, seconds): (&claims::Asked, f64),
    cancel: &AtomicBool,
) -> Fallible<Result<Run, String>> {
    let words: Vec<&str> = match begun {
        Some(id) => vec!["--resume", id],
        None => plans::words(method).collect(),
    };
    let mut child = Command::new(std::env::current_exe()?)
        .arg("run")
        .args(words)
        .args(["--budget", &format!("{seconds:.3}"), "--format", "json"])
        .args([ASK, &serde_json::to_string(asked)?])
        .envs(&method.env)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        // Ctrl-C then reaches the child once, through this process: a second signal would kill it.
        .process_group(0)
        .spawn()?;
    let mut stdout = child.stdout.take().ok_or("the child process has no stdout")?;
    let reader = std::thread::spawn(move || {
        let mut text = String::new();
        stdout.read_to_string(&mut text).map(|_| text)
    });
    let mut is_signalled = false;
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if cancel.load(Ordering::Relaxed) && !is_signalled {
            is_signalled = true;
            let _ = kill(Pid::from_raw(i32::try_from(child.id())?), Signal::SIGTERM);
        }
        std::thread::sleep(LOOK);
    };
    let text = reader.join().map_err(|_| "the output of the run cannot be read")??;
    let Ok(report) = serde_json::from_str::<Report>(&text) else {
        return Ok(Err(format!("the run printed no report ({status}); see its error above")));
    };
    Ok(Ok(Store::open(&Store::default_path())?.load(&report.run.id)?))
}

/// The newest stored run of a method that can be resumed: measured here by the same command.
pub(super) fn begun(store: &Store, plan: &Resolved, method: &Method) -> Result<Option<Run>, StoreError> {
    let listing = Listing { workload: Some(&plan.workload.name), skip: 0, most: LOOKED_AT };
    let words: Vec<&str> = plans::words(method).collect();
    let host = netdyno_lab_engine::host::this_machine();
    for listed in store.list(listing)? {
        let typed = listed.command.iter().map(String::as_str).skip(2);
        if !typed.take(words.len()).eq(words.iter().copied())
            || listed.status == RunStatus::Running
            || store.is_imported(&listed.id)?
        {
            continue;
        }
        let run = store.load(&listed.id)?;
        if run.header.host.headline() == host && misfit(&run, plan, method).is_none() {
            return Ok(Some(run));
        }
    }
    Ok(None)
}

/// For each method, the newest of the given stored or exported runs that fits.
pub(super) fn stored(asked: &[Asked], from: &[String]) -> Fallible<Found> {
    let loaded = from.iter().map(|wanted| Ok(load(wanted)?.0));
    let mut runs = loaded.collect::<Fallible<Vec<Run>>>()?;
    runs.sort_by(|a, b| b.header.id.cmp(&a.header.id));
    let plans = || asked.iter().flat_map(|one| one.plans.iter().map(move |(name, plan)| (one, name, plan)));
    for run in &runs {
        let why = |(one, name, plan): (&Asked, &String, &Resolved)| {
            misfit(run, plan, &one.loaded.article.methods[name]).map(|why| format!("{name}: {why}"))
        };
        let misfits: Vec<String> = plans().filter_map(why).collect();
        if misfits.len() == plans().count() {
            return Err(format!("run {} matches no method: {}", run.header.id, misfits.join("; ")).into());
        }
    }
    let of = |one: &Asked| {
        let of_method = |(name, plan): (&String, &Resolved)| {
            let method = &one.loaded.article.methods[name];
            let run = runs.iter().find(|run| misfit(run, plan, method).is_none());
            (name.clone(), run.cloned().ok_or_else(|| format!("no run of the method {name} was given")))
        };
        one.plans.iter().map(of_method).collect()
    };
    Ok(asked.iter().map(of).collect())
}

/// The reason why a stored run does not fit a method, or `None` if it fits.
fn misfit(run: &Run, plan: &Resolved, method: &Method) -> Option<String> {
    let (is, wanted) = (&run.header.settings, &plan.settings);
    if run.header.workload != plan.workload.name {
        return Some(format!("its workload is {}", run.header.workload));
    }
    // If no private network is available, the report of the run says so.
    let is_net = is.net == wanted.net || is.net == Net::Host;
    let checks = [
        ("--placement", is.placement == wanted.placement),
        ("--net", is_net),
        ("--awake", is.awake == wanted.awake),
        ("--blocks", is.blocks == wanted.blocks),
        ("--role", is.role == wanted.role),
        ("--baseline", is.baseline == wanted.baseline),
    ];
    if let Some((option, _)) = checks.into_iter().find(|(_, same)| !same) {
        return Some(format!("{option} differs"));
    }
    let has = |planned: &netdyno_lab_store::CellRecord| {
        run.cells.iter().any(|cell| cell.contenders == planned.contenders && cell.params == planned.params)
    };
    if let Some(planned) = plan.cells.iter().find(|planned| !has(planned)) {
        let who: Vec<&str> = planned.contenders.values().map(String::as_str).collect();
        return Some(format!("it has no cell {} at {}", who.join("/"), planned.params));
    }
    let builds = || run.cells.iter().flat_map(|cell| cell.builds.values());
    let set = |flag: &&String| flag.starts_with(limits::ENVIRONMENT);
    let said: Vec<String> = method.env.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let other = builds().any(|b| b.flags.iter().filter(set).any(|flag| !said.contains(flag)));
    let lacks = said.iter().any(|flag| !builds().any(|b| b.flags.contains(flag)));
    (other || lacks).then(|| "its contenders were built with other environment variables".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use netdyno_lab_manifest::Placement;
    use netdyno_lab_store::fixture::{self, CannedContender};
    use netdyno_lab_store::{BuildRecord, CellStatus};

    /// A run of the dummy workload, and the plan of a method that it fits.
    fn pair() -> (Run, Resolved) {
        let one = CannedContender { name: "one", status: CellStatus::Ok, rates: &[1], sink_cpu_percent: 1 };
        let run = fixture::run(&[one], None);
        let plan = Resolved {
            workload: netdyno_lab_manifest::dummy::workload(),
            cells: vec![run.cells[0].planned()],
            settings: run.header.settings.clone(),
            rounds: None,
            warnings: Vec::new(),
            command: Vec::new(),
        };
        (run, plan)
    }

    fn method(env: &[(&str, &str)]) -> Method {
        let env = env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Method { about: String::new(), run: String::new(), seconds: 1.0, env }
    }

    #[test]
    fn a_run_is_of_a_method_that_measures_the_same_in_the_same_way() {
        let (run, plan) = pair();
        assert_eq!(misfit(&run, &plan, &method(&[])), None);
        let mut other = run.clone();
        other.header.settings.placement = Placement::Shared;
        assert_eq!(misfit(&other, &plan, &method(&[])).unwrap(), "--placement differs");
        let mut other = run.clone();
        other.cells[0].contenders.insert("sink".to_owned(), "two".to_owned());
        assert!(misfit(&other, &plan, &method(&[])).unwrap().contains("it has no cell one/one"));
        let mut other = run;
        other.header.workload = "tea".to_owned();
        assert_eq!(misfit(&other, &plan, &method(&[])).unwrap(), "its workload is tea");
    }

    #[test]
    fn a_build_that_was_not_optimised_is_another_run() {
        let (mut run, plan) = pair();
        let debug = method(&[("CARGO_PROFILE_RELEASE_OPT_LEVEL", "0")]);
        let why = "its contenders were built with other environment variables";
        assert_eq!(misfit(&run, &plan, &debug).as_deref(), Some(why));
        let record: BuildRecord = serde_json::from_value(serde_json::json!({
            "key": "", "toolchain": "", "lock_hash": "", "version": "", "tuning": "",
            "flags": ["--release", "CARGO_PROFILE_RELEASE_OPT_LEVEL=0"],
        }))
        .unwrap();
        run.cells[0].builds.insert("one".to_owned(), record);
        assert_eq!(misfit(&run, &plan, &debug), None);
        assert_eq!(misfit(&run, &plan, &method(&[])).as_deref(), Some(why));
    }
}
