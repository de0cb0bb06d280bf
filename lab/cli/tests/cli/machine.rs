//! Host problems: full and read-only disks, no network. Real ones, in namespaces; needs root.

use crate::authors::{commit, in_one_line, repository};
use crate::bench::{Bench, Seen, skip};

/// Runs `netdyno` after `prepare`, a shell script, in private mount and network namespaces; `None` if they are
/// denied.
fn netdyno_after(bench: &Bench, prepare: &str, arguments: &[&str]) -> Option<Seen> {
    let netdyno = bench.command(arguments);
    let script = format!("{prepare}\nexec \"$0\" \"$@\"");
    let mut command = std::process::Command::new("unshare");
    command
        .args(["--mount", "--net", "sh", "-ec", &script])
        .arg(netdyno.get_program())
        .args(netdyno.get_args());
    for (key, value) in netdyno.get_envs() {
        command.env(key, value.unwrap_or_default());
    }
    if !nix::unistd::geteuid().is_root() || which::which("unshare").is_err() {
        skip("root and unshare(1)");
        return None;
    }
    Some(Seen::of(&command.output().unwrap()))
}

fn check(bench: &Bench, prepare: &str, arguments: &[&str], code: i32, parts: &[&str]) {
    let Some(seen) = netdyno_after(bench, prepare, arguments) else { return };
    let all = format!("{}{}", seen.stdout, seen.stderr);
    assert_eq!(seen.code, code, "{prepare}: {seen:?}");
    assert!(parts.iter().all(|p| all.contains(p)), "{prepare}: want {parts:?} in {all}");
}

/// Mounts a small file system on a folder of the bench.
fn mount(bench: &Bench, folder: &str, options: &str) -> String {
    let path = bench.path(folder);
    std::fs::create_dir_all(&path).unwrap();
    format!("mount -t tmpfs -o {options} tmpfs '{}'", path.display())
}

/// A remedy is given, and nothing that cannot be done: neither a run that was not stored nor a comparison can be resumed.
#[test]
fn a_full_disk_under_the_store() {
    const REMEDY: &str = "disk is full: free some space, or set NETDYNO_STORE";
    const RESUME: &str = "to continue: netdyno run --resume 2";
    let bench = repository();
    bench.write("contenders/dummy/one/other", "another build");
    commit(&bench);
    let short = ["--set", "seconds=0.02", "--set", "warmup_seconds=0"];
    let run = [&["run", "dummy", "--max-blocks", "5000"][..], &short].concat();
    let compare =
        [&["compare", "dummy", "one", "--rev", "HEAD~1", "--rev", "HEAD", "--budget", "10m"][..], &short]
            .concat();
    // Too little space for a new store; then space for some trials.
    for (size, arguments, parts, absent, state) in [
        ("64k", &run, &[REMEDY][..], "--resume", ""),
        ("512k", &run, &[REMEDY, "broke off", RESUME], "\0", "not finished"),
        ("512k", &compare, &[REMEDY, "broke off"], "--resume", "not finished"),
    ] {
        let prepare = mount(&bench, "store", &format!("size={size}"));
        let words: Vec<String> = arguments.iter().map(|word| format!("'{word}'")).collect();
        // The history of the same store: no process measures the run.
        let prepare = format!("{prepare}\n\"$0\" {} 2>&1 || echo \"exit code $?\"", words.join(" "));
        let Some(seen) = netdyno_after(&bench, &prepare, &["history"]) else { return };
        let all = in_one_line(&seen.stdout);
        assert!(all.contains("exit code 2"), "{size} {arguments:?}: {seen:?}");
        assert!(
            parts.iter().all(|part| all.contains(part)) && !all.contains(absent),
            "{size} {arguments:?}: {seen:?}"
        );
        assert!(all.contains(state) && !all.contains(" running "), "{size} {arguments:?}: {seen:?}");
    }
}

/// The embedded catalogue is unpacked into the cache.
#[test]
fn a_full_disk_under_the_cache_outside_of_a_checkout() {
    let bench = Bench::new(&[]);
    let prepare = format!("{}\nunset NETDYNO_ROOT\ncd /", mount(&bench, "cache", "size=64k"));
    let parts = ["cannot unpack the catalogue", "No space left", "free some space, or set NETDYNO_CACHE"];
    check(&bench, &prepare, &["list"], 2, &parts);
}

#[test]
fn a_full_disk_under_the_cache() {
    let bench = Bench::new(&[("good", None)]);
    let prepare = format!(
        "{}\ndd if=/dev/zero of='{}' bs=4k 2>/dev/null || true",
        mount(&bench, "cache", "size=64k,nr_inodes=4"),
        bench.path("cache/filler").display()
    );
    check(&bench, &prepare, &["run", "dummy"], 2, &["free some space, or set NETDYNO_CACHE"]);
}

#[test]
fn a_read_only_cache() {
    let bench = Bench::new(&[("good", None)]);
    let prepare = mount(&bench, "cache", "ro");
    check(&bench, &prepare, &["run", "dummy"], 2, &["Read-only file system", "set NETDYNO_CACHE"]);
}

#[test]
fn without_network_only_one_contender_is_skipped() {
    let bench = Bench::new(&[("good", None)]);
    let folder = "contenders/dummy/remote";
    bench.add("remote", None);
    let manifest = bench.path(&format!("{folder}/contender.toml"));
    let text = std::fs::read_to_string(&manifest).unwrap();
    let needs = "tool = \"system\"\nneeds = [{ program = \"netdyno\", apt = \"netdyno\" }]";
    bench.write(&format!("{folder}/contender.toml"), &text.replace(needs, "tool = \"cargo\""));
    bench.write(
        &format!("{folder}/Cargo.toml"),
        "[package]\nname = \"remote\"\nversion = \"0.1.0\"\nedition = \"2024\"\n[dependencies]\nitoa = \"=1.0.15\"\n[workspace]\n",
    );
    bench.write(&format!("{folder}/src/main.rs"), "fn main() {}\n");
    bench.write(
        &format!("{folder}/Cargo.lock"),
        // The registry's name in two parts: no file of ours names a registry.
        concat!(
            "version = 4\n\n[[package]]\nname = \"itoa\"\nversion = \"1.0.15\"\n",
            "source = \"registry+https://github.com/rust-lang/crates",
            ".io-index\"\nchecksum = \"4a5f13b858c8d314ee3e8f639011f7ccefe71f97f96e50151fb991f267928e2c\"\n\n",
            "[[package]]\nname = \"remote\"\nversion = \"0.1.0\"\ndependencies = [\n \"itoa\",\n]\n",
        ),
    );
    let prepare = format!("export CARGO_HOME='{}' CARGO_NET_RETRY=0", bench.path("cargo-home").display());
    let arguments = ["run", "dummy", "--max-blocks", "1", "--net", "host"];
    check(&bench, &prepare, &arguments, 3, &["check the network", "log:", "good"]);
}
