//! The books of a controller, by hand.

use serde_json::json;

use super::*;
use crate::Phase;

/// A device that answers as the contract says, of the seed 1.
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

/// One that is through `verify`, and in the warm-up.
fn verified(outstanding: usize) -> (&'static Controller, Reads) {
    let Role::Controller(controller) = role("controller", outstanding) else { panic!("no controller") };
    let controller: &'static Controller = Box::leak(Box::new(controller));
    let mut reads = controller.reads();
    controller.handle(Event::Start(Phase::Verify));
    for wanted in READS {
        let read = reads.next().unwrap();
        assert_eq!(read.property, wanted);
        assert_eq!(reads.next(), None, "one at a time");
        assert!(reads.answered(read.tid, Some(&value(wanted)), 1));
    }
    controller.handle(Event::Start(Phase::Warmup));
    (controller, reads)
}

fn counted(controller: &Controller) -> [u64; 5] {
    controller.values().map(|(_, value)| value)
}

#[test]
fn the_device_has_the_gates_bytes_in_its_identification() {
    let Role::Device(device) = role("device", 1) else { panic!("no device") };
    assert_eq!(device.identification().to_vec(), value(READS[2]));
    assert_eq!(device.manufacturer().to_vec(), value(READS[3]));
}

#[test]
fn rounds_go_on_in_order_with_so_many_under_way() {
    for outstanding in [1, 3, 128] {
        let (controller, mut reads) = verified(outstanding);
        let mut under_way: Vec<Read> = Vec::new();
        for n in 0..1000 {
            while let Some(read) = reads.next() {
                assert!(read.tid != 0 && under_way.iter().all(|other| other.tid != read.tid));
                reads.sent(read.tid, n);
                under_way.push(read);
            }
            assert_eq!(under_way.len(), outstanding);
            // In another order than they were sent in.
            let read = under_way.remove((n as usize * 7) % outstanding);
            assert_eq!(reads.under_way(read.tid), Some(read.property));
            assert!(reads.answered(read.tid, Some(&value(read.property)), n));
            assert!(!reads.answered(read.tid, Some(&value(read.property)), n), "twice");
        }
        let [reads, _, wrong, lost, late] = counted(controller);
        assert_eq!((reads, wrong, lost, late), (1000, 0, 0, 1000));
    }
}

#[test]
fn what_differs_or_is_refused_is_wrong() {
    let (controller, mut reads) = verified(1);
    for answer in [Some(&[0x31][..]), None] {
        let read = reads.next().unwrap();
        assert!(reads.answered(read.tid, answer, 1));
    }
    assert_eq!(counted(controller), [2, 1, 2, 0, 0]);
}

#[test]
fn a_lost_read_is_followed_by_the_next_and_its_answer_is_late() {
    let (controller, mut reads) = verified(2);
    let (lost, other) = (reads.next().unwrap(), reads.next().unwrap());
    reads.sent(lost.tid, 0);
    reads.sent(other.tid, 900_000_000);
    reads.look(999_999_999);
    assert_eq!((counted(controller)[3], reads.next()), (0, None));
    // Nobody waits: the answer to the other one has it looked at.
    assert!(reads.answered(other.tid, Some(&value(other.property)), 1_100_000_000));
    assert_eq!(counted(controller)[3], 1);
    let next: Vec<Property> = std::iter::from_fn(|| reads.next()).map(|read| read.property).collect();
    assert_eq!(next, [READS[2], READS[3]]);
    assert!(!reads.answered(lost.tid, Some(&value(lost.property)), 1_100_000_000));
    assert_eq!(counted(controller)[4], 1);
}

#[test]
fn samples_are_of_the_window() {
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
fn a_call_that_returns_the_value_is_driven_by_threads() {
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
