//! The session, by tables and properties.

use std::time::Duration;

use proptest::prelude::*;

use super::limits::TimeLimits;
use super::*;

const SECOND: u64 = 1_000_000_000;

fn setup() -> Setup {
    Setup {
        protocol: PROTOCOL_VERSION,
        workload: "w".into(),
        role: "r".into(),
        seed: 7,
        local: [127, 0, 0, 1].into(),
        peer: [127, 0, 0, 1].into(),
        params: serde_json::Map::new(),
        inputs: std::collections::BTreeMap::new(),
        capture: false,
    }
}

const READY: &str =
    r#"{"type":"ready","implementation":{"name":"n","version":"1","language":"c","runtime":"none"}}"#;
const CONNECTED: &str = r#"{"type":"connected","setup_ns":[5]}"#;
const RESULT: &str = r#"{"type":"result","values":{}}"#;

fn verified() -> String {
    format!(r#"{{"type":"verified","digest":"{}","messages":1,"bytes":2}}"#, "0".repeat(64))
}

fn counters(id: u64, at_ns: u64) -> String {
    format!(r#"{{"type":"counters","id":{id},"at_ns":{at_ns},"values":{{}}}}"#)
}

/// A step of a test: a line of the contender, or an action of the lab.
#[derive(Debug, Clone)]
enum Step {
    Line(String),
    Start(Phase),
    Mark(u64),
    Stop,
    Exit(i32),
    /// Seconds pass.
    Wait(u64),
    Deliver,
    ExpectConnected,
}

fn line(text: &str) -> Step {
    Step::Line(text.to_owned())
}

fn run(steps: &[Step]) -> Session {
    let mut session = Session::new(setup(), true, TimeLimits::default(), 0);
    let mut now = 0;
    for step in steps {
        apply(&mut session, &mut now, step);
    }
    session
}

fn apply(session: &mut Session, now: &mut u64, step: &Step) {
    match step {
        Step::Line(text) => session.handle_line(*now, text),
        Step::Start(phase) => session.start(*now, *phase),
        Step::Mark(id) => {
            session.mark(*now, *id);
        }
        Step::Stop => session.stop(*now),
        Step::Exit(code) => session.handle_exit(Some(*code), "exit code"),
        Step::Wait(seconds) => {
            *now += seconds * SECOND;
            session.handle_timeout(*now);
        }
        Step::Deliver => session.deliver_signal("other", serde_json::json!({"x": 1})),
        Step::ExpectConnected => session.expect_connected(*now),
    }
}

/// Advances a session to the measuring state.
fn measuring() -> Vec<Step> {
    vec![
        line(READY),
        Step::ExpectConnected,
        line(CONNECTED),
        Step::Start(Phase::Verify),
        Step::Line(verified()),
        Step::Start(Phase::Warmup),
        Step::Start(Phase::Measure),
    ]
}

fn check_fault(steps: &[Step], part: &str) {
    match run(steps).state() {
        State::Failed(fault) => assert!(fault.to_string().contains(part), "{steps:?}: {fault}"),
        other => panic!("{steps:?}: {other:?}, want a fault with {part:?}"),
    }
}

fn after(mut steps: Vec<Step>, more: &[Step]) -> Vec<Step> {
    steps.extend_from_slice(more);
    steps
}

#[test]
fn a_correct_conversation() {
    let steps = after(
        measuring(),
        &[Step::Mark(1), Step::Line(counters(1, 10)), Step::Mark(2), Step::Line(counters(2, 20))],
    );
    let mut session = run(&after(steps, &[Step::Stop, line(RESULT), Step::Exit(0)]));
    assert_eq!(session.state(), &State::Done);
    let mut sent = Vec::new();
    while let Some(text) = session.poll_transmit() {
        let value: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        sent.push(value["type"].as_str().expect("type").to_owned());
    }
    assert_eq!(sent, ["setup", "start", "start", "start", "mark", "mark", "stop"]);
    let events = std::iter::from_fn(|| session.poll_event()).count();
    assert_eq!(events, 6, "ready, connected, verified, two counters, result");
}

#[test]
fn a_signal_to_an_unknown_role_is_a_fault() {
    let mut session = run(&[line(READY)]);
    session.handle_unknown_role("answer".to_owned(), "offerer, answerer".to_owned());
    let State::Failed(fault) = session.state() else { panic!("{:?}", session.state()) };
    assert_eq!(fault.to_string(), "signal to the unknown role \"answer\"; roles: offerer, answerer");
    let mut ended = run(&after(measuring(), &[Step::Stop, line(RESULT), Step::Exit(0)]));
    ended.handle_unknown_role("answer".to_owned(), String::new());
    assert_eq!(ended.state(), &State::Done);
}

#[test]
fn faults() {
    let bad = |steps: &[Step], part: &str| check_fault(steps, part);
    bad(&[Step::Wait(21)], "no `ready` within 20 s");
    bad(&[line(READY), Step::ExpectConnected, Step::Wait(46)], "no `connected` within 45 s");
    bad(&[line(READY), line(READY)], "`ready` twice");
    bad(&[line(CONNECTED)], "`connected` before `ready`");
    bad(&[line(READY), line(r#"{"type":"unsupported","reason":"x"}"#)], "`unsupported` after `ready`");
    bad(&[line("nonsense")], "bad line");
    bad(&[line(r#"{"type":"nonsense"}"#)], "unknown variant");
    bad(&[line(r#"{"type":"failed","reason":"no port"}"#)], "the contender reported: no port");
    bad(&[Step::Exit(1)], "ended early");
    bad(&[line(READY), Step::Exit(0)], "ended early");
    bad(&[line(READY), line(CONNECTED), Step::Line(verified())], "`verified` outside `verify`");
    bad(&[line(READY), line(CONNECTED), Step::Start(Phase::Verify), Step::Wait(61)], "no `verified`");
    bad(&after(measuring(), &[Step::Line(counters(1, 1))]), "without its mark");
    bad(&after(measuring(), &[Step::Mark(1), Step::Line(counters(2, 1))]), "without its mark");
    bad(
        &after(
            measuring(),
            &[Step::Mark(1), Step::Line(counters(1, 9)), Step::Mark(2), Step::Line(counters(2, 8))],
        ),
        "ran backwards",
    );
    let late = |at_ns| {
        let steps = [
            Step::Mark(1),
            Step::Line(counters(1, 9)),
            Step::Wait(2),
            Step::Mark(2),
            Step::Line(counters(2, at_ns)),
        ];
        after(measuring(), &steps)
    };
    bad(&late(9 + 2_000_000), "does not count nanoseconds");
    bad(&late(9 + 2_000 * SECOND), "does not count nanoseconds");
    assert!(matches!(run(&late(9 + 2 * SECOND)).state(), State::Running(_)));
    bad(&after(measuring(), &[Step::Mark(1), Step::Wait(11)]), "no `counters` within 10 s");
    bad(&after(measuring(), &[line(r#"{"type":"signal","to":"a","body":1}"#)]), "between `start measure`");
    bad(&after(measuring(), &[line(RESULT)]), "`result` before `stop`");
    bad(&after(measuring(), &[Step::Stop, Step::Wait(11)]), "no `result` within 10 s");
    bad(&after(measuring(), &[Step::Stop, line(RESULT), Step::Wait(11)]), "no `exit` within 10 s");
    bad(&after(measuring(), &[Step::Stop, line(RESULT), Step::Exit(3)]), "after its result");
}

#[test]
fn unsupported_is_a_skip() {
    let session = run(&[line(r#"{"type":"unsupported","reason":"no such role"}"#), Step::Exit(127)]);
    assert_eq!(session.state(), &State::Unsupported("no such role".into()));
}

#[test]
fn signals_wait_for_ready() {
    let mut session = run(&[Step::Deliver]);
    assert!(session.poll_transmit().expect("setup").contains("setup"));
    assert_eq!(session.poll_transmit(), None);
    session.handle_line(0, READY);
    assert!(session.poll_transmit().expect("signal").contains(r#""from":"other""#));
}

#[test]
fn a_second_mark_is_rejected_until_the_first_is_answered() {
    let mut session = run(&measuring());
    assert!(session.mark(0, 1));
    assert!(!session.mark(0, 2));
    session.handle_line(0, &counters(1, 1));
    assert!(session.mark(0, 2));
}

#[cfg(feature = "schema")]
#[test]
fn messages_match_their_schema() {
    let [lab, contender] =
        crate::schemas().map(|schema| jsonschema::validator_for(schema.as_value()).expect("a valid schema"));
    let sent = [
        LabMessage::Setup(setup()),
        LabMessage::Signal { from: "a".into(), body: serde_json::json!([1]) },
        LabMessage::Start { phase: Phase::Verify },
        LabMessage::Mark { id: 1 },
        LabMessage::Stop,
    ];
    for message in sent {
        let value = serde_json::to_value(&message).expect("JSON");
        assert!(lab.is_valid(&value), "{value}");
    }
    for text in [READY, CONNECTED, RESULT, &verified(), &counters(1, 2)] {
        let value: serde_json::Value = serde_json::from_str(text).expect("JSON");
        assert!(contender.is_valid(&value), "{value}");
    }
    for text in [r#"{"type":"hello"}"#, r#"{"type":"connected"}"#, r#"{"type":"connected","setup_ns":["1"]}"#]
    {
        let value: serde_json::Value = serde_json::from_str(text).expect("JSON");
        assert!(!contender.is_valid(&value), "{value}");
        assert!(parse_contender_line(text).is_err(), "{text}");
    }
}

fn any_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        Just(line(READY)),
        Just(line(CONNECTED)),
        Just(line(RESULT)),
        Just(Step::Line(verified())),
        (0u64..4, 0u64..9).prop_map(|(id, at)| Step::Line(counters(id, at))),
        "\\PC{0,40}".prop_map(Step::Line),
        Just(line(r#"{"type":"signal","to":"a","body":1}"#)),
        Just(Step::Start(Phase::Verify)),
        Just(Step::Start(Phase::Warmup)),
        Just(Step::Start(Phase::Measure)),
        (0u64..4).prop_map(Step::Mark),
        Just(Step::Stop),
        (0i32..2).prop_map(Step::Exit),
        (0u64..30).prop_map(Step::Wait),
        Just(Step::Deliver),
        Just(Step::ExpectConnected),
    ]
}

proptest! {
    /// Any order of calls is valid. An ended session stays ended, sends nothing and has no deadline; a session that
    /// expects a reply has a deadline, and fails at that deadline.
    #[test]
    fn any_order_is_legal(steps in prop::collection::vec(any_step(), 0..40)) {
        let mut session = Session::new(setup(), true, TimeLimits::default(), 0);
        let mut now = 0;
        let mut ended: Option<State> = None;
        for step in &steps {
            apply(&mut session, &mut now, step);
            if let Some(state) = &ended {
                prop_assert_eq!(session.state(), state);
            }
            if session.is_over() {
                prop_assert_eq!(session.next_deadline(), None);
                ended = Some(session.state().clone());
            }
            if let State::Failed(_) = session.state() {
                prop_assert_eq!(session.poll_transmit(), None);
            }
            prop_assert_eq!(session.next_deadline().is_some(), !session.is_quiet() && !session.is_over());
        }
        if let Some(due) = session.next_deadline() {
            session.handle_timeout(due);
            let silent = matches!(session.state(), State::Failed(Fault::Silent { .. }));
            prop_assert!(silent);
        }
    }

    /// Equal inputs give equal outputs.
    #[test]
    fn deterministic(steps in prop::collection::vec(any_step(), 0..30)) {
        let (mut a, mut b) = (run(&steps), run(&steps));
        prop_assert_eq!(a.state(), b.state());
        prop_assert_eq!(a.next_deadline(), b.next_deadline());
        loop {
            let (x, y) = (a.poll_transmit(), b.poll_transmit());
            prop_assert_eq!(&x, &y);
            if x.is_none() { break; }
        }
    }

    /// No line makes the parser panic, and accepted lines can be written again.
    #[test]
    fn any_bytes_are_safe(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let text = String::from_utf8_lossy(&bytes);
        if let Ok(message) = parse_contender_line(&text) {
            prop_assert_eq!(parse_contender_line(&message.to_line()), Ok(message));
        }
    }
}

#[test]
fn limits_are_consistent() {
    let limits = TimeLimits::default();
    assert!(limits.counters < limits.connected && limits.ready >= Duration::from_secs(10));
}
