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
