//! Tables of a report, rendered by [`super::terminal`] and [`super::markdown`].

use std::collections::BTreeMap;
use std::ops::Range;

use netdyno_lab_analysis::grouped;
use netdyno_lab_analysis::report::{Cell, MetricValue, Report, differing_params, format};
use netdyno_lab_manifest::{Better, Metric, Source};
use netdyno_lab_store::{BuildRecord, CellStatus, Verdict, VerdictKind};

/// Column heads of the lines of code, in the order of [`netdyno_lab_store::code_lines::CodeLines::parts`].
const LINE_HEADS: [&str; 3] = ["library lines", "adapter lines", "generated lines"];

/// Table of the cells that share their parameters.
pub(super) struct Table<'a> {
    /// Parameters that differ from those of the other tables. Empty if there is one table.
    pub(super) title: String,
    /// Column heads, most important first.
    pub(super) head: Vec<String>,
    /// Number of leading columns that belong in a summary.
    pub(super) summary_columns: usize,
    /// Columns with lines of code, visible only if the output is wide enough.
    pub(super) code_columns: Range<usize>,
    /// One row per measured cell, best first, the ceiling last.
    pub(super) rows: Vec<(&'a Cell, Vec<String>)>,
    /// Cells without results, each with a reason.
    pub(super) missing: Vec<&'a Cell>,
    /// Labels of the cells that are not measured yet.
    pub(super) pending: Vec<&'a str>,
}

impl Table<'_> {
    /// A row or the head, without the lines of code.
    pub(super) fn without_code(&self, row: &[String]) -> Vec<String> {
        [&row[..self.code_columns.start], &row[self.code_columns.end..]].concat()
    }
}

/// Cells by parameter setting, in the order of the tables.
pub(super) fn groups(report: &Report) -> Vec<Vec<&Cell>> {
    let groups = grouped(report.cells.iter().map(|cell| (&cell.params, cell)));
    groups.into_iter().map(|(_, cells)| cells).collect()
}

/// Tables of a report, one per parameter setting. `metrics` are the workload's.
pub(super) fn tables<'a>(report: &'a Report, metrics: &[Metric]) -> Vec<Table<'a>> {
    let title = |cells: &[&Cell]| differing_params(report, cells[0]);
    groups(report).iter().map(|cells| table(report, metrics, title(cells), cells)).collect()
}

enum Column<'a> {
    Figure(&'a Metric),
    /// Ratio of the primary metric to the baseline.
    Versus(&'a str),
    /// Range of the primary metric over the trials, used if there is no baseline.
    Spread,
    OfCeiling,
    /// Lines of code of one kind: an index into [`LINE_HEADS`].
    Lines(usize),
    Bottleneck,
}

fn table<'a>(report: &'a Report, metrics: &[Metric], title: String, cells: &[&'a Cell]) -> Table<'a> {
    let primary = &report.run.primary;
    let mut measured: Vec<&Cell> = cells.iter().copied().filter(|c| c.status == CellStatus::Ok).collect();
    if let Some(metric) = metrics.iter().find(|m| m.primary) {
        sort(&mut measured, metric);
    }
    let baseline = cells.iter().find_map(|c| verdict_of(report, c, primary)).map(|v| v.baseline.as_str());
    let visible = metrics.iter().filter(|m| m.column && is_measurable(m, &measured));
    let mut columns: Vec<Column<'_>> = visible.clone().filter(|m| m.primary).map(Column::Figure).collect();
    columns.push(baseline.map_or(Column::Spread, Column::Versus));
    if measured.iter().any(|c| c.ceiling) {
        columns.push(Column::OfCeiling);
    }
    columns.extend(visible.clone().filter(|m| m.headline && !m.primary).map(Column::Figure));
    let summary_columns = 1 + columns.len();
    columns.extend(visible.filter(|m| !m.headline && !m.primary).map(Column::Figure));
    let line_columns = if counts_lines(report) { LINE_HEADS.len() } else { 0 };
    let code_columns = 1 + columns.len()..1 + columns.len() + line_columns;
    columns.extend((0..line_columns).map(Column::Lines));
    columns.push(Column::Bottleneck);
    let roles = &report.run.roles;
    let text = |cell: &Cell, column: &Column<'_>| match column {
        Column::Figure(metric) => figure(cell, metric, roles),
        Column::Versus(baseline) => versus(report, cell, primary, baseline),
        Column::Spread => spread(cell, primary),
        Column::OfCeiling => of_ceiling(cell, primary),
        Column::Lines(kind) => lines_of(cell, roles, *kind),
        Column::Bottleneck => cell.bottleneck.clone(),
    };
    let head = columns.iter().map(|column| match column {
        Column::Figure(metric) => head_of(metric, roles),
        Column::Versus(baseline) => format!("vs {baseline}"),
        Column::Spread => "min - max of trials".to_owned(),
        Column::OfCeiling => "of ceiling".to_owned(),
        Column::Lines(kind) => LINE_HEADS[*kind].to_owned(),
        Column::Bottleneck => "bottleneck".to_owned(),
    });
    let head = [String::new()].into_iter().chain(head).collect();
    let row = |cell: &Cell| [name(cell)].into_iter().chain(columns.iter().map(|c| text(cell, c))).collect();
    let rows = measured.into_iter().map(|cell| (cell, row(cell))).collect();
    let without = cells.iter().copied().filter(|c| c.status != CellStatus::Ok);
    let (pending, missing): (Vec<&Cell>, _) =
        without.partition(|c| c.status == CellStatus::Planned && c.reason.is_empty());
    let pending = pending.into_iter().map(|c| c.label.as_str()).collect();
    Table { title, head, summary_columns, code_columns, rows, missing, pending }
}

/// Depending on the parameters, a metric of growth may be unmeasurable for every cell: it then has no column.
fn is_measurable(metric: &Metric, cells: &[&Cell]) -> bool {
    let measured = |c: &&Cell| c.value(&metric.name).is_some();
    !matches!(metric.from, Source::MeterGrowth { .. }) || cells.iter().any(measured)
}

/// The partner that played each role, one line per role.
pub(super) fn partners(report: &Report) -> Vec<String> {
    let line = |(role, name): (&String, &String)| {
        let has_partner = |c: &&Cell| c.partners.contains(role);
        let partner = report.cells.iter().filter(has_partner).find_map(|c| c.implementations.get(role))?;
        Some(match report.cells.iter().all(|c| has_partner(&c)) {
            true => format!("{role} of every cell: {name} {}", partner.version),
            false => format!("{role} unless a cell names another: {name} {}", partner.version),
        })
    };
    report.run.partners.iter().filter_map(line).collect()
}

/// Caveats about the figures of contenders, one line each.
pub(super) fn caveats(report: &Report) -> Vec<String> {
    let builds = report.cells.iter().flat_map(|cell| &cell.builds);
    let caveats: BTreeMap<&String, &String> =
        builds.filter_map(|(name, build)| Some((name, build.caveat.as_ref()?))).collect();
    caveats.into_iter().map(|(name, caveat)| format!("{name}: {caveat}")).collect()
}

/// Whether lines of code are known for any contender of the report. A lab without line counting knows none.
pub(super) fn counts_lines(report: &Report) -> bool {
    let mut builds = report.cells.iter().flat_map(compared_builds);
    builds.any(|(_, build)| build.lines.parts().iter().any(|(_, count)| count.lines.is_some()))
}

/// Kinds of code whose lines could not be counted, for contenders with results: one line for each reason.
pub(super) fn uncounted(report: &Report) -> Vec<String> {
    let cells = report.cells.iter().filter(|c| c.status == CellStatus::Ok);
    let builds: BTreeMap<&String, &BuildRecord> = cells.flat_map(compared_builds).collect();
    let mut names_by_reason: BTreeMap<(&str, String), Vec<&str>> = BTreeMap::new();
    for (name, build) in builds {
        let mut kinds_by_reason: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for (kind, count) in build.lines.parts().into_iter().filter(|(_, count)| count.lines.is_none()) {
            kinds_by_reason.entry(&count.source).or_default().push(kind);
        }
        for (reason, kinds) in kinds_by_reason {
            names_by_reason.entry((reason, kinds.join(", "))).or_default().push(name);
        }
    }
    let line = |((reason, kinds), names): ((&str, String), Vec<&str>)| {
        format!("{}: lines of code not measured ({kinds}): {reason}", names.join(", "))
    };
    names_by_reason.into_iter().map(line).collect()
}

/// Sorts cells by a metric: best first, the ceiling last.
pub(super) fn sort(cells: &mut [&Cell], metric: &Metric) {
    let key = |c: &Cell| c.value(&metric.name).unwrap_or(0.0);
    cells.sort_by(|a, b| {
        let order = key(a).total_cmp(&key(b));
        a.ceiling.cmp(&b.ceiling).then(match metric.better {
            Better::Higher => order.reverse(),
            Better::Lower => order,
        })
    });
}

/// Label and version, with "(tuned)" and "(local)" where they apply.
pub(super) fn name(cell: &Cell) -> String {
    let mut compared = cell.implementations.iter().filter(|(role, _)| !cell.partners.contains(role));
    let version = cell.contender.is_some().then(|| compared.next()).flatten().map(|(_, found)| found);
    let mut name = match version {
        Some(v) if !cell.ceiling => format!("{} {}", cell.label, v.version),
        _ => cell.label.clone(),
    };
    // Whether the contender deviates from the defaults of its documentation.
    let is_tuned = compared_builds(cell).any(|(_, build)| build.tuning != "defaults");
    if version.is_some() && !cell.ceiling && is_tuned {
        name.push_str(" (tuned)");
    }
    if compared_builds(cell).any(|(_, build)| build.local.is_some()) {
        name.push_str(" (local)");
    }
    name
}

/// Builds of the contenders under comparison, with their names.
fn compared_builds(cell: &Cell) -> impl Iterator<Item = (&String, &BuildRecord)> {
    let compared =
        |name: &String| cell.roles.iter().any(|(role, n)| n == name && !cell.partners.contains(role));
    cell.builds.iter().filter(move |(name, _)| compared(name))
}

/// Lines of code of a cell's contenders, in the order of its label.
fn lines_of(cell: &Cell, roles: &[String], kind: usize) -> String {
    let count = |name: &String| {
        let lines = cell.builds.get(name).and_then(|build| build.lines.parts()[kind].1.lines);
        lines.map_or_else(|| "not measured".to_owned(), format::whole)
    };
    let compared =
        roles.iter().filter(|role| !cell.partners.contains(role)).filter_map(|r| cell.roles.get(r));
    let mut names: Vec<&String> = compared.collect();
    if cell.contender.is_some() {
        names.truncate(1);
    }
    names.into_iter().map(count).collect::<Vec<_>>().join(" > ")
}

/// Label of a metric, with the roles that a sum of memory consists of.
fn head_of(metric: &Metric, roles: &[String]) -> String {
    match (metric.unit.as_str(), &metric.from) {
        ("B", Source::Meter { of: None, .. }) if roles.len() > 1 => {
            format!("{} ({})", metric.label, roles.join(" + "))
        }
        _ => metric.label.clone(),
    }
}

fn figure(cell: &Cell, metric: &Metric, roles: &[String]) -> String {
    let text = cell.value_text(&metric.name);
    // Only memory is split by role: the split of other metrics adds little to a table.
    match cell.metrics.get(&metric.name).and_then(|m| Some((m, m.value?))) {
        Some((m, value)) if m.per_role.len() > 1 && m.unit == "B" => {
            let parts: Vec<f64> = roles.iter().filter_map(|r| m.per_role.get(r).copied()).collect();
            format!("{text} ({})", format::parts(&parts, &m.unit, value))
        }
        _ => text,
    }
}

pub(super) fn verdict_of<'a>(report: &'a Report, cell: &Cell, metric: &str) -> Option<&'a Verdict> {
    let matches = |v: &&Verdict| v.metric == metric && std::ptr::eq(&raw const report.cells[v.cell], cell);
    report.verdicts.iter().find(matches)
}

fn spread(cell: &Cell, metric: &str) -> String {
    let text = |m: &MetricValue| {
        let (least, most) = m.range()?;
        Some(format!("{}, n = {}", format::range(least, most, &m.unit), m.samples.len()))
    };
    cell.metrics.get(metric).and_then(text).unwrap_or_default()
}

pub(super) fn of_ceiling(cell: &Cell, metric: &str) -> String {
    let share = cell.metrics.get(metric).and_then(|m| m.of_ceiling);
    share.map_or(String::new(), |s| format!("{:.1} %", 100.0 * s))
}

fn versus(report: &Report, cell: &Cell, metric: &str, baseline: &str) -> String {
    if cell.ceiling {
        return "ceiling".to_owned();
    }
    if cell.generator_limited {
        return "not ranked".to_owned();
    }
    let Some(v) = verdict_of(report, cell, metric) else {
        return if baseline == cell.label { "baseline".to_owned() } else { String::new() };
    };
    match v.ratio {
        Some(ratio) => format!("{}x  {}", format::ratio(ratio), interval(v)),
        None => format!("no common {}", v.unit),
    }
}

/// Intervals whose ends are further apart than this factor are not printed.
pub(super) const INTERVAL_FACTOR_MAX: f64 = 1e4;

pub(super) fn interval(v: &Verdict) -> String {
    bounds(v.low, v.high)
}

pub(super) fn bounds(low: Option<f64>, high: Option<f64>) -> String {
    match (low, high) {
        (Some(low), Some(high)) if high > INTERVAL_FACTOR_MAX * low => "(interval too wide)".to_owned(),
        (Some(low), Some(high)) => format!("({})", format::ratio_range((low, high))),
        _ => "(no interval yet)".to_owned(),
    }
}

/// Formats a verdict as a sentence.
pub(super) fn sentence(v: &Verdict, label: &str, margin: f64) -> String {
    let comparison = match v.ratio {
        Some(ratio) => format!("{label} {}x that of {} {}", format::ratio(ratio), v.baseline, interval(v)),
        None => format!("no common {} with {}", v.unit, v.baseline),
    };
    let verdict = match (v.verdict, v.needs_blocks) {
        (VerdictKind::Better, _) => format!("better, {comparison}"),
        (VerdictKind::Worse, _) => format!("worse, {comparison}"),
        (VerdictKind::NoDifference, _) => {
            format!("no difference from {} beyond {} %", v.baseline, percent(margin))
        }
        (VerdictKind::Undecided, Some(n)) => {
            format!("undecided, needs about {n} more {}; {comparison}", plural(&v.unit, n as usize))
        }
        (VerdictKind::Undecided, None) => format!("undecided; {comparison}"),
    };
    format!("{}: {verdict}", v.contender)
}

/// A noun in the plural unless `count` is 1.
pub(super) fn plural(noun: &str, count: usize) -> String {
    format!("{noun}{}", if count == 1 { "" } else { "s" })
}

/// A count with its noun.
pub(super) fn counted(count: usize, noun: &str) -> String {
    format!("{count} {}", plural(noun, count))
}

/// Status of a cell, in words.
pub(super) fn status(status: CellStatus) -> &'static str {
    match status {
        CellStatus::Ok => "measured",
        CellStatus::Failed => "failed",
        CellStatus::Skipped => "skipped",
        CellStatus::Planned => "not measured yet",
    }
}

pub(super) fn verdict_class(verdict: Option<&Verdict>) -> &'static str {
    match verdict.map(|v| v.verdict) {
        Some(VerdictKind::Better) => "better",
        Some(VerdictKind::Worse) => "worse",
        _ => "",
    }
}

fn percent(share: f64) -> String {
    let text = format!("{:.1}", 100.0 * share);
    text.trim_end_matches(".0").to_owned()
}
