//! A contender: lines, exits, limits, meters.

use std::fs;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use netdyno_lab_arena::{AgentEvent, Arena, EndedBy, LaunchSpec, RoleProcess};
use netdyno_lab_manifest::Net;

use super::trial::*;

#[test]
fn lines_are_relayed_and_the_exit_is_reported() {
    let Some(arena) = open(Net::Loopback) else { return };
    println!("{}", arena.describe());
    let script = r#"echo '{"a":"é"}'; while read -r line; do echo "got $line"; [ "$line" = end ] && break; done
        echo oops >&2; printf unfinished; exit 7"#;
    let mut trial = Trial::new(arena, script);
    println!("{:?}", trial.notes);
    assert_eq!(trial.line(), r#"{"a":"é"}"#);
    trial.role().send_line("one two").unwrap();
    assert_eq!(trial.line(), "got one two");
    trial.role().send_line("end").unwrap();
    assert_eq!(trial.line(), "got end");
    assert_eq!(trial.line(), "unfinished");
    let exit = trial.exit();
    assert_eq!((exit.code, exit.signal, exit.by), (Some(7), None, EndedBy::Itself), "{exit:?}");
    assert_eq!(exit.stderr, "oops\n");
    assert!(exit.usage.is_some_and(|usage| usage.max_rss_bytes > 0 && usage.cpu_ns > 0));
    trial.finish();
}

#[test]
fn a_missing_program_fails_with_its_name() {
    let arena = Arena::open(&spec(Net::Host)).unwrap();
    let (sender, events) = channel();
    let _role =
        arena.launch(LaunchSpec::new(3, vec!["/no/such/program".into()], "/".into()), sender).unwrap();
    match events.recv_timeout(PATIENCE).unwrap() {
        (3, AgentEvent::Failed { reason }) => assert!(reason.contains("/no/such/program"), "{reason}"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_meter_covers_all_processes() {
    let Some(arena) = open(Net::Loopback) else { return };
    for private_pids in [true, false] {
        let script = r#"(i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; echo burnt; read x) ; read y"#;
        let mut trial = Trial::with(Arena::open(&spec(Net::Loopback)).unwrap(), script, |launch| {
            launch.private_pids = private_pids;
        });
        assert_eq!(trial.line(), "burnt");
        trial.role().meter(5, true).unwrap();
        let AgentEvent::Meter { id: 5, snapshot } = trial.next() else { panic!() };
        println!("{snapshot:#?}");
        // 5 ns per iteration, which no shell reaches.
        assert!(snapshot.cpu_ns.value.unwrap() > 1_000_000);
        let rss = snapshot.peak_rss_bytes.value.unwrap();
        let (pss, private) = (snapshot.pss_bytes.value.unwrap(), snapshot.private_bytes.value.unwrap());
        assert!(rss > 1 << 20 && rss < 1 << 28, "{rss}");
        assert!(private <= pss && pss <= rss && private > 10_000, "{private} {pss} {rss}");
        assert!(snapshot.context_switches.value.unwrap() > 0);
        trial.role().kill().unwrap();
        let exit = trial.exit();
        assert_eq!((exit.signal, exit.by), (Some(9), EndedBy::Lab));
        trial.finish();
    }
    drop(arena);
}

#[test]
fn a_contender_is_pinned_and_dumps_no_core() {
    let Some(arena) = open(Net::Loopback) else { return };
    let script = "grep Cpus_allowed_list /proc/self/status; ulimit -c; ls -d /proc/$$/task; cat /proc/self/oom_score_adj";
    let trial = Trial::with(arena, script, |launch| launch.cpus = Some(vec![0]));
    assert_eq!(trial.line(), "Cpus_allowed_list:\t0");
    assert_eq!(trial.line(), "0");
    assert!(trial.line().starts_with("/proc/"));
    assert_eq!(trial.line(), "800");
    trial.finish();
}

#[test]
fn the_agent_sleeps_without_messages() {
    let Some(arena) = open(Net::Loopback) else { return };
    let mut trial = Trial::new(arena, "echo up; sleep 1000");
    assert_eq!(trial.line(), "up");
    let stat = format!("/proc/{}/task/{0}/status", trial.role().agent_pid());
    let switches = || -> u64 {
        let text = fs::read_to_string(&stat).unwrap();
        let counts = text.lines().filter(|line| line.contains("ctxt_switches"));
        counts.map(|line| line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap()).sum()
    };
    // On a busy machine it may take a while to become idle.
    eventually("half a second without a wake-up", || {
        let before = switches();
        std::thread::sleep(Duration::from_millis(500));
        switches() == before
    });
    trial.finish();
}

#[test]
fn ended_roles_leave_no_cgroup() {
    let Some(arena) = open(Net::Loopback) else { return };
    let (sender, events) = channel();
    let mark = new_mark();
    for round in 0..10 {
        let start = Instant::now();
        let roles: Vec<RoleProcess> = (0..2)
            .map(|role| {
                let mut launch = shell("read x; echo $x", &mark);
                launch.role = role;
                arena.launch(launch, sender.clone()).unwrap()
            })
            .collect();
        for (index, mut role) in roles.into_iter().enumerate() {
            // Immediately: before `started` was received.
            role.send_line("hello").unwrap();
            let heard = events.iter().filter(|(of, _)| *of == index).find_map(|(_, event)| match event {
                AgentEvent::Line { text } => Some(text),
                _ => None,
            });
            assert_eq!(heard.as_deref(), Some("hello"));
        }
        println!("round {round}: {:?}", start.elapsed());
    }
    assert_eq!(marked(&mark), [0; 0]);
}
