//! Effects of each contender in each role, from a matrix run.
//!
//! The log of a figure is the sum of four parts: the mean of all pairs, the effect of the contender in the first role, the effect
//! of the contender in the second role, and the interaction of the two (two-way analysis of variance). Each part is a weighted sum
//! of logs of one block or session. Its interval is therefore a confidence sequence of [`netdyno_stats`]. All parts of a run share
//! its error level.
//!
//! Missing cells are not imputed: the contender with the largest share of missing cells is left out until the matrix is complete.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::verdicts::{self, Judge};
use netdyno_lab_manifest::{Metric, Params};
use netdyno_lab_store::{CellStatus, Run};
use netdyno_stats::{Unit, confidence_sequence};

/// Effects in a matrix of two roles: a figure is the product of the mean of all pairs, the effects of its two contenders, and their
/// interaction.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Effects {
    /// Parameters of the cells.
    pub params: BTreeMap<String, serde_json::Value>,
    /// Unit of observation: `block` or `session`.
    pub unit: String,
    /// Number of observations of each cell.
    pub count: u32,
    /// Contenders that were left out because cells of theirs are missing.
    pub left_out: Vec<String>,
    /// Effects of the contenders of the first role, of those of the second role, then the interactions.
    pub effects: Vec<Effect>,
}

/// Effect of one contender, or interaction of a pair.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Effect {
    /// The contender or the pair, by role.
    pub of: BTreeMap<String, String>,
    /// Factor; 1 is no effect. The product of all effects of a role is 1.
    pub ratio: f64,
    /// Lower end of the confidence sequence, which is simultaneous for all effects of the run; null: unbounded.
    pub low: Option<f64>,
    /// Upper end; null: unbounded.
    pub high: Option<f64>,
}

/// Effects on one metric, for each parameter setting of a run that has a matrix of at least two contenders per role.
pub fn matrices(run: &Run, judge: &Judge<'_>, roles: &[String], metric: &Metric) -> Vec<Effects> {
    let groups = verdicts::groups(run);
    let alpha = verdicts::rules(run).alpha / groups.len().max(1) as f64;
    let matrix = |(params, members): (Params, Vec<usize>)| {
        let is_measured = |i: &usize| {
            let cell = &run.cells[*i];
            !cell.ceiling && !cell.again && cell.status == CellStatus::Ok
        };
        let members: Vec<usize> = members.into_iter().filter(is_measured).collect();
        let grid = Grid::new(run, roles, &members)?;
        let (unit, logs) = judge.logs(metric, &grid.cells, verdicts::baseline_among(run, &members)?);
        Some(Effects {
            params: params.iter().map(|(name, value)| (name.to_owned(), serde_json::json!(value))).collect(),
            unit: unit.noun(1).to_owned(),
            count: u32::try_from(logs.first().map_or(0, Vec::len)).unwrap_or(u32::MAX),
            effects: effects(&grid, unit, &logs, alpha)?,
            left_out: grid.left_out.into_iter().collect(),
        })
    };
    groups.into_iter().filter_map(matrix).collect()
}

/// A complete matrix of cells.
struct Grid {
    roles: [String; 2],
    rows: Vec<String>,
    columns: Vec<String>,
    /// Indices of the cells, row by row.
    cells: Vec<usize>,
    left_out: BTreeSet<String>,
}

impl Grid {
    /// The matrix of these cells, if exactly two roles vary.
    fn new(run: &Run, roles: &[String], members: &[usize]) -> Option<Grid> {
        let player = |role: &str, i: usize| run.cells[i].contenders.get(role).cloned().unwrap_or_default();
        let players = |role: &str| members.iter().map(|&i| player(role, i)).collect::<BTreeSet<_>>();
        let varying: Vec<&String> = roles.iter().filter(|role| players(role).len() > 1).collect();
        let &[first, second] = varying.as_slice() else { return None };
        let cells: BTreeMap<(String, String), usize> =
            members.iter().map(|&i| ((player(first, i), player(second, i)), i)).collect();
        let lacks = |a: &String, b: &String| !cells.contains_key(&(a.clone(), b.clone()));
        let (mut rows, mut columns) = (players(first), players(second));
        let mut left_out = BTreeSet::new();
        // Remove the contender with the largest share of missing cells; of equals, the last by name.
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

    /// Owners of the parts, in the order of [`parts`].
    fn owners(&self) -> impl Iterator<Item = BTreeMap<String, String>> {
        let [first, second] = &self.roles;
        let row = move |a: &String| (first.clone(), a.clone());
        let column = move |b: &String| (second.clone(), b.clone());
        let pairs =
            self.rows.iter().flat_map(move |a| self.columns.iter().map(move |b| [row(a), column(b)].into()));
        let alone = self.rows.iter().map(row).chain(self.columns.iter().map(column));
        alone.map(|owner| [owner].into()).chain(pairs)
    }
}

/// Share of true values; 0 without values.
fn share(all: impl Iterator<Item = bool>) -> f64 {
    let (yes, count) = all.fold((0, 0), |(yes, count), value| (yes + u32::from(value), count + 1));
    f64::from(yes) / f64::from(count.max(1))
}

/// The effects with their intervals; `None` below two observations, or if a log is not finite.
fn effects(grid: &Grid, unit: Unit, logs: &[Vec<f64>], alpha: f64) -> Option<Vec<Effect>> {
    let count = logs.first().map_or(0, Vec::len);
    let matrix = |n: usize| logs.iter().map(|row| row[n]).collect::<Vec<_>>();
    let observed: Vec<Vec<f64>> =
        (0..count).map(|n| parts(&matrix(n), grid.rows.len(), grid.columns.len())).collect();
    let owners: Vec<_> = grid.owners().collect();
    let alpha = alpha / owners.len() as f64;
    let effect = |(part, of)| {
        let values: Vec<f64> = observed.iter().map(|parts| parts[part]).collect();
        let (ratio, low, high) = confidence_sequence(&values, unit, alpha)?.ratios();
        Some(Effect { of, ratio, low, high })
    };
    owners.into_iter().enumerate().map(effect).collect()
}

/// Parts of the rows, the columns and the cells of a matrix of logs, which is given by rows.
fn parts(logs: &[f64], rows: usize, columns: usize) -> Vec<f64> {
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
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
    use netdyno_lab_store::fixture::{self, CannedContender};

    /// A run of these pairs in three blocks. The rate of a pair is the product of both contenders' factors; twice that for c > c.
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
        let contender =
            |rates| CannedContender { name: "x", status: CellStatus::Ok, rates, sink_cpu_percent: 50 };
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

    fn effects_of(run: &Run) -> Vec<Effects> {
        let workload = netdyno_lab_manifest::dummy::workload();
        let primary = workload.primary().unwrap();
        matrices(run, &Judge::new(run, &workload), &workload.roles, primary)
    }

    fn ratio(matrix: &Effects, of: &[(&str, &str)]) -> f64 {
        let of = of.iter().map(|(role, name)| ((*role).to_owned(), (*name).to_owned())).collect();
        matrix.effects.iter().find(|e| e.of == of).unwrap().ratio
    }

    #[test]
    fn effects_are_independent_of_drift() {
        let found = effects_of(&matrix(&all(&["a", "b"])));
        let [found] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!((found.count, found.unit.as_str(), found.effects.len()), (3, "block", 2 + 2 + 4));
        for (of, wanted) in [
            (vec![("source", "a")], 0.5_f64.sqrt()),
            (vec![("source", "b")], 2_f64.sqrt()),
            (vec![("sink", "b")], 2_f64.sqrt()),
            (vec![("source", "a"), ("sink", "b")], 1.0),
        ] {
            assert!((ratio(found, &of) - wanted).abs() < 1e-6, "{of:?}: {}", ratio(found, &of));
        }
        // Three equal blocks: the minimum deviation determines the width.
        assert!(found.effects.iter().all(|e| e.high.unwrap() / e.low.unwrap() < 1.2), "{found:?}");
    }

    #[test]
    fn a_pair_that_exceeds_the_product_of_its_effects_has_an_interaction() {
        let found = &effects_of(&matrix(&all(&["a", "b", "c"])))[0];
        let of_pair = ratio(found, &[("source", "c"), ("sink", "c")]);
        // A factor of 2 in one of nine cells leaves 4/9 of its log; the rest is part of the row, the column and the mean.
        assert!((of_pair.ln() - 2_f64.ln() * 4.0 / 9.0).abs() < 1e-6, "{of_pair}");
    }

    #[test]
    fn contenders_with_missing_cells_are_left_out() {
        let mut pairs = all(&["a", "b", "c"]);
        pairs.retain(|pair| *pair != ("a", "c"));
        let found = &effects_of(&matrix(&pairs))[0];
        assert_eq!(found.effects.len(), 2 + 3 + 6, "one row is gone: {found:?}");
        assert_eq!(found.left_out, ["a"]);
        // A diagonal and a single row are not matrices.
        assert!(effects_of(&matrix(&[("a", "a"), ("b", "b")])).is_empty());
        assert!(effects_of(&matrix(&[("a", "a"), ("a", "b"), ("a", "c")])).is_empty());
    }

    #[test]
    fn the_parts_of_a_matrix_sum_to_its_logs() {
        let logs = [0.3, -1.0, 2.0, 0.7, 0.1, 5.0];
        let parts = parts(&logs, 2, 3);
        let all = logs.iter().sum::<f64>() / 6.0;
        for (i, log) in logs.iter().enumerate() {
            let sum = all + parts[i / 3] + parts[2 + i % 3] + parts[5 + i];
            assert!((sum - log).abs() < 1e-12, "{i}: {sum}");
        }
    }
}
