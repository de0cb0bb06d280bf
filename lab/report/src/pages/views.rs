//! Values of the templates.

use serde::Serialize;

use crate::listed::{abbreviated, state};
use netdyno_lab_store::{Listed, Run};

use super::{Address, PageError, is_name};

/// A row of a list of runs.
#[derive(Clone, Serialize)]
pub(super) struct Row {
    pub(super) id: String,
    pub(super) link: Option<String>,
    pub(super) workload: String,
    pub(super) preset: String,
    pub(super) date: String,
    pub(super) state: String,
    pub(super) is_measured: bool,
    pub(super) outcome: String,
    pub(super) contenders: String,
}

impl Row {
    pub(super) fn new(run: &Listed, link: Option<String>, is_measured: bool) -> Row {
        Row {
            id: run.id.clone(),
            link,
            workload: run.workload.clone(),
            preset: run.preset.clone(),
            date: run.started_at.strftime("%Y-%m-%d %H:%M").to_string(),
            state: state(run, is_measured),
            is_measured,
            outcome: run.outcome.clone().unwrap_or_default(),
            contenders: abbreviated(&run.contenders),
        }
    }
}

/// Renders the page of a run that is not running.
pub(super) fn run_page(run: &Run) -> Result<String, PageError> {
    let workload = run.header.parsed_workload()?;
    let name = &run.header.workload;
    let over_time =
        is_name(name).then(|| (format!("../{}", Address::History(name.clone()).path()), "History"));
    let links: Vec<_> =
        [(format!("../{}", Address::Index.path()), "All runs")].into_iter().chain(over_time).collect();
    Ok(crate::html::page_among(&netdyno_lab_analysis::report::build(run)?, &workload, &links))
}
