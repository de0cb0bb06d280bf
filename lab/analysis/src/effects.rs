//! What each end brings: a matrix, in which every contender of one role worked with every one of another, taken apart.
//!
//! The log of a figure is the sum of four parts: the mean of all pairs; what the contender of the one role brings, in the mean over
//! all it worked with; what that of the other does; and what is left to the two together, their interaction (the two-way analysis of
//! variance). Each part is a weighted sum of logs that stand in one block, or one session each, so that its interval is that of
//! [`netdyno_stats`], valid at any stopping time. All parts of a run share its error level.
//!
//! It does not guess: where a cell failed, the contender with most such cells is left out, and so on until the matrix is full.

use std::collections::{BTreeMap, BTreeSet};

use crate::verdicts::{self, Judge};
use netdyno_lab_manifest::{Metric, Params};
use netdyno_lab_store::{CellStatus, Run};
use netdyno_stats::{Interval, Unit, confidence_sequence};

/// A matrix, taken apart.
#[derive(Debug, Clone, PartialEq)]
pub struct Matrix {
    /// What all of its cells have.
    pub params: Params,
    /// What one observation is.
    pub unit: Unit,
    /// How many there are of each cell.
    pub count: usize,
    /// Contenders that lack cells, and have no part in it.
    pub left_out: BTreeSet<String>,
    /// Of each contender of the first role, of each of the second, of each pair.
    pub effects: Vec<Effect>,
}

/// A part of the log of a figure.
#[derive(Debug, Clone, PartialEq)]
pub struct Effect {
    /// Whose it is, by role: of one, or of two together.
    pub of: BTreeMap<String, String>,
    /// The part.
    pub log: Interval,
}

/// The matrices of a run with two contenders a role at least, of one metric.
#[must_use]
pub fn matrices(run: &Run, judge: &Judge<'_>, roles: &[String], metric: &Metric) -> Vec<Matrix> {
    let groups = verdicts::groups(run);
    let alpha = verdicts::rules(run).alpha / groups.len().max(1) as f64;
    let of = |(params, members): (Params, Vec<usize>)| {
        let ok = |i: &usize| {
            let cell = &run.cells[*i];
            !cell.ceiling && !cell.again && cell.status == CellStatus::Ok
        };
        let members: Vec<usize> = members.into_iter().filter(ok).collect();
        let grid = Grid::of(run, roles, &members)?;
        let (unit, logs) = judge.logs(metric, &grid.cells, verdicts::baseline_among(run, &members)?);
        Some(Matrix {
            params,
            unit,
            count: logs.first().map_or(0, Vec::len),
            effects: effects(&grid, unit, &logs, alpha)?,
            left_out: grid.left_out,
        })
    };
    groups.into_iter().filter_map(of).collect()
}

/// A full matrix of cells.
struct Grid {
    roles: [String; 2],
    rows: Vec<String>,
    columns: Vec<String>,
    /// Indices of the cells, row by row.
    cells: Vec<usize>,
    left_out: BTreeSet<String>,
}

impl Grid {
    /// Of these cells, where two roles vary and no other does.
    fn of(run: &Run, roles: &[String], members: &[usize]) -> Option<Grid> {
        let player = |role: &str, i: usize| run.cells[i].contenders.get(role).cloned().unwrap_or_default();
        let players = |role: &str| members.iter().map(|&i| player(role, i)).collect::<BTreeSet<_>>();
        let varying: Vec<&String> = roles.iter().filter(|role| players(role).len() > 1).collect();
        let &[first, second] = varying.as_slice() else { return None };
        let cells: BTreeMap<(String, String), usize> =
            members.iter().map(|&i| ((player(first, i), player(second, i)), i)).collect();
        let lacks = |a: &String, b: &String| !cells.contains_key(&(a.clone(), b.clone()));
        let (mut rows, mut columns) = (players(first), players(second));
        let mut left_out = BTreeSet::new();
        // Who lacks the greatest share goes; of equals the last by name.
        loop {
            let of_row = |a: &String| share(columns.iter().map(|b| lacks(a, b)));
            let of_column = |b: &String| share(rows.iter().map(|a| lacks(a, b)));
            let row = rows.iter().max_by(|a, b| of_row(a).total_cmp(&of_row(b))).cloned()?;
            let column = columns.iter().max_by(|a, b| of_column(a).total_cmp(&of_column(b))).cloned()?;
            let (by_row, by_column) = (of_row(&row), of_column(&column));
            if by_row == 0.0 && by_column == 0.0 {
                break;
            }
            let (names, name) = if by_row >= by_column { (&mut rows, row) } else { (&mut columns, column) };
            names.remove(&name);
            left_out.insert(name);
        }
        if rows.len() < 2 || columns.len() < 2 {
            return None;
        }
        let (rows, columns): (Vec<_>, Vec<_>) = (rows.into_iter().collect(), columns.into_iter().collect());
        let pairs = rows.iter().flat_map(|a| columns.iter().map(move |b| (a.clone(), b.clone())));
        let cells = pairs.map(|pair| cells[&pair]).collect();
        Some(Grid { roles: [first.clone(), second.clone()], rows, columns, cells, left_out })
    }

    /// Whose the parts are, in the order of [`parts`].
    fn owners(&self) -> impl Iterator<Item = BTreeMap<String, String>> {
        let [first, second] = &self.roles;
        let row = move |a: &String| (first.clone(), a.clone());
        let column = move |b: &String| (second.clone(), b.clone());
        let pairs =
            self.rows.iter().flat_map(move |a| self.columns.iter().map(move |b| [row(a), column(b)].into()));
        let alone = self.rows.iter().map(row).chain(self.columns.iter().map(column));
        alone.map(|one| [one].into()).chain(pairs)
    }
}

/// The share that is so; 0 of none.
fn share(all: impl Iterator<Item = bool>) -> f64 {
    let (so, count) = all.fold((0, 0), |(so, count), is| (so + u32::from(is), count + 1));
    f64::from(so) / f64::from(count.max(1))
}

/// The effects with their intervals; none below two observations, or if one of them is not finite.
fn effects(grid: &Grid, unit: Unit, logs: &[Vec<f64>], alpha: f64) -> Option<Vec<Effect>> {
    let count = logs.first().map_or(0, Vec::len);
    let matrix = |n: usize| logs.iter().map(|row| row[n]).collect::<Vec<_>>();
    let observed: Vec<Vec<f64>> =
        (0..count).map(|n| parts(&matrix(n), grid.rows.len(), grid.columns.len())).collect();
    let owners: Vec<_> = grid.owners().collect();
    let alpha = alpha / owners.len() as f64;
    let effect = |(part, of)| {
        let values: Vec<f64> = observed.iter().map(|parts| parts[part]).collect();
        Some(Effect { of, log: confidence_sequence(&values, unit, alpha)? })
    };
    owners.into_iter().enumerate().map(effect).collect()
}

/// The parts of the rows, of the columns and of the cells of one matrix of logs, which is given row by row.
fn parts(logs: &[f64], rows: usize, columns: usize) -> Vec<f64> {
    let mean = |of: &[f64]| of.iter().sum::<f64>() / of.len() as f64;
    let all = mean(logs);
    let row: Vec<f64> = logs.chunks(columns).map(mean).collect();
    let column = |b: usize| mean(&logs.iter().skip(b).step_by(columns).copied().collect::<Vec<_>>());
    let column: Vec<f64> = (0..columns).map(column).collect();
    let cells = (0..rows * columns).map(|i| logs[i] - row[i / columns] - column[i % columns] + all);
    row.iter().chain(&column).map(|part| part - all).chain(cells).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use netdyno_lab_store::fixture::{self, Contender};

    /// A run of these pairs, each with a rate in each of three blocks: the rate of the sender by that of the receiver, twice that for
    /// c > c.
    fn matrix(pairs: &[(&str, &str)]) -> Run {
        let part = |name: &str| match name {
            "a" => 10,
            "b" => 20,
            _ => 40,
        };
        let rate = |(from, to): &(&str, &str), block: u64| {
            part(from) * part(to) * (1 + block) * if (*from, *to) == ("c", "c") { 2 } else { 1 }
        };
        let rates: Vec<[u64; 3]> = pairs.iter().map(|p| [rate(p, 0), rate(p, 1), rate(p, 2)]).collect();
        let contender = |rates| Contender { name: "x", status: CellStatus::Ok, rates, sink_cpu_percent: 50 };
        let mut run = fixture::run(&rates.iter().map(|r| contender(r)).collect::<Vec<_>>(), None);
        for (cell, (from, to)) in run.cells.iter_mut().zip(pairs) {
            let roles = [("source", from), ("sink", to)];
            cell.contenders = roles.map(|(role, name)| (role.to_owned(), (*name).to_owned())).into();
        }
        run
    }

    fn all(names: &[&'static str]) -> Vec<(&'static str, &'static str)> {
        names.iter().flat_map(|a| names.iter().map(|b| (*a, *b))).collect()
    }

    fn taken_apart(run: &Run) -> Vec<Matrix> {
        let workload = netdyno_lab_manifest::dummy::workload();
        let primary = workload.primary().unwrap();
        matrices(run, &Judge::of(run, &workload), &workload.roles, primary)
    }

    fn ratio(matrix: &Matrix, of: &[(&str, &str)]) -> f64 {
        let of = of.iter().map(|(role, name)| ((*role).to_owned(), (*name).to_owned())).collect();
        matrix.effects.iter().find(|e| e.of == of).unwrap().log.estimate.exp()
    }

    #[test]
    fn what_each_end_brings_is_found_whatever_the_machine_did() {
        let found = taken_apart(&matrix(&all(&["a", "b"])));
        let [found] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!((found.count, found.unit, found.effects.len()), (3, Unit::Block, 2 + 2 + 4));
        for (of, wanted) in [
            (vec![("source", "a")], 0.5_f64.sqrt()),
            (vec![("source", "b")], 2_f64.sqrt()),
            (vec![("sink", "b")], 2_f64.sqrt()),
            (vec![("source", "a"), ("sink", "b")], 1.0),
        ] {
            assert!((ratio(found, &of) - wanted).abs() < 1e-6, "{of:?}: {}", ratio(found, &of));
        }
        // Three equal blocks: as narrow as the floor of the deviation allows.
        assert!(found.effects.iter().all(|e| e.log.high - e.log.low < 0.2), "{found:?}");
    }

    #[test]
    fn a_pair_that_does_better_than_its_ends_is_an_interaction() {
        let found = &taken_apart(&matrix(&all(&["a", "b", "c"])))[0];
        let of_pair = ratio(found, &[("source", "c"), ("sink", "c")]);
        // Of a factor 2 in one of nine cells 4/9 of the log is left: the rest goes to its row, its column and the mean.
        assert!((of_pair.ln() - 2_f64.ln() * 4.0 / 9.0).abs() < 1e-6, "{of_pair}");
    }

    #[test]
    fn who_lacks_cells_is_left_out() {
        let mut pairs = all(&["a", "b", "c"]);
        pairs.retain(|pair| *pair != ("a", "c"));
        let found = &taken_apart(&matrix(&pairs))[0];
        assert_eq!(found.effects.len(), 2 + 3 + 6, "one row is gone: {found:?}");
        assert_eq!(found.left_out, BTreeSet::from(["a".to_owned()]));
        // Each with itself, and a row of a matrix, are none.
        assert!(taken_apart(&matrix(&[("a", "a"), ("b", "b")])).is_empty());
        assert!(taken_apart(&matrix(&[("a", "a"), ("a", "b"), ("a", "c")])).is_empty());
    }

    #[test]
    fn the_parts_of_a_matrix_add_up_to_it() {
        let logs = [0.3, -1.0, 2.0, 0.7, 0.1, 5.0];
        let parts = parts(&logs, 2, 3);
        let all = logs.iter().sum::<f64>() / 6.0;
        for (i, log) in logs.iter().enumerate() {
            let sum = all + parts[i / 3] + parts[2 + i % 3] + parts[5 + i];
            assert!((sum - log).abs() < 1e-12, "{i}: {sum}");
        }
    }
}
