//! Explanations of synthetic runs with known causes.

use std::collections::BTreeMap;

use netdyno_lab_analysis::explain::figures::{Pair, Probes};
use netdyno_lab_analysis::explain::*;
use netdyno_lab_store::probe::{Calls, Found, Probe, ProbeKind};

use super::*;
use netdyno_lab_manifest::Workload;
use netdyno_lab_store::fixture::{self, CannedContender};
use netdyno_lab_store::{CellStatus, Run, SampleKind};

/// A run with the given messages per second of each side and the sink's CPU utilisation in per cent.
fn run(rates: [u64; 2], cpu_percent: [u64; 2]) -> Run {
    let side = |i: usize, name, rates| CannedContender {
        name,
        status: CellStatus::Ok,
        rates,
        sink_cpu_percent: cpu_percent[i],
    };
    let each = rates.map(|rate| [rate; 4]);
    fixture::run(&[side(0, "base", &each[0]), side(1, "rival", &each[1])], None)
}

fn probe(kind: ProbeKind, found: Found) -> Probe {
    Probe { kind, source: "made up".to_owned(), units: 100.0, speed: Some(0.8), found: Ok(found) }
}

fn calls(all: &[(&str, u64, f64)]) -> Found {
    let entry = |(name, calls, inside_ns): &(&str, u64, f64)| {
        ((*name).to_owned(), Calls { calls: *calls, errors: 0, inside_ns: *inside_ns })
    };
    Found::Syscalls { calls: all.iter().map(entry).collect(), lost: 0 }
}

fn profile(all: &[(&str, u64)]) -> Found {
    let stacks: BTreeMap<String, u64> = all.iter().map(|(stack, n)| ((*stack).to_owned(), *n)).collect();
    Found::Profile { samples: stacks.values().sum(), stacks }
}

/// Probes of the sink on both sides.
fn probes(found: [Vec<Found>; 2]) -> Probes {
    let kind = |found: &Found| match found {
        Found::Kernel(_) => ProbeKind::Kernel,
        Found::Syscalls { .. } => ProbeKind::Syscalls,
        Found::Allocations(_) => ProbeKind::Allocations,
        Found::Profile { .. } => ProbeKind::Profile,
        Found::Acts { .. } => ProbeKind::Acts,
    };
    let side = |all: Vec<Found>| {
        all.into_iter().map(|f| (("sink".to_owned(), kind(&f)), probe(kind(&f), f))).collect()
    };
    Probes { sides: found.map(side) }
}

fn explained(run: &Run, workload: &Workload, probes: &Probes) -> Explanation {
    let pair = pair(run, workload, ["base", "rival"]).unwrap();
    explain(&pair, probes).unwrap()
}

fn workload() -> Workload {
    netdyno_lab_manifest::dummy::workload()
}

#[test]
fn an_extra_system_call_is_named_with_its_count() {
    // The sink is always busy: 1000 ns per message against 1250 ns, of which 250 ns are in an additional
    // call.
    let run = run([1_000_000, 800_000], [100, 100]);
    let found = [
        vec![calls(&[("sendto", 100, 1e4)]), profile(&[("run", 6000), ("run;__x64_sys_sendto_[k]", 4000)])],
        vec![
            calls(&[("sendto", 100, 1e4), ("epoll_wait", 100, 2e4)]),
            profile(&[
                ("run", 4800),
                ("run;__x64_sys_sendto_[k]", 3200),
                ("run;__x64_sys_epoll_wait_[k]", 2000),
            ]),
        ],
    ];
    let e = explained(&run, &workload(), &probes(found));
    // The source uses half a CPU concurrently: the sink is the bottleneck.
    assert!(e.basis.contains("sink, which is the busier one"), "{}", e.basis);
    assert!((e.difference_ns.unwrap() - 250.0).abs() < 0.01, "{:?}", e.difference_ns);
    let first = &e.causes[0];
    assert_eq!((first.role.as_deref(), first.name.as_str()), (Some("sink"), "epoll_wait"));
    assert!((first.share.unwrap() - 1.0).abs() < 0.01 && first.is_sure(), "{first:?}");
    assert_eq!((first.calls[0].a, first.calls[0].b), (0.0, 1.0));
    assert!(e.summary[0].contains("rival takes 250 ns more per msg than base"), "{:?}", e.summary);
    assert!(
        e.summary[1].contains("epoll_wait of the sink, 1.00 calls per msg, base makes none"),
        "{:?}",
        e.summary
    );
    let text = text(&e, 100);
    assert!(text.contains("sink: epoll_wait") && text.contains("at 80 % of the undisturbed rate"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
}

#[test]
fn additional_time_in_own_code_is_attributed_to_functions() {
    let run = run([1_000_000, 500_000], [100, 100]);
    let found = [vec![profile(&[("run", 5000)])], vec![profile(&[("run", 2500), ("run;checksum", 2500)])]];
    let probes = probes(found);
    let e = explained(&run, &workload(), &probes);
    assert_eq!((e.causes[0].name.as_str(), e.causes[0].functions[0].name.as_str()), ("own code", "checksum"));
    assert!(e.summary[1].contains("own code of the sink, more in checksum"), "{:?}", e.summary);
    let picture = picture(&pair(&run, &workload(), ["base", "rival"]).unwrap(), &probes, &e);
    assert!(picture.is_some_and(|svg| svg.contains("checksum")));
}

#[test]
fn an_insignificant_difference_has_no_shares() {
    let mut run = run([1_000_000, 800_000], [100, 100]);
    run.trials.retain(|trial| trial.block == 0);
    let found = [vec![profile(&[("run", 5000)])], vec![profile(&[("run", 2500), ("run;checksum", 2500)])]];
    let e = explained(&run, &workload(), &probes(found));
    assert!(
        e.summary[0].contains("250 ns more per msg than base (not significant in this run)"),
        "{:?}",
        e.summary
    );
    assert!(e.summary[1].starts_with("+250 ns: own code of the sink"), "{:?}", e.summary);
}

#[test]
fn sleeping_counts_as_waiting() {
    // Without the source's CPU time, the sink alone is on the critical path.
    let mut run = run([1_000_000, 20_000], [100, 5]);
    for trial in &mut run.trials {
        trial.samples.retain(|s| !(s.role == "source" && s.kind == SampleKind::Meter));
    }
    let found = [
        vec![calls(&[("read", 1, 10.0)])],
        vec![calls(&[("read", 1, 10.0), ("clock_nanosleep", 100, 4_800_000.0)])],
    ];
    let e = explained(&run, &workload(), &probes(found));
    let waiting = e.causes.iter().find(|c| c.name == "waiting").unwrap();
    assert_eq!(waiting.share.map(|share| (share * 100.0).round()), Some(97.0), "{e:?}");
}

#[test]
fn insignificant_differences_are_not_causes() {
    let run = run([1_000_000, 990_000], [100, 100]);
    let found = [vec![profile(&[("a", 52), ("b", 48)])], vec![profile(&[("a", 47), ("b", 53)])]];
    let e = explained(&run, &workload(), &probes(found));
    assert!(e.causes.iter().all(|cause| cause.functions.is_empty()), "{:?}", e.causes);
}

#[test]
fn missing_measurements_are_not_zero() {
    let e = explained(&run([1_000_000, 800_000], [100, 100]), &workload(), &Probes::default());
    let row = |name: &str| e.rows.iter().find(|row| row.name == name).unwrap();
    assert_eq!((row("packets").a, row("user").b), (None, None));
    assert!(row("packets").source.contains("does not provide wire_packets"), "{:?}", row("packets"));
    // Figures that neither side has are named once for each reason, outside of the table.
    let text_of = text(&e, 120);
    let reasons: Vec<&str> = text_of.lines().filter(|line| line.contains("not measured")).collect();
    assert!(reasons.iter().all(|line| line.starts_with(" not measured: ")), "{text_of}");
    assert!(text_of.contains("network: packets"), "{text_of}");
    assert!(reasons.len() < e.rows.iter().filter(|row| row.a.is_none()).count(), "{text_of}");
    let failed = Probe {
        kind: ProbeKind::Syscalls,
        source: String::new(),
        units: 0.0,
        speed: None,
        found: Err("no perf here; apt-get install linux-perf".to_owned()),
    };
    let mut probes = Probes::default();
    probes.sides[0].insert(("sink".to_owned(), ProbeKind::Syscalls), failed);
    let e = explained(&run([1_000_000, 800_000], [100, 100]), &workload(), &probes);
    assert!(text(&e, 120).contains("syscalls of base, sink: no perf here; apt-get install linux-perf"));
}

#[test]
fn a_pair_needs_valid_trials_at_the_same_parameters() {
    let workload = workload();
    let mut made = run([1000, 1000], [50, 50]);
    let error = |run: &Run, names| pair(run, &workload, names).map(|p| p.cells).unwrap_err();
    assert!(error(&made, ["base", "nobody"]).contains("known: base, rival"));
    made.cells[1].params.0.insert("streams".into(), netdyno_lab_manifest::ParamValue::Integer(3));
    assert!(error(&made, ["base", "rival"]).contains("no parameter setting at which both"));
    made.cells[1].status = CellStatus::Failed;
    assert!(error(&made, ["base", "rival"]).contains("no successful trial"));
}

#[test]
fn json_matches_the_schema() {
    let e = explained(&run([1_000_000, 800_000], [100, 100]), &workload(), &Probes::default());
    let schema = serde_json::to_value(schemars::schema_for!(Explanation)).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let json = serde_json::to_value(&e).unwrap();
    assert!(validator.is_valid(&json), "{json}");
    assert_eq!(serde_json::from_value::<Explanation>(json).unwrap(), e);
}

#[test]
fn a_pair_consists_of_two_cells() {
    let (run, workload) = (run([1000, 1000], [50, 50]), workload());
    let Pair { cells, .. } = pair(&run, &workload, ["rival", "base"]).unwrap();
    assert_eq!(cells, [1, 0]);
}
