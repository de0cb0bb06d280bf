//! Error rates of change points on synthetic histories, evaluated after every run, up to 100 of them.
//!
//! Each test prints its seed and the measured rates (`cargo test -p netdyno-stats -- --nocapture`).

use super::blocks::{Noise, Source, rate};
use crate::changes::{Change, changes};

const RUNS: usize = 100;
const ALPHA: f64 = 0.05;
/// The margin of verdicts: ln 1.02.
const MARGIN: f64 = 0.0198;

/// A history of log ratios with this deviation; from `at` on, `step` is added.
fn history(source: &mut Source, noise: Noise, deviation: f64, at: usize, step: f64) -> Vec<f64> {
    let value = |i: usize, source: &mut Source| {
        0.7 + deviation * source.draw(noise) + if i < at { 0.0 } else { step }
    };
    (0..RUNS).map(|i| value(i, source)).collect()
}

/// Whether a change is found. Significant changes remain, so that the last evaluation covers all.
fn is_alarmed(values: &[f64]) -> bool {
    !changes(values, ALPHA, 0.0).is_empty()
}

#[test]
fn false_alarms_are_within_the_nominal_rate() {
    let mut source = Source::seeded(41);
    let mut alarmed =
        |what, noise| rate(what, 1_000, || is_alarmed(&history(&mut source, noise, 0.03, RUNS, 0.0)));
    assert!(alarmed("gaussian", Noise::Gaussian) <= ALPHA);
    assert!(alarmed("uniform", Noise::Uniform) <= ALPHA);
}

/// The rates in docs/METHOD.md.
#[test]
fn the_nominal_rate_does_not_hold_outside_the_model() {
    let mut source = Source::seeded(42);
    let to_one_side = rate("long tail to one side", 500, || {
        is_alarmed(&history(&mut source, Noise::Exponential, 0.03, RUNS, 0.0))
    });
    // Every third run is short, with three times the deviation.
    let mixed = rate("runs of unlike precision", 500, || {
        let draw = |i: usize, source: &mut Source| {
            source.draw(Noise::Gaussian) * if i.is_multiple_of(3) { 0.09 } else { 0.03 }
        };
        is_alarmed(&(0..RUNS).map(|i| draw(i, &mut source)).collect::<Vec<_>>())
    });
    let correlated = rate("neighbours correlated by 0.3", 500, || {
        let mut last = source.draw(Noise::Gaussian);
        let mut next = || {
            last = 0.3 * last + (1.0f64 - 0.09).sqrt() * source.draw(Noise::Gaussian);
            0.03 * last
        };
        is_alarmed(&(0..RUNS).map(|_| next()).collect::<Vec<_>>())
    });
    assert!(to_one_side <= 0.20 && mixed <= 0.20 && correlated <= 0.20, "{to_one_side} {mixed} {correlated}");
}

/// Ten per cent under three per cent of noise, after 10 and after 60 runs.
#[test]
fn a_step_of_ten_percent_is_located() {
    let mut source = Source::seeded(43);
    for at in [10, 60] {
        let mut delays = Vec::new();
        let mut alone = 0;
        let found = rate("found within two runs of its place", 500, || {
            let values = history(&mut source, Noise::Gaussian, 0.03, at, 1.1f64.ln());
            let found = changes(&values, ALPHA, MARGIN);
            alone += u32::from(found.len() == 1);
            let near = |c: &&Change| c.at.abs_diff(at) <= 2;
            let hit = found.iter().find(near);
            delays.extend(hit.map(|c| c.sure_after.saturating_sub(at) as u64));
            hit.is_some_and(|c| c.step.low <= 1.1f64.ln() && 1.1f64.ln() <= c.step.high)
        });
        let [median, most] = [0.5, 0.9].map(|q| crate::quantile(&delays, q));
        println!("a change after {at}: sure after {median:?} runs more, p90 {most:?}; alone {alone} of 500");
        assert!(found >= 0.95 && alone >= 475);
        assert!(most <= Some(12));
    }
}

/// Twelve contenders share the error level, as for verdicts.
#[test]
fn twelve_histories_keep_the_joint_error_rate() {
    let mut source = Source::seeded(44);
    let any = rate("any of twelve", 200, || {
        let baseline = history(&mut source, Noise::Gaussian, 0.02, RUNS, 0.0);
        (0..12).any(|_| {
            let own = history(&mut source, Noise::Gaussian, 0.02, RUNS, 0.0);
            let ratios: Vec<f64> = own.iter().zip(&baseline).map(|(a, b)| a - b).collect();
            !changes(&ratios, ALPHA / 12.0, 0.0).is_empty()
        })
    });
    assert!(any <= ALPHA);
}
