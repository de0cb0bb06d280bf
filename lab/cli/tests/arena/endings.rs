//! No processes or cgroups remain after a trial, however it ends.

use std::collections::HashSet;
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::channel;
use std::time::Duration;

use netdyno_lab_arena::{AgentEvent, Arena, EndedBy, LinkEnd, RoleProcess, limits};
use netdyno_lab_manifest::Net;
use procfs::{Current, Meminfo};

use super::freezing::FREEZINGS;
use super::trial::*;

#[test]
fn a_daemon_does_not_outlive_its_contender() {
    let Some(arena) = open(Net::Loopback) else { return };
    drop(arena);
    for private_pids in [true, false] {
        let script = "setsid sh -c 'setsid sleep 1000 & sleep 1000' & echo up; read x; exit 0";
        let arena = Arena::open(&spec(Net::Loopback)).unwrap();
        let mut trial = Trial::with(arena, script, |launch| launch.private_pids = private_pids);
        assert_eq!(trial.line(), "up");
        eventually("the daemons start", || marked(&trial.mark).len() >= 4);
        trial.role().send_line("go").unwrap();
        let exit = trial.exit();
        assert_eq!((exit.code, exit.by), (Some(0), EndedBy::Itself), "private_pids {private_pids}: {exit:?}");
        assert_eq!(marked(&trial.mark), [0; 0], "private_pids {private_pids}");
        trial.finish();
    }
}

#[test]
fn a_killed_contender_is_reported() {
    let Some(arena) = open(Net::Loopback) else { return };
    let trial = Trial::new(arena, "sleep 1000 & echo up; wait");
    assert_eq!(trial.line(), "up");
    kill(trial.pid);
    let exit = trial.exit();
    assert_eq!((exit.code, exit.signal, exit.by), (None, Some(9), EndedBy::Itself), "{exit:?}");
    assert!(exit.reason.contains("SIGKILL"));
    trial.finish();
}

#[test]
fn nothing_outlives_a_killed_agent() {
    if open(Net::Loopback).is_none() {
        return;
    }
    for private_pids in [true, false] {
        let arena = Arena::open(&spec(Net::Loopback)).unwrap();
        let mut trial = Trial::with(arena, "setsid sleep 1000 & echo up; sleep 1000", |launch| {
            launch.private_pids = private_pids;
        });
        assert_eq!(trial.line(), "up");
        let pid = trial.pid;
        kill(trial.role().agent_pid());
        assert!(matches!(trial.last(), AgentEvent::Failed { .. }));
        eventually("the contender is dead", || marked(&trial.mark).is_empty());
        eventually("the contender is reaped", || !Path::new(&format!("/proc/{pid}")).exists());
        trial.finish();
    }
}

#[test]
fn a_flood_is_stopped_with_its_limit() {
    for (script, limit) in [
        ("yes", "lines within a second"),
        ("head -c 3000000 /dev/zero | tr '\\0' x; read x", "a line of more than"),
    ] {
        let Some(arena) = open(Net::Loopback) else { return };
        let trial = Trial::new(arena, script);
        let flood =
            std::iter::from_fn(|| Some(trial.next())).find(|event| !matches!(event, AgentEvent::Line { .. }));
        let Some(AgentEvent::Flood { reason }) = flood else { panic!("{flood:?}") };
        assert!(reason.contains(limit), "{reason}");
        assert_eq!(trial.exit().by, EndedBy::Flood);
        trial.finish();
    }
}

#[test]
fn a_contender_that_does_not_read_is_stopped() {
    let arena = Arena::open(&spec(Net::Host)).unwrap();
    let mut trial = Trial::new(arena, "sleep 1000");
    let line = "x".repeat(1 << 20);
    for _ in 0..=limits::MAX_UNREAD_STDIN_BYTES >> 20 {
        trial.role().send_line(&line).unwrap();
    }
    assert!(matches!(trial.next(), AgentEvent::Flood { reason } if reason.contains("stdin")));
    assert_eq!(trial.exit().by, EndedBy::Flood);
    trial.finish();
}

#[test]
fn a_memory_limit_is_named() {
    let arena = Arena::open(&spec(Net::Host)).unwrap();
    let script = "x=xxxxxxxxxxxxxxxx; while :; do x=$x$x; done";
    let trial = Trial::with(arena, script, |launch| launch.memory_limit_bytes = Some(64 << 20));
    if !trial.memory_limited {
        println!("{:?}", trial.notes);
        return skip::<()>("a writable memory cgroup").unwrap_or_default();
    }
    let exit = trial.exit();
    assert_eq!(exit.by, EndedBy::MemoryLimit, "{exit:?}");
    assert_eq!(exit.reason, "killed: exceeded the memory limit of 64 MiB");
    trial.finish();
}

#[test]
fn a_process_limit_is_named() {
    let arena = Arena::open(&spec(Net::Host)).unwrap();
    let script = "for i in $(seq 40); do sleep 5 & done; exit 3";
    let trial = Trial::with(arena, script, |launch| launch.processes_max = 20);
    if !trial.notes.iter().any(|note| note.contains("pids")) {
        println!("{:?}", trial.notes);
        return skip::<()>("a writable pids cgroup").unwrap_or_default();
    }
    let exit = trial.exit();
    assert!(exit.reason.contains("reached the limit of 20 processes"), "{exit:?}");
    trial.finish();
}

/// Without any option, a contender cannot take all memory or process numbers of the machine.
#[test]
fn memory_and_processes_are_limited_by_default() {
    let start = |memory_limit_bytes| {
        let arena = Arena::open(&spec(Net::Host)).unwrap();
        let trial =
            Trial::with(arena, "echo up; read x", |launch| launch.memory_limit_bytes = memory_limit_bytes);
        assert_eq!(trial.line(), "up");
        trial
    };
    let requested = start(Some(1 << 30));
    let can_limit = requested.memory_limited && requested.notes.iter().any(|note| note.contains("pids"));
    requested.finish();
    if !can_limit {
        return skip::<()>("writable memory and pids cgroups").unwrap_or_default();
    }
    let trial = start(None);
    let groups = cgroups_of(std::process::id());
    // The first file of these in the cgroups of the contender.
    let limit = |files: [&str; 2]| {
        let member = |dir: &&PathBuf| {
            let members = fs::read_to_string(dir.join("cgroup.procs")).unwrap_or_default();
            members.lines().any(|member| member == trial.pid.to_string())
        };
        let mut found = groups.iter().filter(member).flat_map(|dir| files.map(|file| dir.join(file)));
        found.find_map(|file| fs::read_to_string(file).ok()).map(|text| text.trim().to_owned())
    };
    let memory = limit(["memory.max", "memory.limit_in_bytes"]);
    let processes = limit(["pids.max", "pids.max"]);
    println!("{memory:?} {processes:?} {:?}", trial.notes);
    trial.finish();
    let machine = Meminfo::current().unwrap().mem_total;
    let memory: u64 = memory.expect("a memory cgroup").parse().expect("a limit of memory");
    assert!((machine / 2..machine).contains(&memory), "{memory} of {machine}");
    assert_eq!(processes, Some(limits::PROCESSES_MAX.to_string()));
}

/// Not a test by itself: the lab that another test kills.
#[test]
fn as_a_lab() {
    let Ok(mark) = std::env::var("NETDYNO_TEST_AS_LAB") else { return };
    let arena = Arena::best(&spec(Net::Loopback)).unwrap();
    let (sender, events) = channel();
    let freezing = std::env::var("NETDYNO_TEST_FREEZE").ok().map(|n| FREEZINGS[n.parse::<usize>().unwrap()]);
    let mut roles: Vec<RoleProcess> = (0..2)
        .map(|role| {
            let mut launch = shell("setsid sleep 1000 & echo up; sleep 1000", &mark);
            (launch.role, launch.memory_limit_bytes) = (role, Some(1 << 30));
            launch.freezing = freezing.unwrap_or_default();
            arena.launch(launch, sender.clone()).unwrap()
        })
        .collect();
    let ups = events.iter().filter(|(_, event)| matches!(event, AgentEvent::Line { .. })).take(2).count();
    if freezing.is_some() {
        roles.iter_mut().for_each(|role| role.freeze(true).unwrap());
        let frozen = events.iter().filter(|(_, event)| matches!(event, AgentEvent::Frozen { .. })).take(2);
        frozen.for_each(|(_, event)| {
            assert!(matches!(event, AgentEvent::Frozen { by: Ok(_), .. }), "{event:?}")
        });
    }
    println!(
        "\nready {ups} {} {}",
        roles.len(),
        arena.net_path(LinkEnd::A).map_or(0, |path| {
            fs::read_link(path)
                .unwrap()
                .to_str()
                .unwrap()
                .trim_matches(|c: char| !c.is_ascii_digit())
                .parse::<u64>()
                .unwrap()
        })
    );
    if std::env::var("NETDYNO_TEST_PANIC").is_ok() {
        panic!("as asked");
    }
    std::thread::sleep(Duration::from_secs(1000));
}

fn lab_that_ends(private: bool, end: impl FnOnce(&mut std::process::Child)) {
    lab_with(&[], private, end);
}

fn lab_with(env: &[(&str, &str)], private: bool, end: impl FnOnce(&mut std::process::Child)) {
    let mark = new_mark();
    let mut lab = Command::new(std::env::current_exe().unwrap());
    lab.args(["--exact", "endings::as_a_lab", "--nocapture"])
        .env("NETDYNO_TEST_AS_LAB", &mark)
        .envs(env.iter().copied())
        .stdout(Stdio::piped());
    if !private {
        lab.env("NETDYNO_TEST_PANIC", "1").stderr(Stdio::null());
    }
    let mut lab = lab.process_group(0).spawn().unwrap();
    let mut stdout = std::io::BufReader::new(lab.stdout.take().unwrap());
    let ready = std::io::BufRead::lines(&mut stdout)
        .map_while(Result::ok)
        .find(|line| line.starts_with("ready"))
        .unwrap();
    let net = PathBuf::from(format!("net:[{}]", ready.rsplit(' ').next().unwrap()));
    if private {
        assert!(marked(&mark).len() >= 4);
        // Usually only root may create cgroups here.
        assert!(!nix::unistd::geteuid().is_root() || !cgroups_of(lab.id()).is_empty());
    }
    end(&mut lab);
    lab.wait().unwrap();
    eventually("the contenders are dead", || marked(&mark).is_empty());
    eventually("the namespace is gone", || users_of(&HashSet::from([net.clone()])) == 0);
    eventually("the cgroups are gone", || cgroups_of(lab.id()).is_empty());
}

#[test]
fn nothing_outlives_a_killed_lab() {
    if open(Net::Loopback).is_some() {
        lab_that_ends(true, |lab| lab.kill().unwrap());
    }
}

/// During a turn: frozen and stopped processes are also ended.
#[test]
fn nothing_frozen_outlives_a_killed_lab() {
    if open(Net::Loopback).is_some() {
        for way in 0..FREEZINGS.len() {
            lab_with(&[("NETDYNO_TEST_FREEZE", &way.to_string())], true, |lab| lab.kill().unwrap());
        }
    }
}

#[test]
fn nothing_outlives_a_panic_of_the_lab() {
    if open(Net::Loopback).is_some() {
        lab_that_ends(false, |_| {});
    }
}

#[test]
fn a_later_run_sweeps_the_cgroups_of_a_dead_lab() {
    // A process id that is no longer in use.
    let mut dead = Command::new("true").spawn().unwrap();
    dead.wait().unwrap();
    let roots = ["/sys/fs/cgroup/unified", "/sys/fs/cgroup", "/sys/fs/cgroup/cpuacct", "/sys/fs/cgroup/cpu"];
    // Those of a role and of the threads of `--awake`.
    let names = ["", "awake-"].map(|kind| format!("netdyno-{kind}{}-0", dead.id()));
    let dirs: Vec<PathBuf> =
        roots.iter().flat_map(|root| names.iter().map(|name| Path::new(root).join(name))).collect();
    let made: Vec<&PathBuf> = dirs.iter().filter(|dir| fs::create_dir(dir).is_ok()).collect();
    let _arena = Arena::open(&spec(Net::Host)).unwrap();
    for dir in made {
        let swept = !dir.exists();
        let _ = fs::remove_dir(dir);
        assert!(swept || dir.parent() == Some(Path::new("/sys/fs/cgroup")), "{dir:?}");
    }
}
