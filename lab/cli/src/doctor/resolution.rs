//! Detection of injected effects: an effect of known size must be measured with its true size.
//!
//! The ceiling of each workload with such an effect (`detect`) is measured with and without it, in blocks of random
//! order; "without" includes the cost of injection. The difference within a block has an interval that is valid at
//! any stopping time.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::cmd::Fallible;
use netdyno_lab_analysis::metrics;
use netdyno_lab_arena::{Arena, ArenaSpec};
use netdyno_lab_engine::build::{Availability, Builder, Built};
use netdyno_lab_engine::trial::{self, TrialSpec};
use netdyno_lab_engine::{plan, run};
use netdyno_lab_manifest::{Catalog, Detect, Metric, ParamValue, Params, Workload};
use netdyno_lab_protocol::limits::TimeLimits;
use netdyno_lab_store::Outcome;
use netdyno_stats::{Interval, Unit, confidence_sequence};

pub(crate) const BLOCKS_MAX: u32 = 30;
/// Least blocks: fewer depend too much on the model.
const BLOCKS_MIN: u32 = 6;
/// Error level over all effects of a workload, low because the test runs often.
const ALPHA: f64 = 0.01;
/// Accuracy of the injection, in ns: a busy wait ends up to one clock reading late.
const EXACT: f64 = 50.0;
/// Lengths of window and warm-up, in s.
const WINDOWS: [(&str, f64); 2] = [("seconds", 0.3), ("warmup_seconds", 0.1)];
/// Seed of orders and payloads.
const SEED: u64 = 20_260_202;

#[derive(Debug, Clone)]
pub(crate) struct Injected {
    pub(crate) workload: String,
    /// Label of its primary metric.
    pub(crate) metric: String,
    pub(crate) unit: String,
    /// The injected size.
    pub(crate) value: f64,
    /// The measured difference.
    pub(crate) found: Interval,
    pub(crate) blocks: usize,
}

impl Injected {
    /// Whether the interval contains the injected size, and excludes half and one and a half times the size.
    pub(crate) fn is_found(&self) -> bool {
        self.is_sure() && self.found.low <= self.value + EXACT && self.found.high >= self.value
    }

    fn is_sure(&self) -> bool {
        self.found.low > 0.5 * self.value && self.found.high < 1.5 * self.value
    }
}

/// Measures every workload with an effect, until each effect is decided or `blocks_max` is reached.
pub(crate) fn measure(
    catalog: &Catalog,
    builder: &Builder,
    arena: &ArenaSpec,
    blocks_max: u32,
    cancel: &AtomicBool,
) -> Fallible<Vec<Injected>> {
    let mut all = Vec::new();
    for workload in catalog.workloads.values() {
        let (Some(detect), Some(ceiling), Some(primary)) =
            (&workload.detect, &workload.ceiling, workload.primary())
        else {
            continue;
        };
        let contender = catalog.contender(&workload.name, ceiling)?;
        if let Availability::Unavailable { reason, remedy } = builder.availability(contender) {
            return Err(format!("{ceiling} of {} cannot be built: {reason}; {remedy}", workload.name).into());
        }
        let built = builder.build(contender, &mut |_| {})?;
        let folder = catalog.folder_of(&workload.name);
        let bench = Bench { workload, folder, builder, built: &built, primary, arena, cancel };
        all.extend(bench.measure(detect, blocks_max)?);
    }
    Ok(all)
}

/// Whether each effect is decided, or the greatest number of blocks is reached.
fn is_enough(found: &[Injected], blocks_max: u32) -> bool {
    let blocks = found.first().map_or(0, |i| i.blocks);
    blocks >= blocks_max as usize || blocks >= BLOCKS_MIN as usize && found.iter().all(Injected::is_sure)
}

/// The interval of each effect, from its differences in each block.
fn intervals(differences: &[Vec<f64>]) -> Vec<Interval> {
    let alpha = ALPHA / differences.len().max(1) as f64;
    let interval = |d: &Vec<f64>| confidence_sequence(d, Unit::Block, alpha);
    differences.iter().map(|d| interval(d).unwrap_or(Interval::unbounded(f64::NAN))).collect()
}

struct Bench<'a> {
    workload: &'a Workload,
    /// The folder of its manifest.
    folder: PathBuf,
    builder: &'a Builder,
    built: &'a Built,
    primary: &'a Metric,
    arena: &'a ArenaSpec,
    cancel: &'a AtomicBool,
}

impl Bench<'_> {
    fn measure(&self, detect: &Detect, blocks_max: u32) -> Fallible<Vec<Injected>> {
        let mut values = vec![&detect.from];
        values.extend(&detect.values);
        let mut differences = vec![Vec::new(); detect.values.len()];
        let mut found = Vec::new();
        for block in 0..blocks_max {
            let mut figures = vec![f64::NAN; values.len()];
            for index in plan::order(SEED, block, values.len()) {
                if self.cancel.load(Ordering::Relaxed) {
                    return Err("interrupted".into());
                }
                figures[index] = self.trial(&detect.param, values[index], block)?;
            }
            for (differences, figure) in differences.iter_mut().zip(&figures[1..]) {
                differences.push(figure - figures[0]);
            }
            found = self.injected(detect, &differences);
            if is_enough(&found, blocks_max) {
                break;
            }
        }
        Ok(found)
    }

    fn injected(&self, detect: &Detect, differences: &[Vec<f64>]) -> Vec<Injected> {
        let size = |value: &ParamValue| value.number().unwrap_or(0.0);
        let sizes = detect.values.iter().map(|value| size(value) - size(&detect.from));
        sizes
            .zip(intervals(differences))
            .map(|(value, found)| Injected {
                workload: self.workload.name.clone(),
                metric: self.primary.label.clone(),
                unit: self.primary.unit.clone(),
                value,
                found,
                blocks: differences.first().map_or(0, Vec::len),
            })
            .collect()
    }

    /// The primary metric of one trial.
    fn trial(&self, param: &str, value: &ParamValue, block: u32) -> Fallible<f64> {
        let mut params: Params = self.workload.resolve(None, &[])?;
        params.0.insert(param.to_owned(), value.clone());
        for (name, seconds) in WINDOWS {
            params.0.insert(name.to_owned(), ParamValue::Number(seconds));
        }
        let arena = Arena::best(self.arena)?;
        let name = self.workload.ceiling.as_deref().unwrap_or_default();
        let spec = TrialSpec {
            workload: self.workload,
            params: &params,
            inputs: self.builder.prepare((self.workload, &self.folder), &params, &mut |_| {})?,
            seed: plan::payload_seed(SEED, block),
            roles: run::apart(self.workload, |_| Some((name, self.built)), &arena)?,
            marks: trial::steady_marks(&params, 0),
            limits: TimeLimits::default(),
            extra_setup: false,
        };
        let record = trial::run(&spec, &arena, self.cancel, &mut |_| {}, None).record;
        if record.outcome != Outcome::Ok {
            return Err(format!("{}: {:?}", self.workload.name, record.outcome).into());
        }
        let figure = metrics::of_trial(self.primary, &params, &record);
        Ok(figure.value.ok_or(figure.source)?)
    }
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_pcg::Pcg64Mcg;

    use super::*;

    fn injected(found: Interval, blocks: usize) -> Injected {
        let [workload, metric, unit] = ["w", "m", "ns"].map(str::to_owned);
        Injected { workload, metric, unit, value: 1000.0, found, blocks }
    }

    #[test]
    fn found_is_the_right_size_and_no_other() {
        for (low, high, found) in [
            (900.0, 1100.0, true),
            (1040.0, 1200.0, true),
            (1060.0, 1200.0, false),
            (600.0, 990.0, false),
            (10.0, 1990.0, false),
            // A machine that was disturbed for 60 blocks.
            (780.0, 1990.0, false),
            (900.0, 1600.0, false),
            (f64::NEG_INFINITY, f64::INFINITY, false),
        ] {
            let interval = Interval { estimate: f64::midpoint(low, high), low, high };
            assert_eq!(injected(interval, 6).is_found(), found, "{low} - {high}");
        }
    }

    /// Simulates [`Bench::measure`]: three injected effects with a measured size of `shift` ns, and noise with this
    /// standard deviation.
    fn measured(seed: u64, shift: f64, deviation: f64) -> Vec<Injected> {
        let mut random = Pcg64Mcg::seed_from_u64(seed);
        // A sum of twelve uniform numbers: variance 1.
        let mut noise = || (0..12).map(|_| random.random_range(-0.5..0.5)).sum::<f64>();
        let mut differences = vec![Vec::new(); 3];
        loop {
            differences.iter_mut().for_each(|d| d.push(shift + deviation * noise()));
            let blocks = differences[0].len();
            let found: Vec<_> = intervals(&differences).into_iter().map(|i| injected(i, blocks)).collect();
            if is_enough(&found, BLOCKS_MAX) {
                return found;
            }
        }
    }

    #[test]
    fn an_effect_is_found_with_its_size_and_an_absent_or_a_doubled_one_is_not() {
        let all = |shift, deviation| {
            let each = (0..200).flat_map(|seed| measured(seed, shift, deviation)).collect::<Vec<_>>();
            let found = each.iter().filter(|i| i.is_found()).count();
            let blocks = each.iter().map(|i| i.blocks).max().unwrap_or(0);
            (found, each.len(), blocks)
        };
        // By the level, one in a hundred runs may be wrong.
        let (found, of, blocks) = all(1000.0, 200.0);
        assert!(found * 100 >= of * 99 && blocks < BLOCKS_MAX as usize, "{found} of {of}, {blocks} blocks");
        for wrong in [0.0, 500.0, 1600.0, 2000.0] {
            let (found, of, _) = all(wrong, 200.0);
            assert!(found * 100 <= of, "{wrong} ns taken for 1000: {found} of {of}");
        }
        // A noisy machine remains undecided until the last block.
        let (found, of, blocks) = all(1000.0, 3000.0);
        assert!(found * 100 <= of && blocks == BLOCKS_MAX as usize, "{found} of {of}, {blocks} blocks");
    }
}
