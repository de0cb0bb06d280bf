//! The published values of `claims/*.toml`, compared with the numbers that their articles print: `claims/sources/*.toml`.
#![allow(clippy::unwrap_used, missing_docs)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use netdyno_lab_analysis::claims::{Article, ArticleClaim, ValueKind, folder, load_all};
use serde::Deserialize;

/// Where the published values of an article stand.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Source {
    /// Id of the article.
    article: String,
    title: String,
    author: String,
    date: String,
    url: String,
    /// The program that produced the figures, or the author's data.
    program: String,
    numbers: BTreeMap<String, Number>,
    /// By claim.
    values: BTreeMap<String, Values>,
}

/// A number that the article prints.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Number {
    printed: String,
    unit: String,
    /// Three to eight words.
    meaning: String,
    section: String,
    /// Line in the article's text; none in a picture.
    line: Option<u32>,
    /// The article marks the number as approximate.
    #[serde(default)]
    estimated: bool,
}

/// The terms of a claim's published values.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Values {
    a: Option<Term>,
    b: Option<Term>,
    ratio: Option<Term>,
    /// The side `{ figure = .. }`, in the metric's unit.
    figure: Option<Term>,
    /// Further numbers of the statement.
    #[serde(default)]
    also: Vec<String>,
}

/// A number, or a calculation with numbers.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Term {
    Printed(String),
    Calculated(Calculation),
}

#[derive(Debug, Deserialize)]
struct Calculation {
    #[serde(flatten)]
    operation: Operation,
    /// Factor from the unit of the numbers to that of the published value.
    #[serde(default = "one")]
    scale: f64,
}

fn one() -> f64 {
    1.0
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Operation {
    /// The number itself, in another unit.
    Number(String),
    Ratio([String; 2]),
    Difference([String; 2]),
    Mean([String; 2]),
    Inverse(String),
    /// The rest after a saving in per cent.
    Saving(String),
}

impl Operation {
    fn names(&self) -> Vec<&String> {
        match self {
            Self::Number(name) | Self::Inverse(name) | Self::Saving(name) => vec![name],
            Self::Ratio(names) | Self::Difference(names) | Self::Mean(names) => names.iter().collect(),
        }
    }
}

impl Term {
    fn names(&self) -> Vec<&String> {
        match self {
            Self::Printed(name) => vec![name],
            Self::Calculated(calculation) => calculation.operation.names(),
        }
    }

    fn is_quotation(&self) -> bool {
        matches!(
            self,
            Self::Printed(_) | Self::Calculated(Calculation { operation: Operation::Number(_), .. })
        )
    }

    fn value(&self, number: impl Fn(&str) -> f64) -> f64 {
        let Calculation { operation, scale } = match self {
            Self::Printed(name) => return number(name),
            Self::Calculated(calculation) => calculation,
        };
        scale
            * match operation {
                Operation::Number(name) => number(name),
                Operation::Ratio([a, b]) => number(a) / number(b),
                Operation::Difference([a, b]) => number(a) - number(b),
                Operation::Mean([a, b]) => f64::midpoint(number(a), number(b)),
                Operation::Inverse(name) => 1.0 / number(name),
                Operation::Saving(name) => 1.0 - number(name) / 100.0,
            }
    }
}

impl Values {
    fn terms(&self) -> impl Iterator<Item = &Term> {
        [&self.a, &self.b, &self.ratio].into_iter().flatten()
    }

    fn names(&self) -> impl Iterator<Item = &String> {
        self.terms().chain(&self.figure).flat_map(Term::names).chain(&self.also)
    }
}

impl Source {
    fn number(&self, name: &str) -> f64 {
        self.numbers.get(name).and_then(|n| n.printed.replace(',', "").parse().ok()).unwrap_or(f64::NAN)
    }

    /// The least certain kind of the terms.
    fn kind(&self, values: &Values) -> Option<ValueKind> {
        let kind = |term: &Term| {
            let is_estimated = |name: &&String| self.numbers.get(*name).is_some_and(|n| n.estimated);
            if term.names().iter().any(is_estimated) {
                ValueKind::Estimated
            } else if term.is_quotation() {
                ValueKind::Quoted
            } else {
                ValueKind::Calculated
            }
        };
        values.terms().map(kind).max()
    }
}

/// Half a unit of the last decimal place of a value.
fn rounding(printed: &str) -> f64 {
    let decimals = printed.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    0.5 * 10f64.powi(-i32::try_from(decimals).unwrap()) * (1.0 + 1e-9)
}

/// The numbers of a statement, except for those in parentheses that begin with "here" and those that belong to a word.
fn numbers_of(statement: &str) -> Vec<String> {
    let mut text = statement.replace("RFC 2435", "");
    while let Some((before, rest)) = text.split_once("(here") {
        text = format!("{before}{}", rest.split_once(')').map_or("", |(_, after)| after));
    }
    let is_part = |c: char| c.is_ascii_alphanumeric() || ".,-'".contains(c);
    let words = text.split(|c: char| !is_part(c)).map(|word| word.trim_matches(|c: char| ".,-'".contains(c)));
    let is_number =
        |word: &&str| !word.is_empty() && word.chars().all(|c| c.is_ascii_digit() || ".,".contains(c));
    words.filter(is_number).map(|word| word.replace(',', "")).collect()
}

/// The differences between the claims of an article and their source.
fn differences(article: &Article, source: &Source) -> Vec<String> {
    let mut wrong = Vec::new();
    if article.id != source.article || !article.title.starts_with(&source.title) {
        wrong.push(format!("{}: the source is that of {} {:?}", article.id, source.article, source.title));
    }
    for text in [&source.author, &source.date, &source.url, &source.program] {
        if text.trim().is_empty() {
            wrong.push("author, date, url or program is empty".to_owned());
        }
    }
    for (name, number) in &source.numbers {
        if !source.number(name).is_finite() || number.unit.is_empty() || number.section.is_empty() {
            wrong.push(format!("{name}: is not a number with its unit and section"));
        }
        if !(3..=8).contains(&number.meaning.split_whitespace().count()) {
            wrong.push(format!("{name}: its meaning needs three to eight words"));
        }
        let is_picture = ["picture", "spreadsheet"].iter().any(|kind| number.section.contains(kind));
        if number.line.is_some() == is_picture {
            wrong.push(format!(
                "{name}: needs a line of the text, or a picture or spreadsheet as its section"
            ));
        }
    }
    let used: BTreeSet<&String> = source.values.values().flat_map(Values::names).collect();
    let unused = source.numbers.keys().filter(|name| !used.contains(name));
    wrong.extend(unused.map(|name| format!("{name}: no value uses it")));
    let unknown = used.iter().filter(|name| !source.numbers.contains_key(name.as_str()));
    wrong.extend(unknown.map(|name| format!("{name}: unknown number")));
    let strange = source.values.keys().filter(|id| article.claims.iter().all(|claim| claim.id != **id));
    wrong.extend(strange.map(|id| format!("{id}: no claim has this id")));
    for claim in &article.claims {
        let found = claim_differences(claim, source);
        wrong.extend(found.into_iter().map(|why| format!("{}: {why}", claim.id)));
    }
    wrong
}

fn claim_differences(claim: &ArticleClaim, source: &Source) -> Vec<String> {
    let published = &claim.published;
    let values = source.values.get(&claim.id);
    let figure = claim.b.figure;
    let mut wrong = Vec::new();
    let fields = [
        ("a", published.a, values.and_then(|v| v.a.as_ref())),
        ("b", published.b, values.and_then(|v| v.b.as_ref())),
        ("ratio", published.ratio, values.and_then(|v| v.ratio.as_ref())),
        ("figure", figure, values.and_then(|v| v.figure.as_ref())),
    ];
    for (field, value, term) in fields {
        let (value, term) = match (value, term) {
            (None, None) => continue,
            (Some(value), Some(term)) => (value, term),
            (value, _) => {
                let missing = if value.is_some() { "source" } else { "published value" };
                wrong.push(format!("{field} has no {missing}"));
                continue;
            }
        };
        let expected = term.value(|name| source.number(name));
        let tolerance = if term.is_quotation() {
            1e-9 * expected
        } else if field == "figure" {
            // A figure in ns is rounded to four digits.
            5e-4 * expected
        } else {
            rounding(&value.to_string())
        };
        let is_equal = (value - expected).abs() <= tolerance;
        if !is_equal {
            wrong.push(format!("{field} is {value}, not {expected}"));
        }
    }
    let kind = values.and_then(|values| source.kind(values));
    if published.kind != kind {
        wrong.push(format!("the kind is {:?}, not {kind:?}", published.kind));
    }
    let ratios = published.ratio().map(|r| [r, 1.0 / r, 100.0 * r, 100.0 / r, 100.0 * (1.0 - r)]);
    let printed = values.into_iter().flat_map(Values::names).map(|name| source.number(name));
    let known: Vec<f64> =
        printed.chain(published.a).chain(published.b).chain(ratios.into_iter().flatten()).collect();
    for number in numbers_of(&claim.statement) {
        let value: f64 = number.parse().unwrap();
        if !known.iter().any(|k| (k - value).abs() <= rounding(&number)) {
            wrong.push(format!("{number} in the statement has no source"));
        }
    }
    wrong
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

#[test]
fn published_values_are_those_of_the_articles() {
    let all = load_all(&root()).unwrap();
    assert_eq!(all.len(), 5);
    let mut wrong = Vec::new();
    for loaded in &all {
        let name = loaded.file.file_name().unwrap();
        let text = read(&folder(&root()).join("sources").join(name));
        let source: Source =
            toml::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", loaded.file.display()));
        let found = differences(&loaded.article, &source);
        wrong.extend(found.into_iter().map(|why| format!("{}.{why}", loaded.article.id)));
        let study = root().join("docs/studies").join(name).with_extension("md");
        let words = read(&study).split_whitespace().collect::<Vec<_>>().join(" ");
        for part in [&source.url, &source.title, &source.author] {
            if !words.contains(part.as_str()) {
                wrong.push(format!("{}: lacks {part:?}", study.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "\n  {}", wrong.join("\n  "));
}

const ARTICLE: &str = r#"
id = "X"
title = "Fast, faster (part 1)"
about = "one and two"
[methods.fair]
about = "alike"
run = "dummy one two --blocks"
seconds = 10
[[claims]]
id = "rate"
statement = "one counts 1.5 times as fast as two (3.0 M/s, p99 of 1,024 bytes)"
metric = "throughput"
a = { contender = "one" }
b = { contender = "two" }
published = { a = 3, b = 2, unit = "M/s", kind = "quoted" }
claim = { is = "more" }
[[claims]]
id = "time"
statement = "one takes 0.67 of two's time, 33 % less (here: at 8/s)"
metric = "throughput"
a = { contender = "one" }
b = { contender = "two" }
published = { a = 0.333, b = 0.5, unit = "us", kind = "calculated" }
claim = { is = "less" }
[[claims]]
id = "size"
statement = "one needs about 5 MB"
metric = "peak_rss"
a = { contender = "one" }
b = { figure = 5000000.0 }
published = { a = 5, unit = "MB", kind = "estimated" }
claim = { is = "about", within = 1.5 }
"#;

const SOURCE: &str = r#"
article = "X"
title = "Fast, faster"
author = "A. Author"
date = "1 May 2024"
url = "https://example.org/fast"
program = "https://example.org/fast.c"
[numbers]
one = { printed = "3.00", unit = "M/s", meaning = "rate of program one", section = "Results", line = 7 }
two = { printed = "2", unit = "M/s", meaning = "rate of program two", section = "Results (a picture)" }
bytes = { printed = "1,024", unit = "bytes", meaning = "length of the messages", section = "Results", line = 9 }
memory = { printed = "5", unit = "MB", meaning = "memory of program one", section = "Results", line = 10, estimated = true }
[values]
rate = { a = "one", b = "two", also = ["bytes"] }
time = { a = { inverse = "one" }, b = { inverse = "two" } }
size = { a = "memory", figure = { number = "memory", scale = 1e6 } }
"#;

/// Differences after a replacement in either text.
fn differences_of(from: &str, to: &str) -> Vec<String> {
    assert_eq!(ARTICLE.matches(from).count() + SOURCE.matches(from).count(), 1, "{from}");
    let article = Article::parse(Path::new("x.toml"), &ARTICLE.replace(from, to)).unwrap();
    differences(&article, &toml::from_str(&SOURCE.replace(from, to)).unwrap())
}

#[test]
fn each_difference_is_found() {
    assert_eq!(differences_of("A. Author", "A. Author"), [""; 0]);
    for (from, to, difference) in [
        ("a = 3, b = 2", "a = 3.1, b = 2", "rate: a is 3.1, not 3"),
        ("printed = \"2\"", "printed = \"2.1\"", "rate: b is 2, not 2.1"),
        ("a = 0.333, b", "a = 0.34, b", "time: a is 0.34, not 0.333"),
        ("a = 0.333, b", "a = 0.3, b", "33 in the statement has no source"),
        (
            "kind = \"calculated\"",
            "kind = \"quoted\"",
            "time: the kind is Some(Quoted), not Some(Calculated)",
        ),
        ("line = 7 }", "line = 7, estimated = true }", "rate: the kind is Some(Quoted), not Some(Estimated)"),
        ("5000000.0", "5000.0", "size: figure is 5000, not 5000000"),
        (", figure = { number = \"memory\", scale = 1e6 }", "", "size: figure has no source"),
        ("a = 5, unit = \"MB\", kind = \"estimated\"", "", "size: a has no published value"),
        ("size = { a", "length = { a", "length: no claim has this id"),
        ("size = { a", "length = { a", "size: a has no source"),
        (", also = [\"bytes\"]", "", "bytes: no value uses it"),
        (", also = [\"bytes\"]", "", "rate: 1024 in the statement has no source"),
        ("also = [\"bytes\"]", "also = [\"byte\"]", "byte: unknown number"),
        ("1.5 times", "1.6 times", "rate: 1.6 in the statement has no source"),
        ("(3.0 M/s", "(3.1 M/s", "rate: 3.1 in the statement has no source"),
        ("article = \"X\"", "article = \"Y\"", "X: the source is that of Y"),
        ("title = \"Fast, faster\"\nauthor", "title = \"Slow\"\nauthor", "X: the source is that of X"),
        ("\"1 May 2024\"", "\"\"", "author, date, url or program is empty"),
        ("rate of program one", "rate", "one: its meaning needs three to eight words"),
        ("section = \"Results\", line = 9", "section = \"Results\"", "bytes: needs a line"),
        ("printed = \"1,024\"", "printed = \"many\"", "bytes: is not a number"),
    ] {
        let found = differences_of(from, to);
        assert!(found.iter().any(|text| text.contains(difference)), "{from} -> {to}: {found:?}");
    }
}
