//! What the first sentence claims.

use super::super::answer::about_ceiling;
use super::super::*;
use super::made_up::{contender, matrix, report_of};
use netdyno_lab_store::CellStatus;
use netdyno_lab_store::fixture::{Contender, run};

fn said(report: &Report, workload: &Workload) -> String {
    let page = context(report, workload);
    page.answer.sentence.iter().map(|p| p.text.as_str()).collect()
}

fn of(contenders: &[Contender<'_>], ceiling: Option<&str>) -> String {
    let (report, workload) = report_of(&run(contenders, ceiling));
    said(&report, &workload)
}

#[test]
fn it_says_no_more_than_the_intervals() {
    let base = || contender("base", &[1000, 1010, 990, 1000]);
    let quick = || contender("quick", &[2000, 2010, 1990, 2005]);
    for (contenders, part) in [
        (vec![base(), quick()], "quick has the highest counted: 2.00 times that of base ("),
        (
            vec![base(), contender("slow", &[500, 505, 495, 501])],
            "base has the highest counted; next is slow with 0.50 times that (",
        ),
        (
            vec![base(), contender("same", &[1000, 1010, 990, 1001])],
            "Nobody differs from base by more than 2 % in counted.",
        ),
        (
            vec![base(), contender("wild", &[3000, 90, 5000, 700])],
            "Undecided: of 2 nobody is surely ahead in counted.",
        ),
        (
            vec![
                base(),
                quick(),
                contender("twin", &[2001, 2008, 1991, 2006]),
                contender("slow", &[500, 505, 495, 501]),
            ],
            " are ahead in counted; which of them is first is not decided.",
        ),
        (vec![base()], "base: counted 1.00 k/s, with nobody to compare it with."),
    ] {
        let text = of(&contenders, None);
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn it_says_when_there_is_nothing_to_say() {
    let without = |name, status| Contender { name, status, rates: &[], sink_cpu_percent: 0 };
    let failed = [
        without("one", CellStatus::Failed),
        without("two", CellStatus::Failed),
        without("three", CellStatus::Skipped),
    ];
    assert_eq!(of(&failed, None), "Nothing was measured: 2 failed, 1 skipped.");
    let bound = [contender("bound", &[9000; 3]), without("one", CellStatus::Failed)];
    assert_eq!(of(&bound, Some("bound")), "Only the ceiling was measured: 1 failed.");
    assert_eq!(of(&bound[..1], Some("bound")), "Only the ceiling was measured.");
    let (mut report, workload) = report_of(&run(&[without("one", CellStatus::Planned)], None));
    assert_eq!(said(&report, &workload), "Nothing was measured: 1 not measured yet.");
    report.cells.clear();
    let text = page(&report, &workload);
    assert!(text.contains("<h1>"), "a run of nothing has a page");
}

#[test]
fn it_counts_who_leads_where() {
    let (report, workload) = super::made_up::large();
    assert_eq!(said(report, workload), "c-io-uring has the highest counted at all 6 settings.");
    let (report, workload) = report_of(&matrix());
    assert!(
        said(&report, &workload).starts_with("right has the highest counted: "),
        "{}",
        said(&report, &workload)
    );
}

#[test]
fn who_passes_the_ceiling_does_not_do_more_than_the_machine_allows() {
    for (share, allowed) in [(0.7, true), (1.0, true), (1.02, true), (1.06, false)] {
        assert_eq!(about_ceiling(share).contains("what the machine allows"), allowed, "{share}");
    }
}
