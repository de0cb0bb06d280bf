//! Error rates on synthetic blocks, evaluated after every block, up to 30 of them.
//!
//! Each test prints its seed and the measured rates (`cargo test -p netdyno-stats -- --nocapture`).

use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::{Rng, SeedableRng};

use crate::sequence::{Summary, half_width};
use crate::*;

const BLOCKS_MAX: usize = 30;
const ALPHA: f64 = 0.05;

/// Noise of one measurement or one log ratio, scaled to variance 1.
#[derive(Clone, Copy)]
pub(crate) enum Noise {
    Gaussian,
    /// Bounded, with lighter tails than a Gaussian: the hardest case at three blocks.
    Uniform,
    /// One-sided long tail, as on an occasionally disturbed machine.
    Exponential,
}

pub(crate) struct Source(Pcg64Mcg);

impl Source {
    pub(crate) fn seeded(seed: u64) -> Self {
        println!("seed {seed}");
        Self(Pcg64Mcg::seed_from_u64(seed))
    }

    /// In (0, 1).
    pub(crate) fn uniform(&mut self) -> f64 {
        ((self.0.next_u64() >> 11) as f64 + 0.5) / (1u64 << 53) as f64
    }

    pub(crate) fn draw(&mut self, noise: Noise) -> f64 {
        match noise {
            // Box and Muller's transform.
            Noise::Gaussian => {
                let radius = (-2.0 * self.uniform().ln()).sqrt();
                radius * (std::f64::consts::TAU * self.uniform()).cos()
            }
            Noise::Uniform => (self.uniform() - 0.5) * 12f64.sqrt(),
            Noise::Exponential => -self.uniform().ln() - 1.0,
        }
    }

    /// Log ratios of two contenders whose measurements have independent noise.
    fn log_ratios(&mut self, mean: f64, deviation: f64, noise: Noise) -> Vec<f64> {
        let each = deviation / 2f64.sqrt();
        (0..BLOCKS_MAX).map(|_| mean + each * (self.draw(noise) - self.draw(noise))).collect()
    }
}

/// Prints and returns the share of `runs` in which `event` is true.
pub(crate) fn rate(what: &str, runs: u32, mut event: impl FnMut() -> bool) -> f64 {
    let rate = (0..runs).filter(|_| event()).count() as f64 / f64::from(runs);
    println!("{what}: {rate:.4} of {runs} runs");
    rate
}

/// Half-widths by count, in deviations.
pub(crate) fn half_widths(unit: Unit, most: usize, alpha: f64) -> Vec<f64> {
    (0..=most).map(|count| half_width(unit, count, 1.0, alpha)).collect()
}

/// Whether the interval of these values contains the mean.
pub(crate) fn covers(values: &[f64], half_widths: &[f64], mean: f64) -> bool {
    let summary = Summary::new(values, Unit::Block).unwrap();
    (summary.mean - mean).abs() <= half_widths[values.len()] * summary.deviation
}

fn comparison(log_ratios: Vec<f64>) -> PairedRatios {
    PairedRatios { unit: Unit::Block, log_ratios }
}

/// A run that is judged after every block from the third and stops when decided.
fn run(values: &[f64], rules: &Rules) -> Judgement {
    let look = |count| judge(&[comparison(values[..count].to_vec())], Direction::Higher, rules).remove(0);
    let stopped =
        (Unit::Block.first()..values.len()).map(look).find(|j| decided(std::slice::from_ref(j), rules));
    stopped.unwrap_or_else(|| look(values.len()))
}

#[test]
fn equal_contenders_are_rejected_at_the_nominal_rate() {
    let mut source = Source::seeded(11);
    let mut ever_rejected = |noise| {
        let values = source.log_ratios(0.0, 0.03, noise);
        (1..=BLOCKS_MAX).any(|count| p_value(&values[..count], Unit::Block, 0.0) <= ALPHA)
    };
    assert!(rate("gaussian", 10_000, || ever_rejected(Noise::Gaussian)) <= ALPHA);
    assert!(rate("exponential", 4_000, || ever_rejected(Noise::Exponential)) <= ALPHA);
    assert!(rate("uniform", 4_000, || ever_rejected(Noise::Uniform)) <= ALPHA);
}

/// The rates in the documentation of the crate.
#[test]
fn the_nominal_rate_does_not_hold_outside_the_model() {
    let mut source = Source::seeded(19);
    let mut measure = |what, noise, correlation: f64| {
        rate(what, 2_000, || {
            let mut last = source.draw(noise);
            let next = |_| {
                last = correlation * last + (1.0 - correlation * correlation).sqrt() * source.draw(noise);
                0.03 * last
            };
            let values: Vec<f64> = (0..BLOCKS_MAX).map(next).collect();
            (1..=BLOCKS_MAX).any(|count| p_value(&values[..count], Unit::Block, 0.0) <= ALPHA)
        })
    };
    assert!(measure("uniform log ratios", Noise::Uniform, 0.0) <= 0.08);
    assert!(measure("exponential log ratios", Noise::Exponential, 0.0) <= 0.17);
    assert!(measure("gaussian, correlation 0.3", Noise::Gaussian, 0.3) <= 0.13);
}

#[test]
fn the_interval_covers_the_ratio_at_all_block_counts_simultaneously() {
    let mut source = Source::seeded(12);
    for (mean, deviation) in [(4f64.ln(), 0.1), (-0.05, 0.01)] {
        let widths = half_widths(Unit::Block, BLOCKS_MAX, ALPHA);
        let covered = rate("covered", 10_000, || {
            let values = source.log_ratios(mean, deviation, Noise::Gaussian);
            (2..=BLOCKS_MAX).all(|count| covers(&values[..count], &widths, mean))
        });
        assert!(covered >= 1.0 - ALPHA);
    }
}

#[test]
fn a_difference_of_five_percent_is_detected_with_three_percent_noise() {
    let mut source = Source::seeded(13);
    let mut blocks = Vec::new();
    let found = rate("found", 2_000, || {
        let judgement = run(&source.log_ratios(1.05f64.ln(), 0.03, Noise::Gaussian), &Rules::default());
        blocks.push(u64::from(judgement.blocks));
        judgement.verdict == VerdictKind::Better
    });
    println!("blocks: median {:?}, p90 {:?}", quantile(&blocks, 0.5), quantile(&blocks, 0.9));
    assert!(found >= 0.99);
    assert!(quantile(&blocks, 0.5) <= Some(10));
}

#[test]
fn four_times_is_decided_in_three_blocks() {
    let mut source = Source::seeded(14);
    let at_once = rate("alone, at three blocks", 2_000, || {
        let judgement = run(&source.log_ratios(4f64.ln(), 0.03, Noise::Gaussian), &Rules::default());
        judgement.verdict == VerdictKind::Better && judgement.blocks == 3
    });
    assert!(at_once >= 0.99);
    let at_once = rate("eight contenders, at three blocks", 500, || {
        let one = || comparison(source.log_ratios(4f64.ln(), 0.03, Noise::Gaussian)[..3].to_vec());
        let comparisons: Vec<_> = std::iter::repeat_with(one).take(8).collect();
        decided(&judge(&comparisons, Direction::Higher, &Rules::default()), &Rules::default())
    });
    assert!(at_once >= 0.99);
}

/// Null control: a contender compared with itself results in no difference.
#[test]
fn equal_contenders_result_in_no_difference() {
    let mut source = Source::seeded(15);
    let mut blocks = Vec::new();
    let mut wrong = 0;
    let runs = 4_000;
    let same = rate("no difference", runs, || {
        let judgement = run(&source.log_ratios(0.0, 0.01, Noise::Gaussian), &Rules::default());
        blocks.push(u64::from(judgement.blocks));
        wrong += u32::from(matches!(judgement.verdict, VerdictKind::Better | VerdictKind::Worse));
        judgement.verdict == VerdictKind::NoDifference
    });
    println!("blocks: median {:?}; wrong: {wrong} of {runs}", quantile(&blocks, 0.5));
    assert!(same >= 1.0 - ALPHA);
    assert!(f64::from(wrong) <= ALPHA * f64::from(runs));
}

/// Just outside the margin, "no difference" is wrong and must not exceed the nominal rate.
#[test]
fn no_difference_is_not_claimed_beyond_the_margin() {
    let mut source = Source::seeded(16);
    let wrong = rate("no difference at 2.1 %", 4_000, || {
        let judgement = run(&source.log_ratios(1.021f64.ln(), 0.01, Noise::Gaussian), &Rules::default());
        judgement.verdict == VerdictKind::NoDifference
    });
    assert!(wrong <= ALPHA);
}

/// Eight equal contenders share one baseline, so that their ratios are correlated.
#[test]
fn holm_keeps_the_error_rate_of_eight_contenders() {
    let mut source = Source::seeded(17);
    let rules = Rules { margin: 0.0, ..Rules::default() };
    let any_wrong = rate("family-wise error", 1_000, || {
        let mut measure =
            || -> Vec<f64> { (0..BLOCKS_MAX).map(|_| 0.03 * source.draw(Noise::Gaussian)).collect() };
        let baseline = measure();
        let mut comparisons: Vec<PairedRatios> = (0..8).map(|_| comparison(Vec::new())).collect();
        let contenders: Vec<Vec<f64>> = (0..8).map(|_| measure()).collect();
        (0..BLOCKS_MAX).any(|block| {
            for (comparison, contender) in comparisons.iter_mut().zip(&contenders) {
                comparison.log_ratios.push(contender[block] - baseline[block]);
            }
            let judged = judge(&comparisons, Direction::Lower, &rules);
            judged.iter().any(|j| matches!(j.verdict, VerdictKind::Better | VerdictKind::Worse))
        })
    });
    assert!(any_wrong <= ALPHA);
}

#[test]
fn the_estimated_number_of_blocks_is_accurate() {
    let mut source = Source::seeded(18);
    let mut errors = Vec::new();
    for _ in 0..1_000 {
        let values = source.log_ratios(1.05f64.ln(), 0.03, Noise::Gaussian);
        let early =
            judge(&[comparison(values[..5].to_vec())], Direction::Higher, &Rules::default()).remove(0);
        if early.verdict == VerdictKind::Undecided {
            let needs_blocks = early.needs_blocks;
            let end = run(&values, &Rules::default());
            errors.push(u64::from((5 + needs_blocks.unwrap()).abs_diff(end.blocks)));
        }
    }
    println!("off by: median {:?} blocks, p90 {:?}", quantile(&errors, 0.5), quantile(&errors, 0.9));
    assert!(quantile(&errors, 0.5) <= Some(4));
}
