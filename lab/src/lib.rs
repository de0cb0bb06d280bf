//! The lab: builds contenders, runs them, proves that each did the work, measures and compares them.
//!
//! | does | does not |
//! |---|---|
//! | know workloads and contenders by their manifests | know any by name, or import a stack |
//! | speak to contenders in JSON lines on stdin and stdout | share memory or code with them |
//! | keep every sample, and compute what it prints from those | print a number without a source |
//!
//! Read `ARCHITECTURE.md` for the map. A run goes through the modules in this order: [`cli`], [`cmd`], [`manifest`],
//! [`run`] with [`plan`] and [`build`], [`trial`] with [`arena`], [`protocol`] and [`meter`], [`store`], [`metrics`],
//! [`verdicts`] and [`effects`] with [`stats`], [`report`].

pub mod arena;
pub mod build;
pub mod catalogue;
pub mod claims;
pub mod cli;
pub mod cmd;
pub mod comparison;
pub mod doctor;
pub mod duels;
pub mod dummy;
pub mod effects;
pub mod explain;
pub mod export;
pub mod generator;
pub mod history;
pub mod host;
pub mod lines;
pub mod load;
pub mod manifest;
pub mod meter;
pub mod metrics;
pub mod pages;
pub mod plan;
pub mod project;
pub mod protocol;
pub mod replay;
pub mod report;
pub mod revisions;
pub mod run;
pub mod serve;
pub mod site;
pub mod stats;
pub mod store;
pub mod trial;
pub mod verdicts;
pub mod window;
