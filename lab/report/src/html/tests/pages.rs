//! What a page holds, and what never becomes a part of it.

use serde_json::Value;

use super::super::*;
use super::made_up::{contender, large, large_run, matrix, report_of};
use netdyno_lab_analysis::report::json;
use netdyno_lab_store::CellStatus;
use netdyno_lab_store::fixture::{Contender, run};

/// What is asked for a report of 12 contenders, 40 sessions and 6 settings.
const BYTES_MAX: usize = 3 << 20;
/// What a contender may write anywhere.
pub(super) const HOSTILE: &str = "<script>alert(1)</script>\"><img src=x onerror=alert(1)>'-->]]>{{ 7*7 }}javascript:alert(1)&lt;\u{0}\u{8}\u{1b}[31m\u{202e}\u{fffd} ";

/// The page as XML, which ours also is: nothing in it is left open.
fn parsed(page: &str) -> roxmltree::Document<'_> {
    let options = roxmltree::ParsingOptions { allow_dtd: true, ..Default::default() };
    roxmltree::Document::parse_with_options(page, options).unwrap_or_else(|e| panic!("{e}"))
}

/// Every text of a report that a contender can have a say in, with something before it.
pub(super) fn hostile(report: &Report) -> Report {
    let mut value: Value = serde_json::from_str(&json(report)).unwrap();
    taint(&mut value, "");
    serde_json::from_value(value).unwrap()
}

fn taint(value: &mut Value, name: &str) {
    // What the program reads again: names of metrics and roles, units, states.
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
fn what_a_contender_prints_is_never_a_part_of_the_page() {
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
            "it is shown as it is"
        );
        let turns = |c: char| ('\u{202a}'..='\u{202e}').contains(&c);
        assert!(!page.chars().any(|c| (c.is_control() && c != '\n') || turns(c)), "no control characters");
    }
}

#[test]
fn a_page_asks_for_nothing() {
    let (report, workload) = report_of(&matrix());
    let page = page(&report, &workload);
    let document = parsed(&page);
    let find = |name: &str| document.descendants().find(|n| n.has_tag_name(name)).unwrap();
    let policy = document.descendants().find_map(|n| {
        let is = n.attribute("http-equiv") == Some("Content-Security-Policy");
        is.then(|| n.attribute("content")).flatten()
    });
    // A browser takes the hash of the very bytes between the tags.
    let style = page.split("<style>").nth(1).unwrap().split("</style>").next().unwrap();
    assert_eq!(find("style").text(), Some(style), "nothing in it means anything in HTML");
    let policy_of_style = super::super::policy(style);
    assert_eq!(policy, Some(policy_of_style.as_str()));
    assert!(policy_of_style.starts_with("default-src 'none'; style-src 'sha256-"), "{policy_of_style}");
    for word in ["http://", "https://", "url(", "@import", "<script", "srcset"] {
        let found = page.replace("http://www.w3.org/2000/svg", "");
        assert!(!found.contains(word), "{word}");
    }
}

#[test]
fn pictures_and_tables_can_be_read_without_seeing_them() {
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
        assert_eq!(ids.len(), once.len(), "an id stands once");
        let leads = all("a").filter_map(|a| a.attribute("href")?.strip_prefix('#'));
        assert!(leads.into_iter().all(|target| ids.contains(&target)), "links lead somewhere");
    }
}

#[test]
fn a_large_run_stays_small_and_says_what_it_leaves_out() {
    let (report, workload) = large();
    assert_eq!(report.run.compared_by, "duels");
    assert_eq!((report.cells.len(), report.run.blocks), (72, 40));
    let page = page(report, workload);
    println!("a page of {} bytes", page.len());
    assert!(page.len() < BYTES_MAX, "{} bytes", page.len());
    for part in [
        "bytes are left out here; the JSON report has them",
        "Along the parameters",
        "streams=32",
        "Without figures",
        "share of the ceiling",
        "latency p50",
        "These figures as a table",
    ] {
        assert!(page.contains(part), "{part}");
    }
    let logs = page.matches("a line of a log that has no end").count() * 32;
    assert!(logs < limits::LOGS_BYTES_MAX + (8 << 10), "{logs} bytes of logs");
}

#[test]
fn a_run_of_failures_alone_has_a_clear_page() {
    let failed = |name| Contender { name, status: CellStatus::Failed, rates: &[], sink_cpu_percent: 0 };
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
        "No cell of this run has figures.",
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
fn the_matrix_and_its_failed_pair_are_there() {
    let (report, workload) = report_of(&matrix());
    let page = page(&report, &workload);
    assert!(page.contains("Each row one source, each column one sink"));
    assert!(page.contains(">failed</text>") && page.contains("<td>failed</td>"));
}

#[test]
fn what_each_end_of_a_matrix_brings_stands_below_its_picture() {
    let mut run = matrix();
    let (report, workload) = report_of(&run);
    let text = page(&report, &workload);
    let document = parsed(&text);
    let all: Vec<_> = document.descendants().collect();
    let place = |id: &str| all.iter().position(|n| n.attribute("id") == Some(id)).unwrap();
    assert!(place("matrix-0") < place("ends-0"), "below the picture");
    let below = &all[place("ends-0")..];
    let words = |name: &str| {
        let texts = |n: &roxmltree::Node<'_, '_>| {
            n.descendants().filter(roxmltree::Node::is_text).filter_map(|n| n.text()).collect::<String>()
        };
        below.iter().filter(|n| n.has_tag_name(name)).map(texts).collect::<Vec<_>>()
    };
    let caption = "what each end does to counted, by the mean of all pairs (4 blocks)";
    assert_eq!(words("caption")[0], caption);
    // Rates 1, 2, 3 and 7, 8, 9: what they say of the middle one is nothing, since the pair that failed took its row.
    let rows = words("tr");
    let right = rows.iter().find(|row| row.starts_with("right")).unwrap();
    assert!(right.starts_with("right2.09x  (") && right.contains("1.37x  ("), "{right}");
    let middle = rows.iter().find(|row| row.starts_with("middle")).unwrap();
    assert!(middle.starts_with("middle1.05x  ("), "it is there as a sink alone: {middle}");
    let lines = words("li");
    for part in [
        "left > left together: 0.79x what their ends say (0.",
        "left out, as cells of theirs are missing: middle",
    ] {
        assert!(lines.iter().any(|line| line.starts_with(part)), "{part}: {lines:?}");
    }
    // Another setting has no part in it: its title is the place's.
    for cell in &mut run.cells {
        cell.params.0.insert("streams".to_owned(), netdyno_lab_manifest::ParamValue::Integer(2));
    }
    let (report, workload) = report_of(&run);
    assert!(page(&report, &workload).contains(&format!("<caption>{caption}</caption>")));
    run.cells.truncate(3);
    run.trials.retain(|trial| trial.cell < 3);
    let (report, workload) = report_of(&run);
    assert!(!page(&report, &workload).contains("What each end brings"), "a row is no matrix");
}

#[test]
fn logs_are_cut_between_letters() {
    let mut room = cells::Room::new();
    let log = "ä€𝄞".repeat(10_000);
    let cut = room.cut(&log);
    assert!(
        cut.len() <= limits::LOG_BYTES_MAX + 100 && cut.starts_with("ä€") && cut.ends_with('𝄞'),
        "{}",
        cut.len()
    );
    assert_eq!(room.cut("short"), "short");
    for _ in 0..limits::LOGS_BYTES_MAX / limits::LOG_BYTES_MAX {
        room.cut(&log);
    }
    let none = room.cut(&log);
    assert!(none.trim().starts_with("[90000 bytes are left out"), "{none}");
}

#[test]
fn of_many_notes_some_are_told() {
    let (mut report, workload) = report_of(&run(&[contender("base", &[1000; 3])], None));
    report.cells[0].notes = (0..1000).map(|i| format!("note {i}")).collect();
    let page = page(&report, &workload);
    assert!(page.contains("note 19") && !page.contains("note 20<") && page.contains("and 980 more"));
}

/// `cargo test -p netdyno-lab --release --lib a_large_report_takes -- --ignored --nocapture`
#[test]
#[ignore = "a benchmark: its figures are the machine's"]
fn how_long_a_large_report_takes() {
    for _ in 0..3 {
        let run = large_run();
        let begun = std::time::Instant::now();
        let told = |what: &str| println!("{what}: {:.0} ms", begun.elapsed().as_secs_f64() * 1e3);
        let (report, workload) = report_of(&run);
        told("report");
        println!("{} bytes", page(&report, &workload).len());
        told("and its page");
    }
}
