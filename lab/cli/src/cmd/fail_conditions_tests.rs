//! Exit codes of `--fail-on`.

use super::super::run::judged;
use super::super::{CELL_FAILED, NOTHING_RAN, USAGE};
use super::*;
use netdyno_lab_analysis::comparison::{self, Comparison};
use netdyno_lab_analysis::report;
use netdyno_lab_manifest::ParamValue;
use netdyno_lab_report::comparison::{markdown, terminal};
use netdyno_lab_store::fixture::{self, CannedContender};
use netdyno_lab_store::{CellStatus, Run, RunHeader, Sample, TrialRecord};

#[test]
fn a_stored_run_keeps_its_conditions() {
    let mut settings = netdyno_lab_store::fixture::run(&[], None).header.settings;
    let mut conditions = FailConditions::default();
    conditions.add_stored(&settings);
    assert_eq!(conditions, FailConditions::default());
    (settings.regression, settings.fail_on_undecided) = (Some(0.03), true);
    let named = [FailOn::loss(Some("p99"), 0.05), FailOn::change("lost", 0.0)];
    settings.tolerances = FailConditions::new(&named).unwrap().of_named_metrics();
    let stored: Settings = serde_json::from_str(&serde_json::to_string(&settings).unwrap()).unwrap();
    conditions.add_stored(&stored);
    let typed = [
        FailOn::Undecided,
        FailOn::loss(None, 0.03),
        FailOn::loss(Some("p99"), 0.05),
        FailOn::change("lost", 0.0),
    ];
    assert_eq!(conditions, FailConditions::new(&typed).unwrap());
    assert_eq!(conditions.of_named_metrics(), stored.tolerances);
}

#[test]
fn undecided_fails_only_on_request_and_missing_values_always() {
    let lenient = FailConditions::new(&[FailOn::loss(None, 0.03)]).unwrap();
    let strict = FailConditions::new(&[FailOn::Undecided, FailOn::loss(None, 0.03)]).unwrap();
    for (claim, is_missing, codes) in [
        (RegressionClaim::Regression, false, [REGRESSION, REGRESSION]),
        (RegressionClaim::Regression, true, [REGRESSION, REGRESSION]),
        (RegressionClaim::Undecided, false, [GOOD, REGRESSION]),
        (RegressionClaim::Undecided, true, [MISSING, MISSING]),
        (RegressionClaim::NoRegression, false, [GOOD, GOOD]),
        (RegressionClaim::NoRegression, true, [MISSING, MISSING]),
    ] {
        let found = [lenient.code(claim, is_missing), strict.code(claim, is_missing)];
        assert_eq!(found, codes, "{claim:?} {is_missing}");
    }
    let error = FailConditions::new(&[FailOn::Undecided]).unwrap_err();
    assert!(error.contains("add --fail-on regression=3%"), "{error}");
    assert_eq!(FailConditions::new(&[]).unwrap(), FailConditions::default());
    let last = FailConditions::new(&[FailOn::loss(None, 0.03), FailOn::loss(None, 0.05)]).unwrap();
    assert_eq!(last.regression(), Some(0.05));
}

/// A name, a change of a run's records, the resulting exit codes of `compare --rev`, `run`, and `compare RUN RUN` with an
/// unchanged first run, and a part of the text that each of them prints.
type Row<'a> = (&'a str, &'a dyn Fn(&mut Run), [u8; 3], &'a str);

const NO_NETWORK: &str = "network: host loopback: no privilege for network namespaces";
const BASE: usize = 0;
const HEAD: usize = 1;
const BOTH: [usize; 2] = [BASE, HEAD];

fn measured() -> Run {
    let contender = |name| CannedContender {
        name,
        status: CellStatus::Ok,
        rates: &[1000, 1001, 999, 1000, 1001, 999],
        sink_cpu_percent: 50,
    };
    fixture::run(&[contender("base"), contender("head")], None)
}

/// The exit code and the output of each verb.
fn outcomes(conditions: &FailConditions, run: &Run) -> [(u8, String); 3] {
    let report = report::build(run).unwrap();
    let metrics = run.header.parsed_workload().unwrap().metrics;
    let shown = |c: &Comparison| format!("{}{}", terminal(c, 1000), markdown(c, ""));
    let within = comparison::within(&report, &metrics, ("base", "head"), &conditions.tolerances);
    let of_compare = conditions.code_after(&report, within.claim, within.is_missing);
    let (of_run, sentences) = judged(conditions, run, &report).unwrap();
    let printed = netdyno_lab_report::terminal(&report, &metrics, 1000);
    let mut earlier = measured();
    earlier.header.manifest.clone_from(&run.header.manifest);
    let later = Run {
        header: RunHeader { id: "20260101-120000-0008".to_owned(), ..run.header.clone() },
        ..run.clone()
    };
    for (before, now) in earlier.cells.iter_mut().zip(&run.cells) {
        before.params = now.params.clone();
    }
    earlier.header.settings = run.header.settings.clone();
    let of_two = match comparison::across(&earlier, &later, &conditions.tolerances) {
        Ok(across) => (conditions.code(across.claim.unwrap(), across.is_missing), shown(&across)),
        Err(refused) => (USAGE, refused.to_string()),
    };
    [(of_compare, shown(&within)), (of_run, format!("{printed}{}", sentences.join("\n"))), of_two]
}

fn state(run: &mut Run, cells: &[usize], status: CellStatus, reason: &str) {
    for &cell in cells {
        (run.cells[cell].status, run.cells[cell].reason) = (status, reason.to_owned());
        run.trials.retain(|trial| trial.cell != cell);
    }
}

/// Offers more messages per second than half of them, and halves the rate of these cells.
fn miss(run: &mut Run, cells: &[usize]) {
    run.header.manifest.push_str(
        "\n[params.rate]\nkind = \"integer\"\ndefault = 900\nabout = \"load\"\n\
         [offered]\nparam = \"rate\"\nrole = \"sink\"\ncounter = \"messages\"\n",
    );
    for cell in &mut run.cells {
        cell.params.0.insert("rate".into(), ParamValue::Integer(900));
    }
    scale(run, cells, "messages", 2);
}

/// Divides the final count of the sink in the trials of these cells.
fn scale(run: &mut Run, cells: &[usize], counter: &str, divisor: u64) {
    let samples = run.trials.iter_mut().filter(|t| cells.contains(&t.cell)).flat_map(|t| &mut t.samples);
    for sample in samples.filter(|s| s.role == "sink" && s.name == counter && s.mark == 1) {
        sample.value = sample.value.map(|value| value / divisor);
    }
}

/// Makes the sink a load generator, and saturates it in these cells.
fn saturate(run: &mut Run, cells: &[usize]) {
    run.header.manifest.push_str("\n[partners]\nsink = \"generator\"\n");
    let samples = run.trials.iter_mut().filter(|t| cells.contains(&t.cell)).flat_map(|t| &mut t.samples);
    for sample in samples.filter(|s| s.role == "sink" && s.name == "cpu_ns") {
        sample.value = sample.value.map(|value| 2 * value);
    }
}

/// Evidence can be missing in each of these ways. None is a silent success: it has its own exit code, or is named.
#[test]
fn missing_evidence_has_its_own_exit_code_or_is_named() {
    use CellStatus::{Failed, Planned, Skipped};
    const F: u8 = CELL_FAILED;
    const N: u8 = NOTHING_RAN;
    const R: u8 = REGRESSION;
    const M: u8 = MISSING;
    const UNABLE: &str = "needs a missing feature";
    let rows: [Row<'_>; 24] = [
        ("nothing", &|_| {}, [GOOD; 3], "no regression (limit 3.0 %)"),
        ("slower", &|r| scale(r, &[HEAD], "messages", 2), [R; 3], "regression (limit 3.0 %)"),
        ("failed", &|r| state(r, &[HEAD], Failed, "the sink: died"), [F, F, R], "the sink: died"),
        ("base failed", &|r| state(r, &[BASE], Failed, "the sink: died"), [F, F, R], "the sink: died"),
        ("both failed", &|r| state(r, &BOTH, Failed, "the sink: died"), [F, F, USAGE], ""),
        ("not built", &|r| state(r, &[HEAD], Failed, "cargo build failed"), [F, F, R], "cargo build failed"),
        ("skipped", &|r| state(r, &[HEAD], Skipped, UNABLE), [R; 3], UNABLE),
        ("a fix", &|r| state(r, &[BASE], Skipped, UNABLE), [GOOD, M, R], UNABLE),
        ("both skipped", &|r| state(r, &BOTH, Skipped, UNABLE), [N, N, USAGE], ""),
        ("unsupported", &|r| state(r, &[HEAD], Skipped, "the sink: no role"), [R; 3], "the sink: no role"),
        ("load missed", &|r| miss(r, &[HEAD]), [R; 3], "offered load was not sustained"),
        ("load held now", &|r| miss(r, &[BASE]), [GOOD, M, R], "offered load was not sustained"),
        ("no load held", &|r| miss(r, &BOTH), [M, M, R], "offered load was not sustained"),
        ("generator", &|r| saturate(r, &[HEAD]), [M; 3], "the load generator is the bottleneck"),
        ("generator of base", &|r| saturate(r, &[BASE]), [M; 3], "the load generator is the bottleneck"),
        ("generator of both", &|r| saturate(r, &BOTH), [M; 3], "the load generator is the bottleneck"),
        ("no session", &|r| state(r, &[HEAD], Planned, ""), [M, M, USAGE], ""),
        ("no session of base", &|r| state(r, &[BASE], Planned, ""), [M, M, M], "not measured"),
        ("no session at all", &|r| state(r, &BOTH, Planned, ""), [N, N, USAGE], ""),
        ("budget", &|r| r.trials.retain(|t| t.block == 0), [GOOD; 3], "(no interval yet): undecided"),
        (
            "no common block",
            &|r| r.trials.retain(|t| (t.block < 3) == (t.cell == BASE)),
            [M; 3],
            "could not be compared",
        ),
        ("no network namespace", &|r| r.header.warnings = vec![NO_NETWORK.to_owned()], [GOOD; 3], NO_NETWORK),
        (
            "parameters",
            &|r| {
                r.cells[BASE].params.0.insert("streams".into(), ParamValue::Integer(3));
            },
            [M, M, M],
            "could not be compared",
        ),
        ("reverse", &|r| scale(r, &[BASE], "messages", 2), [GOOD; 3], "no regression (limit 3.0 %)"),
    ];
    let conditions = FailConditions::new(&[FailOn::loss(None, 0.03)]).unwrap();
    let mut wrong = Vec::new();
    for (what, change, codes, part) in rows {
        let mut run = measured();
        change(&mut run);
        for ((verb, code), (found, text)) in ["compare --rev", "run", "compare RUN RUN"]
            .into_iter()
            .zip(codes)
            .zip(outcomes(&conditions, &run))
        {
            let is_named = text.contains(part) && (code == GOOD || !text.contains("**No regression**"));
            if found != code || !is_named {
                wrong.push(format!("{what}, {verb}: {found}, want {code} and {part:?} in {text}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A second run without a contender, a metric or a parameter setting of the first one does not test the limit.
#[test]
fn a_limit_that_the_second_run_cannot_test_is_missing() {
    let earlier = measured();
    let conditions = |metric: Option<&str>| FailConditions::new(&[FailOn::loss(metric, 0.03)]).unwrap();
    type Change<'a> = &'a dyn Fn(&mut Run);
    let rows: [(&str, Option<&str>, Change<'_>, u8, &str); 5] = [
        ("same", None, &|_| {}, GOOD, "no regression"),
        (
            "renamed",
            None,
            &|r| r.cells[HEAD].contenders.values_mut().for_each(|name| *name = "other".to_owned()),
            USAGE,
            "no contender in common",
        ),
        (
            "another beside it",
            None,
            &|r| {
                let mut other = r.cells[HEAD].clone();
                other.contenders.values_mut().for_each(|name| *name = "other".to_owned());
                r.cells.push(other);
                r.trials.extend(
                    r.trials
                        .clone()
                        .into_iter()
                        .filter(|t| t.cell == HEAD)
                        .map(|t| TrialRecord { cell: 2, ..t }),
                );
            },
            GOOD,
            "no regression",
        ),
        ("unknown metric", Some("los"), &|_| {}, MISSING, "los of head"),
        (
            "changed metric",
            Some("peak_rss"),
            &|r| r.header.manifest = r.header.manifest.replace("peak_rss_bytes", "pss_bytes"),
            MISSING,
            "does not have this metric",
        ),
    ];
    for (what, metric, change, code, part) in rows {
        let mut later = Run {
            header: RunHeader { id: "20260101-120000-0008".to_owned(), ..earlier.header.clone() },
            ..earlier.clone()
        };
        change(&mut later);
        let conditions = conditions(metric);
        let (found, text) = match comparison::across(&earlier, &later, &conditions.tolerances) {
            Ok(across) => (conditions.code(across.claim.unwrap(), across.is_missing), markdown(&across, "")),
            Err(refused) => (USAGE, refused.to_string()),
        };
        assert!(found == code && text.contains(part), "{what}: {found}, want {code} and {part:?} in {text}");
    }
}

/// A count has no ratio: it is named if it grew, unless a limit covers it.
#[test]
fn a_count_that_grew_is_named_or_has_a_limit() {
    let metric = "[[metrics]]\nname = \"lost\"\nlabel = \"lost\"\nunit = \"1\"\nbetter = \"lower\"\n\
                  from = { count = { role = \"sink\", counter = \"gaps\" } }\n\n[presets";
    let mut run = measured();
    run.header.manifest = run.header.manifest.replacen("[presets", metric, 1);
    for trial in &mut run.trials {
        let grown = if trial.cell == HEAD { 5 } else { 0 };
        let of = |s: &Sample| s.role == "sink" && s.name == "messages";
        let gaps: Vec<Sample> = trial.samples.iter().filter(|s| of(s)).cloned().collect();
        let value = |mark| if mark == 0 { 0 } else { grown };
        let gaps =
            gaps.into_iter().map(|s| Sample { name: "gaps".to_owned(), value: Some(value(s.mark)), ..s });
        trial.samples.extend(gaps);
    }
    let primary = FailOn::loss(None, 0.03);
    const WORSE: &str = "Worse, but not covered by --fail-on: lost 0.00 -> 30.0";
    for (typed, code, part, is_named) in [
        (vec![primary.clone()], GOOD, "**No regression**", true),
        (
            vec![primary.clone(), FailOn::change("lost", 0.0)],
            REGRESSION,
            "lost of head is 30.0, that of base is 0.00: regression",
            false,
        ),
        (vec![FailOn::change("lost", 29.0)], REGRESSION, "**Regression**", false),
        (vec![FailOn::change("lost", 30.0)], GOOD, "**No regression**", false),
        (vec![primary, FailOn::loss(Some("lost"), 0.5)], MISSING, "**Not compared**", false),
    ] {
        let conditions = FailConditions::new(&typed).unwrap();
        let report = report::build(&run).unwrap();
        let metrics = run.header.parsed_workload().unwrap().metrics;
        let within = comparison::within(&report, &metrics, ("base", "head"), &conditions.tolerances);
        assert_eq!(conditions.code_after(&report, within.claim, within.is_missing), code, "{typed:?}");
        for text in [markdown(&within, ""), terminal(&within, 1000)] {
            // Not only in the collapsed section.
            let shown = text.split("<details>").next().unwrap();
            assert_eq!(shown.contains(WORSE), is_named, "{typed:?}: {shown}");
        }
        let text = markdown(&within, "");
        let shown = text.split("<details>").next().unwrap();
        let is_tabulated = typed.iter().any(|one| matches!(one, FailOn::Beyond(t) if t.metric.is_some()));
        assert!(
            shown.contains(part) && shown.contains("| lost | 0.00 | 30.0 |") == is_tabulated,
            "{typed:?}: {shown}"
        );
    }
}
