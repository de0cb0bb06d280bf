//! From stored samples to figures, verdicts and explanations.
//!
//! | does | does not |
//! |---|---|
//! | compute every figure that the lab prints, from the store's records alone | run a contender, or keep state between two calls |
//! | judge contenders, revisions, published claims | print: `netdyno-lab-report` renders the values |
//! | decide whether a run needs more measurements, by the functions that also print its verdicts | know a contender by name |
//!
//! Everything is a pure function of stored runs. Modules, from the samples upwards: [`window`], [`metrics`], [`load`], [`generator`], [`duels`], [`verdicts`], [`effects`],
//! [`report`]; then [`claims`], [`comparison`] and [`explain`], which build on them.

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
