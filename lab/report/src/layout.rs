//! Output width, word wrapping, and tables that fold to fit the width. Text is never truncated.

use comfy_table::{CellAlignment, ContentArrangement, Table, presets};
use netdyno_lab_analysis::report::plain;
use textwrap::{Options, WordSplitter, WrapAlgorithm, core::display_width};

/// Width of output that is not a terminal.
const LOG_COLUMNS: usize = 100;
/// Range of supported widths. Others are clamped to it.
const LEAST_COLUMNS: usize = 40;
const MOST_COLUMNS: usize = 400;
/// Columns between table cells.
const GAP: usize = 2;
/// Left margin of a table.
const MARGIN: usize = 1;
/// A last column that would be narrower than this is placed below its row.
const LEAST_TEXT: usize = 44;
/// Indentation of text below a row.
const INDENT: &str = "     ";

/// Width of stdout: COLUMNS, else the terminal's width, else [`LOG_COLUMNS`].
pub fn columns() -> usize {
    let terminal = || terminal_size::terminal_size_of(std::io::stdout()).map(|(width, _)| width.0.into());
    let columns = requested_columns().or_else(terminal);
    columns.unwrap_or(LOG_COLUMNS).clamp(LEAST_COLUMNS, MOST_COLUMNS)
}

/// Width of stderr if it is a terminal. Lines of a log are not wrapped, so that they can be searched for.
pub fn error_columns() -> Option<usize> {
    let terminal = terminal_size::terminal_size_of(std::io::stderr()).map(|(width, _)| width.0.into());
    Some(requested_columns().unwrap_or(terminal?).clamp(LEAST_COLUMNS, MOST_COLUMNS))
}

fn requested_columns() -> Option<usize> {
    std::env::var("COLUMNS").ok()?.trim().parse().ok().filter(|n| *n > 0)
}

/// Wraps text to `width` between words only, and keeps newlines. `first` and `rest` are the indentations.
pub fn wrapped(text: &str, width: usize, first: &str, rest: &str) -> String {
    let options = Options::new(width)
        .initial_indent(first)
        .subsequent_indent(rest)
        .break_words(false)
        .word_splitter(WordSplitter::NoHyphenation)
        .wrap_algorithm(WrapAlgorithm::FirstFit);
    textwrap::fill(text, options)
}

/// Formats a left-aligned list whose last column is wrapped. Columns that do not fit are placed below their
/// row.
pub fn grid(head: &[String], rows: &[Vec<String>], width: usize) -> String {
    let width = width - MARGIN;
    let widths = widths(head, rows);
    let total = |count: usize| widths[..count].iter().map(|w| w + GAP).sum::<usize>();
    let last = head.len() - 1;
    if total(head.len()) <= width + GAP || total(last) + LEAST_TEXT <= width {
        let available = width.saturating_sub(total(last));
        let wrap = |row: &Vec<String>| {
            let mut row = row.clone();
            row[last] = wrapped(&row[last], available, "", "");
            row
        };
        return rendered(head, &rows.iter().map(wrap).collect::<Vec<_>>(), |_| CellAlignment::Left);
    }
    let kept = (1..=last).rev().find(|count| total(*count) <= width + GAP).unwrap_or(1);
    let below = |row: &Vec<String>| {
        let entry = |i: usize| if i == last { row[i].clone() } else { format!("{}: {}", head[i], row[i]) };
        let texts = (kept..=last).filter(|i| !row[*i].is_empty()).map(entry);
        texts.map(|text| wrapped(&plain(&text), width, INDENT, INDENT)).collect::<Vec<_>>()
    };
    let cut: Vec<Vec<String>> = rows.iter().map(|row| row[..kept].to_vec()).collect();
    let table = rendered(&head[..kept], &cut, |_| CellAlignment::Left);
    let mut lines = table.lines().map(str::to_owned);
    let mut out: Vec<String> = lines.by_ref().take(1).collect();
    for (line, row) in lines.zip(rows) {
        out.push(line);
        out.extend(below(row));
    }
    out.join("\n")
}

/// Formats a table of figures: first and last columns left-aligned, the others right-aligned. Columns that do
/// not fit go to further blocks, whose rows begin with their `short` names, or else with the first column.
pub fn blocks(head: &[String], rows: &[Vec<String>], short: Option<&[String]>, width: usize) -> Vec<String> {
    let width = width - MARGIN;
    let head: Vec<String> = head.iter().enumerate().map(|(i, h)| folded(h, content(rows, i))).collect();
    let widths = widths(&head, rows);
    let last = head.len() - 1;
    let mut blocks = Vec::new();
    let mut next = 1;
    while next <= last {
        let names: Vec<&String> = match short.filter(|_| next > 1) {
            None => rows.iter().map(|row| &row[0]).collect(),
            Some(short) => short.iter().collect(),
        };
        let names_width = names.iter().map(|name| display_width(name)).max().unwrap_or(0) + GAP;
        let (first, mut used) = (next, names_width);
        while next <= last && (next == first || used + widths[next] <= width) {
            used += widths[next] + GAP;
            next += 1;
        }
        let available = width.saturating_sub(names_width).max(1);
        let row = |(row, name): (&Vec<String>, &&String)| {
            let cells = row[first..next].iter();
            // Only a column of text is too wide for a block of its own.
            let cells = cells
                .map(|cell| if next - first == 1 { wrapped(cell, available, "", "") } else { cell.clone() });
            [(*name).clone()].into_iter().chain(cells).collect()
        };
        let rows: Vec<Vec<String>> = rows.iter().zip(&names).map(row).collect();
        let head: Vec<String> = head[..1].iter().chain(&head[first..next]).cloned().collect();
        blocks.push(rendered(&head, &rows, |i| {
            let text = i == 0 || first + i - 1 == last;
            if text { CellAlignment::Left } else { CellAlignment::Right }
        }));
    }
    blocks
}

/// Moves the parenthesised part of a head to a second line if the head is wider than the column's cells.
fn folded(head: &str, content: usize) -> String {
    match head.split_once(" (") {
        Some((name, more)) if display_width(head) > content => format!("{name}\n({more}"),
        _ => head.to_owned(),
    }
}

fn widths(head: &[String], rows: &[Vec<String>]) -> Vec<usize> {
    head.iter().enumerate().map(|(i, head)| content(rows, i).max(lines_width(head))).collect()
}

/// Width of a column's cells without its head.
fn content(rows: &[Vec<String>], column: usize) -> usize {
    rows.iter().map(|row| lines_width(&row[column])).max().unwrap_or(0)
}

fn lines_width(text: &str) -> usize {
    text.lines().map(display_width).max().unwrap_or(0)
}

fn rendered(head: &[String], rows: &[Vec<String>], align: impl Fn(usize) -> CellAlignment) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(head.iter().map(String::as_str));
    for row in rows {
        table.add_row(row.iter().map(|cell| plain(cell)));
    }
    for (i, column) in table.column_iter_mut().enumerate() {
        column.set_cell_alignment(align(i));
        column.set_padding((0, GAP as u16));
    }
    let margin = " ".repeat(MARGIN);
    table.lines().map(|line| format!("{margin}{}", line.trim_end())).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(cells: &[&str]) -> Vec<String> {
        cells.iter().map(|c| (*c).to_owned()).collect()
    }

    #[test]
    fn words_stay_whole() {
        let text = "tokio-current-thread: no difference from /a/long/path/that/cannot/be/broken beyond 2 %";
        let lines = wrapped(text, 40, "  ", "    ");
        assert_eq!(lines.split_whitespace().collect::<Vec<_>>(), text.split_whitespace().collect::<Vec<_>>());
        assert!(lines.starts_with("  tokio") && lines.contains("\n    /a/long"), "{lines}");
        assert_eq!(wrapped("a\n\nb", 40, "", "  "), "a\n\n  b");
    }

    #[test]
    fn a_list_wraps_its_last_column_or_places_it_below() {
        let head = texts(&["name", "here", "about"]);
        let reason = "not found; apt-get install it\nand one more line that is much longer than the space next to the others";
        let rows = [texts(&["first", "yes", "short"]), texts(&["second", "no", reason])];
        let wide = grid(&head, &rows, 120);
        assert_eq!(wide.lines().count(), 4, "{wide}");
        assert!(wide.starts_with(" name    here  about\n first   yes   short\n"), "{wide}");
        let wrapped = grid(&head, &rows, 50);
        assert!(wrapped.lines().all(|l| l.len() <= 50) && wrapped.lines().count() > 4, "{wrapped}");
        let below = grid(&head, &rows, 40);
        assert!(below.lines().all(|l| l.len() <= 40), "{below}");
        assert!(
            below.starts_with(" name    here\n first   yes\n     short\n second  no\n     not found;"),
            "{below}"
        );
        for text in [wrapped, below] {
            assert!(reason.split_whitespace().all(|word| text.contains(word)), "{text}");
        }
    }

    #[test]
    fn columns_that_do_not_fit_go_to_further_blocks() {
        let head = texts(&["", "rate", "vs base", "peak (a + b)", "bottleneck"]);
        let rows = [
            texts(&["one 1.2.3", "12.0 k/s", "baseline", "3 MB (1 + 2)", "waiting (a 50 %, b 40 %)"]),
            texts(&["two 4.5", "9 k/s", "0.75x  (0.7 - 0.8)", "4 MB (2 + 2)", "a CPU"]),
        ];
        let short = texts(&["one", "two"]);
        assert_eq!(blocks(&head, &rows, Some(&short), 120).len(), 1);
        let narrow = blocks(&head, &rows, Some(&short), 40);
        assert_eq!(
            narrow[0],
            "                rate             vs base\n one 1.2.3  12.0 k/s            baseline\n \
             two 4.5       9 k/s  0.75x  (0.7 - 0.8)"
        );
        assert!(narrow[1].starts_with("      peak (a + b)\n one  3 MB (1 + 2)\n"), "{narrow:?}");
        let all = narrow.join("\n");
        assert!(all.lines().all(|l| l.chars().count() <= 40), "{all}");
        assert!(rows.iter().flatten().all(|cell| cell.split(' ').all(|word| all.contains(word))), "{all}");
    }

    #[test]
    fn a_head_wider_than_its_column_folds() {
        assert_eq!(folded("peak RSS (ping + pong)", 12), "peak RSS\n(ping + pong)");
        assert_eq!(folded("peak RSS (ping + pong)", 30), "peak RSS (ping + pong)");
        assert_eq!(folded("of ceiling", 3), "of ceiling");
    }
}
