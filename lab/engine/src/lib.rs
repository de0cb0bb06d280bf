//! Plans, builds, runs and resumes measurements.
//!
//! | does | does not |
//! |---|---|
//! | resolve a request into cells, and build their contenders | parse a command line |
//! | run trials and sessions until their verdicts are decided | compute a figure: `netdyno-lab-analysis` does |
//! | store every trial before the next one starts | print |
//!
//! A run passes through [`run`], which uses [`plan`] and [`build`], then [`trial`]. [`probe`] examines a running
//! contender for `netdyno explain`. [`revisions`] turns commits of a repository into contenders. [`host`] and
//! [`toolchains`] describe the machine.

pub mod build;
pub mod host;
pub mod plan;
pub mod probe;
pub mod revisions;
pub mod run;
pub mod toolchains;
pub mod trial;
