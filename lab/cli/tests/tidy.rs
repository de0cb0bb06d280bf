//! The repository's own rules, as far as a test can check them: documents name existing paths, files are small, and
//! the lab knows no contender by name.
#![allow(clippy::unwrap_used, missing_docs)]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use netdyno_lab_manifest::{Catalog, Contender, Need};

/// Most lines of ARCHITECTURE.md.
const ARCHITECTURE_LINES_MAX: usize = 150;
/// Most lines of a source file of the lab, without tests.
const SOURCE_LINES_MAX: usize = 450;
/// Banned words. In two parts, so that this file does not contain them.
const BANNED: [&str; 10] = [
    concat!("TO", "DO"),
    concat!("FIX", "ME"),
    concat!("XX", "X"),
    concat!("blaz", "ing"),
    concat!("todo", "!("),
    concat!("crates", ".io"),
    concat!("registry", ".npmjs"),
    concat!("pypi", ".org"),
    concat!("proxy.golang", ".org"),
    concat!("deb.debian", ".org"),
];
/// The crates of the lab, in the order of their dependencies.
const LAB: [&str; 9] = [
    "lab/protocol",
    "lab/stats",
    "lab/manifest",
    "lab/store",
    "lab/arena",
    "lab/analysis",
    "lab/engine",
    "lab/report",
    "lab/cli",
];
/// The other crates: protocol cores, sockets, libraries, bindings and the simulator.
const STACKS: [&str; 16] = [
    "stacks/sctp",
    "stacks/rtc",
    "stacks/resp",
    "stacks/kv",
    "stacks/echonet",
    "stacks/rtp",
    "stacks/mjpeg",
    "stacks/rtsp",
    "io",
    "net/rtc",
    "net/kv",
    "net/echonet",
    "net/mjpeg",
    "bindings/c",
    "bindings/python",
    "sim",
];
/// Those without sockets.
const WITHOUT_SOCKETS: [&str; 15] = [
    "stacks/sctp",
    "stacks/rtc",
    "stacks/resp",
    "stacks/kv",
    "stacks/echonet",
    "stacks/rtp",
    "stacks/mjpeg",
    "stacks/rtsp",
    "net/rtc",
    "net/kv",
    "net/echonet",
    "net/mjpeg",
    "bindings/c",
    "bindings/python",
    "sim",
];
/// Folders of generated files.
const MADE: [&str; 8] =
    ["target", "node_modules", ".git", ".venv", "__pycache__", "proptest-regressions", "corpus", "artifacts"];
/// Files written by tools, including their templates.
const LOCK_FILES: [&str; 5] = ["Cargo.lock", "go.sum", "package-lock.json", "requirements.txt", "go.mod"];
/// First components of the repository's paths, including those of folders that may be removed.
const TOP: [&str; 12] = [
    "lab",
    "contenders",
    "workloads",
    "docs",
    ".ci",
    "stacks",
    "io",
    "net",
    "bindings",
    "sim",
    "fuzz",
    "claims",
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// Every file below a folder, without generated ones.
fn files(below: &str) -> Vec<PathBuf> {
    let (mut folders, mut found) = (vec![root().join(below)], Vec::new());
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if path.is_dir() && !MADE.contains(&name.as_str()) {
                folders.push(path);
            } else if path.is_file() {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

fn with_extension(below: &str, extension: &str) -> Vec<PathBuf> {
    files(below).into_iter().filter(|path| path.extension().is_some_and(|e| e == extension)).collect()
}

fn read(path: impl AsRef<Path>) -> String {
    let path = root().join(path);
    fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

fn shown(path: &Path) -> String {
    path.strip_prefix(root()).unwrap_or(path).display().to_string()
}

/// Fails with all problems.
fn check(what: &str, wrong: &[String]) {
    assert!(wrong.is_empty(), "{what}:\n  {}", wrong.join("\n  "));
}

/// The texts between backticks, without code blocks.
fn code_spans(text: &str) -> Vec<&str> {
    let prose = text.split("```").step_by(2);
    prose.flat_map(|part| part.split('`').skip(1).step_by(2)).collect()
}

/// The file targets of `[text](target)`.
fn links(text: &str) -> Vec<&str> {
    let targets = text.split("](").skip(1).filter_map(|rest| rest.split([')', '#']).next());
    targets.filter(|target| !target.is_empty() && !target.contains("://")).collect()
}

/// The part of a path that must exist, up to its first placeholder. None if the text is not a path of this
/// repository.
fn repository_path(text: &str) -> Option<&str> {
    let first = text.split('/').next()?;
    let is_path = TOP.contains(&first) && text.contains('/');
    let is_document = text.ends_with(".md") && text.starts_with(|c: char| c.is_ascii_uppercase());
    if !(is_path || is_document) || text.contains([' ', '\n', '(', '"', '=']) {
        return None;
    }
    let fixed = text.find(['<', '*', '{']).map_or(text, |at| &text[..at]);
    Some(fixed.rfind('/').filter(|_| fixed.len() < text.len()).map_or(fixed, |at| &fixed[..at]))
}

#[test]
fn every_path_in_a_document_exists() {
    let mut wrong = Vec::new();
    for document in with_extension("", "md") {
        let (text, folder) = (fs::read_to_string(&document).unwrap(), document.parent().unwrap());
        let paths = code_spans(&text).into_iter().filter_map(repository_path).map(|path| root().join(path));
        let linked = links(&text).into_iter().map(|path| folder.join(path));
        let absent = paths.chain(linked).filter(|path| !path.exists());
        wrong.extend(absent.map(|path| format!("{}: {}", shown(&document), shown(&path))));
    }
    check("documents name what does not exist", &wrong);
}

/// A folder of packages on the machine of the author.
#[test]
fn no_lock_file_names_a_local_folder() {
    let is_local = |line: &str| line.starts_with("--find-links") || line.contains("file:///");
    let locks = files("")
        .into_iter()
        .filter(|path| path.file_name().is_some_and(|name| LOCK_FILES.iter().any(|lock| name == *lock)));
    let wrong = |path: PathBuf| {
        let found = read(&path).lines().find(|line| is_local(line)).map(str::to_owned)?;
        Some(format!("{}: {found}", shown(&path)))
    };
    check("lock files that name a local folder", &locks.filter_map(wrong).collect::<Vec<_>>());
}

/// A figure that changes in its last digit would make an exported run another run. No test of values can find this, because
/// `jsonschema`, which only tests use, turns exact parsing on for all of them.
#[test]
fn stored_figures_are_parsed_exactly() {
    let manifest: toml::Table = read("lab/store/Cargo.toml").parse().unwrap();
    let features = manifest["dependencies"]["serde_json"]["features"].as_array().unwrap();
    assert!(features.iter().any(|feature| feature.as_str() == Some("float_roundtrip")), "{features:?}");
}

#[test]
fn pictures_support_dark_mode() {
    let bright = |path: &PathBuf| !read(path).replace(' ', "").contains("(prefers-color-scheme:dark)");
    let wrong: Vec<String> =
        with_extension("docs", "svg").iter().filter(|p| bright(p)).map(|p| shown(p)).collect();
    check("pictures that stay bright", &wrong);
}

#[test]
fn repository_paths_are_recognised() {
    for (text, path) in [
        ("lab/cli/src/cli.rs", Some("lab/cli/src/cli.rs")),
        ("contenders/<workload>/<name>/", Some("contenders")),
        ("lab/stats/src/*.rs", Some("lab/stats/src")),
        ("ARCHITECTURE.md", Some("ARCHITECTURE.md")),
        ("datachannel/pion", None),
        ("/proc/self/net/dev", None),
        ("cargo test", None),
        ("contender.toml", None),
    ] {
        assert_eq!(repository_path(text), path, "{text}");
    }
    assert_eq!(code_spans("a `b` c\n```\n`d`\n```\n`e`"), ["b", "e"]);
    assert_eq!(links("[a](b.md#c) [d](https://e) [f](#g)"), ["b.md"]);
}

#[test]
fn files_stay_small() {
    let architecture = read("ARCHITECTURE.md").lines().count();
    assert!(architecture <= ARCHITECTURE_LINES_MAX, "ARCHITECTURE.md has {architecture} lines");
    let sources = LAB.iter().chain(&STACKS).flat_map(|crate_| with_extension(&format!("{crate_}/src"), "rs"));
    let sources = sources.filter(|path| !is_test(path));
    let long = sources.filter_map(|path| {
        let lines = fs::read_to_string(&path).unwrap().lines().count();
        (lines > SOURCE_LINES_MAX).then(|| format!("{}: {lines}", shown(&path)))
    });
    check("files of too many lines", &long.collect::<Vec<_>>());
}

#[test]
fn no_banned_words() {
    let mut wrong = Vec::new();
    for path in files("") {
        let name = path.file_name().unwrap().to_string_lossy();
        let name = name.strip_suffix(".j2").unwrap_or(&name);
        // Binary files have no words.
        let Ok(text) = fs::read_to_string(&path) else { continue };
        if !LOCK_FILES.contains(&name) {
            let found = BANNED.into_iter().filter(|word| text.contains(word));
            wrong.extend(found.map(|word| format!("{}: {word}", shown(&path))));
        }
    }
    check("banned words", &wrong);
}

#[test]
fn the_readme_has_every_verb_and_exit_code_of_help() {
    let output = Command::new(env!("CARGO_BIN_EXE_netdyno")).arg("--help").output().unwrap();
    let help = String::from_utf8(output.stdout).unwrap();
    let readme = read("README.md");
    let commands = help.split("Commands:").nth(1).unwrap().split("\n\n").next().unwrap();
    let verbs: Vec<&str> = commands
        .lines()
        .filter_map(|line| line.strip_prefix("  ")?.split(' ').next())
        .filter(|v| !v.is_empty())
        .collect();
    assert!(verbs.contains(&"run"), "{help}");
    let missing = verbs.iter().filter(|verb| !readme.contains(&format!("`netdyno {verb}")));
    let mut wrong: Vec<String> = missing.map(|verb| format!("verb {verb}")).collect();

    let help: String = help.split_whitespace().collect::<Vec<_>>().join(" ");
    let codes = help.split("Exit codes: ").nth(1).unwrap().split('.').next().unwrap();
    for code in codes.split(", ") {
        let (number, meaning) = code.split_once(' ').unwrap();
        let row = format!("| {number} | {meaning} |");
        wrong.extend((!readme.contains(&row)).then(|| format!("exit code {row}")));
    }
    check("README.md lacks", &wrong);
}

#[test]
fn manifests_are_valid_and_every_workload_has_its_ceiling() {
    let catalog = Catalog::load(&root()).unwrap();
    let mut wrong: Vec<String> = catalog.problems.iter().map(ToString::to_string).collect();
    assert!(!catalog.workloads.is_empty());
    for (name, workload) in &catalog.workloads {
        let ceilings: Vec<&str> =
            catalog.contenders_of(name).filter(|c| c.ceiling).map(|c| c.name.as_str()).collect();
        // A new machine has no development packages.
        let needs_library =
            |c: &&Contender| c.build.needs.iter().any(|n| matches!(n, Need::PkgConfig { .. }));
        let needy = catalog.contenders_of(name).filter(|c| c.ceiling).filter(needs_library);
        wrong.extend(
            needy.map(|c| format!("{}: a ceiling must build without libraries of the system", c.id())),
        );
        if workload.ceiling.as_deref().is_none_or(|ceiling| ceilings != [ceiling]) {
            wrong.push(format!(
                "{name}: its ceiling is {:?}, its contenders have {ceilings:?}",
                workload.ceiling
            ));
        }
        let baseline = workload.baseline.as_deref();
        if baseline.is_some_and(|baseline| catalog.contender(name, baseline).is_err()) {
            wrong.push(format!("{name}: no contender {baseline:?}, its baseline"));
        }
        for wanted in &workload.first_look {
            if catalog.contender(name, wanted).is_err() {
                wrong.push(format!("{name}: no contender {wanted}, of its first look"));
            }
        }
        for (role, partner) in &workload.partners {
            if !catalog.contender(name, partner).is_ok_and(|contender| contender.plays(role)) {
                wrong.push(format!("{name}: no contender {partner} that plays the {role}, its partner"));
            }
        }
    }
    check("manifests", &wrong);
}

/// The dependencies of one of our crates, including those of tests.
fn dependencies(crate_: &str) -> toml::Table {
    let manifest: toml::Table = read(format!("{crate_}/Cargo.toml")).parse().unwrap();
    let sections = ["dependencies", "dev-dependencies", "build-dependencies"];
    sections.iter().filter_map(|name| manifest.get(*name)?.as_table().cloned()).flatten().collect()
}

#[test]
fn lab_and_stacks_do_not_depend_on_each_other_and_other_dependencies_are_explained() {
    let architecture = read("ARCHITECTURE.md");
    let (_, table) = architecture.split_once("## Dependencies").unwrap();
    let explained: BTreeSet<&str> =
        table.split(|c: char| !(c.is_ascii_alphanumeric() || "_-".contains(c))).collect();
    let mut wrong = Vec::new();
    for crate_ in LAB.iter().chain(&STACKS) {
        for (name, spec) in dependencies(crate_) {
            let ours = name.starts_with("netdyno");
            let of_lab = name.starts_with("netdyno-lab") || name == "netdyno-stats";
            if ours && (LAB.contains(crate_) != of_lab || name == "netdyno-contender") {
                wrong.push(format!(
                    "{crate_}: {name}: the lab and the stacks meet in the contender protocol alone"
                ));
            }
            if !ours && ["path", "git", "workspace"].iter().any(|from| spec.get(from).is_some()) {
                wrong.push(format!("{crate_}: {name}: not a published crate"));
            }
            if !ours && !explained.contains(name.as_str()) {
                wrong.push(format!("{crate_}: {name}: not in the dependencies tables of ARCHITECTURE.md"));
            }
        }
    }
    check("dependencies", &wrong);
}

/// Tests, and files that only tests use.
fn is_test(path: &Path) -> bool {
    let name = path.file_name().unwrap().to_string_lossy();
    let in_folder = path.components().any(|part| part.as_os_str() == "tests");
    in_folder || ["tests.rs", "_tests.rs", "synthetic.rs", "fixture.rs"].iter().any(|end| name.ends_with(end))
}

/// The lines of code of a source file, without comments and the test module at the end.
fn code_lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let end = text.find("#[cfg(test)]\nmod tests {").unwrap_or(text.len());
    text[..end].lines().enumerate().filter(|(_, line)| !line.trim_start().starts_with("//"))
}

/// Exceptions: ceilings, whose usual name is also a word of the manifest, our own contender, which has the name of
/// the program, and the examples of `--help`.
#[test]
fn the_lab_knows_no_contender_by_name() {
    let catalog = Catalog::load(&root()).unwrap();
    let names: BTreeSet<String> = catalog
        .contenders
        .values()
        .filter(|c| !c.ceiling && c.name != "netdyno")
        .map(|c| format!("\"{}\"", c.name))
        .collect();
    assert!(!names.is_empty());
    let mut wrong = Vec::new();
    for path in LAB.iter().flat_map(|crate_| with_extension(&format!("{crate_}/src"), "rs")) {
        if is_test(&path) || path.ends_with("src/cli.rs") {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        for (line, code) in code_lines(&text) {
            let found = names.iter().filter(|name| code.contains(name.as_str()));
            wrong.extend(found.map(|name| format!("{}:{}: {name}", shown(&path), line + 1)));
        }
    }
    check("the lab names contenders", &wrong);
}

/// Positions in code, without tests, that contain one of `words`.
fn places(crate_: &str, words: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    for path in with_extension(&format!("{crate_}/src"), "rs").into_iter().filter(|path| !is_test(path)) {
        let text = fs::read_to_string(&path).unwrap();
        let lines = code_lines(&text).filter(|(_, code)| words.iter().any(|word| code.contains(word)));
        found.extend(lines.map(|(line, _)| format!("{}:{}", shown(&path), line + 1)));
    }
    found
}

#[test]
fn unsafe_code_is_in_six_files() {
    let crates = LAB.iter().chain(&STACKS);
    let mut wrong: Vec<_> =
        crates.flat_map(|crate_| places(crate_, &["unsafe {", "unsafe fn", "unsafe impl"])).collect();
    // A single line in the Tokio driver.
    let allowed = [
        "lab/arena/src/sys.rs:",
        "io/src/tcp/append.rs:",
        "io/src/tcp/uring/sys.rs:",
        "io/src/slice.rs:",
        "io/src/tokio.rs:",
        "bindings/c/src/memory.rs:",
    ];
    wrong.retain(|place| !allowed.iter().any(|file| place.starts_with(file)));
    check("unsafe code outside of the files that are for it", &wrong);
}

/// The lint rejects clocks, threads, locks and randomness in cores: stacks/clippy.toml.
#[test]
fn only_io_opens_sockets() {
    let sockets = ["net::UdpSocket", "net::TcpStream", "net::TcpListener", "socket2::", "quinn_udp::"];
    let wrong: Vec<_> = WITHOUT_SOCKETS.iter().flat_map(|crate_| places(crate_, &sockets)).collect();
    check("sockets outside io", &wrong);
}
