//! Simulated replications: within a budget, as many claims as possible are decided, at the nominal error rate.
//!
//! Each test prints its seed and its counts (`cargo test claims::simulation_tests -- --nocapture`). A method is a set of cells that are compared
//! in rounds of a given length. The simulation uses the rules of real runs: `question::next` within a run and `schedule::soonest`
//! between runs. The reference strategy splits the budget into equal shares, measures all cells in each round, and uses intervals
//! from session 6 on, whose ends are added if neither side is the baseline.
#![allow(clippy::unwrap_used)]

use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::{Rng, SeedableRng};

use super::measured::interval;
use super::question::{Standing, next};
use super::region::{Finding, Region};
use super::schedule::{Continuation, soonest};
use netdyno_stats::{Unit, confidence_sequence};

const ALPHA: f64 = 0.05;

/// A claim about cells a and b of a method; 0 is the baseline.
struct Case {
    a: usize,
    b: usize,
    region: Region,
    truth: f64,
    rank: u8,
}

/// A method: log speeds of its cells, their variation between sessions, and the time of a cell per round.
struct Method {
    cells: Vec<f64>,
    deviation: f64,
    /// Probability that a session is disturbed, by about 50 %.
    disturbed: f64,
    seconds_a_cell: f64,
    cases: Vec<Case>,
    /// Log ratio to the baseline, by cell and round.
    rounds: Vec<Vec<Option<f64>>>,
    spent_s: f64,
}

struct Source(Pcg64Mcg);

impl Source {
    fn uniform(&mut self) -> f64 {
        ((self.0.next_u64() >> 11) as f64 + 0.5) / (1u64 << 53) as f64
    }

    fn gaussian(&mut self) -> f64 {
        (-2.0 * self.uniform().ln()).sqrt() * (std::f64::consts::TAU * self.uniform()).cos()
    }

    fn choose<T: Copy>(&mut self, all: &[T]) -> T {
        all[(self.uniform() * all.len() as f64) as usize]
    }
}

/// Claims of various sizes, true and false, with various noise.
fn article(source: &mut Source, disturbed: f64) -> Vec<Method> {
    let method = |source: &mut Source| {
        let count = source.choose(&[2, 3, 4, 6]);
        let cells: Vec<f64> =
            (0..count).map(|_| source.choose(&[0.0, 0.0, 0.05, -0.2, 0.4, -0.4, 1.1])).collect();
        let claims = source.choose(&[1, 2, 3]);
        let case = |source: &mut Source| {
            let a = 1 + (source.uniform() * (count - 1) as f64) as usize;
            let b = source.choose(&[0, (a + 1) % count]);
            let truth: f64 = cells[a] - cells[b];
            let published = source.choose(&[0.35f64, 0.8, 1.3, 2.0]);
            let region = match source.choose(&[0, 0, 1]) {
                0 if published > 1.0 => Region::more(Some(published)),
                0 => Region::less(Some(published)),
                _ => Region::about(source.choose(&[1.0, published]), source.choose(&[1.15, 1.3])),
            };
            Case { a, b, region, truth, rank: source.choose(&[0, 0, 1, 2]) }
        };
        let cases = (0..claims).map(|_| case(source)).collect();
        let (deviation, seconds_a_cell) =
            (source.choose(&[0.02, 0.05, 0.1, 0.25]), source.choose(&[1.0, 2.0, 3.0]));
        let rounds = vec![Vec::new(); count];
        Method { cells, deviation, disturbed, seconds_a_cell, cases, rounds, spent_s: 0.0 }
    };
    (0..5).map(|_| method(source)).collect()
}

impl Method {
    fn round(&mut self, wanted: &[usize], source: &mut Source) {
        self.spent_s += self.seconds_a_cell * (1 + wanted.iter().filter(|&&cell| cell != 0).count()) as f64;
        for cell in 0..self.cells.len() {
            let mut draw = || {
                let disturbance = if source.uniform() < self.disturbed { 0.5 } else { 0.0 };
                let deviation = (2.0 * self.deviation.powi(2) + disturbance * disturbance).sqrt();
                self.cells[cell] - self.cells[0] + deviation * source.gaussian()
            };
            let draw = (cell != 0 && wanted.contains(&cell)).then(&mut draw);
            self.rounds[cell].push(draw);
        }
    }

    fn logs(&self, case: &Case) -> Vec<f64> {
        let log = |cell: usize, round: usize| if cell == 0 { Some(0.0) } else { self.rounds[cell][round] };
        let count = self.rounds[0].len();
        (0..count).filter_map(|round| Some(log(case.a, round)? - log(case.b, round)?)).collect()
    }

    fn finding(&self, case: &Case) -> Finding {
        let Ok(interval) = interval(&self.logs(case), ALPHA) else { return Finding::Open };
        case.region.finding(Some(interval.low.exp()), Some(interval.high.exp()))
    }

    fn finding_before(&self, case: &Case) -> Finding {
        let ends = |cell: usize, alpha: f64| -> Option<(f64, f64)> {
            let logs: Vec<f64> = self.rounds[cell].iter().flatten().copied().collect();
            let interval = confidence_sequence(&logs, Unit::Session, alpha)?;
            Some((interval.low, interval.high))
        };
        let found = if case.b == 0 {
            ends(case.a, ALPHA)
        } else {
            let both = ends(case.a, ALPHA / 2.0).zip(ends(case.b, ALPHA / 2.0));
            both.map(|(a, b)| (a.0 - b.1, a.1 - b.0))
        };
        found.map_or(Finding::Open, |(low, high)| case.region.finding(Some(low.exp()), Some(high.exp())))
    }

    fn ranked(&self) -> Vec<(u8, Standing)> {
        let standing = |case: &Case| Standing::new(case.region, None, &self.logs(case), ALPHA);
        self.cases.iter().map(|case| (case.rank, standing(case))).collect()
    }

    fn turn(&self) -> Option<Continuation> {
        let rounds = self.rounds[0].len() as u32;
        let seconds = if rounds == 0 {
            self.seconds_a_cell * self.cells.len() as f64
        } else {
            self.spent_s / f64::from(rounds)
        };
        Continuation::new(&self.ranked(), rounds, seconds)
    }
}

/// The strategy of replications.
fn now(methods: &mut [Method], budget_s: f64, source: &mut Source) {
    let left = |methods: &[Method]| budget_s - methods.iter().map(|m| m.spent_s).sum::<f64>();
    while left(methods) > 0.0 {
        let turns: Vec<Option<Continuation>> = methods.iter().map(Method::turn).collect();
        let Some(at) = soonest(&turns) else { return };
        for _ in 0..turns[at].unwrap().rounds {
            let method = &methods[at];
            let mut wanted: Vec<usize> = Vec::new();
            for i in next(&method.ranked()) {
                wanted.extend([method.cases[i].a, method.cases[i].b]);
            }
            if wanted.is_empty() || left(methods) <= 0.0 {
                break;
            }
            methods[at].round(&wanted, source);
        }
    }
}

/// The reference strategy: equal shares, every cell in each round.
fn before(methods: &mut [Method], budget_s: f64, source: &mut Source) {
    let share = budget_s / methods.len() as f64;
    for method in methods {
        let all: Vec<usize> = (0..method.cells.len()).collect();
        while method.spent_s < share {
            method.round(&all, source);
        }
    }
}

#[derive(Debug, Default, Clone, Copy, PartialEq)]
struct Count {
    claims: u32,
    decided: u32,
    without_interval: u32,
    wrong: u32,
}

impl Count {
    fn add(&mut self, method: &Method, finding: fn(&Method, &Case) -> Finding, first: usize) {
        for case in &method.cases {
            let found = finding(method, case);
            self.claims += 1;
            self.decided += u32::from(found != Finding::Open);
            self.without_interval += u32::from(method.logs(case).len() < first);
            let truth = case.truth.exp();
            // The true ratio as an interval of zero width.
            let is = case.region.finding(Some(truth), Some(truth));
            let is_wrong = match found {
                Finding::Shown => is == Finding::Refuted,
                Finding::Refuted => is == Finding::Shown,
                Finding::Open | Finding::Missing => false,
            };
            self.wrong += u32::from(is_wrong);
        }
    }
}

fn counts(budget_s: f64, disturbed: f64, articles: u64) -> [Count; 2] {
    let (mut old, mut new) = (Count::default(), Count::default());
    for seed in 0..articles {
        let made = || Source(Pcg64Mcg::seed_from_u64(seed));
        let (mut one, mut two) = (made(), made());
        let (mut earlier, mut later) = (article(&mut one, disturbed), article(&mut two, disturbed));
        before(&mut earlier, budget_s, &mut one);
        now(&mut later, budget_s, &mut two);
        earlier.iter().for_each(|m| old.add(m, Method::finding_before, 6));
        later.iter().for_each(|m| new.add(m, Method::finding, 3));
    }
    println!("{articles} articles, {budget_s} s, disturbed {disturbed}: before {old:?}, now {new:?}");
    [old, new]
}

#[test]
fn scheduling_decides_more_claims_without_more_errors() {
    for (budget_s, disturbed, more) in [
        (150.0, 0.0, 2.0),
        (150.0, 0.1, 2.0),
        (300.0, 0.0, 1.3),
        (300.0, 0.1, 1.3),
        (900.0, 0.0, 1.05),
        (900.0, 0.1, 1.05),
    ] {
        let [old, new] = counts(budget_s, disturbed, 60);
        assert_eq!(old.claims, new.claims);
        assert!(f64::from(new.decided) >= more * f64::from(old.decided), "{old:?} {new:?}");
        assert!(f64::from(new.wrong) <= ALPHA * f64::from(new.claims), "{new:?}");
        assert!(new.without_interval * 20 <= new.claims, "{new:?}");
    }
}

/// Equal contenders and claims of a difference: the worst case of optional stopping.
#[test]
fn equal_contenders_are_rarely_called_different_at_any_stopping_time() {
    let mut wrong = Count::default();
    for seed in 0..300 {
        let mut source = Source(Pcg64Mcg::seed_from_u64(seed));
        let case = |a, b| {
            let region = Region::more(Some(2.0));
            Case { a, b, region, truth: 0.0, rank: 0 }
        };
        let cases = vec![case(1, 0), case(2, 1), case(3, 0)];
        let (cells, rounds) = (vec![0.0; 4], vec![Vec::new(); 4]);
        let deviation = source.choose(&[0.05, 0.2]);
        let mut methods =
            [Method { cells, deviation, disturbed: 0.0, seconds_a_cell: 1.0, cases, rounds, spent_s: 0.0 }];
        now(&mut methods, 400.0, &mut source);
        wrong.add(&methods[0], Method::finding, 3);
    }
    println!("{wrong:?}");
    assert!(f64::from(wrong.wrong) <= ALPHA * f64::from(wrong.claims), "{wrong:?}");
    assert!(wrong.decided * 2 > wrong.claims, "most are decided as equal: {wrong:?}");
}
