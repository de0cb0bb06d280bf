//! `action.yml`, with each step as GitHub runs it: only the script, in an environment with only the declared
//! variables. Scripts replace `gh`, recording its arguments, and `cargo` and `sudo`, which do nothing.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::authors::{commit, git, repository, steps};
use crate::bench::{Bench, Seen};

/// A step: the values of `env`, and the script.
#[derive(Default)]
struct Step {
    env: BTreeMap<String, String>,
    script: String,
}

/// The steps by name. The file only has the YAML constructs parsed here.
fn action() -> BTreeMap<String, Step> {
    let text = include_str!("../../../../action.yml");
    let (_, steps) = text.split_once("  steps:\n").unwrap();
    let step = |text: &str| {
        let (name, rest) = text.split_once('\n').unwrap();
        let (head, script) = rest.split_once("      run: ").unwrap();
        let script = script.strip_prefix("|\n").unwrap_or(script).replace("\n        ", "\n");
        let env = head.lines().filter_map(|line| line.strip_prefix("        ")?.split_once(": "));
        let env = env.filter(|(name, _)| !name.starts_with('#'));
        let env = env.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        assert!(head.contains("      shell: bash\n"), "{name}");
        (name.to_owned(), Step { env, script: script.trim_start().to_owned() })
    };
    steps.split("    - name: ").skip(1).map(step).collect()
}

/// A runner with a checkout.
struct Runner {
    bench: Bench,
    steps: BTreeMap<String, Step>,
}

impl Runner {
    fn new(bench: Bench) -> Runner {
        let runner = Runner { bench, steps: action() };
        runner.tool("cargo", "exit 1");
        runner.tool("sudo", "exit 1");
        for folder in ["home", "runner"] {
            std::fs::create_dir_all(runner.path(folder)).unwrap();
        }
        runner
    }

    /// Outside the checkout, whose files are compared.
    fn path(&self, relative: &str) -> PathBuf {
        self.bench.path("store").join(relative)
    }

    fn tool(&self, name: &str, script: &str) {
        let path = self.path("tools").join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, format!("#!/bin/bash\n{script}\n")).unwrap();
        let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(path, executable).unwrap();
    }

    fn file(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    /// Runs a step with these expressions, such as `inputs.base`, filled in; all others are empty, as on GitHub.
    fn step(&self, name: &str, filled: &[(&str, &str)]) -> Seen {
        let step = &self.steps[name];
        let fill = |value: &String| {
            let parts = value.split("${{ ").map(|part| match part.split_once(" }}") {
                None => part.to_owned(),
                Some((expression, rest)) => {
                    let known =
                        |one: &str| filled.iter().find(|(name, _)| *name == one).map(|(_, value)| *value);
                    let value = expression.split(" || ").filter_map(known).find(|value| !value.is_empty());
                    value.unwrap_or_default().to_owned() + rest
                }
            });
            parts.collect::<String>()
        };
        let script = self.path("step.sh");
        std::fs::write(&script, &step.script).unwrap();
        let own = Path::new(env!("CARGO_BIN_EXE_netdyno")).parent().unwrap().display().to_string();
        let mut command = Command::new("/bin/bash");
        command
            .args(["--noprofile", "--norc", "-eo", "pipefail"])
            .arg(script)
            .current_dir(self.bench.path(""));
        command.env_clear().envs(step.env.iter().map(|(name, value)| (name, fill(value))));
        command.env("PATH", format!("{}:{own}:/usr/bin:/bin", self.path("tools").display()));
        for (name, value) in [
            ("HOME", "home"),
            ("RUNNER_TEMP", "runner"),
            ("GITHUB_OUTPUT", "output"),
            ("GITHUB_PATH", "path"),
            ("GITHUB_STEP_SUMMARY", "summary"),
            ("GITHUB_ACTION_PATH", "action"),
            ("NETDYNO_STORE", "runs.db"),
            ("NETDYNO_CACHE", "cache"),
        ] {
            command.env(name, self.path(value));
        }
        Seen::of(&command.env("NETDYNO_ROOT", self.bench.path("")).output().unwrap())
    }

    fn output(&self, name: &str) -> String {
        let output = self.file("output");
        let mut all = output.lines().filter_map(|line| line.split_once('='));
        all.rfind(|(known, _)| *known == name).map_or(String::new(), |(_, value)| value.to_owned())
    }
}

/// An expression in a script would become part of the script.
#[test]
fn no_script_contains_an_expression() {
    let steps = action();
    assert_eq!(steps.keys().collect::<Vec<_>>(), ["Comment", "Compare", "Install netdyno", "Verdict"]);
    for (name, step) in steps {
        assert!(!step.script.contains("${{") && !step.script.is_empty(), "{name}: {}", step.script);
    }
}

#[test]
fn a_regression_becomes_a_comment_and_an_exit_code() {
    let bench = repository();
    git(&bench, &["tag", "v1"]);
    steps(&bench, 2000);
    commit(&bench);
    // The checkout is shallow, like that of `actions/checkout`.
    let shallow = Bench::new(&[]);
    let from = format!("file://{}", bench.path("").display());
    std::fs::remove_dir_all(shallow.path("")).unwrap();
    let to = shallow.path("").display().to_string();
    git(&bench, &["clone", "-q", "--depth", "1", &from, &to]);
    let base = git(&bench, &["rev-parse", "v1"]);
    let runner = Runner::new(shallow);
    let installed = runner.step("Install netdyno", &[]);
    assert!(installed.code == 0 && runner.file("path").contains("/home/.cargo/bin"), "{installed:?}");

    let compared = [
        ("inputs.workload", "dummy"),
        ("inputs.contender", "one"),
        ("github.event.pull_request.base.sha", base.as_str()),
        ("inputs.head", "HEAD"),
        ("inputs.fail-on", "regression=3% undecided"),
        ("inputs.budget", "60s"),
        ("inputs.set", "seconds=0.1 streams=2"),
    ];
    let seen = runner.step("Compare", &compared);
    assert_eq!((seen.code, runner.output("code").as_str()), (0, "5"), "{seen:?}");
    let report = runner.output("report");
    assert!(runner.file("summary").contains("**Regression**"), "{}", runner.file("summary"));

    runner.tool("gh", "printf '%s\\n' \"$*\" >> \"$HOME/asked\"\n[[ $* != *--jq* ]] || { echo \"$MARKER\" > \"$HOME/marker\"; cat \"$HOME/known\"; }");
    let comment = [
        ("inputs.workload", "dummy"),
        ("inputs.contender", "one"),
        ("github.repository", "me/lib"),
        ("github.event.pull_request.number", "7"),
        ("steps.compare.outputs.report", report.as_str()),
    ];
    for (known, asked) in [
        ("", "--method POST repos/me/lib/issues/7/comments"),
        ("31\n", "--method PATCH repos/me/lib/issues/comments/31"),
    ] {
        std::fs::write(runner.path("home/known"), known).unwrap();
        let seen = runner.step("Comment", &comment);
        assert_eq!(seen.code, 0, "{seen:?}");
        assert!(runner.file("home/asked").contains(&format!("{asked} -F body=@{report}.comment")), "{asked}");
    }
    let written = std::fs::read_to_string(format!("{report}.comment")).unwrap();
    let marker = runner.file("home/marker");
    assert_eq!(marker, "<!-- netdyno compare dummy one -->\n");
    assert!(written.starts_with(&format!("{marker}### dummy: one@")), "{written}");
    let verdict = runner.step("Verdict", &[("steps.compare.outputs.code", "5")]);
    assert_eq!(verdict.code, 5, "{verdict:?}");

    // In a fork the token has no write access, which is not a failure.
    runner.tool("gh", "echo 'HTTP 403' >&2; exit 1");
    assert_eq!(runner.step("Comment", &comment).code, 0);
}

/// Values that would be commands, patterns or options if they were not quoted.
#[test]
fn input_values_are_never_executed() {
    let runner = Runner::new(repository());
    let odd = "$(touch owned) `touch owned` ; touch owned \" ' *";
    let seen =
        runner.step("Compare", &[("inputs.base", "main"), ("inputs.head", odd), ("inputs.budget", "1s")]);
    assert!(seen.code == 0 && seen.stderr.contains("no contender named"), "{seen:?}");
    assert_eq!(runner.output("code"), "2");
    for input in [
        "inputs.workload",
        "inputs.contender",
        "inputs.fail-on",
        "inputs.budget",
        "inputs.preset",
        "inputs.set",
    ] {
        let seen = runner.step("Compare", &[("inputs.base", "main"), (input, odd)]);
        assert!(seen.code == 0 && runner.output("code") == "2", "{input}: {seen:?}");
    }
    // Without a comparison, the report gives the reason.
    let report = std::fs::read_to_string(runner.output("report")).unwrap();
    assert!(
        report.starts_with("**Not compared** (exit code 2)") && report.contains("    error: "),
        "{report}"
    );
    assert!(!runner.bench.path("owned").exists());
    for base in ["", "0000000000000000000000000000000000000000"] {
        let seen = runner.step("Compare", &[("github.event.before", base), ("inputs.head", "HEAD")]);
        assert!(seen.code == 2 && seen.stdout.contains("set the input 'base' of the action"), "{seen:?}");
    }
}
