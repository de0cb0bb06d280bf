//! `netdyno check`: verifies that contenders follow the protocol and do the work.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use anstyle::AnsiColor;

use super::plain_progress::PlainProgress;
use super::{
    CELL_FAILED, CommandResult, Fallible, GOOD, INTERRUPTED, NOTHING_RAN, builder, cancel_on_signal, catalog,
    print,
};
use crate::cli::CheckArgs;
use netdyno_lab_arena::{Arena, ArenaSpec};
use netdyno_lab_engine::build::{Availability, BuildError, BuildEvent, Builder, Built};
use netdyno_lab_engine::plan::sweep;
use netdyno_lab_engine::run::{apart, network_of};
use netdyno_lab_engine::trial::probe::{Probed, probe};
use netdyno_lab_engine::trial::{self, TrialReport, TrialRole, TrialSpec, setup};
use netdyno_lab_manifest::{
    Catalog, Contender, ManifestError, ParamValue, Params, Workload, version_matches,
};
use netdyno_lab_protocol::limits::TimeLimits;
use netdyno_lab_protocol::{ContenderMessage, LabMessage};
use netdyno_lab_store::Outcome;

/// Parameters that make a trial short, where the workload has them.
const SHORT: [(&str, f64); 2] = [("seconds", 0.3), ("warmup_seconds", 0.1)];
/// Time limit of a probe. The imports of an interpreter may take seconds.
const PROBE_LIMIT: Duration = Duration::from_secs(20);
const MARKS_HZ: u32 = 10;
const SEED: u64 = 20_260_101;

pub(crate) fn run(args: &CheckArgs) -> CommandResult {
    let catalog = catalog(&args.contenders.iter().map(String::as_str).collect::<Vec<_>>())?;
    let cancel = cancel_on_signal()?;
    let builder = builder(&catalog, &cancel)?;
    let contenders: Vec<&Contender> = if args.all {
        catalog.contenders.values().collect()
    } else {
        args.contenders.iter().map(|name| find(&catalog, name)).collect::<Result<_, _>>()?
    };
    let (mut passed, mut failed, mut skipped) = (0, 0, 0);
    for contender in contenders {
        let checked = cast(&catalog, &builder, contender)
            .map(|cast| check(args, &catalog, &builder, contender, &cast, &cancel));
        match checked {
            Ok(Ok(true)) => passed += 1,
            Ok(Ok(false)) => failed += 1,
            Ok(Err(e)) => {
                print(&format!("{}: {e}\n", contender.id()));
                failed += 1;
            }
            Err(why) => {
                print(&format!("{}: skipped: {why}\n", contender.id()));
                skipped += 1;
            }
        }
        if cancel.load(std::sync::atomic::Ordering::Relaxed) {
            return Ok(INTERRUPTED);
        }
    }
    print(&format!("{passed} passed, {failed} failed, {skipped} skipped\n"));
    Ok(match (passed, failed) {
        (_, 1..) => CELL_FAILED,
        (0, 0) => NOTHING_RAN,
        _ => GOOD,
    })
}

/// Finds a contender by `WORKLOAD/NAME`, or by `NAME` if only one workload has it.
fn find<'a>(catalog: &'a Catalog, name: &str) -> Result<&'a Contender, ManifestError> {
    if let Some((workload, name)) = name.split_once('/') {
        catalog.workload(workload)?;
        return catalog.contender(workload, name);
    }
    let mut found = catalog.contenders.values().filter(|c| c.name == name);
    match (found.next(), found.next()) {
        (Some(one), None) => Ok(one),
        (Some(_), Some(_)) => {
            let ids = catalog.contenders.values().filter(|c| c.name == name).map(Contender::id);
            Err(ManifestError::unknown("contender (several workloads have one of that name)", name, ids))
        }
        (None, _) => {
            let known = catalog.contenders.values().map(|c| &c.name);
            Err(catalog
                .broken_contender(name)
                .unwrap_or_else(|| ManifestError::unknown("contender", name, known)))
        }
    }
}

/// The contender for each role in the checks.
type Cast<'a> = Vec<(&'a String, &'a Contender)>;

/// Assigns the checked contender to every role it can play. The other roles go to the first available of the workload's partner,
/// stand-in, baseline and ceiling.
fn cast<'a>(catalog: &'a Catalog, builder: &Builder, contender: &'a Contender) -> Fallible<Cast<'a>> {
    if let Availability::Unavailable { reason, remedy } = builder.availability(contender) {
        return Err(format!("{reason}; {remedy}").into());
    }
    let workload = catalog.workload(&contender.workload)?;
    let player = |role: &'a String| {
        if contender.plays(role) {
            return Ok((role, contender));
        }
        let others = workload.partners.get(role).into_iter().chain(workload.stand_ins.get(role));
        let names = others.chain(&workload.baseline).chain(&workload.ceiling);
        let mut why = format!("does not play the role {role}, and no other contender for it is available");
        for other in names.filter_map(|name| catalog.contender(&workload.name, name).ok()) {
            match builder.availability(other) {
                _ if !other.plays(role) => {}
                Availability::Available => return Ok((role, other)),
                Availability::Unavailable { reason, remedy } => {
                    why.push_str(&format!("; {}: {reason}; {remedy}", other.id()));
                }
            }
        }
        Err(why)
    };
    Ok(workload.roles.iter().map(player).collect::<Result<_, _>>()?)
}

/// The checks of one contender. Each is printed with its outcome.
struct Checks {
    good: bool,
}

impl Checks {
    fn note(&mut self, good: bool, what: &str, seen: &str) {
        self.good &= good;
        let (word, colour) = if good { ("pass", AnsiColor::Green) } else { ("FAIL", AnsiColor::Red) };
        let style = colour.on_default();
        let seen = if good || seen.is_empty() { String::new() } else { format!(": {seen}") };
        print(&format!("  {style}{word}{style:#}  {what}{seen}\n"));
    }
}

fn check(
    args: &CheckArgs,
    catalog: &Catalog,
    builder: &Builder,
    contender: &Contender,
    cast: &Cast<'_>,
    cancel: &AtomicBool,
) -> Fallible<bool> {
    print(&format!("{}\n", contender.id()));
    let workload = catalog.workload(&contender.workload)?;
    let lines = PlainProgress::stderr();
    let mut builds: BTreeMap<&str, Built> = BTreeMap::new();
    for (role, player) in cast {
        if player.name != contender.name {
            print(&format!("  {} plays the {role}\n", player.name));
        }
        if builds.contains_key(player.name.as_str()) {
            continue;
        }
        let built = builder.build(player, &mut |event| {
            if event == BuildEvent::Started {
                lines.print_line(&format!("  building {} ...", player.id()));
                lines.doing(format!("building {}", player.id()));
            }
        })?;
        builds.insert(&player.name, built);
    }
    lines.doing(format!("checking {}", contender.id()));
    let arena = Arena::best(&ArenaSpec::local(network_of(workload, args.net.clone())?))?;
    let player = |role: &str| {
        let (_, player) = cast.iter().find(|(played, _)| *played == role)?;
        builds.get_key_value(player.name.as_str()).map(|(name, built)| (*name, built))
    };
    let roles = apart(workload, player, &arena)?;
    let (sets, folder) = (params(workload)?, catalog.folder_of(&workload.name));
    let mut checks = Checks { good: true };
    let spec = |params| -> Result<TrialSpec<'_>, BuildError> {
        Ok(TrialSpec {
            workload,
            params,
            inputs: builder.prepare((workload, &folder), params, &mut |event| {
                if event == BuildEvent::Started {
                    lines.print_line("  making the input ...");
                }
            })?,
            seed: SEED,
            roles: roles.clone(),
            marks: trial::steady_marks(params, MARKS_HZ),
            limits: TimeLimits::default(),
            extra_setup: true,
        })
    };
    let (mut spec, report) = accepted(&sets, spec, &arena, contender, cancel)?;
    let silent = whole_trial(&mut checks, &spec, &report, contender);
    spec.extra_setup = false;
    let own = spec.roles.iter().find(|role| role.contender == contender.name);
    match (silent, own) {
        // Each of these probes would fail for the same reason.
        (Some(role), _) => print(&format!("  skip  invalid messages: the {role} does not start\n")),
        (None, Some(role)) => odd_lines(&mut checks, &spec, role, &arena)?,
        (None, None) => {}
    }
    Ok(checks.good)
}

/// Parameter sets to check with, made short: the first preset, then each set that a preset sweeps over.
fn params(workload: &Workload) -> Result<Vec<Params>, ManifestError> {
    let preset = workload.presets.keys().next().map(String::as_str);
    let mut params = workload.resolve(preset, &[])?;
    for (name, value) in SHORT {
        if workload.params.contains_key(name) {
            params.0.insert(name.to_owned(), ParamValue::Number(value));
        }
    }
    let swept = workload.presets.values().flat_map(|preset| &preset.sweep).flat_map(|axes| {
        let axes: Vec<_> = axes.iter().map(|(name, values)| (name.clone(), values.clone())).collect();
        sweep(&params, &axes)
    });
    let swept: Vec<Params> = swept.filter(|other| *other != params).collect();
    Ok([vec![params], swept].concat())
}

/// Runs a trial with unknown fields in `setup`, at the first parameter set that the contender supports.
fn accepted<'a>(
    sets: &'a [Params],
    spec: impl Fn(&'a Params) -> Result<TrialSpec<'a>, BuildError>,
    arena: &Arena,
    contender: &Contender,
    cancel: &AtomicBool,
) -> Result<(TrialSpec<'a>, TrialReport), BuildError> {
    let mut sets = sets.iter();
    let mut spec_of = || sets.next().map(&spec).transpose();
    let mut next = spec_of()?.expect("every workload's first preset has parameters");
    loop {
        let report = trial::run(&next, arena, cancel, &mut |_| {}, None);
        let own = |role: &str| next.roles.iter().any(|r| r.name == *role && r.contender == contender.name);
        let refused = match &report.record.outcome {
            Outcome::Skipped { role, reason } if own(role) => reason.clone(),
            _ => return Ok((next, report)),
        };
        let Some(other) = spec_of()? else { return Ok((next, report)) };
        print(&format!("  unsupported: {refused}\n"));
        next = other;
    }
}

/// Notes the outcome of the trial. Returns the role that failed before it was `ready`.
fn whole_trial(
    checks: &mut Checks,
    spec: &TrialSpec<'_>,
    report: &TrialReport,
    contender: &Contender,
) -> Option<String> {
    let (good, seen) = match &report.record.outcome {
        Outcome::Ok => (true, String::new()),
        Outcome::Skipped { role, reason } => (false, format!("the {role} replied `unsupported`: {reason}")),
        Outcome::Failed { role, reason, stderr } => {
            (false, with_stderr(format!("the {role}: {reason}"), stderr))
        }
        Outcome::Interrupted => (false, "interrupted".to_owned()),
    };
    let what = "complete trial: connected, gate passed, marks answered, clean exit, no process left";
    checks.note(good, what, &seen);
    let wanted = &contender.implementation.version;
    let own = |role: &str| spec.roles.iter().any(|r| r.name == role && r.contender == contender.name);
    for (role, implementation) in report.implementations.iter().filter(|(role, _)| own(role)) {
        let got = &implementation.version;
        let what = format!("version of the {role} matches the manifest");
        checks.note(version_matches(wanted, got), &what, &format!("got {got}, expected {wanted}"));
    }
    match &report.record.outcome {
        Outcome::Failed { role, .. } if own(role) && !report.implementations.contains_key(role) => {
            Some(role.clone())
        }
        _ => None,
    }
}

fn with_stderr(seen: String, stderr: &str) -> String {
    if stderr.trim().is_empty() { seen } else { format!("{seen}\n{}", stderr.trim_end()) }
}

/// Sends messages that a correct lab never sends.
fn odd_lines(checks: &mut Checks, spec: &TrialSpec<'_>, role: &TrialRole, arena: &Arena) -> Fallible<()> {
    let good_setup = LabMessage::Setup(setup(spec, role)).to_line();
    let mut nobody = setup(spec, role);
    nobody.role = "nobody".to_owned();
    let nobody = LabMessage::Setup(nobody).to_line();
    let probed = probe(arena, role, &[nobody], None, PROBE_LIMIT)?;
    let unsupported = matches!(probed.messages.as_slice(), [Ok(ContenderMessage::Unsupported { .. })]);
    let what = format!("an unknown role gets `unsupported` and exit 127 (the {})", role.name);
    checks.note(unsupported && probed.code == Some(127), &what, &describe(&probed));
    for (what, line) in
        [("an unknown message type", r#"{"type":"nonsense"}"#), ("a line that is not JSON", "{nonsense")]
    {
        let probed = probe(arena, role, std::slice::from_ref(&good_setup), Some(line), PROBE_LIMIT)?;
        let failed = matches!(probed.messages.last(), Some(Ok(ContenderMessage::Failed { .. })));
        let what = format!("{what} gets `failed` and exit 1 (the {})", role.name);
        checks.note(failed && probed.code == Some(1), &what, &describe(&probed));
    }
    Ok(())
}

fn describe(probed: &Probed) -> String {
    let name = |reply: &Result<ContenderMessage, String>| {
        reply.as_ref().map_or_else(Clone::clone, |m| m.name().to_owned())
    };
    let replies: Vec<String> = probed.messages.iter().map(name).collect();
    let limit = PROBE_LIMIT.as_secs();
    let seen = match (replies.join(", "), &probed.ended) {
        (_, None) if replies.is_empty() => format!("no reply within {limit} s"),
        (_, Some(ended)) if replies.is_empty() => format!("no reply, {ended}"),
        (replies, None) => format!("replied [{replies}], did not exit within {limit} s"),
        (replies, Some(ended)) => format!("replied [{replies}], {ended}"),
    };
    with_stderr(seen, &probed.stderr)
}
