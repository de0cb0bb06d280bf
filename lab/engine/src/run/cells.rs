//! Outcomes of cells, and the processes of their roles.

use std::collections::BTreeMap;

use super::equal;
use crate::build::Built;
use crate::trial::TrialRole;
use netdyno_lab_arena::{Arena, ArenaError, CpuPlan, LaunchSpec, LinkEnd, Topology};
use netdyno_lab_manifest::{Contender, Placement, Tuning, Workload, version_matches};
use netdyno_lab_protocol::Implementation;
use netdyno_lab_store::{BuildRecord, CellRecord, CellStatus, Outcome, Run, Settings};

/// Why these parameters are not permitted with all roles on one CPU, if so.
pub(super) fn crowded(workload: &Workload, cell: &CellRecord) -> Option<(String, String)> {
    workload.one_cpu_max.iter().find_map(|(name, most)| {
        let value = cell.params.number(name)?;
        (value > most.number()?).then(|| {
            let reason = format!(
                "{name}={value} with both roles on one CPU: a role that keeps to its schedule would take CPU \
                 time from the other; the workload allows at most {most} there"
            );
            (reason, format!("provide a second CPU, or use --set {name}={most}"))
        })
    })
}

pub(super) fn note_build(run: &mut Run, name: &str, contender: &Contender, built: &Built) {
    // Variables can be as important as flags, for example for the optimisation level.
    let variables = built.record.environment.iter().map(|(variable, value)| format!("{variable}={value}"));
    let record = BuildRecord {
        key: built.record.key.clone(),
        toolchain: built.record.toolchain.clone(),
        flags: built.record.flags.iter().cloned().chain(variables).collect(),
        lock_hash: built.record.lock_hash.clone().unwrap_or_default(),
        version: contender.implementation.version.clone(),
        tuning: match contender.tuning {
            Tuning::Defaults => "defaults".to_owned(),
            Tuning::Peak => format!("peak: {}", contender.tuned.join(", ")),
        },
        local: built.local.clone(),
        caveat: contender.caveat.clone(),
        lines: built.record.lines.clone(),
    };
    for cell in run.cells.iter_mut().filter(|c| c.contenders.values().any(|n| n == name)) {
        cell.builds.insert(name.to_owned(), record.clone());
    }
}

/// Checks that the reported versions are those of the manifests.
pub(super) fn wrong_version(cell: &CellRecord, said: &BTreeMap<String, Implementation>) -> Option<String> {
    said.iter().find_map(|(role, implementation)| {
        let manifest = cell.builds.get(cell.contenders.get(role)?)?;
        let (said, wanted) = (&implementation.version, &manifest.version);
        (!version_matches(wanted, said)).then(|| {
            format!("the {role} reports version {said}, but its manifest has {wanted}: correct one of them")
        })
    })
}

pub(super) fn note_outcome(
    cell: &mut CellRecord,
    outcome: &Outcome,
    implementations: BTreeMap<String, Implementation>,
) {
    cell.implementations.extend(implementations);
    match outcome {
        Outcome::Ok => cell.status = CellStatus::Ok,
        Outcome::Skipped { role, reason } => {
            cell.status = CellStatus::Skipped;
            cell.reason = format!("the {role}: {reason}");
        }
        Outcome::Failed { role, reason, stderr } => {
            cell.status = CellStatus::Failed;
            cell.reason = if role.is_empty() { reason.clone() } else { format!("the {role}: {reason}") };
            cell.reason.extend(excerpt(stderr).iter().map(|line| format!("\n      {line}")));
        }
        Outcome::Interrupted => {}
    }
}

/// The first and last lines of a failed role's stderr: some runtimes print the cause before the stack, others after
/// it. The report has all of it.
fn excerpt(stderr: &str) -> Vec<String> {
    const HEAD: usize = 5;
    const TAIL: usize = 3;
    const LINE_CHARS_MAX: usize = 240;
    let lines: Vec<&str> = stderr.lines().filter(|l| !l.trim().is_empty()).collect();
    let short = |line: &&str| match line.char_indices().nth(LINE_CHARS_MAX) {
        Some((end, _)) => format!("{} ...", &line[..end]),
        None => (*line).to_owned(),
    };
    // A line that replaces a single omitted line would save nothing.
    if lines.len() <= HEAD + TAIL + 1 {
        return lines.iter().map(short).collect();
    }
    let left_out = lines.len() - HEAD - TAIL;
    let between = format!("... {left_out} lines omitted: netdyno show --format json has them as `stderr`");
    let (head, tail) = (&lines[..HEAD], &lines[lines.len() - TAIL..]);
    head.iter().map(short).chain([between]).chain(tail.iter().map(short)).collect()
}

/// The processes of a cell's roles.
pub fn roles(
    workload: &Workload,
    cell: &CellRecord,
    settings: &Settings,
    builds: &BTreeMap<String, Built>,
    plan: &CpuPlan,
    arena: &Arena,
) -> Vec<TrialRole> {
    let player = |role: &str| {
        let name = cell.contenders.get(role)?;
        Some((name.as_str(), builds.get(name)?))
    };
    let mut roles = placed(workload, player, plan, arena);
    for launch in roles.iter_mut().map(|role| &mut role.launch) {
        launch.memory_limit_bytes = settings.memory_limit_bytes;
        settings.equal.iter().for_each(|equal| equal::set(equal, &mut launch.env));
    }
    roles
}

/// The processes of roles outside a run, each on its own core. `player` returns the contender of a role and its build.
pub fn apart<'a>(
    workload: &Workload,
    player: impl Fn(&str) -> Option<(&'a str, &'a Built)>,
    arena: &Arena,
) -> Result<Vec<TrialRole>, ArenaError> {
    let plan = Topology::of_this_machine()?.place(Placement::Apart, workload.roles.len());
    Ok(placed(workload, player, &plan, arena))
}

fn placed<'a>(
    workload: &Workload,
    player: impl Fn(&str) -> Option<(&'a str, &'a Built)>,
    plan: &CpuPlan,
    arena: &Arena,
) -> Vec<TrialRole> {
    let placed = |(index, role): (usize, &String)| {
        let (contender, built) = player(role)?;
        let command = built.command(role)?;
        // The first role is on one side of the network, the others on the other.
        let side = if index == 0 { LinkEnd::A } else { LinkEnd::B };
        let (local, peer) = arena.addresses(side);
        let launch = LaunchSpec {
            env: command.env.into_iter().collect(),
            cpus: plan.roles.get(index).cloned(),
            side,
            is_adapter: command.is_adapter,
            ..LaunchSpec::new(index, command.argv, built.dir.clone())
        };
        Some(TrialRole { name: role.clone(), contender: contender.to_owned(), launch, local, peer })
    };
    workload.roles.iter().enumerate().filter_map(placed).collect()
}

/// Whether a cell has neither failed nor been skipped.
pub(super) fn is_alive(cell: &CellRecord) -> bool {
    matches!(cell.status, CellStatus::Planned | CellStatus::Ok)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GO: &str = "panic: runtime error: index out of range [5] with length 3\n\ngoroutine 1 [running]:\n\
        main.receive(0xc000012345)\n\t/src/main.go:41 +0x1d\nmain.main()\n\t/src/main.go:12 +0x2a\nexit status 2\n";
    const NODE: &str = "/src/main.js:7\n  channel.send(undefined.length);\n                         ^\n\n\
        TypeError: Cannot read properties of undefined (reading 'length')\n    at run (/src/main.js:7:26)\n    \
        at Socket.emit (node:events:519:28)\n    at addChunk (node:internal/streams/readable:559:12)\n    \
        at process.processTicksAndRejections (node:internal/process/task_queues:95:5)\n\nNode.js v20.20.2\n";
    const PYTHON: &str = "Traceback (most recent call last):\n  File \"/src/main.py\", line 30, in <module>\n    main()\n  \
        File \"/src/main.py\", line 21, in main\n    run(channel)\n  File \"/src/main.py\", line 9, in run\n    \
        return 1 / 0\nZeroDivisionError: division by zero\n";
    const RUST: &str = "\nthread 'main' panicked at src/main.rs:4:10:\ncalled `Option::unwrap()` on a `None` value\n\
        stack backtrace:\n   0: rust_begin_unwind\n   1: core::panicking::panic_fmt\n   2: main::receive\n   3: main::main\n\
        note: Some details are omitted, run with `RUST_BACKTRACE=full` for a verbose backtrace.\n";

    /// Node prints the cause after the position, the source line and a caret.
    #[test]
    fn the_cause_of_a_crash_stands_in_the_excerpt() {
        for (stderr, cause) in [
            (GO, "panic: runtime error: index out of range [5] with length 3"),
            (NODE, "TypeError: Cannot read properties of undefined (reading 'length')"),
            (PYTHON, "ZeroDivisionError: division by zero"),
            (RUST, "called `Option::unwrap()` on a `None` value"),
        ] {
            let lines = excerpt(stderr);
            assert!(lines.iter().any(|l| l == cause), "{lines:#?}");
            assert!(lines.len() <= 9 && lines.iter().all(|l| !l.trim().is_empty()), "{lines:#?}");
        }
    }

    #[test]
    fn what_is_left_out_is_counted() {
        let many: String = (0..100).map(|i| format!("line {i}\n")).collect();
        let lines = excerpt(&many);
        assert_eq!((lines[4].as_str(), lines[6].as_str(), lines.len()), ("line 4", "line 97", 9));
        assert!(
            lines[5].starts_with("... 92 lines omitted") && lines[5].contains("--format json"),
            "{lines:?}"
        );
        assert_eq!(excerpt("\n one\n\ntwo"), [" one", "two"]);
        assert_eq!(excerpt(&"é".repeat(1000)), [format!("{} ...", "é".repeat(240))]);
    }
}
