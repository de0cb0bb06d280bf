//! A synthetic run in every format.

use netdyno_lab_analysis::report::{Report, build, json, schema, turn_notes};
use netdyno_lab_store::VerdictKind;

use super::*;
use netdyno_lab_manifest::Metric;
use netdyno_lab_store::code_lines::{CodeLines, LineCount};
use netdyno_lab_store::fixture::{CannedContender, run};
use netdyno_lab_store::{BuildRecord, CellStatus, Run, Sample, SampleKind, Turns};

fn synthetic() -> Run {
    let ok = CellStatus::Ok;
    run(
        &[
            CannedContender {
                name: "base",
                status: ok,
                rates: &[1000, 1010, 990, 1000],
                sink_cpu_percent: 99,
            },
            CannedContender {
                name: "rival",
                status: ok,
                rates: &[2000, 2010, 1990, 2005],
                sink_cpu_percent: 40,
            },
            CannedContender {
                name: "equal",
                status: ok,
                rates: &[1000, 1010, 990, 1001],
                sink_cpu_percent: 95,
            },
            CannedContender { name: "liar", status: CellStatus::Failed, rates: &[], sink_cpu_percent: 0 },
            CannedContender { name: "absent", status: CellStatus::Skipped, rates: &[], sink_cpu_percent: 0 },
            CannedContender {
                name: "top",
                status: ok,
                rates: &[8000, 8080, 7920, 8000],
                sink_cpu_percent: 100,
            },
        ],
        Some("top"),
    )
}

fn metrics() -> Vec<Metric> {
    netdyno_lab_manifest::dummy::workload().metrics
}

#[test]
fn a_report_matches_its_samples() {
    let report = build(&synthetic()).unwrap();
    let verdict = |name: &str| {
        report.verdicts.iter().find(|v| v.metric == "throughput" && v.contender == name).unwrap()
    };
    assert_eq!(verdict("rival").verdict, VerdictKind::Better);
    assert!((verdict("rival").ratio.unwrap() - 2.0).abs() < 0.01);
    assert_eq!(verdict("equal").verdict, VerdictKind::NoDifference);
    assert_eq!(verdict("rival").baseline, "base");
    assert!(
        !report.verdicts.iter().any(|v| ["top", "liar", "absent", "base"].contains(&v.contender.as_str()))
    );
    let cell = |name: &str| report.cells.iter().find(|c| c.label == name).unwrap();
    assert_eq!(cell("rival").metrics["throughput"].value, Some(2002.5));
    assert_eq!(cell("rival").metrics["throughput"].of_ceiling, Some(2002.5 / 8000.0));
    assert_eq!(cell("base").bottleneck, "sink CPU");
    assert_eq!(cell("rival").bottleneck, "waiting (source 50 %, sink 40 %)");
    // (0.5 + 0.4) CPU seconds per second divided by 2002.5 messages per second.
    let cost = cell("rival").metrics["cpu_per_message"].value.unwrap();
    assert!((cost - 0.9e9 / 2002.5).abs() < 2000.0, "{cost}");
    assert_eq!(cell("liar").metrics["throughput"].value, None);
    assert_eq!(report.run.blocks, 4);
}

/// The synthetic run as a duel in turns: freezing halves rival's rate and leaves the others unchanged.
fn by_turns(freezers: [&str; 2]) -> Run {
    const STRETCH_NS: u64 = 500_000_000;
    let mut run = synthetic();
    run.header.manifest +=
        "\n[turns]\nturn_ms = 100\nlead_ms = 30\nstretch_ms = 500\nstretch_every = 1\ntogether = 6\n";
    for trial in &mut run.trials {
        let rate =
            trial.samples.iter().find(|s| s.mark == 1 && s.name == "messages").unwrap().value.unwrap() - 100;
        let undisturbed = if trial.cell == 1 { 2 * rate } else { rate };
        let marks = [(2, 0), (3, STRETCH_NS)].map(|(mark, after)| Sample {
            role: "sink".to_owned(),
            kind: SampleKind::Counter,
            mark,
            at_ns: (1 << 40) + after,
            name: "messages".to_owned(),
            value: Some(undisturbed * after / 1_000_000_000),
            source: "made up".to_owned(),
        });
        trial.samples.extend(marks);
        trial.position = 0;
        let freezer = freezers[usize::from(trial.cell == 1)].to_owned();
        trial.turns = Some(Turns {
            freezer,
            turn_ns: 100_000_000,
            lead_ns: 30_000_000,
            count: 1,
            stretch: true,
            under_way: None,
        });
    }
    run
}

#[test]
fn effects_of_freezing_follow_the_table() {
    let lines = |run: &Run| turn_notes(&build(run).unwrap());
    assert_eq!(
        lines(&by_turns(["cgroup v2 freezer"; 2])),
        [
            "Duels: frozen by cgroup v2 freezer. Freezing had no significant effect on the other contenders (1.00 of the undisturbed rate)",
            "rival: 0.50 of the undisturbed rate in turns; compared in long turns",
        ]
    );
    let two = by_turns(["cgroup v2 freezer", "SIGSTOP to every process"]);
    let expected =
        "frozen by SIGSTOP to every process (rival), cgroup v2 freezer (base, equal, top). Freezing had no";
    assert!(lines(&two)[0].contains(expected), "{:?}", lines(&two));
    let report = build(&two).unwrap();
    let text = anstream::adapter::strip_str(&terminal(&report, &metrics(), 80)).to_string();
    assert!(widest(&text) <= 80 && text.contains("\nrival: 0.50 of the undisturbed rate in turns"), "{text}");
    assert!(markdown(&report, &metrics()).contains("\n\nrival: 0.50 of the undisturbed rate in turns"));
}

#[test]
fn the_length_of_long_turns_is_reported() {
    let mut run = by_turns([""; 2]);
    let mut long = run.trials.iter().find(|t| t.cell == 1).unwrap().clone();
    (long.block, long.turns.as_mut().unwrap().turn_ns) = (99, 500_000_000);
    run.trials.push(long);
    let length = |label: &str| {
        let report = build(&run).unwrap();
        report.cells.iter().find(|c| c.label == label).unwrap().turns.as_ref().unwrap().turn_ns
    };
    assert_eq!((length("rival"), length("base")), (500_000_000, 100_000_000));
}

#[test]
fn the_reason_for_blocks_is_reported_if_duels_are_possible() {
    let lines = |run: &Run| turn_notes(&build(run).unwrap());
    assert_eq!(lines(&synthetic()), [""; 0], "the workload does not define turns");
    let mut run = synthetic();
    run.header.manifest = by_turns([""; 2]).header.manifest;
    run.header.settings.blocks = true;
    assert_eq!(lines(&run), ["Compared in blocks instead of duels: requested by --blocks"]);
}

#[test]
fn a_failed_cell_is_shown_with_its_reason() {
    let report = build(&synthetic()).unwrap();
    for text in [terminal(&report, &metrics(), 100), markdown(&report, &metrics())] {
        assert!(text.contains("liar") && text.contains("wrong digest"), "{text}");
        assert!(text.contains("absent") && text.contains("apt-get install it"), "{text}");
        assert!(text.contains("this run is made up"), "{text}");
    }
}

#[test]
fn the_table_is_in_order_and_aligned() {
    let report = build(&synthetic()).unwrap();
    let text = anstream::adapter::strip_str(&terminal(&report, &metrics(), 100)).to_string();
    let line = |name: &str| text.lines().position(|l| l.trim_start().starts_with(name)).unwrap();
    assert!(line("rival") < line("base") && line("base") < line("top"), "{text}");
    assert!(text.contains("rival: better, counted 2.00x that of base (1."), "{text}");
    assert!(text.contains("equal: no difference from base beyond 2 %"), "{text}");
    assert!(text.contains("25.0 %"), "share of the ceiling: {text}");
    assert!(text.contains("6.00 MB (3.00 + 3.00)"), "{text}");
}

/// Length of the longest line, in characters.
fn widest(text: &str) -> usize {
    text.lines().map(|l| l.chars().count()).max().unwrap_or(0)
}

#[test]
fn no_line_is_longer_than_the_terminal_and_no_figure_is_lost() {
    let mut synthetic = synthetic();
    let words = "a reason of very many words ".repeat(20);
    synthetic.cells[3].reason = format!("the sink: {words}\n      panic: {words}\n      the last line");
    synthetic.header.warnings = vec![words.clone()];
    let report = build(&synthetic).unwrap();
    let tables = table::tables(&report, &metrics());
    let of_code = tables[0].code_columns.clone();
    let cells: Vec<Vec<String>> =
        tables[0].rows.iter().map(|(_, row)| [&row[..of_code.start], &row[of_code.end..]].concat()).collect();
    for width in [60, 80, 100, 120, 200] {
        let text = anstream::adapter::strip_str(&terminal(&report, &metrics(), width)).to_string();
        assert!(widest(&text) <= width, "{width}: {text}");
        for cell in cells.iter().flatten() {
            assert!(text.contains(cell.as_str()), "{width}: {cell} in {text}");
        }
        assert!(text.contains("\n      panic: a reason") && text.contains("\n      the last line"), "{text}");
        let all: Vec<&str> = text.split_whitespace().collect();
        assert!(all.join(" ").contains(words.trim()), "{text}");
    }
    let text = terminal(&report, &metrics(), 120);
    assert_eq!(text.matches("6.00 MB (3.00 + 3.00)").count(), 4, "one line per contender: {text}");
}

#[test]
fn a_single_contender_shows_the_range_of_its_trials() {
    let ok = CellStatus::Ok;
    let rates = [1000, 1300, 900, 1000];
    let run = run(&[CannedContender { name: "base", status: ok, rates: &rates, sink_cpu_percent: 99 }], None);
    let report = build(&run).unwrap();
    for text in [terminal(&report, &metrics(), 120), markdown(&report, &metrics())] {
        assert!(text.contains("0.90 - 1.30 k/s, n = 4"), "{text}");
        assert!(!text.contains("vs "), "{text}");
    }
}

#[test]
fn pending_cells_are_listed_on_one_line() {
    let mut synthetic = synthetic();
    for cell in &mut synthetic.cells[3..5] {
        (cell.status, cell.reason, cell.remedy) = (CellStatus::Planned, String::new(), String::new());
    }
    let report = build(&synthetic).unwrap();
    for text in [terminal(&report, &metrics(), 80), markdown(&report, &metrics())] {
        assert!(text.contains("not measured yet: liar, absent\n"), "{text}");
    }
}

#[test]
fn lost_messages_are_shown_in_the_table() {
    let mut synthetic = synthetic();
    let metric = "[[metrics]]\nname = \"gone\"\nlabel = \"lost\"\nunit = \"1\"\nbetter = \"lower\"\n\
                  column = false\nfrom = { count = { role = \"source\", counter = \"messages\" } }\n\n[presets";
    synthetic.header.manifest = synthetic.header.manifest.replacen("[presets", metric, 1);
    let metrics = synthetic.header.parsed_workload().unwrap().metrics;
    let report = build(&synthetic).unwrap();
    let cell = report.cells.iter().find(|c| c.label == "rival").unwrap();
    assert_eq!(cell.bottleneck, "waiting (source 50 %, sink 40 %), 8005 lost");
    assert!(terminal(&report, &metrics, 200).contains(", 8005 lost"));
    // Neither a metric where more is better nor one with its own column counts as a loss.
    for (from, to) in [("better = \"lower\"\ncolumn", "better = \"higher\"\ncolumn"), ("column = false", "")]
    {
        let mut other = synthetic.clone();
        other.header.manifest = other.header.manifest.replacen(from, to, 1);
        assert!(!build(&other).unwrap().cells[0].bottleneck.contains("lost"));
    }
}

#[test]
fn output_of_a_crashed_role_is_in_the_json() {
    let mut synthetic = synthetic();
    let mut trial = synthetic.trials[0].clone();
    let (role, reason, stderr) = ("sink".to_owned(), "died".to_owned(), "panic: oh\n".repeat(50));
    (trial.cell, trial.outcome) =
        (3, netdyno_lab_store::Outcome::Failed { role, reason, stderr: stderr.clone() });
    synthetic.trials.push(trial);
    let report = build(&synthetic).unwrap();
    assert_eq!(report.cells[3].stderr, stderr);
    assert!(report.cells.iter().enumerate().all(|(i, c)| i == 3 || c.stderr.is_empty()));
}

#[test]
fn markdown_begins_with_a_summary() {
    let mut metrics = metrics();
    metrics[1].headline = true;
    let text = markdown(&build(&synthetic()).unwrap(), &metrics);
    let (first, rest) = text.split_once("<details>").unwrap();
    assert!(
        first.contains("|  | counted | vs base | of ceiling | CPU/msg |\n|---|---:|---:|---:|---:|\n"),
        "{text}"
    );
    assert!(first.contains("liar failed") && !first.contains("Host:"), "{text}");
    assert!(
        rest.contains("peak RSS (source + sink) | bottleneck |\n|---|---:|---:|---:|---:|---:|---|\n"),
        "{text}"
    );
    for part in ["- rival: better", "Host: ", "\n\n</details>\n"] {
        assert!(rest.contains(part), "{part}: {text}");
    }
}

#[test]
fn json_matches_its_schema() {
    let report = build(&synthetic()).unwrap();
    let value: serde_json::Value = serde_json::from_str(&json(&report)).unwrap();
    let validator = jsonschema::validator_for(schema().as_value()).unwrap();
    let errors: Vec<String> = validator.iter_errors(&value).map(|e| e.to_string()).collect();
    assert!(errors.is_empty(), "{errors:?}");
    for field in ["host", "cells", "verdicts"] {
        assert!(value.get(field).is_some(), "{field}");
    }
    let metric = &value["cells"][0]["metrics"]["throughput"];
    assert!(metric["value"].is_number() && metric["unit"] == "1/s" && metric["source"].is_string());
    assert_eq!(serde_json::from_value::<Report>(value).unwrap(), report);
}

#[test]
fn output_of_a_contender_is_escaped() {
    let mut synthetic = synthetic();
    synthetic.cells[3].reason = "<script>|`x`\u{1b}[2J\n      </details>\n# x".to_owned();
    let report = build(&synthetic).unwrap();
    let text = markdown(&report, &metrics());
    assert!(!text.contains("<script>") && text.contains("&lt;script>\\|\\`x\\`"), "{text}");
    assert!(text.contains("\n\n      </details>\n      # x\n"), "the output is a code block: {text}");
    let text = terminal(&report, &metrics(), 100);
    assert!(!text.contains("\u{1b}[2J"), "{text}");
}

#[test]
fn local_builds_and_caveats_are_marked() {
    let mut run = synthetic();
    let build = BuildRecord {
        local: Some("/home/me/lib (git 0123456789ab dirty)".to_owned()),
        caveat: Some("answers are not compared".to_owned()),
        ..build_of(CodeLines::not_measured("made up"))
    };
    let rival = run.cells.iter_mut().find(|c| c.contender() == Some("rival")).unwrap();
    rival.builds.insert("rival".to_owned(), build);
    let report = netdyno_lab_analysis::report::build(&run).unwrap();
    // Markdown has a summary table and a full one.
    for (text, tables) in [(terminal(&report, &metrics(), 200), 1), (markdown(&report, &metrics()), 2)] {
        assert_eq!(text.matches("(local)").count(), tables, "{text}");
        assert!(
            text.contains(
                "rival is a local build, not the release 1.2: /home/me/lib (git 0123456789ab dirty)"
            ),
            "{text}"
        );
        assert_eq!(text.matches("rival: answers are not compared\n").count(), 1, "{text}");
    }
}

fn build_of(lines: CodeLines) -> BuildRecord {
    BuildRecord {
        key: String::new(),
        toolchain: String::new(),
        flags: Vec::new(),
        lock_hash: String::new(),
        version: "1.2".to_owned(),
        tuning: "defaults".to_owned(),
        local: None,
        caveat: None,
        lines,
    }
}

#[test]
fn lines_of_code_are_shown_if_all_columns_fit() {
    let mut run = synthetic();
    let lines = CodeLines {
        library: LineCount::of(73_120, "tokei"),
        adapter: LineCount::of(0, "tokei"),
        generated: LineCount::not_measured("not *counted*"),
    };
    for (cell, name) in [(0, "base"), (1, "rival"), (3, "liar")] {
        let lines = if name == "rival" { lines.clone() } else { CodeLines::not_measured("compiled") };
        run.cells[cell].builds.insert(name.to_owned(), build_of(lines));
    }
    let report = build(&run).unwrap();
    let text = markdown(&report, &metrics());
    let (first, rest) = text.split_once("<details>").unwrap();
    assert!(!first.contains("lines"), "{first}");
    assert!(rest.contains("| 73,120 | 0 | not measured | waiting"), "{rest}");
    assert!(
        rest.contains("\n- rival: lines of code not measured (generated): not \\*counted\\*\n"),
        "{rest}"
    );
    assert!(
        rest.contains("\n- base: lines of code not measured (library, adapter, generated): compiled\n"),
        "{rest}"
    );
    assert!(!rest.contains("liar: lines"), "it has no results: {rest}");
    for (width, is_shown) in [(80, false), (120, false), (240, true)] {
        let text = anstream::adapter::strip_str(&terminal(&report, &metrics(), width)).to_string();
        assert_eq!(text.contains("library lines"), is_shown, "{width}: {text}");
        assert_eq!(text.contains("73,120"), is_shown, "{width}: {text}");
    }
    let value: serde_json::Value = serde_json::from_str(&json(&report)).unwrap();
    let lines = &value["cells"][1]["builds"]["rival"]["lines"];
    assert_eq!(
        (&lines["library"]["lines"], &lines["generated"]["lines"]),
        (&73_120.into(), &serde_json::Value::Null)
    );
    assert_eq!(lines["generated"]["source"], "not *counted*");
    assert!(jsonschema::is_valid(schema().as_value(), &value));
}

#[test]
fn lines_of_code_of_two_contenders_follow_the_order_of_the_roles() {
    let mut run = synthetic();
    run.cells[1].contenders.insert("sink".to_owned(), "base".to_owned());
    let lines = |n| CodeLines { library: LineCount::of(n, "tokei"), ..CodeLines::not_measured("made up") };
    run.cells[1].builds =
        [("rival", 2000), ("base", 1)].map(|(name, n)| (name.to_owned(), build_of(lines(n)))).into();
    let report = build(&run).unwrap();
    let row = |cell: &str| {
        let tables = table::tables(&report, &metrics());
        let (_, row) = tables[0].rows.iter().find(|(c, _)| c.label == cell).unwrap();
        row[tables[0].code_columns.clone()].to_vec()
    };
    assert_eq!(
        row("rival > base"),
        ["2,000 > 1", "not measured > not measured", "not measured > not measured"]
    );
    assert_eq!(row("base"), ["not measured"; 3], "the store has no build of it");
    run.cells[1].partners.insert("sink".to_owned());
    let report = build(&run).unwrap();
    let tables = table::tables(&report, &metrics());
    assert!(
        tables[0].rows.iter().any(|(_, row)| row.contains(&"2,000".to_owned())),
        "partners are not counted"
    );
}
