//! The pages of a store: index, runs, histories of workloads, and studies. The server and the static site
//! share them.
//!
//! | does | does not |
//! |---|---|
//! | render pages of the store and the studies | HTTP or file output: [`crate::serve`], [`crate::site`] |
//! | escape foreign text | run scripts, except on the page of a running run |

mod address;
mod history_view;
mod live;
mod study;

use std::collections::BTreeSet;
use std::sync::LazyLock;

use minijinja::value::Serde;
use minijinja::{Environment, Value, context};

pub(crate) use address::{Address, is_name};
pub(crate) use live::Following;
pub use study::Studies;

use crate::history;
use crate::listed::{abbreviated, state};
use netdyno_lab_store::{Listed, Listing, Run, RunStatus, Store, StoreError};

/// Script of the page of a running run.
pub(crate) const LIVE_SCRIPT: &str = include_str!("live.js");
/// Number of runs on the index page.
const NEWEST: usize = 30;
/// Number of runs on a page of runs.
const RUNS_A_PAGE: usize = 250;

/// Templates, by name.
const TEMPLATES: [(&str, &str); 9] = [
    ("layout.html", include_str!("layout.html.j2")),
    ("rows.html", include_str!("rows.html.j2")),
    ("index.html", include_str!("index.html.j2")),
    ("runs.html", include_str!("runs.html.j2")),
    ("history.html", include_str!("history.html.j2")),
    ("live.html", include_str!("live.html.j2")),
    ("state.html", include_str!("state.html.j2")),
    ("study.html", include_str!("study.html.j2")),
    ("notice.html", include_str!("notice.html.j2")),
];

static ENVIRONMENT: LazyLock<Environment<'static>> = LazyLock::new(|| {
    let mut environment = crate::html::environment();
    for (name, text) in TEMPLATES {
        environment.add_template(name, text).expect("templates are valid: tests render each");
    }
    environment
});

/// Style sheet of these pages, which extends that of the page of a run, and its Content-Security-Policy.
static STYLE: LazyLock<(String, String)> = LazyLock::new(|| {
    let style = crate::html::style() + include_str!("style.css");
    let policy = crate::html::policy(&style);
    let policy =
        policy.replace("form-action 'none'", "form-action 'self'; script-src 'self'; connect-src 'self'");
    (style, policy)
});

/// A page could not be made.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages document the variants")]
pub enum PageError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("the page cannot be rendered: {0}")]
    Page(String),
}

/// Pages of one store.
#[derive(Debug)]
pub(crate) struct Pages<'a> {
    pub(crate) store: &'a Store,
    pub(crate) studies: Option<&'a Studies>,
    /// Runs that have a page; `None` means all.
    pub(crate) with_page: Option<&'a BTreeSet<String>>,
    /// Whether the pages are served: running runs can then be followed.
    pub(crate) is_served: bool,
}

impl Pages<'_> {
    /// Renders the page of an address; none if there is no such page.
    pub(crate) fn page(&self, address: &Address) -> Result<Option<String>, PageError> {
        match address {
            Address::Index => self.index().map(Some),
            Address::Runs(part) => self.runs(*part),
            Address::Run(id) => self.run(id),
            Address::History(workload) => self.history(workload),
            Address::Study(name) => self.study(name),
        }
    }

    fn index(&self) -> Result<String, PageError> {
        let workloads = self.store.workloads()?;
        let count: usize = workloads.iter().map(|(_, n)| n).sum();
        let rows = self.rows(&self.store.list(Listing::newest(NEWEST))?);
        let workload = |(name, runs): (String, usize)| {
            let link = is_name(&name).then(|| Address::History(name.clone()).path());
            context! { link => Serde(link), name, runs }
        };
        let studies: Vec<(String, String)> = self.studies.map_or_else(Vec::new, |studies| {
            let title = |name: String| Some((Address::Study(name.clone()).path(), studies.get(&name)?.title));
            studies.names().into_iter().filter_map(title).collect()
        });
        let index = context! {
            rows,
            count,
            all => Address::Runs(1).path(),
            workloads => workloads.into_iter().map(workload).collect::<Vec<_>>(),
            studies => Serde(studies),
        };
        render("index.html", "Netdyno", "", index)
    }

    fn runs(&self, part: usize) -> Result<Option<String>, PageError> {
        let skip = RUNS_A_PAGE.saturating_mul(part - 1);
        let mut runs = self.store.list(Listing { workload: None, skip, most: RUNS_A_PAGE + 1 })?;
        if runs.is_empty() && part > 1 {
            return Ok(None);
        }
        let is_more = runs.len() > RUNS_A_PAGE;
        runs.truncate(RUNS_A_PAGE);
        let page = context! {
            rows => self.rows(&runs),
            newer => Serde((part > 1).then(|| Address::Runs(part - 1).path())),
            older => Serde(is_more.then(|| Address::Runs(part + 1).path())),
        };
        render("runs.html", "Runs", "", page).map(Some)
    }

    fn rows(&self, runs: &[Listed]) -> Vec<Value> {
        let row = |run: &Listed| {
            let is_measured = self.is_served
                && is_name(&run.id)
                && run.status == RunStatus::Running
                && self.store.is_measured(&run.id);
            context! {
                id => run.id.as_str(),
                link => Serde(self.link(&run.id, "")),
                workload => run.workload.as_str(),
                preset => run.preset.as_str(),
                date => run.started_at.strftime("%Y-%m-%d %H:%M").to_string(),
                state => state(run, is_measured),
                is_measured,
                outcome => Serde(&run.outcome),
                contenders => abbreviated(&run.contenders),
            }
        };
        runs.iter().map(row).collect()
    }

    /// Relative address of the page of a run, if it has one. The id of an imported run is not trusted.
    fn link(&self, id: &str, to_top: &str) -> Option<String> {
        let has_page = is_name(id) && self.with_page.is_none_or(|with| with.contains(id));
        has_page.then(|| format!("{to_top}{}", Address::Run(id.to_owned()).path()))
    }

    fn run(&self, id: &str) -> Result<Option<String>, PageError> {
        let head = match self.store.load_head(id) {
            Err(StoreError::NoRun(_)) => return Ok(None),
            head => head?,
        };
        if self.is_served && head.status == RunStatus::Running && self.store.is_measured(id) {
            let title = format!("{id} · {}", head.header.workload);
            let mut following = Following::new(head)?;
            following.refresh(self.store)?;
            let page = context! { state => following.state()?, events => format!("{id}/events") };
            return render("live.html", &title, "../", page).map(Some);
        }
        run_page(&self.store.load(id)?).map(Some)
    }

    fn history(&self, workload: &str) -> Result<Option<String>, PageError> {
        let Some(history) = history::load(self.store, workload)? else { return Ok(None) };
        let page = history_view::history(&history, &|id| self.link(id, "../"));
        render("history.html", &format!("History of {workload}"), "../", page).map(Some)
    }

    fn study(&self, name: &str) -> Result<Option<String>, PageError> {
        let Some(study) = self.studies.and_then(|s| s.get(name)) else { return Ok(None) };
        render("study.html", &study.title, "../", context! { body => study.body }).map(Some)
    }
}

/// Renders the page of a run that is not running.
fn run_page(run: &Run) -> Result<String, PageError> {
    let workload = run.header.parsed_workload()?;
    let name = &run.header.workload;
    let over_time =
        is_name(name).then(|| (format!("../{}", Address::History(name.clone()).path()), "History"));
    let links: Vec<_> =
        [(format!("../{}", Address::Index.path()), "All runs")].into_iter().chain(over_time).collect();
    Ok(crate::html::page_among(&netdyno_lab_analysis::report::build(run)?, &workload, &links))
}

/// Renders a page with the layout of every page.
fn render(template: &str, title: &str, to_top: &str, page: Value) -> Result<String, PageError> {
    let (style, policy) = &*STYLE;
    rendered(template, context! { style, policy, title, to_top, page })
}

/// Renders a template.
fn rendered(template: &str, values: Value) -> Result<String, PageError> {
    let template = ENVIRONMENT.get_template(template);
    template.and_then(|t| t.render(values)).map_err(|e| PageError::Page(e.to_string()))
}

/// Renders a message of the server, with the token form if `asks_for_token`.
pub(crate) fn notice(title: &str, text: &str, asks_for_token: bool) -> Result<String, PageError> {
    render("notice.html", title, "/", context! { text, asks_for_token })
}

#[cfg(test)]
mod tests;
