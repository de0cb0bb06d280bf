//! The gate: checks that the roles did the work.

use super::{Collected, TrialSpec, failed};
use netdyno_lab_analysis::metrics;
use netdyno_lab_manifest::Expected;
use netdyno_lab_protocol::Verified;
use netdyno_lab_store::{Outcome, SampleKind};

/// Least share of the payload that the network counters must show. The meter's window is slightly longer than that of
/// the counters, so that a correct pair is always above 1.
const CARRIED_LEAST: f64 = 0.98;

type Checked = Result<(), Outcome>;

/// A violation of the gate.
fn broken(role: &str, reason: String) -> Checked {
    Err(failed(role, format!("gate: {reason}")))
}

/// Checks that every role reported the setup time of each connection, not only of the best ones.
pub(super) fn connected(spec: &TrialSpec<'_>, collected: &Collected) -> Checked {
    let gate = &spec.workload.gate;
    let streams = gate.streams.of(spec.params).unwrap_or(0);
    for role in spec.roles.iter().filter(|r| gate.wants_setups(&r.name)) {
        let reported =
            collected.samples.iter().filter(|s| s.kind == SampleKind::Setup && s.role == role.name).count();
        if reported as u64 != streams {
            return broken(&role.name, format!("{reported} setup times for {streams} connections"));
        }
    }
    Ok(())
}

/// The expected `verified`: from the input's program, or computed from the seed.
pub(super) fn expected(spec: &TrialSpec<'_>) -> Result<Expected, String> {
    let gate = &spec.workload.gate;
    match &gate.input {
        Some(name) => {
            let input = spec.inputs.get(name).ok_or_else(|| format!("the input {name} was not generated"))?;
            Ok(input.expected.clone())
        }
        None => gate.expected(spec.params, spec.seed).map_err(|e| e.to_string()),
    }
}

/// Compares the result of `verify` with the expected one.
pub(super) fn verify(spec: &TrialSpec<'_>, expected: &Expected, verified: Option<&Verified>) -> Checked {
    let role = &spec.workload.gate.role;
    let Some(got) = verified else { return broken(role, "no `verified`".to_owned()) };
    let counts = [("messages", got.messages, expected.messages), ("bytes", got.bytes, expected.bytes)];
    if let Some((what, got, expected)) = counts.into_iter().find(|(_, got, expected)| got != expected) {
        return broken(role, format!("{got} {what} received in verify, expected {expected}"));
    }
    if got.digest != expected.digest {
        return broken(role, format!("wrong digest: {}, expected {}", got.digest, expected.digest));
    }
    Ok(())
}

/// Checks that require the final counters: of both roles, and against the network.
pub(super) fn after(spec: &TrialSpec<'_>, collected: &Collected) -> Checked {
    let gate = &spec.workload.gate;
    let value =
        |role: &str, counter: &str| collected.results.get(role).and_then(|r| r.values.get(counter)).copied();
    for counter in gate.zero_counters(spec.params) {
        match value(&gate.role, counter) {
            Some(0) => {}
            Some(n) => return broken(&gate.role, format!("{counter} is {n} at the end, must be 0")),
            None => return broken(&gate.role, format!("its result has no counter {counter}")),
        }
    }
    for bound in &gate.at_most {
        let counter = &bound.counter;
        match (value(&gate.role, counter), value(&bound.of, counter)) {
            (Some(got), Some(sent)) if got <= sent.saturating_add(bound.slack(spec.params)) => {}
            (Some(got), Some(sent)) => {
                let reason = format!("{counter} is {got} at the end, but the {} sent only {sent}", bound.of);
                return broken(&gate.role, reason);
            }
            _ => return broken(&gate.role, format!("a result has no counter {counter}")),
        }
    }
    never_above_result(&gate.settling, collected)?;
    carried(spec, collected)
}

/// Checks that no counter at a mark exceeds its final value, except counters that settle.
fn never_above_result(settling: &[String], collected: &Collected) -> Checked {
    for sample in collected.samples.iter().filter(|s| s.kind == SampleKind::Counter) {
        let end = collected.results.get(&sample.role).and_then(|r| r.values.get(&sample.name));
        if let (Some(marked), Some(end)) = (sample.value, end)
            && marked > *end
            && !settling.contains(&sample.name)
        {
            let reason = format!("{} was {marked} at a mark and is {end} at the end", sample.name);
            return broken(&sample.role, reason);
        }
    }
    Ok(())
}

/// Checks that the network counters reached the bytes that the role reports. Both cover the whole trial: within the
/// window, a receiver may deliver data that arrived earlier but waited for a lost packet.
fn carried(spec: &TrialSpec<'_>, collected: &Collected) -> Checked {
    let gate = &spec.workload.gate;
    let Some(counter) = &gate.carried else { return Ok(()) };
    let Some(received) = metrics::counter_total(&collected.samples, &gate.role, counter) else {
        return broken(&gate.role, format!("no reading of counter {counter}"));
    };
    match metrics::wire_total(&collected.samples) {
        Some(wire) if (wire as f64) < received as f64 * CARRIED_LEAST => {
            let reason = format!("reported {received} {counter}, but the network carried only {wire}");
            broken(&gate.role, reason)
        }
        // Without a private network there is no counter; the report's arena line says so.
        _ => Ok(()),
    }
}
