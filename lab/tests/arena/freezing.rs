//! A contender that is frozen does nothing, all of it, and goes on as if nothing had been.

use std::time::Duration;

use netdyno_lab::arena::{AgentEvent, Arena, EndedBy, Freezing, Net};

use super::trial::*;

/// Every way; a machine may have less, and then uses the next.
pub(crate) const FREEZINGS: [Freezing; 3] = [Freezing::CgroupV2, Freezing::CgroupV1, Freezing::Signals];

/// Two processes that work without end, one of them in a session of its own.
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

fn busy(freezing: Freezing, private_pids: bool) -> Trial {
    let trial = Trial::with(Arena::open(&spec(Net::Loopback)).unwrap(), BUSY, |launch| {
        (launch.freezing, launch.private_pids) = (freezing, private_pids);
    });
    assert_eq!(trial.line(), "up");
    trial
}

#[test]
fn what_is_frozen_takes_no_time_and_goes_on_afterwards() {
    if open(Net::Loopback).is_none() {
        return;
    }
    for freezing in FREEZINGS {
        let mut trial = busy(freezing, true);
        for _ in 0..5 {
            let by = freeze(&mut trial, true);
            let before = cpu_ns(&mut trial);
            std::thread::sleep(Duration::from_millis(50));
            // The last step into the trap may be booked after it has been told.
            let taken = cpu_ns(&mut trial) - before;
            assert!(taken < 1_000_000, "{by}: {taken}");
            freeze(&mut trial, false);
            eventually("it goes on", || cpu_ns(&mut trial) > before);
        }
        println!("{freezing:?}: {}", freeze(&mut trial, true));
        // Twice is once.
        freeze(&mut trial, true);
        trial.finish();
    }
}

#[test]
fn what_is_frozen_can_be_killed() {
    if open(Net::Loopback).is_none() {
        return;
    }
    for freezing in FREEZINGS {
        for private_pids in [true, false] {
            let mut trial = busy(freezing, private_pids);
            freeze(&mut trial, true);
            trial.role().kill().unwrap();
            assert_eq!(trial.exit().by, EndedBy::Lab, "{freezing:?} {private_pids}");
            trial.finish();
        }
    }
}

#[test]
fn what_is_frozen_does_not_outlive_its_agent() {
    if open(Net::Loopback).is_none() {
        return;
    }
    for freezing in FREEZINGS {
        let mut trial = busy(freezing, true);
        freeze(&mut trial, true);
        kill(trial.role().agent_pid());
        assert!(matches!(trial.last(), AgentEvent::Failed { .. }));
        trial.finish();
    }
}
