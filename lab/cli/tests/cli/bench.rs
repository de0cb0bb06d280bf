//! A repository of dummies in a temporary folder, with a store and a cache of its own.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

const BINARY: &str = env!("CARGO_BIN_EXE_netdyno");
const WORKLOAD: &str = netdyno_lab_manifest::dummy::WORKLOAD;

pub(crate) struct Bench {
    folder: TempDir,
}

impl Bench {
    /// A repository with these contenders: name and fault, none for a good one.
    pub(crate) fn new(contenders: &[(&str, Option<&str>)]) -> Bench {
        let bench = Bench { folder: tempfile::tempdir().unwrap() };
        bench.write("workloads/dummy.toml", WORKLOAD);
        std::fs::create_dir_all(bench.path("contenders")).unwrap();
        // Every run asks the toolchains for their versions; what no test needs need not take its time.
        std::fs::create_dir_all(bench.path("tools")).unwrap();
        for slow in ["javac", "npm"] {
            std::os::unix::fs::symlink("/bin/true", bench.path("tools").join(slow)).unwrap();
        }
        for (name, fault) in contenders {
            bench.add(name, *fault);
        }
        bench
    }

    pub(crate) fn add(&self, name: &str, fault: Option<&str>) {
        self.add_in(name, fault, &["source", "sink"]);
    }

    /// Adds a contender that plays these roles only.
    pub(crate) fn add_in(&self, name: &str, fault: Option<&str>, roles: &[&str]) {
        let with = |role: &str| {
            // Only a source can say that it sent nothing; every other fault is the sink's.
            let mine = fault.filter(|f| (*f == "overclaim") == (role == "source"));
            let fault = mine.map_or(String::new(), |f| format!(", \"--fault={f}\""));
            format!("[roles.{role}]\nrun = [\"netdyno\", \"dummy\"{fault}]\n")
        };
        let text = format!(
            "name = \"{name}\"\nworkload = \"dummy\"\nlanguage = \"rust\"\nabout = \"counts\"\nlicense = \"MIT\"\n\
             tuning = \"defaults\"\n[implementation]\nmodule = \"netdyno\"\nversion = \"{}\"\n[build]\n\
             tool = \"system\"\nneeds = [{{ program = \"netdyno\", apt = \"netdyno\" }}]\n{}",
            env!("CARGO_PKG_VERSION"),
            roles.iter().map(|role| with(role)).collect::<String>(),
        );
        self.write(&format!("contenders/dummy/{name}/contender.toml"), &text);
    }

    pub(crate) fn path(&self, relative: &str) -> PathBuf {
        self.folder.path().join(relative)
    }

    pub(crate) fn write(&self, relative: &str, text: &str) {
        let path = self.path(relative);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(BINARY);
        let path = std::env::var("PATH").unwrap_or_default();
        let own = Path::new(BINARY).parent().unwrap().display().to_string();
        command
            .args(arguments)
            .env("NETDYNO_ROOT", self.folder.path())
            .env("NETDYNO_STORE", self.path("store/runs.db"))
            .env("NETDYNO_CACHE", self.path("cache"))
            .env("PATH", format!("{own}:{}:{path}", self.path("tools").display()));
        command
    }

    /// Runs it to its end.
    pub(crate) fn netdyno(&self, arguments: &[&str]) -> Seen {
        Seen::of(&self.command(arguments).output().unwrap())
    }

    /// Adds a contender that stands still from its second trial on, until it is let go: a run of it can be ended, or looked at,
    /// from outside before it ends by itself, on however slow a machine.
    pub(crate) fn add_held(&self, name: &str) {
        self.add(name, None);
        self.write("allowed", "1");
        self.write(
            "held.sh",
            "cd \"$(dirname \"$0\")\"\necho >> starts\n\
             while [ -e allowed ] && [ \"$(wc -l < starts)\" -gt \"$(cat allowed)\" ]; do sleep 0.05; done\nexec netdyno dummy\n",
        );
        let manifest = format!("contenders/dummy/{name}/contender.toml");
        let text = std::fs::read_to_string(self.path(&manifest)).unwrap();
        let (head, sink) = text.split_once("[roles.sink]").unwrap();
        let script = self.path("held.sh").display().to_string();
        let sink = sink.replace("[\"netdyno\", \"dummy\"]", &format!("[\"/bin/sh\", \"{script}\"]"));
        self.write(&manifest, &format!("{head}[roles.sink]{sink}"));
    }

    /// Lets it have so many trials in all.
    pub(crate) fn allow(&self, trials: u32) {
        // In one step: it may be looking.
        self.write("allowed.new", &trials.to_string());
        std::fs::rename(self.path("allowed.new"), self.path("allowed")).unwrap();
    }

    /// Lets it go.
    pub(crate) fn release(&self) {
        std::fs::remove_file(self.path("allowed")).unwrap();
    }

    /// Waits until the newest run, which this process measures, has this many good trials.
    pub(crate) fn wait_for_trials(&self, run: &mut Child, trials: u64) {
        let deadline = Instant::now() + Duration::from_secs(60);
        loop {
            // Asked first: whatever it stored is there once it has ended.
            let ended = run.try_wait().unwrap();
            let seen = self.netdyno(&["show", "last", "--format", "json"]);
            let report: Value = serde_json::from_str(&seen.stdout).unwrap_or_default();
            let cells = report["cells"].as_array().cloned().unwrap_or_default();
            if cells.iter().filter_map(|c| c["trials"].as_u64()).sum::<u64>() >= trials {
                return;
            }
            if let Some(status) = ended {
                let mut printed = String::new();
                run.stderr.take().map(|mut stderr| stderr.read_to_string(&mut printed));
                panic!("it ended before it had {trials} trials: {status}: {printed}");
            }
            assert!(Instant::now() < deadline, "no {trials} trials: {}", seen.stderr);
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    /// The newest run's report.
    pub(crate) fn last(&self) -> Value {
        let seen = self.netdyno(&["show", "last", "--format", "json"]);
        serde_json::from_str(&seen.stdout).unwrap_or_else(|e| panic!("{e}: {seen:?}"))
    }
}

/// What a user sees.
#[derive(Debug)]
pub(crate) struct Seen {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Seen {
    pub(crate) fn of(output: &Output) -> Seen {
        Seen {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

/// The cell of a report that this contender plays.
pub(crate) fn cell<'a>(report: &'a Value, contender: &str) -> &'a Value {
    let cells = report["cells"].as_array().unwrap();
    cells.iter().find(|c| c["contender"] == contender).unwrap_or_else(|| panic!("no {contender}: {report}"))
}

/// Says what a test needs that is not here; with `NETDYNO_REQUIRE=all` that is a failure.
pub(crate) fn skip(needed: &str) {
    assert!(std::env::var("NETDYNO_REQUIRE").as_deref() != Ok("all"), "needs {needed}");
    println!("skipped: needs {needed}");
}
