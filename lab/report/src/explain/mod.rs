//! Explanations as text and as a differential flame graph.

pub mod flame;
#[cfg(test)]
mod tests;
mod text;

use netdyno_lab_analysis::explain::Explanation;
use netdyno_lab_analysis::explain::figures::{Pair, Probes, WorkUnit};
use netdyno_lab_store::probe::{Found, ProbeKind};

pub use text::text;

/// The flame graph of an explanation, if both sides have a profile.
pub fn picture(pair: &Pair<'_>, probes: &Probes, explanation: &Explanation) -> Option<String> {
    let unit = WorkUnit::new(pair.workload).ok()?;
    let profile = |role: &'_ String, side: usize| match &probes.sides[side]
        .get(&(role.clone(), ProbeKind::Profile))?
        .found
    {
        Ok(Found::Profile { stacks, .. }) => Some((stacks, pair.time(&unit, role, side)?.cpu)),
        _ => None,
    };
    let stacks = pair.workload.roles.iter().filter_map(|role| {
        let ((a, cpu_a), (b, cpu_b)) = (profile(role, 0)?, profile(role, 1)?);
        Some(flame::Stacks { role, sides: [a, b], cpu_ns: [cpu_a, cpu_b] })
    });
    let stacks: Vec<flame::Stacks<'_>> = stacks.collect();
    let e = explanation;
    let title = format!("{}: {} against {} ({})", e.workload, e.b, e.a, e.params);
    (!stacks.is_empty()).then(|| flame::svg(&title, [&e.a, &e.b], &e.unit, &stacks))
}
