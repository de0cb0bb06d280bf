//! A run as one self-contained HTML file: the answer, then the evidence for it.
//!
//! The page has no scripts and makes no requests. Its Content-Security-Policy forbids both and allows its
//! style sheet by hash. The template engine or the canvas removes control characters from contenders' output
//! and escapes it. The colour scheme follows the reader's system or a radio button that the style sheet
//! evaluates.

mod answer;
mod cells;
mod figures;
mod limits;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Serde, ValueKind};
use minijinja::{AutoEscape, Environment, UndefinedBehavior, Value, context, escape_formatter};
use sha2::{Digest, Sha256};

use self::answer::{Answer, Ranking};
use self::figures::{DataTable, Drawing, Figure, typed};
use self::limits::{CELLS_MAX, NOTES_MAX, SAMPLES_MAX};
use super::plot::{Plots, ink};
use super::table::{self, Table, tables, verdict_of};
use crate::effects;
use netdyno_lab_analysis::report::{Cell, Report, differing, format, plain, turn_notes};
use netdyno_lab_manifest::{Metric, Workload};

const PAGE: &str = include_str!("page.html.j2");
const PAGE_CSS: &str = include_str!("page.css");

/// Renders the page of a report. `workload` is that of the run.
pub fn page(report: &Report, workload: &Workload) -> String {
    page_among(report, workload, &[])
}

/// Renders the page of a report with links to other pages, each an address and a text.
pub(crate) fn page_among(report: &Report, workload: &Workload, links: &[(String, &str)]) -> String {
    let text = environment().render_str(PAGE, page_values(report, workload, links));
    text.expect("the template is compiled in and gets every value it names")
}

/// Template engine of every page. Text not marked as safe is escaped, and its control characters are removed.
pub(crate) fn environment() -> Environment<'static> {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_auto_escape_callback(|_| AutoEscape::Html);
    let syntax = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build();
    environment.set_syntax(syntax.expect("the default delimiters are valid"));
    environment.add_filter("counted", |count: usize, noun: String| table::counted(count, &noun));
    environment.add_filter("range", |low: f64, high: f64, unit: String| format::range(low, high, &unit));
    environment.add_filter("ratio", format::ratio);
    environment.add_filter("value", |value: f64, unit: String| format::value(value, &unit));
    environment
        .add_filter("value_or_not", |value: Option<f64>, unit: String| format::value_or_not(value, &unit));
    environment.add_filter("whole", format::whole);
    environment.set_formatter(|out, state, value| match value.as_str() {
        Some(text) if value.kind() == ValueKind::String && !value.is_safe() => {
            escape_formatter(out, state, &Value::from(plain(text)))
        }
        _ => escape_formatter(out, state, value),
    });
    environment
}

/// Style sheet of every page.
pub(crate) fn style() -> String {
    let (day, night) = (ink::definitions(false), ink::definitions(true));
    PAGE_CSS.replace("/*day*/", &day).replace("/*night*/", &night) + ink::CHART_CSS
}

/// Content-Security-Policy of a page: allows only this style sheet and embedded pictures.
pub(crate) fn policy(style: &str) -> String {
    let hash = STANDARD.encode(Sha256::digest(style));
    format!(
        "default-src 'none'; style-src 'sha256-{hash}'; img-src data:; base-uri 'none'; form-action 'none'"
    )
}

/// Result of a run as a sentence, for lists of runs.
pub(crate) fn sentence(report: &Report, workload: &Workload) -> String {
    let settings = table::groups(report);
    let answers: Vec<_> = settings.iter().map(|cells| answer_of(report, workload, cells)).collect();
    overall(workload, &answers).text()
}

/// Overall answer of all settings.
fn overall(workload: &Workload, answers: &[Answer]) -> Answer {
    match answers {
        [answer] => answer.clone(),
        all => workload.primary().map_or_else(Answer::default, |metric| answer::overall(metric, all)),
    }
}

/// Values of the template. `links` are addresses and texts.
fn page_values(report: &Report, workload: &Workload, links: &[(String, &str)]) -> Value {
    let tables = tables(report, &workload.metrics);
    let groups = table::groups(report);
    let answers: Vec<Answer> = groups.iter().map(|cells| answer_of(report, workload, cells)).collect();
    let settings = tables.iter().zip(&groups).zip(&answers).enumerate();
    let settings =
        settings.map(|(i, ((t, cells), answer))| setting_view(report, workload, i, t, cells, answer));
    let settings: Vec<Value> = settings.collect();
    let answer = overall(workload, &answers);
    let mut budget = cells::LogBudget::new();
    let cells: Vec<Value> = tables
        .iter()
        .zip(&groups)
        .flat_map(|(t, cells)| cells.iter().map(move |cell| (t, index_of(report, cell))))
        .map(|(t, index)| cells::details(report, index, &t.title, &mut budget))
        .collect();
    let metrics =
        workload.metrics.iter().map(|m| context! { name => m.name.as_str(), label => m.label.as_str() });
    let pair = |(name, text): (&String, &String)| format!("{name}: {text}");
    let (sweeps, sweeps_left_out) = figures::sweeps(report, workload);
    let notes = [table::partners(report), table::caveats(report), turn_notes(report)];
    let style = style();
    context! {
        policy => policy(&style),
        style,
        links => Serde(links),
        answer_text => answer.text(),
        answer => Serde(answer),
        warnings => Serde(&report.warnings),
        sweeps => Serde(sweeps),
        sweeps_left_out,
        settings,
        notes => notes.into_iter().flatten().collect::<Vec<_>>(),
        metrics => metrics.collect::<Vec<_>>(),
        cells,
        builds => Serde(cells::builds(report)),
        code => Serde(cells::lines_of_code(report)),
        host => Serde(&report.host),
        toolchains => report.host.toolchains.iter().map(pair).collect::<Vec<_>>(),
        run => Serde(&report.run),
        partners => report.run.partners.iter().map(pair).collect::<Vec<_>>(),
        limits => context! { cells => CELLS_MAX, samples => SAMPLES_MAX, notes => NOTES_MAX },
    }
}

fn answer_of(report: &Report, workload: &Workload, cells: &[&Cell]) -> Answer {
    workload.primary().map_or_else(Answer::default, |metric| Ranking { report, metric, cells }.answer())
}

fn index_of(report: &Report, cell: &Cell) -> usize {
    report.cells.iter().position(|c| std::ptr::eq(c, cell)).expect("the cell is part of the report")
}

/// Results of one parameter setting. Only the first settings have pictures.
fn setting_view(
    report: &Report,
    workload: &Workload,
    id: usize,
    t: &Table<'_>,
    cells: &[&Cell],
    answer: &Answer,
) -> Value {
    let params: Vec<_> = report.cells.iter().map(|c| &c.params).collect();
    let own = &cells[0].params;
    let only = own.iter().filter(|(name, value)| params.iter().any(|p| p.get(*name) != Some(*value)));
    let only = only.map(|(name, value)| (name.clone(), typed(value))).collect();
    let drawing = Drawing { plots: Plots { report, workload, only, contenders: Vec::new() }, cells };
    let drawn = id < limits::SETTINGS_DRAWN_MAX && !t.rows.is_empty();
    let effects = effects::table_at(report, workload.primary(), own).map(|matrix| {
        let table = DataTable { caption: matrix.title, head: matrix.head, rows: matrix.rows };
        context! { table => Serde(table), lines => matrix.lines }
    });
    context! {
        id,
        title => differing(&params, own),
        sentence => answer.sentence.as_str(),
        more => Serde(&answer.more),
        drawn,
        ranking => Serde(if drawn { drawing.ranking() } else { Figure::default() }),
        table => main_table(report, workload, t),
        pending => t.pending.join(", "),
        latency => Serde(drawn.then(|| drawing.latency()).flatten()),
        costs => Serde(drawn.then(|| drawing.costs())),
        matrix => Serde(drawn.then(|| drawing.matrix()).flatten()),
        effects,
    }
}

/// The terminal's table without the lines of code, which have a separate table.
fn main_table(report: &Report, workload: &Workload, t: &Table<'_>) -> Value {
    let row = |(cell, texts): &(&Cell, Vec<String>)| {
        let class = match cell.ceiling {
            true => "bound",
            false => table::verdict_class(verdict_of(report, cell, &report.run.primary)),
        };
        // The row links to the details of the cell.
        context! { class, cell => index_of(report, cell), texts => t.without_code(texts) }
    };
    let order = |m: &Metric| format!("{}, {} first", m.label, answer::superlative(m));
    context! {
        caption => workload.primary().map_or(String::new(), order),
        head => t.without_code(&t.head),
        rows => t.rows.iter().map(row).collect::<Vec<_>>(),
    }
}

#[cfg(test)]
mod tests;
