//! What becomes of a cell: why it cannot run, how it was built, how it ended, and how its roles are started.

use std::collections::BTreeMap;

use crate::arena::{Arena, ArenaError, CpuPlan, Freezing, LaunchSpec, Side, Topology};
use crate::build::Built;
use crate::manifest::{Contender, Placement, Tuning, Workload, version_matches};
use crate::protocol::Implementation;
use crate::store::{BuildRecord, CellRecord, CellStatus, Outcome, Run, Settings};
use crate::trial::RoleSpec;

/// Why a contender cannot do a cell, if it cannot, and the remedy.
pub(super) fn cannot(
    contender: &Contender,
    workload: &Workload,
    role: &str,
    cell: &CellRecord,
) -> Option<(String, String)> {
    if !contender.roles.contains_key(role) {
        return Some((format!("{} does not play the role {role}", contender.name), String::new()));
    }
    contender.supports(workload, &cell.params).err().map(|reason| (reason, String::new()))
}

/// Why the workload cannot be done with these parameters where the roles share one CPU, if it cannot.
pub(super) fn crowded(workload: &Workload, cell: &CellRecord) -> Option<(String, String)> {
    workload.one_cpu_max.iter().find_map(|(name, most)| {
        let value = cell.params.number(name)?;
        (value > most.number()?).then(|| {
            let reason = format!(
                "{name}={value} with both roles on one CPU: one that keeps to its times would take them from the \
                 other; the workload allows at most {most} there"
            );
            (reason, format!("give it a second CPU, or --set {name}={most}"))
        })
    })
}

pub(super) fn note_build(run: &mut Run, name: &str, contender: &Contender, built: &Built) {
    let record = BuildRecord {
        key: built.record.key.clone(),
        toolchain: built.record.toolchain.clone(),
        flags: built.record.flags.clone(),
        lock_hash: built.record.lock_hash.clone().unwrap_or_default(),
        version: contender.implementation.version.clone(),
        tuning: match contender.tuning {
            Tuning::Defaults => "defaults".to_owned(),
            Tuning::Peak => format!("peak: {}", contender.tuned.join(", ")),
        },
        local: built.local.clone(),
    };
    for cell in run.cells.iter_mut().filter(|c| c.contenders.values().any(|n| n == name)) {
        cell.builds.insert(name.to_owned(), record.clone());
    }
}

/// A contender that is another version than its manifest says is not what would be printed.
pub(super) fn wrong_version(cell: &CellRecord, said: &BTreeMap<String, Implementation>) -> Option<String> {
    said.iter().find_map(|(role, implementation)| {
        let manifest = cell.builds.get(cell.contenders.get(role)?)?;
        let (said, wanted) = (&implementation.version, &manifest.version);
        (!version_matches(wanted, said))
            .then(|| format!("the {role} says it is version {said}, its manifest says {wanted}"))
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
            let last: Vec<&str> = stderr.lines().rev().filter(|l| !l.trim().is_empty()).take(3).collect();
            for line in last.iter().rev() {
                cell.reason.push_str("\n      ");
                cell.reason.push_str(line);
            }
        }
        Outcome::Interrupted => {}
    }
}

/// How the roles of a cell are started.
pub(super) fn roles(
    workload: &Workload,
    cell: &CellRecord,
    settings: &Settings,
    builds: &BTreeMap<String, Built>,
    plan: &CpuPlan,
    arena: &Arena,
) -> Vec<RoleSpec> {
    let spec = |(index, role): (usize, &String)| {
        let name = cell.contenders.get(role)?;
        let cpus = plan.roles.get(index).cloned();
        role_spec(builds.get(name)?, name, role, index, cpus, settings.memory_limit_bytes, arena)
    };
    workload.roles.iter().enumerate().filter_map(spec).collect()
}

/// How the roles are started where one contender plays all of them, each on a core of its own.
///
/// # Errors
/// When the CPUs of this machine cannot be told.
pub(crate) fn alone(
    workload: &Workload,
    contender: &str,
    built: &Built,
    arena: &Arena,
) -> Result<Vec<RoleSpec>, ArenaError> {
    let cpus = Topology::of_this_machine()?.place(Placement::Apart, workload.roles.len());
    let spec = |(index, role): (usize, &String)| {
        role_spec(built, contender, role, index, cpus.roles.get(index).cloned(), None, arena)
    };
    Ok(workload.roles.iter().enumerate().filter_map(spec).collect())
}

/// How one role is started; none if the contender does not play it.
fn role_spec(
    built: &Built,
    contender: &str,
    role: &str,
    index: usize,
    cpus: Option<Vec<usize>>,
    memory_limit_bytes: Option<u64>,
    arena: &Arena,
) -> Option<RoleSpec> {
    let command = built.command(role)?;
    // The first role is on one side of the network, the others on the other.
    let side = if index == 0 { Side::A } else { Side::B };
    let (local, peer) = arena.addresses(side);
    let launch = LaunchSpec {
        role: index,
        argv: command.argv,
        env: command.env.into_iter().collect(),
        cwd: built.dir.clone(),
        cpus,
        memory_limit_bytes,
        side,
        private_pids: true,
        freezing: Freezing::default(),
    };
    Some(RoleSpec { name: role.to_owned(), contender: contender.to_owned(), launch, local, peer })
}
