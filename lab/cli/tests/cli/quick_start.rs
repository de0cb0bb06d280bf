//! The quick start of docs/CI.md, in a library's repository outside of a checkout.

use crate::authors::{commit, git, in_one_line};
use crate::bench::{Bench, Seen, skip};

/// A new adapter is compared before it is merged: with the commit that adds it, not with `main`, which lacks it.
#[test]
fn the_quick_start_measures_a_changed_library() {
    let document = include_str!("../../../../docs/CI.md");
    let start = document.split("## Quick start").nth(1).unwrap().split("## On GitHub").next().unwrap();
    let create = ["new", "--workload", "rtt", "--language", "python", "my-lib"];
    let compare = ["compare", "--rev", "HEAD"];
    for command in [&create[..], &compare] {
        assert!(start.contains(&format!("netdyno {}", command.join(" "))), "{command:?}");
    }
    let (library, lab) = (Bench::new(&[]), Bench::new(&[]));
    for folder in ["workloads", "contenders", "tools"] {
        std::fs::remove_dir_all(library.path(folder)).unwrap();
    }
    let netdyno = |arguments: &[&str]| {
        let mut command = lab.command(arguments);
        Seen::of(&command.env_remove("NETDYNO_ROOT").current_dir(library.path("")).output().unwrap())
    };
    let seen = netdyno(&create);
    assert_eq!(seen.code, 0, "{seen:?}");
    git(&library, &["init", "-q", "-b", "main"]);
    commit(&library);
    let seen = netdyno(&compare);
    if seen.stderr.contains("not found") {
        return skip(&format!("python3 with venv: {}", seen.stderr));
    }
    assert!(seen.code == 0 && seen.stdout.contains("have identical builds"), "{seen:?}");
    let file = "netdyno/rtt/my-lib/pong.py";
    let text = std::fs::read_to_string(library.path(file)).unwrap();
    // Each echo takes a millisecond more.
    let slower = text.replace("wait_ns(self._delay_ns)", "wait_ns(self._delay_ns + 1_000_000)");
    assert_ne!(slower, text);
    library.write(file, &slower);
    // Whether the difference is significant after so little time depends on the machine.
    let seen = netdyno(&[&compare[..], &["--budget", "5s"]].concat());
    assert!([0, 5].contains(&seen.code), "{seen:?}");
    let told = in_one_line(&seen.stdout);
    assert!(told.contains("% worse than that of my-lib@HEAD ("), "{told}");
}
