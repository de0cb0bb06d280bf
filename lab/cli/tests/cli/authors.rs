//! Verbs for authors of a library: comparing revisions, and exporting and importing runs.

use std::process::Command;

use serde_json::Value;

use crate::bench::{Bench, Seen};
use crate::duels::TURNS;

/// A git repository with one contender and short turns.
pub(crate) fn repository() -> Bench {
    let bench = Bench::new(&[("one", None)]);
    let manifest = std::fs::read_to_string(bench.path("workloads/dummy.toml")).unwrap();
    bench.write("workloads/dummy.toml", &format!("{manifest}{TURNS}"));
    // Files that the lab writes are not part of the repository.
    bench.write(".gitignore", "cache\nstore\n");
    git(&bench, &["init", "-q", "-b", "main"]);
    commit(&bench);
    bench
}

pub(crate) fn git(bench: &Bench, args: &[&str]) -> String {
    let mut command = Command::new("git");
    let who = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"];
    let output = command.arg("-C").arg(bench.path("")).args(who).args(args).output().unwrap();
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

pub(crate) fn commit(bench: &Bench) {
    git(bench, &["add", "-A"]);
    git(bench, &["commit", "-q", "-m", "state"]);
}

/// Sets the number of steps per message; 1000 is the default.
pub(crate) fn steps(bench: &Bench, steps: u32) {
    bench.add("one", None);
    let file = "contenders/dummy/one/contender.toml";
    let text = std::fs::read_to_string(bench.path(file)).unwrap();
    bench.write(file, &text.replace("\"dummy\"]", &format!("\"dummy\", \"--steps={steps}\"]")));
}

fn compare(bench: &Bench, more: &[&str]) -> Seen {
    bench.netdyno(&[&["compare", "dummy", "one", "--set", "seconds=0.1"], more].concat())
}

/// Twice the work: detected even on a busy machine. docs/CI.md shows what 5 % need.
#[test]
fn a_slower_revision_fails_and_the_files_stay_unchanged() {
    let bench = repository();
    git(&bench, &["tag", "v1"]);
    steps(&bench, 2000);
    commit(&bench);
    steps(&bench, 1001);
    let limit = ["--fail-on", "regression=3%", "--format", "json"];
    let seen = compare(&bench, &[&["--rev", "v1", "--rev", "HEAD"][..], &limit].concat());
    assert_eq!(seen.code, 5, "{seen:?}");
    let comparison: Value = serde_json::from_str(&seen.stdout).unwrap();
    let head = git(&bench, &["rev-parse", "--short=12", "HEAD"]);
    assert_eq!(comparison["claim"], "regression");
    assert_eq!(
        (&comparison["from"]["label"], &comparison["to"]["label"]),
        (&"one@v1".into(), &"one@HEAD".into())
    );
    assert_eq!(comparison["to"]["state"], format!("git {head}"));
    let row = &comparison["rows"][0];
    assert_eq!((&row["metric"], &row["verdict"]), (&"throughput".into(), &"worse".into()), "{row}");
    let ratio = row["ratio"].as_f64().unwrap();
    assert!((0.3..0.8).contains(&ratio), "{row}");
    let validator = {
        let schema = bench.netdyno(&["schema", "comparison"]);
        jsonschema::validator_for(&serde_json::from_str(&schema.stdout).unwrap()).unwrap()
    };
    assert!(validator.is_valid(&comparison), "{comparison}");
    // The reverse is not a regression, and uncommitted changes are a revision of their own.
    let seen = compare(&bench, &["--rev", "HEAD", "--fail-on", "regression=3%", "--format", "markdown"]);
    assert_eq!(seen.code, 0, "{seen:?}");
    for part in
        ["### dummy: one@. against one@HEAD", "**No regression**", "with changes", "<details>", "| counted |"]
    {
        assert!(seen.stdout.contains(part), "{part}: {seen:?}");
    }
    assert_eq!(git(&bench, &["status", "--porcelain"]), "M contenders/dummy/one/contender.toml");
    // It is an ordinary run, except that it cannot be resumed.
    let shown = bench.netdyno(&["show", "last"]);
    assert!(shown.stdout.contains("one@HEAD") && shown.stdout.contains("one@."), "{shown:?}");
    let replayed = bench.netdyno(&["replay", "last"]);
    assert!(replayed.code == 0 && replayed.stdout.contains("all identical"), "{replayed:?}");
}

#[test]
fn equal_builds_are_not_measured() {
    let bench = repository();
    bench.write("README.md", "more words");
    commit(&bench);
    let seen = compare(&bench, &["--rev", "HEAD~1", "--rev", "HEAD", "--fail-on", "regression=3%"]);
    assert!(seen.code == 0 && seen.stdout.contains("have identical builds"), "{seen:?}");
    let seen = compare(&bench, &["--rev", "HEAD~1", "--rev", "HEAD", "--format", "json"]);
    let comparison: Value = serde_json::from_str(&seen.stdout).unwrap();
    assert_eq!(comparison["rows"].as_array().map(Vec::len), Some(0), "{comparison}");
    assert_eq!(bench.netdyno(&["history"]).stdout, "no runs yet: netdyno run WORKLOAD\n");
    // Documents are in the folder of a build, but not in the program.
    bench.write("contenders/dummy/one/README.md", "words");
    bench.write("docs/page.md", "words");
    commit(&bench);
    let seen = compare(&bench, &["--rev", "HEAD~1", "--rev", "HEAD", "--fail-on", "regression=3%"]);
    assert!(
        seen.code == 0
            && in_one_line(&seen.stdout).contains("differ only in documentation: nothing was measured"),
        "{seen:?}"
    );
    assert_eq!(bench.netdyno(&["history"]).stdout, "no runs yet: netdyno run WORKLOAD\n");
    // Code of the library that is in no build is not compared.
    bench.write("lib/word.py", "slow");
    commit(&bench);
    let seen = compare(
        &bench,
        &["--rev", "HEAD~1", "--rev", "HEAD", "--fail-on", "regression=3%", "--format", "markdown"],
    );
    assert!(
        seen.code == 6 && seen.stdout.contains("**Not compared**") && seen.stdout.contains("lib/word.py"),
        "{seen:?}"
    );
}

#[test]
fn invalid_comparisons_are_rejected_with_a_remedy() {
    let bench = repository();
    bench.add("late", None);
    for (arguments, part) in [
        (&["compare"][..], "netdyno compare WORKLOAD CONTENDER --rev main --rev HEAD"),
        (&["compare", "last"], "name two stored runs"),
        (&["compare", "last", "last"], "no run"),
        (&["compare", "--rev", "main"], "no contender named"),
        (&["compare", "dummy", "one", "--rev", "mian"], "no revision \"mian\""),
        (&["compare", "dummy", "one", "--rev", "main", "--rev", "main"], "both revisions are main"),
        (&["compare", "dummy", "one", "--rev", "a", "--rev", "b", "--rev", "c"], "3 revisions"),
        (&["compare", "dummy", "oen", "--rev", "main"], "did you mean \"one\"?"),
        (&["compare", "dummy", "late", "--rev", "main"], "must be part of both revisions"),
        (&["compare", "dummy", "one", "--rev", "a b"], "is not a revision"),
        (&["compare", "dummy", "one", "--rev", "main", "--fail-on", "slower"], "neither `regression=3%`"),
        (
            &["compare", "dummy", "one", "--rev", "main", "--fail-on", "undecided"],
            "add --fail-on regression=3%",
        ),
        (&["compare", "last", "last", "--budget", "1m"], "--rev"),
        (&["compare", "dumy", "one", "--rev", "main"], "unknown workload \"dumy\""),
        (&["compare", "dummy", "one"], "to compare revisions, add --rev"),
        // Builds are equal here: the parameters are checked in any case.
        (&["compare", "dummy", "one", "--rev", "main", "--set", "sceonds=1"], "sceonds"),
        (&["compare", "dummy", "one", "--rev", "main", "--fail-on", "los=0"], "unknown metric \"los\""),
    ] {
        let seen = bench.netdyno(arguments);
        assert!(seen.code == 2 && seen.stderr.contains(part), "{arguments:?}: want {part:?} in {seen:?}");
    }
    std::fs::remove_dir_all(bench.path(".git")).unwrap();
    let seen = compare(&bench, &["--rev", "main"]);
    assert!(seen.code == 2 && seen.stderr.contains("is not in a git repository"), "{seen:?}");
}

#[test]
fn a_run_fails_on_a_contender_slower_than_the_baseline() {
    let bench = Bench::new(&[("base", None), ("one", None)]);
    steps(&bench, 3000);
    let limit = ["--baseline", "base", "--fail-on", "regression=3%", "--set", "seconds=0.2"];
    let seen = bench.netdyno(&[&["run", "dummy"][..], &limit].concat());
    assert!(seen.code == 5 && seen.stderr.contains("regression (limit 3.0 %)"), "{seen:?}");
}

#[test]
fn two_runs_are_compared_by_their_common_cells() {
    let bench = Bench::new(&[("base", None), ("one", None), ("two", None)]);
    let run = |blocks: &str, more: &[&str]| {
        let usual = ["run", "dummy", "--baseline", "base", "--set", "seconds=0.2", "--max-blocks", blocks];
        let seen = bench.netdyno(&[&usual[..], more].concat());
        assert_eq!(seen.code, 0, "{seen:?}");
        bench.last()["run"]["id"].as_str().unwrap().to_owned()
    };
    let first = run("3", &["base", "one"]);
    steps(&bench, 3000);
    let second = run("3", &["base", "one", "two"]);
    let seen = bench.netdyno(&["compare", &first, &second, "--format", "json", "--fail-on", "regression=3%"]);
    let comparison: Value = serde_json::from_str(&seen.stdout).unwrap_or_else(|e| panic!("{e}: {seen:?}"));
    let row = comparison["rows"].as_array().unwrap().iter().find(|r| r["metric"] == "throughput").unwrap();
    assert_eq!((&row["contender"], &row["by"]), (&"one".into(), &"base".into()), "{row}");
    let end = |name: &str| row[name].as_f64();
    assert!(end("ratio") < Some(0.8) && end("low") < end("ratio") && end("ratio") < end("high"), "{row}");
    assert!(seen.stdout.contains("at different times"), "{seen:?}");
    let table = bench.netdyno(&["compare", &first, &second]);
    assert!(table.code == 0 && table.stdout.contains("compared through"), "{table:?}");

    let same = bench.netdyno(&["compare", "last", &second]);
    assert!(same.code == 2 && same.stderr.contains("name two"), "{same:?}");
    let other = run("1", &["base", "one", "--set", "streams=3"]);
    let placed = run("1", &["base", "one", "--placement", "shared"]);
    let alone = run("1", &["two"]);
    for (run, part) in [
        (&other, "parameter streams 3 and 2"),
        (&placed, "placement shared and apart"),
        (&alone, "no contender in common"),
    ] {
        let seen = bench.netdyno(&["compare", run, &first]);
        assert!(seen.code == 2 && seen.stderr.contains(part), "want {part:?}: {seen:?}");
    }
}

#[test]
fn a_run_is_exported_and_imported() {
    let bench = Bench::new(&[("one", None), ("two", None)]);
    let seen = bench.netdyno(&["run", "dummy", "--max-blocks", "3", "--set", "seconds=0.1"]);
    assert_eq!(seen.code, 0, "{seen:?}");
    let (report, file) = (bench.last(), bench.path("run.netdyno"));
    let file = file.to_str().unwrap();
    let seen = bench.netdyno(&["export", "last", "-o", file]);
    assert!(seen.code == 0 && seen.stdout.contains("2 cells, 6 trials"), "{seen:?}");
    let again = bench.netdyno(&["import", file]);
    assert!(again.code == 0 && again.stdout.contains("already in the store"), "{again:?}");

    let elsewhere = Bench::new(&[]);
    let replayed = elsewhere.netdyno(&["replay", file]);
    assert!(replayed.code == 0 && replayed.stdout.contains("all identical"), "{replayed:?}");
    let imported = elsewhere.netdyno(&["import", file]);
    assert!(imported.code == 0 && imported.stdout.contains(": imported: run "), "{imported:?}");
    assert_eq!(elsewhere.last(), report);
    let replayed = elsewhere.netdyno(&["replay"]);
    assert!(replayed.code == 0 && replayed.stdout.contains("all identical"), "{replayed:?}");

    let resumed = elsewhere.netdyno(&["run", "--resume", "last", "--budget", "1s"]);
    assert!(resumed.code == 2 && resumed.stderr.contains("was imported"), "{resumed:?}");

    // A file that was edited and sealed again fails the replay.
    let mut text = String::new();
    let whole = std::fs::read(file).unwrap();
    std::io::Read::read_to_string(&mut flate2::read::GzDecoder::new(whole.as_slice()), &mut text).unwrap();
    let (lines, _) = text.trim_end().rsplit_once('\n').unwrap();
    let bent = lines.replacen("\"ratio\":", "\"ratio\":1", 1);
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut gzip, &netdyno_lab_store::export::sealed(bent.as_bytes())).unwrap();
    bench.write("cut.netdyno", "");
    std::fs::write(bench.path("bent.netdyno"), gzip.finish().unwrap()).unwrap();
    std::fs::write(bench.path("cut.netdyno"), &whole[..whole.len() / 2]).unwrap();
    let path = |name: &str| bench.path(name).to_str().unwrap().to_owned();
    let replayed = elsewhere.netdyno(&["replay", &path("bent.netdyno")]);
    assert!(
        replayed.code == 1 && in_one_line(&replayed.stdout).contains("1 different from those printed"),
        "{replayed:?}"
    );
    let other = Bench::new(&[]);
    for (name, part) in [
        ("cut.netdyno", "is truncated"),
        ("workloads/dummy.toml", "is not an exported run"),
        ("none", "cannot be read"),
    ] {
        let seen = other.netdyno(&["import", &path(name)]);
        assert!(seen.code == 2 && seen.stderr.contains(part), "{name}: {seen:?}");
    }
    assert!(other.netdyno(&["history"]).stdout.contains("no runs yet"));
}

/// Runs it in a folder outside of checkouts.
pub(crate) fn outside(bench: &Bench, folder: &std::path::Path, arguments: &[&str]) -> Seen {
    let mut command = bench.command(arguments);
    Seen::of(&command.env_remove("NETDYNO_ROOT").current_dir(folder).output().unwrap())
}

#[test]
fn outside_of_a_checkout_the_embedded_catalogue_is_used() {
    let (bench, elsewhere) = (Bench::new(&[]), tempfile::tempdir().unwrap());
    let seen = outside(&bench, elsewhere.path(), &["list", "nonsense"]);
    assert!(seen.code == 2 && seen.stderr.starts_with("not in a checkout: using the catalogue"), "{seen:?}");
    assert!(seen.stderr.contains("datachannel"), "{seen:?}");
    assert!(bench.path("cache/catalogues").is_dir());
    let made = outside(
        &bench,
        elsewhere.path(),
        &["new", "--workload", "datachannel", "--language", "rust", "mine"],
    );
    assert_eq!(made.code, 0, "{made:?}");
    let at = |file: &str| elsewhere.path().join(file);
    for file in ["netdyno.toml", "netdyno/datachannel/mine/contender.toml", "netdyno/sdk/rust/src/lib.rs"] {
        assert!(at(file).is_file(), "{file}: {made:?}");
    }
    assert!(!at("netdyno/sdk/rust/templates").exists());
    // From any subfolder, with a second and a third one next to it. Of an SDK, only what they need is copied.
    std::fs::create_dir(at("src")).unwrap();
    let more = outside(&bench, &at("src"), &["new", "--workload", "rtt", "--language", "go", "other"]);
    assert!(
        more.code == 0 && at("netdyno/rtt/other/go.mod").is_file() && at("netdyno/sdk/go").is_dir(),
        "{more:?}"
    );
    let sdk = |folder: &str| at("netdyno/sdk/go").join(folder).is_dir();
    assert!(sdk("rtt") && !sdk("echonet") && !sdk("mjpeg") && !sdk("templates"), "{more:?}");
    let third = outside(&bench, &at("src"), &["new", "--workload", "echonet", "--language", "go", "third"]);
    assert!(third.code == 0 && sdk("rtt") && sdk("echonet") && !sdk("mjpeg"), "{third:?}");
    let listed = outside(&bench, &at("src"), &["list", "--format", "json"]);
    for name in ["mine", "other", "third"] {
        assert!(listed.stdout.contains(&format!("\"{name}\"")), "{name}: {listed:?}");
    }
}

/// A checkout that was only found, not named, could be another user's trap in a shared folder.
#[test]
fn a_checkout_that_others_can_write_to_is_used_only_if_it_is_named() {
    let bench = Bench::new(&[("one", None)]);
    bench.write("src/lib.rs", "");
    let list = ["list", "dummy"];
    let seen = outside(&bench, &bench.path("src"), &list);
    assert!(seen.code == 0 && seen.stdout.contains("one"), "{seen:?}");
    let everyone = std::os::unix::fs::PermissionsExt::from_mode(0o777);
    std::fs::set_permissions(bench.path("contenders"), everyone).unwrap();
    let seen = outside(&bench, &bench.path("src"), &list);
    let told = in_one_line(&seen.stderr);
    assert!(seen.code == 2 && told.contains("every user can write to it"), "{seen:?}");
    assert!(told.contains("name the repository in NETDYNO_ROOT"), "{told}");
    assert_eq!(bench.netdyno(&list).code, 0);
}

/// A library's repository: a contender, a workload, and a file that names them.
#[test]
fn contenders_and_workloads_are_loaded_from_other_folders() {
    let (bench, library) = (Bench::new(&[("base", None)]), Bench::new(&[("mine", None)]));
    std::fs::rename(library.path("contenders"), library.path("bench")).unwrap();
    let own = std::fs::read_to_string(bench.path("workloads/dummy.toml")).unwrap();
    library.write("bench/own.toml", &own.replacen("\"dummy\"", "\"own\"", 1));
    let mine = std::fs::read_to_string(library.path("bench/dummy/mine/contender.toml")).unwrap();
    library.write("bench/own/mine/contender.toml", &mine.replacen("\"dummy\"", "\"own\"", 1));
    let folder = library.path("bench").to_str().unwrap().to_owned();
    let quick = ["--set", "seconds=0.05", "--max-blocks", "1"];
    let seen = bench.netdyno(&[&["run", "--contenders", &folder, "dummy"][..], &quick].concat());
    assert!(seen.code == 0 && seen.stdout.contains("mine") && seen.stdout.contains("base"), "{seen:?}");
    let mut command = bench.command(&[&["run", "own"][..], &quick].concat());
    let seen = Seen::of(&command.env("NETDYNO_CONTENDERS", &folder).output().unwrap());
    assert!(seen.code == 0 && seen.stdout.contains("own · "), "{seen:?}");

    library.write(
        "netdyno.toml",
        "workload = \"dummy\"\ncontender = \"mine\"\ncontenders = [\"bench\"]\nbaseline = \"base\"\n",
    );
    library.write("src/lib.rs", "");
    let inside = |arguments: &[&str]| {
        Seen::of(&bench.command(arguments).current_dir(library.path("src")).output().unwrap())
    };
    let seen = inside(&[&["run", "--format", "json"][..], &quick].concat());
    let file = library.path("netdyno.toml");
    let named = format!("using the settings in {}\n", file.display());
    assert!(seen.code == 0 && seen.stderr.matches(&named).count() == 1, "{seen:?}");
    let report: Value = serde_json::from_str(&seen.stdout).unwrap();
    assert_eq!(report["verdicts"][0]["baseline"], "base");
    git(&library, &["init", "-q", "-b", "main"]);
    commit(&library);
    let seen = inside(&["compare", "--rev", "main"]);
    assert!(seen.code == 0 && seen.stdout.contains("mine@main and mine@. have identical builds"), "{seen:?}");

    // A file that others can write to could name their programs.
    let set_mode = |mode| {
        let permissions = std::os::unix::fs::PermissionsExt::from_mode(mode);
        std::fs::set_permissions(&file, permissions).unwrap();
    };
    set_mode(0o666);
    let seen = inside(&["list"]);
    assert!(seen.code == 2 && in_one_line(&seen.stderr).contains("every user can write to it"), "{seen:?}");
    set_mode(0o644);

    // A duplicate name is an error, and so is a mistake in the file.
    library.write("bench/dummy/base/contender.toml", &mine.replacen("\"mine\"", "\"base\"", 1));
    let seen = inside(&["list"]);
    assert!(seen.stderr.contains("this name is already used"), "{seen:?}");
    library.write("netdyno.toml", "contenders = [\"nowhere\"]\n");
    assert!(inside(&["list"]).stderr.contains("nowhere"));
    library.write("netdyno.toml", "contender = 3\n");
    assert!(inside(&["list"]).stderr.contains("netdyno.toml:1: contender"));
}

pub(crate) fn in_one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// On a read-only mount, stored runs can be listed and shown.
#[test]
fn a_store_on_a_read_only_mount_can_be_read() {
    let bench = Bench::new(&[("one", None)]);
    let seen = bench.netdyno(&["run", "dummy", "--max-blocks", "1", "--set", "seconds=0.05"]);
    assert_eq!(seen.code, 0, "{seen:?}");
    let store = bench.path("store");
    let script = format!(
        "mount --bind {0} {0} && mount -o remount,ro,bind {0} && {1} history && {1} show last",
        store.display(),
        env!("CARGO_BIN_EXE_netdyno")
    );
    let mut command = bench.command(&[]);
    let mut unshare = Command::new("unshare");
    unshare.args(["--user", "--map-root-user", "--mount", "sh", "-c", &script]).current_dir(bench.path(""));
    for (name, value) in command.env("NO_COLOR", "1").get_envs() {
        value.map(|value| unshare.env(name, value));
    }
    let output = match unshare.output() {
        Ok(output) if !String::from_utf8_lossy(&output.stderr).contains("unshare") => output,
        _ => return crate::bench::skip("no private mount namespace"),
    };
    let seen = Seen::of(&output);
    assert!(seen.code == 0 && seen.stdout.contains("dummy") && seen.stdout.contains("counted"), "{seen:?}");
}
