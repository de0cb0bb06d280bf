//! The workload `echonet` from outside, with contenders that only need a C compiler: each role has its own network,
//! user and system time are reported, and a device with wrong values fails in whichever phase it shows.

#![allow(clippy::unwrap_used, missing_docs)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// `netdyno` on a checkout, with a store in `folder`.
fn netdyno(root: &Path, folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_netdyno"));
    command.env("NETDYNO_ROOT", root).env("NETDYNO_STORE", folder.join("runs.db"));
    command
}

fn told(output: &Output) -> String {
    [&output.stdout[..], &output.stderr].map(String::from_utf8_lossy).concat()
}

/// Whether a requirement is missing; a failure if all are required.
fn is_skipped(told: &str) -> bool {
    let skipped =
        told.contains("skipped: needs") || told.contains("not permitted") || told.contains(" is missing");
    assert!(!skipped || std::env::var("NETDYNO_REQUIRE").as_deref() != Ok("all"), "{told}");
    if skipped {
        println!("skipped: needs what is not here: {told}");
    }
    skipped
}

#[test]
fn each_role_has_its_own_network_and_cpu_time_in_parts() {
    let folder = tempfile::tempdir().unwrap();
    let arguments = ["run", "echonet", "c-plain", "--blocks", "--format", "json", "--max-blocks", "1"];
    let sweep = ["--set", "seconds=0.4", "--set", "warmup_seconds=0.1", "--sweep", "outstanding=1,16"];
    let output = netdyno(&repository(), folder.path()).args(arguments).args(sweep).output().unwrap();
    if is_skipped(&told(&output)) {
        return;
    }
    let report: Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {}", told(&output)));
    assert!(report["run"]["arena"].as_str().unwrap().contains("two network namespaces"), "{}", report["run"]);
    let cells = report["cells"].as_array().unwrap();
    assert_eq!(cells.len(), 4, "one of them is the bound, at both numbers of reads under way");
    for cell in cells {
        assert_eq!(cell["status"], "ok", "{}: {}", cell["label"], cell["reason"]);
        let figure = |name: &str| {
            let figure = &cell["metrics"][name];
            figure["value"].as_f64().unwrap_or_else(|| panic!("{name}: {figure}"))
        };
        assert!(figure("rounds") > 0.0 && figure("lost") == 0.0 && figure("setup") > 0.0, "{cell}");
        assert!(figure("latency_p50") <= figure("latency_p99_9"), "{cell}");
        for role in ["controller", "device"] {
            let [all, user, system] =
                ["cpu", "user", "system"].map(|part| figure(&format!("{role}_{part}_per_round")));
            // The kernel may sample user and system time at ticks, so that those of 0.4 s are inexact.
            assert!(all > 0.0 && user + system > 0.0 && user + system < 3.0 * all, "{all} {user} {system}");
        }
    }
}

#[test]
fn a_shared_network_is_rejected_with_the_reason() {
    let folder = tempfile::tempdir().unwrap();
    for net in ["loopback", "host"] {
        let output =
            netdyno(&repository(), folder.path()).args(["run", "echonet", "--net", net]).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{}", told(&output));
        assert!(told(&output).contains("both roles receive at UDP port 3610"), "{}", told(&output));
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            fs::copy(&path, to.join(path.file_name().unwrap())).unwrap();
        }
    }
}

/// A checkout with the workload and one contender, a variant of the plain one in C with an edited device.
fn liar(root: &Path, from: &str, to: &str) {
    let here = repository();
    copy(&here.join("contenders/sdk/c"), &root.join("contenders/sdk/c"));
    fs::create_dir_all(root.join("workloads")).unwrap();
    fs::copy(here.join("workloads/echonet.toml"), root.join("workloads/echonet.toml")).unwrap();
    let folder = root.join("contenders/echonet/c-plain");
    copy(&here.join("contenders/echonet/c-plain"), &folder);
    let device = fs::read_to_string(folder.join("device.c")).unwrap();
    assert!(device.contains(from), "{from}");
    fs::write(folder.join("device.c"), device.replacen(from, to, 1)).unwrap();
}

#[test]
fn one_wrong_byte_fails_the_gate() {
    const D3: &str = r#"add(profile, 0xd3, READABLE, "\x00\x00\x01", 3)"#;
    const READ: &str = "if ((slot->access & access) != 0";
    for (from, to, reason) in [
        (
            D3,
            r#"add(profile, 0xd3, READABLE, "\x00\x00\x02", 3)"#,
            "node profile D3 is [00 00 02], expected [00 00 01]",
        ),
        (
            "identification, IDENTIFICATION_BYTES);",
            "identification, IDENTIFICATION_BYTES); slot_of(profile, 0x83)->value[16] ^= 1;",
            "expected [FE, three bytes and the thirteen bytes derived from the seed]",
        ),
        (
            READ,
            "static int n; if (++n == 200) slot_of(object, 0x80)->value[0]++;\n if ((slot->access & access) != 0",
            "at the end, must be 0",
        ),
    ] {
        let root = tempfile::tempdir().unwrap();
        liar(root.path(), from, to);
        let mut command = netdyno(root.path(), root.path());
        command.args(["check", "echonet/c-plain"]).env("NETDYNO_CACHE", root.path().join("cache"));
        let output = command.output().unwrap();
        if is_skipped(&told(&output)) {
            return;
        }
        assert!(told(&output).contains(reason) && told(&output).contains("FAIL"), "{to}: {}", told(&output));
        assert_ne!(output.status.code(), Some(0));
    }
}
