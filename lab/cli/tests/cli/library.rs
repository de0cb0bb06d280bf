//! First steps with a library: `netdyno new`, `netdyno.toml`, and the recipes that templates and documents print.

use std::process::Command;

use crate::authors::{commit, git, outside, repository};
use crate::bench::{Bench, Seen, skip};

/// An invalid condition in the file is named with its place; one on the command line is not looked for there.
#[test]
fn an_invalid_condition_is_named_with_file_and_line() {
    let bench = repository();
    for (file, part) in [
        (
            "workload = \"dummy\"\ncontender = \"one\"\nfail-on = [\"regression=x\"]\n",
            "netdyno.toml:3: \"x\" is not a share",
        ),
        (
            "contender = \"one\"\nfail-on = [\n  \"regression=3%\",\n  \"slower\",\n]\n",
            "netdyno.toml:4: \"slower\" is neither",
        ),
    ] {
        bench.write("netdyno.toml", file);
        let mut command = bench.command(&["compare", "--rev", "main"]);
        let seen = Seen::of(&command.current_dir(bench.path("")).output().unwrap());
        assert!(seen.code == 2 && seen.stderr.contains(part), "want {part:?}: {seen:?}");
        let mut command =
            bench.command(&["compare", "dummy", "one", "--rev", "main", "--fail-on", "regression=3%"]);
        let seen = Seen::of(&command.current_dir(bench.path("")).output().unwrap());
        assert!(seen.code == 0 && seen.stdout.contains("identical builds"), "{seen:?}");
    }
}

/// A name that the catalogue uses is refused when the contender is created, not when it is used.
#[test]
fn a_new_contender_cannot_have_a_name_of_the_catalogue() {
    let (bench, elsewhere) = (Bench::new(&[]), tempfile::tempdir().unwrap());
    let new =
        |name| outside(&bench, elsewhere.path(), &["new", "--workload", "rtt", "--language", "go", name]);
    let seen = new("go-net");
    assert!(seen.code == 2 && seen.stderr.contains("choose another name"), "{seen:?}");
    assert_eq!(std::fs::read_dir(elsewhere.path()).unwrap().count(), 0, "{seen:?}");
    let seen = new("go-net-mine");
    assert!(seen.code == 0 && elsewhere.path().join("netdyno/rtt/go-net-mine/go.mod").is_file(), "{seen:?}");
}

/// The recipe in the template's go.mod makes `ModuleVersion` report the version of its manifest.
#[test]
fn a_replaced_go_module_reports_the_version_of_the_manifest() {
    const LIBRARY: &str = "example.org/my-lib";
    let (bench, elsewhere) = (Bench::new(&[]), tempfile::tempdir().unwrap());
    let arguments = ["new", "--workload", "datachannel", "--language", "go", "mine"];
    let seen = outside(&bench, elsewhere.path(), &arguments);
    assert_eq!(seen.code, 0, "{seen:?}");
    let at = |file: &str| elsewhere.path().join(file);
    std::fs::write(at("go.mod"), format!("module {LIBRARY}\n\ngo 1.24\n")).unwrap();
    std::fs::write(at("lib.go"), "package lib\n").unwrap();
    let folder = at("netdyno/datachannel/mine");
    let read = |file: &str| std::fs::read_to_string(folder.join(file)).unwrap();
    let module = read("go.mod");
    let recipe = module.lines().find_map(|line| line.strip_prefix("// go mod edit")).unwrap();
    let recipe = format!("go mod edit{}", recipe.replace("its/module/path", LIBRARY));
    let version = read("contender.toml")
        .lines()
        .find_map(|line| Some(line.strip_prefix("version = \"")?.trim_end_matches('"').to_owned()));
    for entry in std::fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|e| e == "go") {
            std::fs::remove_file(path).unwrap();
        }
    }
    let main = format!(
        "package main\n\nimport (\n\t\"fmt\"\n\n\t_ \"{LIBRARY}\"\n\n\t\"netdyno.dev/contender\"\n)\n\n\
         func main() {{ fmt.Print(contender.ModuleVersion(\"{LIBRARY}\")) }}\n"
    );
    std::fs::write(folder.join("main.go"), main).unwrap();
    if which::which("go").is_err() {
        return skip("go");
    }
    let script = format!("{recipe} && go run .");
    let mut command = Command::new("sh");
    command.args(["-ec", &script]).current_dir(&folder).env("GOFLAGS", "-mod=mod").env("GOPROXY", "off");
    let seen = Seen::of(&command.output().unwrap());
    assert_eq!((seen.code, Some(seen.stdout.as_str())), (0, version.as_deref()), "{script}: {seen:?}");
    // The document has the same recipe.
    let document = include_str!("../../../../docs/CI.md");
    let words = |recipe: &str| recipe.replace(LIBRARY, "").replace("its/module/path", "");
    assert!(words(document).contains(&words(&recipe)), "{recipe}");
}

/// Two revisions of one contender, named as `compare` names them.
#[test]
fn explain_measures_and_finds_revisions() {
    let bench = repository();
    git(&bench, &["tag", "v1"]);
    bench.write("contenders/dummy/one/source.c", "changed");
    commit(&bench);
    let explain = |of: &str, more: &[&str]| {
        bench.netdyno(&[&["explain", of, "one@v1", "one@main", "--format", "json"], more].concat())
    };
    let short = ["--set", "seconds=0.04", "--set", "warmup_seconds=0", "--budget", "10ms", "--no-look"];
    let seen = explain("dummy", &short);
    assert_eq!(seen.code, 0, "{seen:?}");
    let labels: Vec<String> =
        bench.last()["cells"].as_array().unwrap().iter().map(|c| c["label"].to_string()).collect();
    assert_eq!(labels, ["\"one@v1\"", "\"one@main\""]);
    // Profiling a stored comparison builds its revisions again.
    let picture = bench.path("store/picture.svg").display().to_string();
    let seen = explain("last", &["-o", &picture]);
    assert!(seen.code == 0 && !seen.stdout.contains("not profiled"), "{seen:?}");
    let seen = bench.netdyno(&["explain", "dummy", "one@v1", "one@nowhere", "--no-look"]);
    assert!(seen.code == 2 && seen.stderr.contains("no revision \"nowhere\""), "{seen:?}");
}
