//! Contents of a page, and escaping of contenders' output.

use serde_json::Value;

use super::super::*;
use super::synthetic::{contender, large, large_run, matrix, report_of};
use netdyno_lab_analysis::report::json;
use netdyno_lab_store::CellStatus;
use netdyno_lab_store::fixture::{CannedContender, run};

/// Size limit of a page of 12 contenders, 40 sessions and 6 settings.
const BYTES_MAX: usize = 3 << 20;
/// Hostile output of a contender.
pub(super) const HOSTILE: &str = "<script>alert(1)</script>\"><img src=x onerror=alert(1)>'-->]]>{{ 7*7 }}javascript:alert(1)&lt;\u{0}\u{8}\u{1b}[31m\u{202e}\u{fffd} ";

/// Parses the page as XML: our pages are well-formed.
fn parsed(page: &str) -> roxmltree::Document<'_> {
    let options = roxmltree::ParsingOptions { allow_dtd: true, ..Default::default() };
    roxmltree::Document::parse_with_options(page, options).unwrap_or_else(|e| panic!("{e}"))
}

/// A report with hostile text prepended to every string that a contender can influence.
pub(super) fn hostile(report: &Report) -> Report {
    let mut value: Value = serde_json::from_str(&json(report)).unwrap();
    taint(&mut value, "");
    serde_json::from_value(value).unwrap()
}

fn taint(value: &mut Value, name: &str) {
    // Strings that the program interprets: names of metrics and roles, units, states.
    const OURS: [&str; 6] = ["primary", "status", "metric", "verdict", "unit", "started_at"];
    match value {
        Value::String(text) if !OURS.contains(&name) => text.insert_str(0, HOSTILE),
        Value::Array(_) if name == "roles" => {}
        Value::Array(all) => all.iter_mut().for_each(|v| taint(v, name)),
        Value::Object(fields) => {
            fields.iter_mut().filter(|(key, _)| *key != "params").for_each(|(key, v)| taint(v, key));
            if name == "builds" {
                *fields =
                    std::mem::take(fields).into_iter().map(|(k, v)| (format!("{HOSTILE}{k}"), v)).collect();
            }
        }
        _ => {}
    }
}

#[test]
fn output_of_a_contender_never_becomes_markup() {
    const ELEMENTS: &str = "html head meta title link style body a header p strong span fieldset legend label input main section h1 h2 h3 h4 ul \
        li b nav figure div figcaption details summary table caption thead tbody tr th td dl dt dd code pre small footer svg text tspan line rect \
        circle path polyline g";
    for (report, workload) in [large(), &report_of(&matrix())] {
        let page = page(&hostile(report), workload);
        let document = parsed(&page);
        for node in document.descendants().filter(roxmltree::Node::is_element) {
            let name = node.tag_name().name();
            assert!(ELEMENTS.split_whitespace().any(|known| known == name), "<{name}>");
            for attribute in node.attributes() {
                let (attribute, value) = (attribute.name(), attribute.value());
                assert!(
                    !attribute.starts_with("on") && attribute != "style" && attribute != "src",
                    "{attribute}"
                );
                let safe =
                    value.starts_with('#') || (name == "link" && value.starts_with("data:image/svg+xml,"));
                assert!(attribute != "href" || safe, "{value}");
            }
        }
        let texts: String = document.descendants().filter_map(|n| n.text()).collect();
        assert!(
            texts.contains("<script>alert(1)</script>") && texts.contains("{{ 7*7 }}"),
            "it is shown verbatim"
        );
        let is_bidi = |c: char| ('\u{202a}'..='\u{202e}').contains(&c);
        assert!(!page.chars().any(|c| (c.is_control() && c != '\n') || is_bidi(c)), "no control characters");
    }
}

#[test]
fn a_page_makes_no_requests() {
    let (report, workload) = report_of(&matrix());
    let page = page(&report, &workload);
    let document = parsed(&page);
    let find = |name: &str| document.descendants().find(|n| n.has_tag_name(name)).unwrap();
    let policy = document.descendants().find_map(|n| {
        let is_policy = n.attribute("http-equiv") == Some("Content-Security-Policy");
        is_policy.then(|| n.attribute("content")).flatten()
    });
    // A browser hashes exactly the bytes between the tags.
    let style = page.split("<style>").nth(1).unwrap().split("</style>").next().unwrap();
    assert_eq!(find("style").text(), Some(style), "it has no HTML special characters");
    let policy_of_style = super::super::policy(style);
    assert_eq!(policy, Some(policy_of_style.as_str()));
    assert!(policy_of_style.starts_with("default-src 'none'; style-src 'sha256-"), "{policy_of_style}");
    for word in ["http://", "https://", "url(", "@import", "<script", "srcset"] {
        let found = page.replace("http://www.w3.org/2000/svg", "");
        assert!(!found.contains(word), "{word}");
    }
}

#[test]
fn pictures_and_tables_are_accessible() {
    for (report, workload) in [large(), &report_of(&matrix())] {
        let page = page(report, workload);
        let document = parsed(&page);
        let all = |name: &'static str| document.descendants().filter(move |n| n.has_tag_name(name));
        for svg in all("svg") {
            assert_eq!(svg.attribute("role"), Some("img"));
            assert!(svg.attribute("aria-label").is_some_and(|l| l.len() > 10));
        }
        assert!(all("svg").count() > 3);
        assert!(all("table").all(|t| t.children().any(|n| n.has_tag_name("caption"))));
        assert!(all("th").all(|t| t.attribute("scope").is_some()));
        assert_eq!(all("h1").count(), 1);
        for landmark in ["header", "nav", "main", "footer"] {
            assert_eq!(all(landmark).count(), 1, "{landmark}");
        }
        let ids: Vec<&str> = document.descendants().filter_map(|n| n.attribute("id")).collect();
        let once: std::collections::BTreeSet<&&str> = ids.iter().collect();
        assert_eq!(ids.len(), once.len(), "ids are unique");
        let targets = all("a").filter_map(|a| a.attribute("href")?.strip_prefix('#'));
        assert!(targets.into_iter().all(|target| ids.contains(&target)), "every link has a target");
    }
}

#[test]
fn the_page_of_a_large_run_is_bounded_and_states_what_it_omits() {
    let (report, workload) = large();
    assert_eq!(report.run.compared_by, "duels");
    assert_eq!((report.cells.len(), report.run.blocks), (72, 40));
    let page = page(report, workload);
    println!("a page of {} bytes", page.len());
    assert!(page.len() < BYTES_MAX, "{} bytes", page.len());
    for part in [
        "bytes omitted; the JSON report has them",
        "Parameter sweeps",
        "streams=32",
        "Without results",
        "share of the ceiling",
        "latency p50",
        "Show as table",
    ] {
        assert!(page.contains(part), "{part}");
    }
    let logs = page.matches("a line of a log that has no end").count() * 32;
    assert!(logs < limits::LOGS_BYTES_MAX + (8 << 10), "{logs} bytes of logs");
}

#[test]
fn a_run_without_results_lists_the_failures() {
    let failed = |name| CannedContender { name, status: CellStatus::Failed, rates: &[], sink_cpu_percent: 0 };
    let mut run = run(&[failed("one"), failed("two")], None);
    run.cells[1].status = CellStatus::Skipped;
    run.cells[1].remedy = "apt-get install it".to_owned();
    run.cells[1].reason = "libfast is not installed".to_owned();
    let (mut report, workload) = report_of(&run);
    report.cells[0].stderr = "panic: no memory\n".to_owned();
    let page = page(&report, &workload);
    parsed(&page);
    for part in [
        "Nothing was measured: 1 failed, 1 skipped.",
        "No cell of this run has results.",
        "the sink: gate: wrong digest",
        "libfast is not installed",
        "<code>apt-get install it</code>",
        "panic: no memory",
    ] {
        assert!(page.contains(part), "{part}");
    }
    assert!(!page.contains("<svg class") && !page.contains("href=\"#result\""), "no empty pictures");
}

#[test]
fn a_matrix_shows_its_failed_pair() {
    let (report, workload) = report_of(&matrix());
    let page = page(&report, &workload);
    assert!(page.contains("One row per source, one column per sink"));
    assert!(page.contains(">failed</text>") && page.contains("<td>failed</td>"));
}

#[test]
fn effects_of_a_matrix_follow_its_picture() {
    let mut run = matrix();
    let (report, workload) = report_of(&run);
    let text = page(&report, &workload);
    let document = parsed(&text);
    let all: Vec<_> = document.descendants().collect();
    let place = |id: &str| all.iter().position(|n| n.attribute("id") == Some(id)).unwrap();
    assert!(place("matrix-0") < place("effects-0"), "below the picture");
    let below = &all[place("effects-0")..];
    let words = |name: &str| {
        let texts = |n: &roxmltree::Node<'_, '_>| {
            n.descendants().filter(roxmltree::Node::is_text).filter_map(|n| n.text()).collect::<String>()
        };
        below.iter().filter(|n| n.has_tag_name(name)).map(texts).collect::<Vec<_>>()
    };
    let caption = "effect of each contender on counted, relative to the mean of all pairs (4 blocks)";
    assert_eq!(words("caption")[0], caption);
    // Rates 1, 2, 3 and 7, 8, 9. The failed pair excludes "middle" as a source.
    let rows = words("tr");
    let right = rows.iter().find(|row| row.starts_with("right")).unwrap();
    assert!(right.starts_with("right2.09x  (") && right.contains("1.37x  ("), "{right}");
    let middle = rows.iter().find(|row| row.starts_with("middle")).unwrap();
    assert!(middle.starts_with("middle1.05x  ("), "it has an effect only as a sink: {middle}");
    let lines = words("li");
    for part in [
        "left > left: 0.79x the product of the two effects (0.",
        "excluded because cells are missing: middle",
    ] {
        assert!(lines.iter().any(|line| line.starts_with(part)), "{part}: {lines:?}");
    }
    // The caption omits the parameter setting.
    for cell in &mut run.cells {
        cell.params.0.insert("streams".to_owned(), netdyno_lab_manifest::ParamValue::Integer(2));
    }
    let (report, workload) = report_of(&run);
    assert!(page(&report, &workload).contains(&format!("<caption>{caption}</caption>")));
    run.cells.truncate(3);
    run.trials.retain(|trial| trial.cell < 3);
    let (report, workload) = report_of(&run);
    assert!(!page(&report, &workload).contains("Effect of each contender"), "a single row is not a matrix");
}

#[test]
fn logs_are_cut_at_character_boundaries() {
    let mut budget = cells::LogBudget::new();
    let log = "ä€𝄞".repeat(10_000);
    let cut = budget.cut(&log);
    assert!(
        cut.len() <= limits::LOG_BYTES_MAX + 100 && cut.starts_with("ä€") && cut.ends_with('𝄞'),
        "{}",
        cut.len()
    );
    assert_eq!(budget.cut("short"), "short");
    for _ in 0..limits::LOGS_BYTES_MAX / limits::LOG_BYTES_MAX {
        budget.cut(&log);
    }
    let none = budget.cut(&log);
    assert!(none.trim().starts_with("[90000 bytes omitted"), "{none}");
}

#[test]
fn long_lists_of_notes_are_truncated() {
    let (mut report, workload) = report_of(&run(&[contender("base", &[1000; 3])], None));
    report.cells[0].notes = (0..1000).map(|i| format!("note {i}")).collect();
    let page = page(&report, &workload);
    assert!(page.contains("note 19") && !page.contains("note 20<") && page.contains("and 980 more"));
}

/// `cargo test -p netdyno-lab-report --release --lib of_a_large_report -- --ignored --nocapture`
#[test]
#[ignore = "a benchmark"]
fn rendering_time_of_a_large_report() {
    for _ in 0..3 {
        let run = large_run();
        let begun = std::time::Instant::now();
        let print = |step: &str| println!("{step}: {:.0} ms", begun.elapsed().as_secs_f64() * 1e3);
        let (report, workload) = report_of(&run);
        print("report");
        println!("{} bytes", page(&report, &workload).len());
        print("report and page");
    }
}
