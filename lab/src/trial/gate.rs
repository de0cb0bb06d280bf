//! The gate: did the roles really do the work?

use super::stage::Halt;
use super::{Collected, TrialSpec};
use crate::manifest::Expected;
use crate::metrics;
use crate::protocol::Verified;

/// Share of the payload that the wire must have shown: the meter's window is a little wider than the counters', so
/// an honest pair is always above 1.
const CARRIED_LEAST: f64 = 0.98;

/// Compares what was received in `verify` with what the lab computed by itself.
pub(super) fn verify(
    spec: &TrialSpec<'_>,
    expected: &Expected,
    verified: Option<&Verified>,
) -> Result<(), Halt> {
    let role = &spec.workload.gate.role;
    let fail = |reason: String| Err(Halt::of_role(role, format!("gate: {reason}")));
    let Some(got) = verified else { return fail("no `verified`".to_owned()) };
    if got.messages != expected.messages {
        return fail(format!("{} messages received in verify, expected {}", got.messages, expected.messages));
    }
    if got.bytes != expected.bytes {
        return fail(format!("{} bytes received in verify, expected {}", got.bytes, expected.bytes));
    }
    if got.digest != expected.digest {
        return fail(format!("wrong digest: {}, expected {}", got.digest, expected.digest));
    }
    Ok(())
}

/// What only the end allows to check: final counters, both roles' against each other, and against the wire.
pub(super) fn after(spec: &TrialSpec<'_>, collected: &Collected) -> Result<(), Halt> {
    let gate = &spec.workload.gate;
    let fail = |reason: String| Err(Halt::of_role(&gate.role, format!("gate: {reason}")));
    let value =
        |role: &str, counter: &str| collected.results.get(role).and_then(|r| r.values.get(counter)).copied();
    for counter in gate.zero_counters(spec.params) {
        match value(&gate.role, counter) {
            Some(0) => {}
            Some(n) => return fail(format!("{counter} is {n} at the end, must be 0")),
            None => return fail(format!("its result has no counter {counter}")),
        }
    }
    for bound in &gate.at_most {
        let counter = &bound.counter;
        match (value(&gate.role, counter), value(&bound.of, counter)) {
            (Some(got), Some(sent)) if got <= sent.saturating_add(bound.slack(spec.params)) => {}
            (Some(got), Some(sent)) => {
                return fail(format!("{counter} is {got} at the end, but the {} sent only {sent}", bound.of));
            }
            _ => return fail(format!("a result has no counter {counter}")),
        }
    }
    carried(spec, collected)
}

/// The network namespace's own counters must have seen the bytes that the role says it received.
fn carried(spec: &TrialSpec<'_>, collected: &Collected) -> Result<(), Halt> {
    let gate = &spec.workload.gate;
    let Some(counter) = &gate.carried else { return Ok(()) };
    let Some((received, _)) = metrics::counter_delta(&collected.samples, &gate.role, counter) else {
        return Err(Halt::of_role(&gate.role, format!("gate: no two readings of counter {counter}")));
    };
    match metrics::wire_bytes(&collected.samples) {
        Some(wire) if wire < received * CARRIED_LEAST => Err(Halt::of_role(
            &gate.role,
            format!("gate: says it received {received:.0} {counter}, but the network carried only {wire:.0}"),
        )),
        // Without a network of our own there is nothing to compare with; the report's arena line says so.
        _ => Ok(()),
    }
}
