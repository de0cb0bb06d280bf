//! `action.yml` and `comment/action.yml`, with each step as GitHub runs it: only the script, in an environment with only the
//! declared variables. Scripts replace `gh`, `sysctl`, `unshare`, `cargo` and `sudo`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::authors::{commit, git, repository, steps};
use crate::bench::{Bench, Seen};

const COMPARE: &str = include_str!("../../../../action.yml");
const COMMENT: &str = include_str!("../../../../comment/action.yml");
const DOCUMENT: &str = include_str!("../../../../docs/CI.md");
/// The largest comment that GitHub accepts.
const COMMENT_BYTES_MAX: usize = 65_536;
/// The longest environment variable that Linux accepts, which also limits a text that one job hands to another.
const VARIABLE_BYTES_MAX: usize = 128 << 10;
/// Records its arguments, and prints `$HOME/known` if it is asked for comments.
const GH: &str = "printf '%s\\n' \"$*\" >> \"$HOME/asked\"\n\
                  [[ $* != *--jq* ]] || { echo \"$MARKER\" > \"$HOME/marker\"; cat \"$HOME/known\"; }";

/// A step: its condition, the values of `env`, and the script.
#[derive(Default)]
struct Step {
    condition: String,
    env: BTreeMap<String, String>,
    script: String,
}

/// The steps of both actions by name. The files only have the YAML constructs parsed here.
fn actions() -> BTreeMap<String, Step> {
    let step = |text: &str| {
        let (name, rest) = text.split_once('\n').unwrap();
        let (head, script) = rest.split_once("      run: ").unwrap();
        let script = script.strip_prefix("|\n").unwrap_or(script).replace("\n        ", "\n");
        let env = head.lines().filter_map(|line| line.strip_prefix("        ")?.split_once(": "));
        let env = env.filter(|(name, _)| !name.starts_with('#'));
        let env = env.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        let condition = head.lines().find_map(|line| line.strip_prefix("      if: ")).unwrap_or_default();
        assert!(head.contains("      shell: bash\n"), "{name}");
        (
            name.to_owned(),
            Step { condition: condition.to_owned(), env, script: script.trim_start().to_owned() },
        )
    };
    let steps = [COMPARE, COMMENT].map(|text| text.split_once("  steps:\n").unwrap().1);
    steps.iter().flat_map(|steps| steps.split("    - name: ").skip(1)).map(step).collect()
}

/// A runner with a checkout.
struct Runner {
    bench: Bench,
    steps: BTreeMap<String, Step>,
}

impl Runner {
    fn new(bench: Bench) -> Runner {
        let runner = Runner { bench, steps: actions() };
        runner.tool("cargo", "exit 1");
        runner.tool("sudo", "exec \"$@\"");
        runner.tool("unshare", "exit 0");
        runner.tool("gh", GH);
        for folder in ["home", "runner", "action"] {
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

    /// Replaces a file, such as one that a tool reads.
    fn put(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).unwrap();
    }

    /// Runs a step with these expressions, such as `inputs.base`, filled in; all others are empty, as on GitHub.
    fn step(&self, name: &str, filled: &[(&str, &str)]) -> Seen {
        let own = Path::new(env!("CARGO_BIN_EXE_netdyno")).parent().unwrap().display().to_string();
        self.step_in(&own, name, filled)
    }

    /// Runs a step with a folder of programs between the tools and those of the system.
    fn step_in(&self, programs: &str, name: &str, filled: &[(&str, &str)]) -> Seen {
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
        let mut command = Command::new("/bin/bash");
        command
            .args(["--noprofile", "--norc", "-eo", "pipefail"])
            .arg(script)
            .current_dir(self.bench.path(""));
        command.env_clear().envs(step.env.iter().map(|(name, value)| (name, fill(value))));
        command.env("PATH", format!("{}:{programs}:/usr/bin:/bin", self.path("tools").display()));
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

    /// An output, parsed as the runner does: `name=value`, or `name<<delimiter` and lines up to the delimiter. The last one with
    /// the name counts.
    fn output(&self, name: &str) -> String {
        let (text, mut found) = (self.file("output"), String::new());
        let mut lines = text.lines();
        while let Some(line) = lines.next() {
            let value = match line.split_once("<<") {
                Some((known, delimiter)) if !known.contains('=') => {
                    let value: Vec<&str> = lines.by_ref().take_while(|line| *line != delimiter).collect();
                    (known, value.join("\n"))
                }
                _ => line.split_once('=').map(|(known, value)| (known, value.to_owned())).unwrap(),
            };
            if value.0 == name {
                found = value.1;
            }
        }
        found
    }
}

/// An expression in a script would become part of the script.
#[test]
fn no_script_contains_an_expression() {
    let steps = actions();
    let names: Vec<&str> = steps.keys().map(String::as_str).collect();
    assert_eq!(
        names,
        [
            "Allow user namespaces",
            "Comment",
            "Compare",
            "Install netdyno",
            "Restore the restriction of user namespaces",
            "Verdict",
        ]
    );
    for (name, step) in steps {
        assert!(!step.script.contains("${{") && !step.script.is_empty(), "{name}: {}", step.script);
    }
}

/// Code of the pull request runs in the job that compares. The other job has the token with write access.
#[test]
fn the_job_that_compares_has_no_token_that_can_write() {
    assert!(!COMPARE.contains("token }}") && !COMPARE.contains("gh api"), "{COMPARE}");
    for text in ["checkout", "netdyno compare \"", "cargo", "git "] {
        assert!(!COMMENT.contains(text), "{text}");
    }
    let workflow = DOCUMENT.split("```yaml\n").nth(1).unwrap().split("```").next().unwrap();
    let (head, jobs) = workflow.split_once("jobs:\n").unwrap();
    assert!(head.contains("permissions: {}\n") && head.starts_with("on: pull_request\n"), "{head}");
    let (compare, comment) = jobs.split_once("  comment:\n").unwrap();
    let permissions = |job: &str| {
        let lines = job.split_once("    permissions:\n").unwrap().1.lines();
        lines.map_while(|line| line.strip_prefix("      ")).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(permissions(compare), ["contents: read"]);
    assert_eq!(permissions(comment), ["pull-requests: write"]);
    assert!(compare.contains("persist-credentials: false") && !comment.contains("checkout"), "{workflow}");
    // A commit hash, which cannot be moved.
    let uses: Vec<&str> =
        workflow.lines().filter_map(|line| line.split_once("uses: ")).map(|(_, u)| u).collect();
    assert_eq!(uses.len(), 3, "{workflow}");
    for used in uses {
        let commit = used.split_once('@').unwrap().1.split(' ').next().unwrap();
        let is_hash = commit.len() == 40 && commit.bytes().all(|b| b.is_ascii_hexdigit());
        assert!(is_hash || commit == "COMMIT", "{used}");
    }
}

#[test]
fn a_regression_becomes_a_report_and_an_exit_code() {
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
    let compared = [
        ("inputs.workload", "dummy"),
        ("inputs.contender", "one"),
        ("github.event_name", "pull_request"),
        ("github.event.pull_request.base.sha", base.as_str()),
        ("inputs.head", "HEAD"),
        ("inputs.fail-on", "regression=3% undecided"),
        ("inputs.budget", "60s"),
        ("inputs.set", "seconds=0.1 streams=2"),
    ];
    let seen = runner.step("Compare", &compared);
    assert_eq!((seen.code, runner.output("code").as_str()), (0, "5"), "{seen:?}");
    assert!(runner.file("summary").contains("**Regression**"), "{}", runner.file("summary"));
    let (report, markdown) =
        (std::fs::read_to_string(runner.output("report")).unwrap(), runner.output("markdown"));
    assert!(report.starts_with("### dummy: one@") && report.trim_end() == markdown.trim_end(), "{markdown}");
    let verdict = runner.step("Verdict", &[("steps.compare.outputs.code", "5")]);
    assert_eq!(verdict.code, 5, "{verdict:?}");
    // A name that the clone does not have is fetched, too.
    runner.tool("netdyno", "printf '%s\\n' \"$*\" > \"$HOME/asked\"; echo '### report'");
    let seen = runner.step("Compare", &[("inputs.base", "v1"), ("inputs.head", "HEAD")]);
    assert!(seen.code == 0 && runner.file("home/asked").contains(&format!("--rev {base} ")), "{seen:?}");
}

#[test]
fn an_installation_does_not_read_the_checkout() {
    let runner = Runner::new(Bench::new(&[]));
    runner.tool("cargo", "echo \"$PWD $*\" > \"$HOME/cargo\"");
    for (programs, expected) in [(None, ""), (Some("/nowhere"), "install --quiet --locked --path lab/cli\n")]
    {
        let seen = match programs {
            None => runner.step("Install netdyno", &[]),
            Some(programs) => runner.step_in(programs, "Install netdyno", &[]),
        };
        assert!(seen.code == 0 && runner.file("path").contains("/home/.cargo/bin"), "{seen:?}");
        let expected = match expected {
            "" => String::new(),
            arguments => format!("{} {arguments}", runner.path("action").display()),
        };
        assert_eq!(runner.file("home/cargo"), expected);
    }
}

/// The restriction is lifted only on request, and always restored to its value.
#[test]
fn user_namespaces_are_allowed_on_request_and_restricted_again() {
    const KEY: &str = "kernel.apparmor_restrict_unprivileged_userns";
    let runner = Runner::new(Bench::new(&[]));
    let (allow, restore) = ("Allow user namespaces", "Restore the restriction of user namespaces");
    let input = COMPARE.split_once("  allow-user-namespaces:\n").unwrap().1;
    let (input, _) = input.split_once("outputs:\n").unwrap();
    assert!(input.ends_with("    default: \"false\"\n"), "{input}");
    assert_eq!(runner.steps[allow].condition, "inputs.allow-user-namespaces == 'true'");
    assert_eq!(runner.steps[restore].condition, "always() && steps.namespaces.outputs.value");
    assert!(
        COMPARE.trim_end().ends_with(runner.steps[restore].script.lines().last().unwrap()),
        "not the last step"
    );
    runner.tool(
        "sysctl",
        "echo \"$*\" >> \"$HOME/sysctl\"; [[ $1 != -n ]] || cat \"$HOME/value\"; [[ $1 == -n || ! -e $HOME/denied ]]",
    );
    for (value, is_denied, written, output, code) in [
        ("1\n", false, true, "1", 0),
        ("2\n", false, true, "2", 0),
        ("0\n", false, false, "", 0),
        ("", false, false, "", 0),
        // Even if the attempt fails, which fails the step, the value is restored.
        ("1\n", true, true, "1", 1),
    ] {
        runner.put("home/sysctl", "");
        runner.put("output", "");
        runner.put("home/value", value);
        if is_denied {
            runner.put("home/denied", "");
        }
        let seen = runner.step(allow, &[]);
        assert_eq!((seen.code, runner.output("value").as_str()), (code, output), "{value:?}: {seen:?}");
        assert_eq!(runner.file("home/sysctl").contains(&format!("-q -w {KEY}=0")), written, "{value:?}");
    }
    std::fs::remove_file(runner.path("home/denied")).unwrap();
    let seen = runner.step(restore, &[("steps.namespaces.outputs.value", "2")]);
    assert!(seen.code == 0 && runner.file("home/sysctl").ends_with(&format!("-q -w {KEY}=2\n")), "{seen:?}");
}

#[test]
fn the_report_says_that_user_namespaces_are_denied() {
    let runner = Runner::new(repository());
    runner.tool("netdyno", "echo '### report'");
    for (unshare, is_denied) in [
        ("exit 0", false),
        ("exit 1", true),
        // Root needs no user namespace, and others no root.
        ("[[ $* != *--user* ]]", false),
        ("[[ $* == *--user* ]]", false),
    ] {
        runner.tool("unshare", unshare);
        let seen = runner.step("Compare", &[("inputs.base", "main"), ("inputs.head", "HEAD")]);
        let said = runner.output("markdown");
        assert_eq!(seen.code, 0, "{seen:?}");
        assert_eq!(said.contains("`allow-user-namespaces: true`"), is_denied, "{unshare}: {said}");
        assert!(said.starts_with("### report"), "{said}");
    }
}

/// Every input becomes an option of `compare`; an empty one becomes none.
#[test]
fn every_input_becomes_an_option() {
    let runner = Runner::new(repository());
    runner.tool("netdyno", "printf '%s\\n' \"$*\" > \"$HOME/asked\"; echo '### report'");
    let inputs = COMPARE.split_once("inputs:\n").unwrap().1.split_once("outputs:").unwrap().0;
    let inputs = inputs.lines().filter_map(|line| line.strip_prefix("  ")?.strip_suffix(':'));
    let mut named: Vec<String> =
        inputs.filter(|name| !name.starts_with(' ')).map(|name| format!("inputs.{name}")).collect();
    named.retain(|name| name != "inputs.allow-user-namespaces");
    let all = [
        ("inputs.workload", "w"),
        ("inputs.contender", "c"),
        ("inputs.base", "main"),
        ("inputs.head", "."),
        ("inputs.fail-on", "regression=3% lost=0"),
        ("inputs.budget", "7s"),
        ("inputs.preset", "long"),
        ("inputs.set", "rate=1 pairs=2"),
        ("inputs.awake", "true"),
    ];
    assert_eq!(named, all.map(|(name, _)| name.to_owned()));
    let least = [
        ("inputs.base", "main"),
        ("inputs.head", "HEAD"),
        ("inputs.budget", "60s"),
        ("inputs.awake", "false"),
    ];
    for (filled, asked) in [
        (
            &all[..],
            "compare w c --fail-on regression=3% --fail-on lost=0 --set rate=1 --set pairs=2 --preset long --awake --rev main \
             --rev . --budget 7s --format markdown\n",
        ),
        (&least, "compare --rev main --rev HEAD --budget 60s --format markdown\n"),
    ] {
        let seen = runner.step("Compare", filled);
        assert_eq!((seen.code, runner.file("home/asked").as_str()), (0, asked), "{seen:?}");
    }
}

/// A report of any content and size is one output of limited size.
#[test]
fn a_hostile_report_is_one_output_of_limited_size() {
    let runner = Runner::new(repository());
    runner.tool("netdyno", "cat \"$HOME/report\"; exit 5");
    let line = "| a | b | \u{20ac} |\n";
    for (report, is_whole) in [
        ("code=0\nmarkdown<<EOF\nEOF\n".to_owned(), true),
        (line.repeat(3000), true),
        (line.repeat(200_000), false),
        ("x".repeat(1 << 20), false),
    ] {
        runner.put("home/report", &report);
        let seen = runner.step("Compare", &[("inputs.base", "main"), ("inputs.head", "HEAD")]);
        let (markdown, code) = (runner.output("markdown"), runner.output("code"));
        assert_eq!((seen.code, code.as_str()), (0, "5"), "{seen:?}");
        assert!(markdown.len() < COMMENT_BYTES_MAX, "{}", markdown.len());
        assert_eq!(markdown.trim_end() == report.trim_end(), is_whole, "{} bytes", report.len());
        assert_eq!(markdown.contains("too long for a comment"), !is_whole, "{} bytes", report.len());
        let mut lines = markdown.lines().skip(if is_whole { 0 } else { 2 });
        assert!(lines.all(|line| report.contains(line)), "a line is cut");
    }
    // With a token with write access, code of a pull request is not run at all.
    let target = [("inputs.base", "main"), ("github.event_name", "pull_request_target")];
    let seen = runner.step("Compare", &target);
    assert!(seen.code == 2 && seen.stdout.contains("::error::pull_request_target"), "{seen:?}");
}

/// A pull request of the repository itself.
const PULL_REQUEST: [(&str, &str); 5] = [
    ("inputs.workload", "dummy"),
    ("inputs.contender", "one"),
    ("github.repository", "me/lib"),
    ("github.event.pull_request.head.repo.full_name", "me/lib"),
    ("github.event.pull_request.number", "7"),
];

#[test]
fn our_own_comment_is_written_or_updated() {
    let runner = Runner::new(Bench::new(&[]));
    assert_eq!(runner.steps["Comment"].condition, "github.event.pull_request.number");
    let comment = [&PULL_REQUEST[..], &[("inputs.markdown", "**Regression**")]].concat();
    for (known, asked) in [
        ("", "--method POST repos/me/lib/issues/7/comments"),
        ("31\n", "--method PATCH repos/me/lib/issues/comments/31"),
        ("31\n32\n", "--method PATCH repos/me/lib/issues/comments/31"),
    ] {
        runner.put("home/asked", "");
        runner.put("home/known", known);
        let seen = runner.step("Comment", &comment);
        assert_eq!(seen.code, 0, "{seen:?}");
        let body = runner.path("runner/netdyno-comment.md").display().to_string();
        let all = runner.file("home/asked");
        assert!(
            all.ends_with(&format!("api {asked} -F body=@{body}\n")) && all.lines().count() == 2,
            "{all}"
        );
    }
    let (marker, body) = (runner.file("home/marker"), runner.file("runner/netdyno-comment.md"));
    assert_eq!(marker, "<!-- netdyno compare dummy one -->\n");
    assert_eq!(body, format!("{marker}**Regression**\n"));
}

#[test]
fn only_a_fork_may_be_without_a_comment() {
    let runner = Runner::new(Bench::new(&[]));
    let denied = "echo 'gh: Resource not accessible by integration (HTTP 403)' >&2; exit 1";
    let broken = "echo 'gh: Server Error (HTTP 502)' >&2; exit 1";
    let list_only = format!("[[ $* != *--jq* ]] || exit 0; {denied}");
    for (source, gh, code, message) in [
        ("you/lib", denied, 0, "::notice::"),
        ("you/lib", &list_only, 0, "::notice::"),
        // A deleted fork.
        ("", denied, 0, "::notice::"),
        ("me/lib", denied, 1, "::error::cannot write the comment; the job needs the permission"),
        ("me/lib", &list_only, 1, "::error::"),
        ("you/lib", broken, 1, "::error::"),
        ("me/lib", broken, 1, "::error::"),
    ] {
        runner.tool("gh", gh);
        let mut filled = PULL_REQUEST.to_vec();
        filled[3].1 = source;
        let seen = runner.step("Comment", &filled);
        assert!(seen.code == code && seen.stdout.contains(message), "{source:?}, {gh}: {seen:?}");
        assert!(seen.stderr.contains("HTTP"), "{seen:?}");
    }
}

/// Code of the pull request may have written the text.
#[test]
fn a_hostile_text_becomes_a_comment_without_mentions() {
    let runner = Runner::new(Bench::new(&[]));
    runner.put("home/known", "");
    let forged = "<!-- netdyno compare other two -->\n**No regression**";
    for (text, part) in [
        ("", "**Not compared**: the comparison ended without a report"),
        ("@you @me/team", "@\u{200b}you @\u{200b}me/team"),
        ("a@b <p>&nbsp@c</p> \\@d _@e_", "a@\u{200b}b <p>&nbsp@\u{200b}c</p> \\@\u{200b}d _@\u{200b}e_"),
        (
            "&#64;a &#0064b &#x40;c &#X0040;d &commat;e",
            "@\u{200b}a @\u{200b}b @\u{200b}c @\u{200b}d @\u{200b}e",
        ),
        ("$(touch owned) `touch owned` ${HOME} %s \\n", "$(touch owned) `touch owned` ${HOME} %s \\n"),
        ("-n", "-n"),
        (forged, forged),
        (&"@ ".repeat(VARIABLE_BYTES_MAX / 2 - 16), "(cut)"),
        (&"| @ | \u{20ac} |\n".repeat(7000), "(cut)"),
    ] {
        let seen = runner.step("Comment", &[&PULL_REQUEST[..], &[("inputs.markdown", text)]].concat());
        assert_eq!(seen.code, 0, "{seen:?}");
        let body = runner.file("runner/netdyno-comment.md");
        assert!(
            body.starts_with("<!-- netdyno compare dummy one -->\n") && body.contains(part),
            "{part}: {body}"
        );
        assert!(body.len() < COMMENT_BYTES_MAX, "{} bytes", body.len());
        assert!(body.split('@').skip(1).all(|after| after.starts_with('\u{200b}')), "{body}");
    }
    assert!(!runner.bench.path("owned").exists());
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
