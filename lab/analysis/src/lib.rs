//! Values, verdicts and explanations, computed from stored samples.
//!
//! | does | does not |
//! |---|---|
//! | compute every printed value from stored records alone | run contenders, or keep state |
//! | judge contenders, revisions and published claims | print: `netdyno-lab-report` renders the values |
//! | decide when a run may stop, with the functions that compute the printed verdicts | know a contender by name |
//!
//! All functions are pure functions of stored runs. Modules in order of dependency: [`window`], [`metrics`], [`load`],
//! [`generator`], [`duels`], [`verdicts`], [`effects`], [`report`]; then [`claims`], [`comparison`] and [`explain`].

pub mod claims;
pub mod comparison;
pub mod duels;
pub mod effects;
pub mod explain;
pub mod generator;
pub mod load;
pub mod metrics;
pub mod report;
pub mod verdicts;
pub mod window;

/// The distinct values, in order of their first occurrence.
pub fn distinct<T: PartialEq>(all: impl IntoIterator<Item = T>) -> Vec<T> {
    grouped(all.into_iter().map(|value| (value, ()))).into_iter().map(|(value, _)| value).collect()
}

/// Values by key, in order of the first occurrence of each key.
pub fn grouped<K: PartialEq, V>(all: impl IntoIterator<Item = (K, V)>) -> Vec<(K, Vec<V>)> {
    let mut groups: Vec<(K, Vec<V>)> = Vec::new();
    for (key, value) in all {
        match groups.iter_mut().find(|(known, _)| *known == key) {
            Some((_, values)) => values.push(value),
            None => groups.push((key, vec![value])),
        }
    }
    groups
}
