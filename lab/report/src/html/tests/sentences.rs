//! The sentence at the top of a page.

use super::super::answer::about_ceiling;
use super::super::*;
use super::synthetic::{contender, matrix, report_of};
use netdyno_lab_store::CellStatus;
use netdyno_lab_store::fixture::{CannedContender, run};

fn sentence_of(contenders: &[CannedContender<'_>], ceiling: Option<&str>) -> String {
    let (report, workload) = report_of(&run(contenders, ceiling));
    sentence(&report, &workload)
}

#[test]
fn it_claims_no_more_than_the_intervals_support() {
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
            "No contender differs from base by more than 2 % in counted.",
        ),
        (
            vec![base(), contender("wild", &[3000, 90, 5000, 700])],
            "Undecided: none of 2 contenders is significantly ahead in counted.",
        ),
        (
            vec![
                base(),
                quick(),
                contender("twin", &[2001, 2008, 1991, 2006]),
                contender("slow", &[500, 505, 495, 501]),
            ],
            " lead in counted; the order among them is undecided.",
        ),
        (vec![base()], "base: counted 1.00 k/s; there is no contender to compare it with."),
    ] {
        let text = sentence_of(&contenders, None);
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn it_reports_a_run_without_results() {
    let without = |name, status| CannedContender { name, status, rates: &[], sink_cpu_percent: 0 };
    let failed = [
        without("one", CellStatus::Failed),
        without("two", CellStatus::Failed),
        without("three", CellStatus::Skipped),
    ];
    assert_eq!(sentence_of(&failed, None), "Nothing was measured: 2 failed, 1 skipped.");
    let bound = [contender("bound", &[9000; 3]), without("one", CellStatus::Failed)];
    assert_eq!(sentence_of(&bound, Some("bound")), "Only the ceiling was measured: 1 failed.");
    assert_eq!(sentence_of(&bound[..1], Some("bound")), "Only the ceiling was measured.");
    let (mut report, workload) = report_of(&run(&[without("one", CellStatus::Planned)], None));
    assert_eq!(sentence(&report, &workload), "Nothing was measured: 1 not measured yet.");
    report.cells.clear();
    let text = page(&report, &workload);
    assert!(text.contains("<h1>"), "an empty run has a page");
}

#[test]
fn it_counts_the_settings_each_contender_leads() {
    let (report, workload) = super::synthetic::large();
    assert_eq!(sentence(report, workload), "c-io-uring has the highest counted at all 6 settings.");
    let (report, workload) = report_of(&matrix());
    assert!(
        sentence(&report, &workload).starts_with("right has the highest counted: "),
        "{}",
        sentence(&report, &workload)
    );
}

#[test]
fn a_ceiling_that_is_exceeded_is_not_the_limit_of_the_machine() {
    for (share, is_limit) in [(0.7, true), (1.0, true), (1.02, true), (1.06, false)] {
        assert_eq!(about_ceiling(share).contains("the limit of this machine"), is_limit, "{share}");
    }
}
