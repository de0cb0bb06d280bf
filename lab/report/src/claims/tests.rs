//! A valid file of claims, the error for each defect in it, and its verdicts from synthetic runs.
#![allow(clippy::unwrap_used)]

use std::path::Path;

use netdyno_lab_analysis::claims::*;

use super::*;
use crate::plot::{WIDTH, ranking_svg};
use netdyno_lab_store::fixture::{self, CannedContender};
use netdyno_lab_store::{CellStatus, Run};

const FILE: &str = r#"
id = "X"
title = "Fast, faster"
about = "one and two"
conditions = ["a debug build"]
differs = ["another machine"]
[methods.article]
about = "as published"
run = "dummy one two"
seconds = 10
[methods.fair]
about = "alike"
run = "dummy one two --blocks"
seconds = 10
[methods.release]
about = "as published, optimised"
run = "dummy one two"
env = { CARGO_PROFILE_RELEASE_OPT_LEVEL = "3" }
seconds = 10
[[claims]]
id = "rate"
statement = "one counts 1.5 times as fast as two"
metric = "throughput"
a = { contender = "one" }
b = { contender = "two" }
published = { a = 3, b = 2, unit = "M/s", kind = "estimated" }
claim = { is = "more" }
[[claims.experiments]]
about = "optimised"
without = "a debug build"
method = "release"
[[claims]]
id = "rate-amount"
statement = "and no more than that"
metric = "throughput"
a = { contender = "one" }
b = { contender = "two" }
published = { a = 3, b = 2, kind = "quoted" }
claim = { is = "about", within = 1.2 }
[[claims]]
id = "pauses"
statement = "two pauses"
published = { a = 4, unit = "1/s", kind = "calculated" }
untested = "no source"
"#;

fn article() -> Article {
    Article::parse(Path::new("x.toml"), FILE).unwrap()
}

/// Errors of the file with `from` replaced by `to`.
fn errors(from: &str, to: &str) -> String {
    assert!(FILE.contains(from), "{from}");
    let problems = Article::parse(Path::new("x.toml"), &FILE.replacen(from, to, 1)).unwrap_err();
    problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

#[test]
fn defects_are_reported_with_their_location() {
    for (from, to, parts) in [
        ("id = \"X\"", "id = \"X.y\"", &["x.toml:2: id: ", "not a valid id"][..]),
        ("id = \"pauses\"", "id = \"rate\"", &["claims[2].id", "not a unique id"]),
        ("title = \"Fast, faster\"", "title = \" \"", &["title: must not be empty"]),
        ("statement = \"one", "statment = \"one", &["claims[0]", "statment", "did you mean statement?"]),
        ("metric = \"throughput\"\n", "", &["claims[0].metric"]),
        ("claim = { is = \"more\" }", "", &["claims[0].claim", "{ is = \"more\" }", "untested"]),
        ("is = \"more\"", "is = \"mroe\"", &["claims[0].claim.is", "did you mean more?"]),
        ("is = \"more\"", "is = \"more\", within = 2", &["claims[0].claim", "only valid with \"about\""]),
        ("within = 1.2", "within = 0.5", &["claims[1].claim", "a factor above 1"]),
        ("published = { a = 3, b = 2, kind = \"quoted\" }", "", &["claims[1].claim", "needs a `ratio`"]),
        (
            ", kind = \"estimated\"",
            "",
            &["claims[0].published.kind", "\"quoted\", \"calculated\" or \"estimated\""],
        ),
        (", kind = \"calculated\"", "", &["claims[2].published.kind", "must state the kind"]),
        (
            "kind = \"estimated\"",
            "kind = \"estmated\"",
            &["claims[0].published.kind", "did you mean estimated?"],
        ),
        (
            "a = 4, unit = \"1/s\", kind",
            "unit = \"1/s\", kind",
            &["claims[2].published.kind", "only valid with a value"],
        ),
        (
            "a = { contender = \"one\" }",
            "a = { figure = 3 }",
            &["claims[0].article.a", "a contender or roles"],
        ),
        (
            "b = { contender = \"two\" }",
            "b = { figure = -3.0 }",
            &["claims[0].article.b.figure", "more than 0"],
        ),
        ("b = { contender = \"two\" }", "", &["claims[0].article.b", "or be a `figure`"]),
        ("method = \"release\"", "method = \"relaese\"", &["experiments[0].method", "did you mean release?"]),
        (
            "method = \"release\"",
            "method = \"release\"\nwith = \"x\"",
            &["experiments[0].without", "either adds or removes"],
        ),
        ("[methods.fair]", "[methods.alike]", &["claims[0].fair", "must name the fair method"]),
        (
            "CARGO_PROFILE_RELEASE_OPT_LEVEL",
            "RUSTC_WRAPPER",
            &["methods.release.env", "not a permitted variable"],
        ),
        ("seconds = 10", "seconds = 0", &["methods.article.seconds", "from 1 to"]),
    ] {
        let errors = errors(from, to);
        assert!(parts.iter().all(|part| errors.contains(part)), "{to}: {errors}");
    }
}

#[test]
fn claims_are_selected_by_prefix() {
    let article = article();
    let ids =
        |wanted| -> Vec<&str> { named(&article, wanted).unwrap().iter().map(|c| c.id.as_str()).collect() };
    assert_eq!(ids(None), ["rate", "rate-amount", "pauses"]);
    assert_eq!(ids(Some("rate")), ["rate", "rate-amount"]);
    assert_eq!(ids(Some("rate-amount")), ["rate-amount"]);
    assert!(named(&article, Some("rat")).unwrap_err().to_string().contains("did you mean \"rate\"?"));
}

/// A run in which "one" counts `ratio / 2` times as fast as "two".
fn run(ratio: u64) -> Run {
    let contender =
        |name, rates| CannedContender { name, status: CellStatus::Ok, rates, sink_cpu_percent: 50 };
    let fast = [1000 * ratio, 1010 * ratio, 990 * ratio];
    fixture::run(&[contender("one", &fast), contender("two", &[2000, 2010, 1990])], None)
}

fn judged(article_ratio: u64, fair_ratio: u64, release: Result<u64, &str>) -> Replication {
    let article = article();
    let runs: Runs = [
        ("article".to_owned(), Ok(run(article_ratio))),
        ("fair".to_owned(), Ok(run(fair_ratio))),
        ("release".to_owned(), release.map(run).map_err(str::to_owned)),
    ]
    .into();
    let claims: Vec<&ArticleClaim> = article.claims.iter().collect();
    let articles = vec![judge(&article, &claims, &runs).unwrap()];
    Replication { schema_version: SCHEMA_VERSION, articles }
}

#[test]
fn the_condition_that_causes_the_result_is_named() {
    // Article's method 1.5, fair method 0.5; optimised 0.5, 1.5, or not measured.
    let first_claim = |release| judged(3, 1, release).articles[0].claims[0].clone();
    let isolated = first_claim(Ok(1));
    assert_eq!(isolated.verdict, ClaimVerdict::OnlyAsPublished);
    assert_eq!(isolated.sentence, "holds only under the article's conditions: a debug build");
    assert_eq!((isolated.published_ratio, isolated.id.as_str()), (Some(1.5), "X.rate"));
    assert_eq!(
        isolated.experiments[0].tested.finding,
        Finding::Shown,
        "without the condition, the claim does not hold"
    );
    let unrelated = first_claim(Ok(3));
    assert!(unrelated.conditions.is_empty() && unrelated.sentence.contains("was not found"), "{unrelated:?}");
    assert_eq!(unrelated.experiments[0].tested.finding, Finding::Refuted);
    let missing = first_claim(Err("it does not build"));
    assert_eq!(missing.experiments[0].tested.why, "it does not build");
}

#[test]
fn verdict_sentences() {
    for (own, fair, rate, amount) in [
        (3, 3, "holds; published ratio confirmed", "holds"),
        (
            1,
            3,
            "holds, but the article's own method refutes it here; published ratio confirmed",
            "holds, but the",
        ),
        (1, 1, "does not hold; the article's own method also refutes it", "does not hold; the"),
        (
            3,
            8,
            "holds; published ratio refuted: outside the interval by 2.61x",
            "holds only under the article's conditions (the responsible",
        ),
    ] {
        let claims = &judged(own, fair, Ok(1)).articles[0].claims;
        assert_eq!(claims[0].sentence, rate);
        assert!(claims[1].sentence.starts_with(amount), "{own}, {fair}: {}", claims[1].sentence);
        assert_eq!(claims[2].sentence, "not tested: no source");
    }
}

#[test]
fn both_parts_of_the_verdicts_are_counted() {
    let tally = |confirmed, refuted, undecided| Tally { confirmed, refuted, undecided };
    let all = |direction, size| MethodSummary { direction, size };
    for (ratio, summary) in [
        (3, all(tally(2, 0, 0), tally(2, 0, 0))),
        // The direction is as published, the ratio is not.
        (8, all(tally(2, 0, 0), tally(0, 2, 0))),
        (1, all(tally(0, 2, 0), tally(0, 2, 0))),
    ] {
        let judged = judged(3, ratio, Ok(1)).articles.remove(0);
        assert_eq!(judged.summary.fair, summary, "{ratio}");
        assert_eq!(judged.summary.article, all(tally(2, 0, 0), tally(2, 0, 0)));
        let text = terminal(&Replication { schema_version: SCHEMA_VERSION, articles: vec![judged] }, 200);
        assert!(text.contains("Fair method: direction confirmed for"), "{text}");
    }
}

#[test]
fn a_claim_without_a_run_is_not_tested() {
    let article = article();
    let runs: Runs =
        [("article".to_owned(), Ok(run(3))), ("fair".to_owned(), Err("interrupted".to_owned()))].into();
    let judged = judge(&article, &[&article.claims[0]], &runs).unwrap();
    let claim = &judged.claims[0];
    assert_eq!(claim.verdict, ClaimVerdict::NotTested);
    assert_eq!(claim.sentence, "not tested: interrupted; confirmed by the article's own method");
    assert!(claim.experiments[0].tested.why.contains("no run of the method release"));
}

#[test]
fn every_format_has_the_verdict() {
    let replication = judged(3, 1, Ok(1));
    for width in [60, 100, 200] {
        let text = terminal(&replication, width);
        assert!(text.lines().all(|line| line.chars().count() <= width), "{text}");
    }
    let text = terminal(&replication, 200);
    for part in [
        "X  Fast, faster",
        "1.50x (estimated)",
        "4 1/s (calculated)",
        "0.50x (0.49",
        "holds only under the article's conditions: a debug build",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let markdown = markdown(&replication);
    for part in [
        "| 3 : 2 M/s (estimated), 1.50x |",
        "| 3 : 2, 1.50x |",
        "| 4 1/s (calculated) |",
        "| one counts 1.5 times as fast as two (X.rate) |",
        "`netdyno run dummy one two`",
    ] {
        assert!(markdown.contains(part), "{part}: {markdown}");
    }
    let json = serde_json::to_string(&replication).unwrap();
    assert_eq!(serde_json::from_str::<Replication>(&json).unwrap(), replication);
    let svg = ranking_svg(&picture(&replication.articles[0]).unwrap(), WIDTH).file();
    let document = roxmltree::Document::parse(&svg).unwrap();
    let texts: Vec<&str> = document.descendants().filter_map(|n| n.text()).collect();
    assert!(texts.iter().any(|t| t.contains("X.rate")) && texts.contains(&"refuted"), "{texts:?}");
}

#[test]
fn text_of_a_file_is_escaped() {
    let hostile = FILE.replace("one counts", "<script>alert(1)</script> | `x`");
    let article = Article::parse(Path::new("x.toml"), &hostile).unwrap();
    let claims: Vec<&ArticleClaim> = article.claims.iter().collect();
    let runs: Runs =
        [("article", 3), ("fair", 1)].map(|(name, ratio)| (name.to_owned(), Ok(run(ratio)))).into();
    let judged = judge(&article, &claims, &runs).unwrap();
    let markdown = markdown(&Replication { schema_version: SCHEMA_VERSION, articles: vec![judged] });
    assert!(!markdown.contains("<script>") && markdown.contains("\\| \\`x\\`"), "{markdown}");
}
