//! Error rates on synthetic duels with correlated turns, varying sessions and a drifting machine.
//!
//! A session is a pair of sums over turns. Each test prints its seed and the measured rates (`cargo test -p netdyno-stats -- --nocapture`).

use super::blocks::{Noise, Source, covers, half_widths, rate};
use crate::*;

const SESSIONS_MAX: usize = 30;
const TURNS: usize = 8;
const ALPHA: f64 = 0.05;

/// Noise of a machine and two contenders. All values are standard deviations of logarithms.
#[derive(Debug, Clone, Copy)]
struct World {
    /// Of the rate in a turn, independent for each side.
    turn: f64,
    /// Correlation between consecutive turns of a side: AR(1).
    correlation: f64,
    /// Of the rate between sessions: memory layout, hash seeds.
    session: f64,
    /// Of the machine between turns: a common random walk.
    drift: f64,
}

impl World {
    /// Log ratios of the sessions of two contenders, one `ratio` times as fast as the other.
    fn duel(self, source: &mut Source, ratio: f64, sessions: usize) -> Vec<f64> {
        let mut machine = 0.0;
        (0..sessions).map(|_| self.session(source, ratio, &mut machine)).collect()
    }

    fn session(self, source: &mut Source, ratio: f64, machine: &mut f64) -> f64 {
        let own = [ratio.ln(), 0.0].map(|base| base + self.session * source.draw(Noise::Gaussian));
        let mut noise = [0.0; 2].map(|_: f64| source.draw(Noise::Gaussian));
        let mut sums = [0.0; 2];
        for _ in 0..TURNS {
            let first = usize::from(source.uniform() < 0.5);
            for side in [first, 1 - first] {
                *machine += self.drift * source.draw(Noise::Gaussian);
                let fresh = (1.0 - self.correlation.powi(2)).sqrt() * source.draw(Noise::Gaussian);
                noise[side] = self.correlation * noise[side] + fresh;
                sums[side] += (own[side] + self.turn * noise[side] + *machine).exp();
            }
        }
        (sums[0] / sums[1]).ln()
    }
}

fn worlds() -> Vec<World> {
    let mut worlds = Vec::new();
    for correlation in [0.0, 0.3, 0.7] {
        for session in [0.0, 0.02, 0.05] {
            for drift in [0.0, 0.03] {
                worlds.push(World { turn: 0.08, correlation, session, drift });
            }
        }
    }
    worlds
}

#[test]
fn equal_contenders_are_rejected_at_the_nominal_rate_in_duels() {
    let mut source = Source::seeded(21);
    for world in worlds() {
        let rejected = rate(&format!("{world:?}"), 600, || {
            let values = world.duel(&mut source, 1.0, SESSIONS_MAX);
            (1..=SESSIONS_MAX).any(|count| p_value(&values[..count], Unit::Session, 0.0) <= ALPHA)
        });
        assert!(rejected <= ALPHA, "{world:?}: {rejected}");
    }
}

#[test]
fn the_interval_covers_the_ratio_at_all_counts_simultaneously() {
    let mut source = Source::seeded(22);
    let widths = half_widths(Unit::Session, SESSIONS_MAX, ALPHA);
    for world in worlds() {
        let covered = rate(&format!("{world:?}"), 500, || {
            let values = world.duel(&mut source, 1.44, SESSIONS_MAX);
            (2..=SESSIONS_MAX).all(|count| covers(&values[..count], &widths, 1.44f64.ln()))
        });
        assert!(covered >= 1.0 - ALPHA, "{world:?}: {covered}");
    }
}

/// Treating turns as independent observations violates the error rate. Therefore a session is the unit.
#[test]
fn turns_as_independent_observations_violate_the_rate() {
    let mut source = Source::seeded(23);
    let world = World { turn: 0.08, correlation: 0.7, session: 0.05, drift: 0.0 };
    let rejected = rate("turns as observations", 500, || {
        let pairs: Vec<f64> = (0..3)
            .flat_map(|_| {
                let own = world.session * source.draw(Noise::Gaussian);
                (0..TURNS).map(|_| own + world.turn * source.draw(Noise::Gaussian)).collect::<Vec<_>>()
            })
            .collect();
        (1..=pairs.len()).any(|count| p_value(&pairs[..count], Unit::Block, 0.0) <= ALPHA)
    });
    assert!(rejected > 2.0 * ALPHA, "{rejected}");
}

/// Eleven contenders, a session effect of 2 %, and measured noise of turns.
#[test]
fn ten_percent_is_reached_within_twelve_sessions_of_eleven_contenders() {
    let mut source = Source::seeded(24);
    let world = World { turn: 0.08, correlation: 0.3, session: 0.02, drift: 0.03 };
    let mut needed = Vec::new();
    for _ in 0..200 {
        let values = world.duel(&mut source, 0.5, SESSIONS_MAX);
        let precise = |count: &usize| {
            confidence_sequence(&values[..*count], Unit::Session, ALPHA / 11.0)
                .is_some_and(|i| (i.high - i.estimate).exp() <= 1.10)
        };
        needed.push((2..=SESSIONS_MAX).find(precise).unwrap_or(SESSIONS_MAX) as u64);
    }
    println!("sessions: median {:?}, p90 {:?}", quantile(&needed, 0.5), quantile(&needed, 0.9));
    assert!(quantile(&needed, 0.5) <= Some(12));
}
