//! Runs a session with arbitrary events and commands: it ends at most once and emits nothing afterwards.
#![no_main]

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use netdyno_lab_protocol::limits::TimeLimits;
use netdyno_lab_protocol::{PROTOCOL_VERSION, Phase, Session, Setup};

#[derive(Debug, Arbitrary)]
enum Step<'a> {
    Line(&'a str),
    Ready,
    Connected(Vec<u64>),
    Counters { id: u8, at_ns: u64 },
    Verified,
    Result,
    Signal,
    Start(u8),
    Mark(u8),
    Stop,
    Deliver,
    ExpectConnected,
    Exit(Option<i32>),
    Wait(u32),
}

fuzz_target!(|steps: Vec<Step<'_>>| {
    let setup = Setup {
        protocol: PROTOCOL_VERSION,
        workload: "w".to_owned(),
        role: "r".to_owned(),
        seed: 1,
        local: [127, 0, 0, 1].into(),
        peer: [127, 0, 0, 1].into(),
        params: serde_json::Map::new(),
        inputs: std::collections::BTreeMap::new(),
        capture: false,
    };
    let mut session = Session::new(setup, true, TimeLimits::default(), 0);
    let mut now = 0u64;
    for step in steps {
        let ended = session.is_over().then(|| session.state().clone());
        apply(&mut session, &mut now, step);
        if let Some(state) = ended {
            assert_eq!(*session.state(), state, "the state of an ended session changed");
        }
        assert_eq!(session.next_deadline().is_some(), !session.is_over() && !session.is_quiet());
        while session.poll_event().is_some() {}
    }
});

fn apply(session: &mut Session, now: &mut u64, step: Step<'_>) {
    let digest = "0".repeat(64);
    let line = match step {
        Step::Line(line) => line.to_owned(),
        Step::Ready => {
            r#"{"type":"ready","implementation":{"name":"n","version":"1","language":"c","runtime":""}}"#
                .to_owned()
        }
        Step::Connected(setup_ns) => format!(r#"{{"type":"connected","setup_ns":{setup_ns:?}}}"#),
        Step::Counters { id, at_ns } => {
            format!(r#"{{"type":"counters","id":{id},"at_ns":{at_ns},"values":{{}}}}"#)
        }
        Step::Verified => format!(r#"{{"type":"verified","digest":"{digest}","messages":1,"bytes":1}}"#),
        Step::Result => r#"{"type":"result","values":{}}"#.to_owned(),
        Step::Signal => r#"{"type":"signal","to":"x","body":1}"#.to_owned(),
        Step::Start(phase) => {
            return session
                .start(*now, [Phase::Verify, Phase::Warmup, Phase::Measure][usize::from(phase % 3)]);
        }
        Step::Mark(id) => {
            session.mark(*now, u64::from(id));
            return;
        }
        Step::Stop => return session.stop(*now),
        Step::Deliver => return session.deliver_signal("other", serde_json::Value::Null),
        Step::ExpectConnected => return session.expect_connected(*now),
        Step::Exit(code) => return session.handle_exit(code, "ended"),
        Step::Wait(ms) => {
            *now += u64::from(ms) * 1_000_000;
            return session.handle_timeout(*now);
        }
    };
    session.handle_line(*now, &line);
}
