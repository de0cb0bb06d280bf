//! Runs as pages and pictures.

use crate::bench::{Bench, Seen};

/// The output of a crashing contender: markup, an escape sequence, and invalid UTF-8.
const LAST_WORDS: &str = "printf '<script>alert(1)</script>\"><img src=x onerror=alert(1)>\\033[2J\\377\\376 javascript:alert(1)\\n' >&2\nexit 1\n";

#[test]
fn a_page_is_written_and_escapes_the_output_of_contenders() {
    let bench = Bench::new(&[("good", None), ("second", None), ("rude", None)]);
    bench.write("rude.sh", LAST_WORDS);
    let manifest = "contenders/dummy/rude/contender.toml";
    let text = std::fs::read_to_string(bench.path(manifest)).unwrap();
    let rude = format!("[\"/bin/sh\", \"{}\"]", bench.path("rude.sh").display());
    bench.write(manifest, &text.replace("[\"netdyno\", \"dummy\"]", &rude));
    let arguments = ["run", "dummy", "--max-blocks", "2", "--set", "seconds=0.1", "--format", "html"];
    let Seen { code, stdout: page, .. } = bench.netdyno(&arguments);
    assert_eq!(code, 3, "{page}");
    assert!(page.starts_with("<!DOCTYPE html>"), "{page}");
    assert!(page.contains("&lt;script&gt;alert(1)&lt;&#x2f;script&gt;"), "{page}");
    assert!(!page.contains("<script") && !page.contains("<img") && !page.contains('\u{1b}'), "{page}");
    let again = bench.netdyno(&["show", "last", "--format", "html"]);
    assert!(again.code == 0 && again.stdout == page, "the same from the store");
}

#[test]
fn every_chart_is_drawn_or_rejected_with_a_reason() {
    let bench = Bench::new(&[("one", None), ("two", None)]);
    let sweep = ["run", "dummy", "--max-blocks", "1", "--set", "seconds=0.1", "--sweep", "streams=1,2"];
    assert_eq!(bench.netdyno(&sweep).code, 0);
    let plot = |arguments: &[&str], file: &str| -> Seen {
        let file = bench.path(file).display().to_string();
        bench.netdyno(&[&["plot", "last", "-o", &file], arguments].concat())
    };
    let one = ["--where", "streams=1"];
    for (chart, more) in [
        ("sweep", &[][..]),
        ("ratios", &one),
        ("cost", &one),
        ("ratios", &["--where", "streams=2", "--y", "peak_rss"]),
    ] {
        let files = if cfg!(feature = "png") { &["x.svg", "x.png"][..] } else { &["x.svg"] };
        for file in files {
            let seen = plot(&[&["--chart", chart], more].concat(), file);
            assert_eq!(seen.code, 0, "{chart}: {seen:?}");
            let bytes = std::fs::read(bench.path(file)).unwrap();
            let (magic, least) =
                if *file == "x.svg" { (&b"<svg"[..], 2_000) } else { (&b"\x89PNG\r\n\x1a\n"[..], 10_000) };
            assert!(bytes.starts_with(magic) && bytes.len() > least, "{chart} {file}: {} bytes", bytes.len());
        }
    }
    for (arguments, part) in [
        (&["--chart", "ratios"][..], "--where streams=VALUE"),
        (&["--chart", "latency"], "no cell has a latency curve"),
        (&["--chart", "matrix", "--where", "streams=1"], "--matrix"),
        (&["--chart", "ceiling", "--where", "streams=1"], "no selected cell"),
        (&["--chart", "cost", "--x", "streams"], "--x does not apply to this chart"),
        (&["--chart", "sweep", "--where", "streams=1"], "--x PARAM"),
    ] {
        let seen = plot(arguments, "y.svg");
        assert!(seen.code == 2 && seen.stderr.contains(part), "{arguments:?}: {seen:?}");
    }
}
