//! Tests of a controller without sockets.

use serde_json::json;

use super::*;
use crate::Phase;

/// The value of a property as specified by the contract, for seed 1.
fn value(property: Property) -> Vec<u8> {
    match property.epc {
        0x80 => vec![0x30],
        0x82 => vec![1, 13, 1, 0],
        0x83 => [&[0xfe, 0, 0, 0x0b][..], &identifier(1)].concat(),
        0x8a => vec![0, 0, 0x0b],
        0x9d | 0x9e => vec![0],
        0x9f => vec![7, 0x80, 0x82, 0x83, 0x8a, 0x9d, 0x9e, 0x9f],
        0xd3 => vec![0, 0, 1],
        0xd4 => vec![0, 2],
        0xd6 => vec![1, 2, 0x91, 1],
        _ => vec![1, 2, 0x91],
    }
}

fn role(name: &str, outstanding: usize) -> Role {
    let setup = json!({
        "protocol": 1, "workload": "echonet", "role": name, "seed": 1, "local": "127.0.0.1", "peer": "127.0.0.1",
        "params": { "outstanding": outstanding, "timeout_ms": 1000, "seconds": 1.0 },
    });
    Role::new(Lab::for_tests(), &serde_json::from_value(setup).unwrap())
}

/// A controller in the warm-up, after `verify`.
fn verified(outstanding: usize) -> (&'static Controller, Reads) {
    let Role::Controller(controller) = role("controller", outstanding) else { panic!("no controller") };
    let controller: &'static Controller = Box::leak(Box::new(controller));
    let mut reads = controller.reads();
    controller.handle(Event::Start(Phase::Verify));
    for wanted in READS {
        let read = reads.next().unwrap();
        assert_eq!(read.property, wanted);
        assert_eq!(reads.next(), None, "verify allows one outstanding read");
        assert!(reads.answered(read.tid, Some(&value(wanted)), 1));
    }
    controller.handle(Event::Start(Phase::Warmup));
    (controller, reads)
}

fn counted(controller: &Controller) -> [u64; 5] {
    controller.values().map(|(_, value)| value)
}

#[test]
fn the_identification_contains_the_bytes_of_the_gate() {
    let Role::Device(device) = role("device", 1) else { panic!("no device") };
    assert_eq!(device.identification().to_vec(), value(READS[2]));
    assert_eq!(device.manufacturer().to_vec(), value(READS[3]));
}

#[test]
fn reads_keep_their_order_with_any_number_outstanding() {
    for outstanding in [1, 3, 128] {
        let (controller, mut reads) = verified(outstanding);
        let mut pending: Vec<Read> = Vec::new();
        for n in 0..1000 {
            while let Some(read) = reads.next() {
                assert!(read.tid != 0 && pending.iter().all(|other| other.tid != read.tid));
                reads.sent(read.tid, n);
                pending.push(read);
            }
            assert_eq!(pending.len(), outstanding);
            // Answers in another order than that of the requests.
            let read = pending.remove((n as usize * 7) % outstanding);
            assert_eq!(reads.outstanding(read.tid), Some(read.property));
            assert!(reads.answered(read.tid, Some(&value(read.property)), n));
            assert!(!reads.answered(read.tid, Some(&value(read.property)), n), "twice");
        }
        let [reads, _, wrong, lost, late] = counted(controller);
        assert_eq!((reads, wrong, lost, late), (1000, 0, 0, 1000));
    }
}

#[test]
fn different_values_and_refusals_are_wrong() {
    let (controller, mut reads) = verified(1);
    for answer in [Some(&[0x31][..]), None] {
        let read = reads.next().unwrap();
        assert!(reads.answered(read.tid, answer, 1));
    }
    assert_eq!(counted(controller), [2, 1, 2, 0, 0]);
}

#[test]
fn the_next_read_follows_a_lost_one_whose_answer_is_late() {
    let (controller, mut reads) = verified(2);
    let (lost, other) = (reads.next().unwrap(), reads.next().unwrap());
    reads.sent(lost.tid, 0);
    reads.sent(other.tid, 900_000_000);
    reads.expire(999_999_999);
    assert_eq!((counted(controller)[3], reads.next()), (0, None));
    // The answer to the other read triggers the check for losses.
    assert!(reads.answered(other.tid, Some(&value(other.property)), 1_100_000_000));
    assert_eq!(counted(controller)[3], 1);
    let next: Vec<Property> = std::iter::from_fn(|| reads.next()).map(|read| read.property).collect();
    assert_eq!(next, [READS[2], READS[3]]);
    assert!(!reads.answered(lost.tid, Some(&value(lost.property)), 1_100_000_000));
    assert_eq!(counted(controller)[4], 1);
}

#[test]
fn only_answers_within_the_window_are_recorded() {
    let (controller, mut reads) = verified(1);
    let mut read = |at_ns| {
        let read = reads.next().unwrap();
        reads.sent(read.tid, at_ns);
        reads.answered(read.tid, Some(&value(read.property)), at_ns);
    };
    read(crate::now_ns());
    controller.handle(Event::Start(Phase::Measure));
    read(crate::now_ns());
    read(crate::now_ns() + 2_000_000_000);
    assert_eq!((controller.samples(), counted(controller)[0]), (1, 3));
}

#[test]
fn blocking_readers_run_on_threads() {
    struct Calls;
    impl Reader for Calls {
        type Value = Vec<u8>;
        fn read(&mut self, property: Property) -> Result<Vec<u8>, Unanswered> {
            Ok(value(property))
        }
    }
    let Role::Controller(controller) = role("controller", 2) else { panic!("no controller") };
    let controller: &'static Controller = Box::leak(Box::new(controller));
    std::thread::spawn(|| controller.drive(vec![Calls, Calls]));
    controller.handle(Event::Start(Phase::Verify));
    controller.handle(Event::Start(Phase::Warmup));
    while counted(controller)[0] < 1000 {
        std::thread::yield_now();
    }
    assert_eq!(counted(controller)[2], 0);
}
