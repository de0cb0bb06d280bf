//! The gate: did the roles really do the work?

use super::{Collected, TrialSpec};
use netdyno_lab_analysis::metrics;
use netdyno_lab_manifest::Expected;
use netdyno_lab_protocol::Verified;
use netdyno_lab_store::SampleKind;

/// Share of the payload that the wire must have shown: the meter's window is a little wider than the counters', so
/// an honest pair is always above 1.
const CARRIED_LEAST: f64 = 0.98;

/// Who did not do the work, and how that shows.
pub(super) struct Broken {
    pub(super) role: String,
    pub(super) reason: String,
}

type Checked = Result<(), Broken>;

fn broken(role: &str, reason: String) -> Checked {
    Err(Broken { role: role.to_owned(), reason: format!("gate: {reason}") })
}

/// Every role that owes setup times must tell that of every connection: the best one alone is not the job's.
pub(super) fn connected(spec: &TrialSpec<'_>, collected: &Collected) -> Checked {
    let gate = &spec.workload.gate;
    let streams = gate.streams.of(spec.params).unwrap_or(0);
    for role in spec.roles.iter().filter(|r| gate.wants_setups(&r.name)) {
        let told =
            collected.samples.iter().filter(|s| s.kind == SampleKind::Setup && s.role == role.name).count();
        if told as u64 != streams {
            return broken(&role.name, format!("{told} setup times for {streams} connections"));
        }
    }
    Ok(())
}

/// What `verified` must say: as the input's maker tells it, or as it follows from the seed.
pub(super) fn expected(spec: &TrialSpec<'_>) -> Result<Expected, String> {
    let gate = &spec.workload.gate;
    match &gate.input {
        Some(name) => {
            let input = spec.inputs.get(name).ok_or_else(|| format!("the input {name} was not made"))?;
            Ok(input.expected.clone())
        }
        None => gate.expected(spec.params, spec.seed).map_err(|e| e.to_string()),
    }
}

/// Compares what was received in `verify` with what the lab computed by itself.
pub(super) fn verify(spec: &TrialSpec<'_>, expected: &Expected, verified: Option<&Verified>) -> Checked {
    let role = &spec.workload.gate.role;
    let Some(got) = verified else { return broken(role, "no `verified`".to_owned()) };
    if got.messages != expected.messages {
        return broken(
            role,
            format!("{} messages received in verify, expected {}", got.messages, expected.messages),
        );
    }
    if got.bytes != expected.bytes {
        return broken(role, format!("{} bytes received in verify, expected {}", got.bytes, expected.bytes));
    }
    if got.digest != expected.digest {
        return broken(role, format!("wrong digest: {}, expected {}", got.digest, expected.digest));
    }
    Ok(())
}

/// What only the end allows to check: final counters, both roles' against each other, and against the wire.
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

/// Counters only rise: no mark may have shown more than the end, but of those that settle.
fn never_above_result(settling: &[String], collected: &Collected) -> Checked {
    for sample in collected.samples.iter().filter(|s| s.kind == SampleKind::Counter) {
        let end = collected.results.get(&sample.role).and_then(|r| r.values.get(&sample.name));
        if let (Some(marked), Some(end)) = (sample.value, end)
            && marked > *end
            && !settling.contains(&sample.name)
        {
            return broken(
                &sample.role,
                format!("{} was {marked} at a mark and is {end} at the end", sample.name),
            );
        }
    }
    Ok(())
}

/// The network namespace's own counters must have seen the bytes that the role says it received. Both count from the
/// trial's beginning: over the window alone a receiver may hand on what had come before it, and waited for a lost packet.
fn carried(spec: &TrialSpec<'_>, collected: &Collected) -> Checked {
    let gate = &spec.workload.gate;
    let Some(counter) = &gate.carried else { return Ok(()) };
    let Some(received) = metrics::counter_total(&collected.samples, &gate.role, counter) else {
        return broken(&gate.role, format!("no reading of counter {counter}"));
    };
    match metrics::wire_total(&collected.samples) {
        Some(wire) if (wire as f64) < received as f64 * CARRIED_LEAST => {
            let reason =
                format!("says it received {received} {counter}, but the network carried only {wire}");
            broken(&gate.role, reason)
        }
        // Without a network of our own there is nothing to compare with; the report's arena line says so.
        _ => Ok(()),
    }
}
