//! The output of each verb on terminals of several widths and in pipes: no line is wider than the terminal, except
//! for long words and commands to copy, and logs have no escape sequences.

use std::process::{Command, Stdio};

use crate::bench::Bench;
use crate::duels::{TURNS, bench_with};

/// Columns of a terminal; none: pipes.
const WIDTHS: [Option<usize>; 5] = [Some(40), Some(60), Some(80), Some(120), None];
/// Columns of pipes; lines of stderr are not wrapped there.
const LOG_COLUMNS: usize = 100;
/// Permitted text before a word that is too long: an indent, a mark, a quote.
const BEFORE: usize = 12;

const CLAIMS: &str = r#"
id = "X"
title = "One, two and a title that is a good deal longer than a narrow terminal is wide"
about = "memory of one and two"
conditions = ["a laptop that was not plugged in, with a browser and a video conference beside it"]
[methods.fair]
about = "a core each"
run = "dummy one two --max-blocks 3 --set seconds=0.05"
seconds = 30
[[claims]]
id = "same"
statement = "one needs as much memory as two, whatever else is said of it in the article"
metric = "peak_rss"
a = { contender = "one" }
b = { contender = "two" }
published = { ratio = 1.0, kind = "estimated" }
claim = { is = "about", within = 20.0 }
"#;

/// Runs a command on a terminal of this width.
fn on_terminal(bench: &Bench, arguments: &[&str], columns: usize) -> String {
    let command = bench.command(arguments);
    let words = [command.get_program()].into_iter().chain(command.get_args());
    let quoted: Vec<String> = words.map(|w| format!("'{}'", w.to_str().unwrap())).collect();
    let line = format!("stty cols {columns} rows 50 && exec {}", quoted.join(" "));
    let mut script = Command::new("script");
    script.args(["-qec", &line, "/dev/null"]).stdin(Stdio::null()).env_remove("COLUMNS").env("TERM", "xterm");
    for (name, value) in command.get_envs() {
        script.env(name, value.unwrap());
    }
    String::from_utf8(script.output().unwrap().stdout).unwrap()
}

/// The lines on the terminal, without escape sequences; a carriage return starts a new line.
fn lines(text: &str) -> Vec<String> {
    let mut plain = String::new();
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        if c != '\u{1b}' {
            plain.push(c);
        } else if rest.next() == Some('[') {
            // A control sequence ends with its first letter; all except colours move the cursor.
            let end = rest.by_ref().find(char::is_ascii_alphabetic);
            plain.extend(end.filter(|end| *end != 'm').map(|_| '\n'));
        }
    }
    plain.split(['\n', '\r']).map(|line| line.trim_end().to_owned()).collect()
}

/// A longer line continues in the next row of a terminal: redrawn lines are padded to full rows, which may end
/// between words but not within one.
fn check(arguments: &[&str], columns: Option<usize>, text: &str) {
    let width = columns.unwrap_or(LOG_COLUMNS);
    for line in lines(text) {
        let row: Vec<char> = line.chars().collect();
        let is_cut = |end: usize| columns.is_none() || row[end - 1] != ' ' && row[end] != ' ';
        let fits = !(width..row.len()).step_by(width).any(is_cut);
        let too_wide = line.split_whitespace().any(|word| word.chars().count() + BEFORE > width);
        // A command to copy is not wrapped.
        let is_command = line.starts_with("  netdyno ");
        assert!(fits || too_wide || is_command, "{arguments:?} at {columns:?}: {line:?} in:\n{text:?}");
    }
}

/// Runs commands at each of these widths, each on its own bench, since measurements take time.
fn at_each_width(bench: &Bench, arguments: &[&str], widths: &[Option<usize>]) {
    for &columns in widths {
        let text = match columns {
            Some(columns) => on_terminal(bench, arguments, columns),
            None => {
                let seen = bench.netdyno(arguments);
                let both = format!("{}{}", seen.stdout, seen.stderr);
                assert!(!both.contains(['\u{1b}', '\r']), "{arguments:?}: an escape in a log: {both:?}");
                seen.stdout
            }
        };
        assert!(columns.is_none() || !text.trim().is_empty(), "{arguments:?} at {columns:?}: nothing");
        check(arguments, columns, &text);
    }
}

/// Contenders and claims with long names.
fn bench() -> Bench {
    let bench = bench_with(TURNS);
    bench.write("claims/x.toml", CLAIMS);
    bench.add("three-with-a-long-name", Some("crash"));
    bench
}

const RUN: [&str; 6] = ["run", "dummy", "--max-blocks", "1", "--set", "seconds=0.05"];

/// The narrowest terminal, and pipes.
#[test]
fn measuring_verbs_fit_their_terminal() {
    let measuring: [&[&str]; 4] = [
        &RUN,
        &["replicate", "X", "--budget", "9s"],
        &["doctor", "--resolve", "dummy", "--contender", "two", "--budget", "0.1s"],
        &["doctor", "--against-itself", "1", "dummy", "one"],
    ];
    // On a shared bench, the second would continue the first and print little.
    std::thread::scope(|scope| {
        for (arguments, columns) in measuring.into_iter().flat_map(|row| [(row, Some(40)), (row, None)]) {
            scope.spawn(move || at_each_width(&bench(), arguments, &[columns]));
        }
    });
}

#[test]
fn every_verb_fits_its_terminal() {
    let bench = bench();
    let run = |arguments: &[&str]| {
        let seen = bench.netdyno(arguments);
        assert!(seen.code == 0 || seen.code == 3, "{seen:?}");
        bench.last()["run"]["id"].as_str().unwrap().to_owned()
    };
    let (one, two) = (run(&RUN), run(&RUN));
    let matrix = ["run", "dummy", "one", "two", "--matrix", "--blocks", "--max-blocks", "3"];
    let matrix = run(&[&matrix[..], &RUN[4..]].concat());
    let file = bench.path("a.netdyno").display().to_string();
    let reading: [&[&str]; 14] = [
        &["show", &one],
        &["show", &matrix],
        &["compare", &one, &two],
        &["compare", &one, &matrix],
        &["export", &one, "-o", &file],
        &["show", &file],
        &["import", &file],
        &["replay", &file],
        &["replay", &matrix],
        &["replicate", "--list"],
        &["replicate", "X", "--from", &two],
        &["history"],
        &["list", "dummy"],
        &["run", "dummy", "nobody", "--max-blocks", "1"],
    ];
    for arguments in reading {
        at_each_width(&bench, arguments, &WIDTHS);
    }
    let report = |run: &str| bench.netdyno(&["show", run, "--format", "json"]).stdout;
    assert_eq!(report(&file), report(&one), "an exported run has the report of the stored one");
}
