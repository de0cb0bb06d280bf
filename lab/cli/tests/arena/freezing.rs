//! A frozen contender does nothing, and continues when it is thawed.

use std::time::Duration;

use netdyno_lab_arena::{AgentEvent, Arena, EndedBy, Freezing};
use netdyno_lab_manifest::Net;

use super::trial::*;

/// All freezers; if the machine lacks one, the next is used.
pub(crate) const FREEZINGS: [Freezing; 3] = [Freezing::CgroupV2, Freezing::CgroupV1, Freezing::Signals];

/// Two busy processes, one of them in its own session.
const BUSY: &str = "setsid sh -c 'while :; do :; done' & echo up; while :; do :; done";

fn freeze(trial: &mut Trial, frozen: bool) -> String {
    trial.role().freeze(frozen).unwrap();
    match trial.next() {
        AgentEvent::Frozen { frozen: now, by: Ok(by) } if now == frozen => by,
        other => panic!("{other:?}"),
    }
}

fn cpu_ns(trial: &mut Trial) -> u64 {
    trial.role().meter(1, false).unwrap();
    let AgentEvent::Meter { snapshot, .. } = trial.next() else { panic!("no reading") };
    snapshot.cpu_ns.value.unwrap()
}

/// A trial of this script with every freezer.
fn each_way(private_pids: &[bool], script: &str, mut check: impl FnMut(Trial)) {
    if open(Net::Loopback).is_none() {
        return;
    }
    for freezing in FREEZINGS {
        for &private in private_pids {
            let trial = Trial::with(Arena::open(&spec(Net::Loopback)).unwrap(), script, |launch| {
                (launch.freezing, launch.private_pids) = (freezing, private);
            });
            assert_eq!(trial.line(), "up");
            println!("{freezing:?}, processes in a namespace of their own: {private}");
            check(trial);
        }
    }
}

#[test]
fn a_frozen_contender_uses_no_cpu_time_and_continues_afterwards() {
    each_way(&[true], BUSY, |mut trial| {
        for _ in 0..5 {
            let by = freeze(&mut trial, true);
            let before = cpu_ns(&mut trial);
            std::thread::sleep(Duration::from_millis(50));
            // The last entry into the kernel may be accounted after the freeze was reported.
            let taken = cpu_ns(&mut trial) - before;
            assert!(taken < 1_000_000, "{by}: {taken}");
            freeze(&mut trial, false);
            eventually("it goes on", || cpu_ns(&mut trial) > before);
        }
        println!("{}", freeze(&mut trial, true));
        // Freezing twice is the same as once.
        freeze(&mut trial, true);
        trial.finish();
    });
}

#[test]
fn a_frozen_contender_can_be_killed() {
    each_way(&[true, false], BUSY, |mut trial| {
        freeze(&mut trial, true);
        trial.role().kill().unwrap();
        assert_eq!(trial.exit().by, EndedBy::Lab);
        trial.finish();
    });
}

#[test]
fn a_frozen_contender_does_not_outlive_its_agent() {
    each_way(&[true], BUSY, |mut trial| {
        freeze(&mut trial, true);
        kill(trial.role().agent_pid());
        assert!(matches!(trial.last(), AgentEvent::Failed { .. }));
        trial.finish();
    });
}

/// A shell mostly waits in vfork(2) for its child; with signals, either may be stopped first.
#[test]
fn a_contender_that_forks_continuously_can_be_frozen() {
    // Four on two cores, so that they are often preempted.
    let script = "for i in 1 2 3 4; do (while :; do /bin/true; done) & done; echo up; wait";
    each_way(&[true], script, |mut trial| {
        for _ in 0..30 {
            freeze(&mut trial, true);
            let before = cpu_ns(&mut trial);
            std::thread::sleep(Duration::from_millis(5));
            assert!(cpu_ns(&mut trial) - before < 1_000_000);
            freeze(&mut trial, false);
            std::thread::sleep(Duration::from_millis(2));
        }
        trial.finish();
    });
}
