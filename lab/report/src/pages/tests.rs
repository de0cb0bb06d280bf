//! Pages of synthetic stores: completeness, valid links, and escaping of foreign text.

use std::collections::BTreeSet;
use std::path::Path;

use super::*;
use netdyno_lab_store::fixture::{self, CannedContender, write};
use netdyno_lab_store::{CellStatus, Outcome, Run, StopReason};

/// Hostile text, used in every field that a contender or an import can set.
const EVIL: &str = "</script></title></style>--><script>alert(1)</script><img src=x onerror=alert(1)>\" onload='alert(1)'\u{1b}[31m{{ 7 * 7 }}\u{202e}";

fn evil_run() -> Run {
    let contender =
        |name, status| CannedContender { name, status, rates: &[1000, 1010, 990], sink_cpu_percent: 50 };
    let mut run = fixture::run(
        &[
            contender("base", CellStatus::Ok),
            contender(EVIL, CellStatus::Ok),
            contender("broken", CellStatus::Failed),
            contender("absent", CellStatus::Skipped),
        ],
        None,
    );
    run.cells[2].reason = EVIL.to_owned();
    run.cells[3].remedy = EVIL.to_owned();
    run.header.warnings = vec![EVIL.to_owned()];
    run.header.command = vec![EVIL.to_owned()];
    run.header.settings.preset = Some(EVIL.to_owned());
    run.header.host.cpu = EVIL.to_owned();
    let failed = run.trials.iter_mut().find(|t| t.cell == 2).unwrap();
    failed.outcome = Outcome::Failed { role: EVIL.into(), reason: EVIL.into(), stderr: EVIL.into() };
    for trial in &mut run.trials {
        trial.notes.push(EVIL.to_owned());
    }
    run
}

fn store_of(folder: &Path, runs: &[Run]) -> Store {
    let mut store = Store::open(&folder.join("runs.db")).unwrap();
    for run in runs {
        write(&mut store, run);
    }
    store
}

fn all_pages<'a>(store: &'a Store, studies: Option<&'a Studies>) -> Pages<'a> {
    Pages { store, studies, with_page: None, is_served: true }
}

/// Targets of the links in a page.
fn links(page: &str) -> Vec<String> {
    let targets = page.split("href=\"").skip(1).filter_map(|rest| rest.split('"').next());
    targets.map(|target| target.replace("&#x2f;", "/")).collect()
}

/// Asserts that foreign text adds no tags and no attributes.
fn is_harmless(page: &str) {
    let lower = page.to_lowercase();
    for bad in ["<script>", "<img src=x", "onerror=alert(1)>", "</script></title>", "\u{1b}", "\u{202e}"] {
        assert!(!lower.contains(bad), "{bad}: {page}");
    }
    assert_eq!(
        lower.matches("<script").count(),
        lower.matches("<script src=\"../live.js\" defer></script>").count()
    );
    // Quotes within attribute values are escaped.
    let tags = page.split('<').skip(1).filter_map(|rest| rest.split('>').next());
    tags.for_each(|tag| assert!(!tag.contains("\" onload="), "{tag}: {page}"));
    assert!(!page.contains("49\u{202e}") && !page.contains("[31m49"), "a template evaluated it: {page}");
}

#[test]
fn foreign_text_is_escaped_on_every_page() {
    let folder = tempfile::tempdir().unwrap();
    let mut second = evil_run();
    second.header.id = "20260102-120000-0008".into();
    let mut foreign = evil_run();
    foreign.header.id = EVIL.to_owned();
    foreign.header.workload = EVIL.to_owned();
    foreign.status = RunStatus::Running;
    let mut live = evil_run();
    live.header.id = "20260103-120000-0009".into();
    live.status = RunStatus::Running;
    let store = store_of(folder.path(), &[evil_run(), second, foreign, live]);
    std::fs::write(
        folder.path().join("study.md"),
        format!("# {EVIL}\n\n{EVIL}\n\n[{EVIL}](javascript:alert(1))\n"),
    )
    .unwrap();
    let studies = Studies::new(folder.path());
    let pages = all_pages(&store, Some(&studies));
    let _claim = store.claim("20260103-120000-0009").unwrap();
    let addresses = [
        "index.html",
        "runs-1.html",
        "history/dummy.html",
        "runs/20260101-120000-0007.html",
        "runs/20260103-120000-0009.html",
        "studies/study.html",
    ];
    for path in addresses {
        let page = pages.page(&Address::parse(path).unwrap()).unwrap().unwrap_or_else(|| panic!("no {path}"));
        is_harmless(&page);
        assert!(page.contains("Content-Security-Policy") && page.starts_with("<!DOCTYPE html>"), "{path}");
        for link in links(&page) {
            assert!(
                link.starts_with(['#', '.'])
                    || link.starts_with("data:image/svg+xml,")
                    || Address::parse(&link).is_some(),
                "{path}: {link}"
            );
        }
        assert_eq!(
            page.contains("<script"),
            path.ends_with("0009.html"),
            "{path}: only a running run has a script"
        );
    }
    is_harmless(&notice(EVIL, EVIL, true).unwrap());
}

#[test]
fn every_link_has_a_page() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("studies")).unwrap();
    std::fs::write(folder.path().join("studies/a.md"), "# A\n\n[b](b.md) [c](c.md)\n").unwrap();
    std::fs::write(folder.path().join("studies/b.md"), "# B\n").unwrap();
    let studies = Studies::new(&folder.path().join("studies"));
    let runs: Vec<Run> = (0..40)
        .map(|i| {
            let mut run = fixture::run(
                &[CannedContender {
                    name: "one",
                    status: CellStatus::Ok,
                    rates: &[1, 2, 3],
                    sink_cpu_percent: 1,
                }],
                None,
            );
            run.header.id = format!("20260101-1200{i:02}-0007");
            run
        })
        .collect();
    let store = store_of(folder.path(), &runs);
    let pages = all_pages(&store, Some(&studies));
    let (mut open, mut visited) = (vec![Address::Index], BTreeSet::new());
    while let Some(address) = open.pop() {
        if !visited.insert(address.clone()) {
            continue;
        }
        let page = pages.page(&address).unwrap().unwrap_or_else(|| panic!("no {address:?}"));
        for link in links(&page).into_iter().filter(|l| !l.starts_with(['#']) && !l.starts_with("data:")) {
            let path = match link.strip_prefix("../").map(str::to_owned) {
                Some(path) => path,
                None if matches!(address, Address::Index | Address::Runs(_)) => link.clone(),
                None => format!("{}/{link}", address.path().split('/').next().unwrap()),
            };
            open.push(Address::parse(&path).unwrap_or_else(|| panic!("{address:?}: {link}")));
        }
    }
    assert_eq!(visited.len(), 1 + 1 + 40 + 1 + 2, "{visited:?}");
    assert!(pages.page(&Address::Runs(2)).unwrap().is_none());
    assert!(pages.page(&Address::Run("none".into())).unwrap().is_none());
    assert!(pages.page(&Address::History("none".into())).unwrap().is_none());
    assert!(pages.page(&Address::Study("c".into())).unwrap().is_none());
}

#[test]
fn the_index_of_an_empty_store_explains_how_to_start() {
    let folder = tempfile::tempdir().unwrap();
    let store = store_of(folder.path(), &[]);
    let index = all_pages(&store, None).page(&Address::Index).unwrap().unwrap();
    assert!(index.contains("netdyno run WORKLOAD") && !index.contains("Newest runs"), "{index}");
    assert!(all_pages(&store, None).page(&Address::Runs(1)).unwrap().unwrap().contains("<h1>Runs</h1>"));
}

#[test]
fn a_history_shows_a_change_and_concurrent_differences() {
    let folder = tempfile::tempdir().unwrap();
    let runs: Vec<Run> = (0..12)
        .map(|i| {
            let rate = if i < 6 { 2000 } else { 1500 };
            let rates = [rate, rate + i % 3, rate - i % 3];
            let contender =
                |name, rates| CannedContender { name, status: CellStatus::Ok, rates, sink_cpu_percent: 50 };
            let mut run =
                fixture::run(&[contender("base", &[1000, 1001, 999]), contender("rival", &rates)], None);
            run.header.id = format!("20260101-1200{i:02}-0007");
            run.header.host.kernel = if i < 6 { "6.1" } else { "6.2" }.to_owned();
            run
        })
        .collect();
    let store = store_of(folder.path(), &runs);
    let page = all_pages(&store, None).page(&Address::History("dummy".into())).unwrap().unwrap();
    assert!(page.contains("<strong class=\"worse\">0.75x the previous ratio (0.7"), "{page}");
    assert!(
        page.contains("<a href=\"..&#x2f;runs&#x2f;20260101-120006-0007.html\">20260101-120006-0007</a>"),
        "{page}"
    );
    assert!(page.contains("<li>kernel: 6.1, then 6.2</li>"), "{page}");
    // The figures are accessible without the picture.
    assert!(page.contains("role=\"img\" aria-label=\"rival: counted relative to base, 12 runs\""), "{page}");
    assert!(page.contains("<th scope=\"row\">20260101-120011-0007</th><td>1.5"), "{page}");
}

#[test]
fn a_running_run_shows_the_convergence_of_its_intervals() {
    let folder = tempfile::tempdir().unwrap();
    let rates: Vec<u64> = (0..30).map(|i| 2000 + 37 * (i % 5)).collect();
    let base = vec![1000; rates.len()];
    let contender =
        |name, rates| CannedContender { name, status: CellStatus::Ok, rates, sink_cpu_percent: 50 };
    let mut run = fixture::run(
        &[contender("base", &base[..]), contender("rival", &rates[..]), contender("late", &[])],
        None,
    );
    run.status = RunStatus::Running;
    run.stopped_because = StopReason::Running;
    run.cells[2].status = CellStatus::Planned;
    let (id, path) = (run.header.id.clone(), folder.path().join("runs.db"));
    let mut writer = Store::open(&path).unwrap();
    writer.begin_run(&run.header, &run.cells).unwrap();
    let claim = writer.claim(&id).unwrap();
    let reader = Store::open(&path).unwrap();
    let mut following = Following::new(reader.load_head(&id).unwrap()).unwrap();
    following.refresh(&reader).unwrap();
    assert!(following.html().unwrap().contains("No results yet") && following.rounds.is_empty());
    for trial in &run.trials {
        writer.add_trial(&id, trial).unwrap();
        following.refresh(&reader).unwrap();
    }
    let width = |round: &live::Round| {
        let (_, within) = round.ratios.iter().find(|r| r.0 == 1).unwrap();
        within.low.zip(within.high).map(|(low, high)| high / low)
    };
    let widths: Vec<Option<f64>> = following.rounds.iter().map(width).collect();
    assert_eq!((widths.len(), widths[0], widths[1]), (29, None, None));
    assert!(widths[28] < widths[2].map(|w| w / 1.02), "{widths:?}");
    let html = following.html().unwrap();
    for part in [
        "<strong>1</strong> of 2 decided",
        "block 30 of at most 10",
        "better, counted 2.0",
        "Not measured yet: late.",
    ] {
        assert!(html.contains(part), "{part}: {html}");
    }
    // A later follower sees the same in fewer rounds.
    let mut later = Following::new(reader.load_head(&id).unwrap()).unwrap();
    later.refresh(&reader).unwrap();
    assert!((10..=24).contains(&later.rounds.len()), "{}", later.rounds.len());
    assert_eq!(later.rounds.last().map(width), Some(widths[27]));
    let page = all_pages(&reader, None).page(&Address::Run(id.clone())).unwrap().unwrap();
    assert!(page.contains(&format!("data-events=\"{id}&#x2f;events\"")), "{page}");

    writer.set_status(&id, RunStatus::Finished, StopReason::Decided).unwrap();
    drop(claim);
    following.refresh(&reader).unwrap();
    assert!(following.is_over());
    let page = all_pages(&reader, None).page(&Address::Run(id)).unwrap().unwrap();
    assert!(!page.contains("data-events"), "{page}");
}

/// `cargo test -p netdyno-lab-report --release --lib thousand_runs -- --ignored --nocapture`
#[test]
#[ignore = "a benchmark"]
fn rendering_time_of_a_thousand_runs() {
    let folder = tempfile::tempdir().unwrap();
    let names: Vec<String> = (0..12).map(|i| format!("contender-{i}")).collect();
    let contender = |name| CannedContender { name, status: CellStatus::Ok, rates: &[], sink_cpu_percent: 50 };
    let mut run = fixture::run(&names.iter().map(|name| contender(name)).collect::<Vec<_>>(), None);
    // As large as a real run: manifest and mitigations in the header, builds in the cells.
    run.header.arena = "x".repeat(20_000);
    for cell in &mut run.cells {
        cell.reason = "x".repeat(2_000);
    }
    let mut store = Store::open(&folder.path().join("runs.db")).unwrap();
    for i in 0..1000 {
        run.header.id = format!("20260101-{i:06}-0007");
        run.header.started_at += jiff::Span::new().seconds(1);
        write(&mut store, &run);
        store
            .keep_digest(
                &run.header.id,
                1,
                "best: contender-1, 2.00x that of contender-0 (1.98 - 2.02)",
                "{}",
            )
            .unwrap();
    }
    drop(store);
    for _ in 0..3 {
        let begun = std::time::Instant::now();
        let store = Store::open(&folder.path().join("runs.db")).unwrap();
        let print = |step: &str, bytes: usize| {
            println!("{step}: {:.1} ms, {bytes} bytes", begun.elapsed().as_secs_f64() * 1e3);
        };
        print("open", 0);
        print("list", store.list(Listing::newest(1000)).unwrap().len());
        for address in [Address::Index, Address::Runs(1), Address::Runs(4)] {
            print(&address.path(), all_pages(&store, None).page(&address).unwrap().unwrap().len());
        }
    }
}
