//! What fits a line: how wide the output is, prose broken between words, tables that fold. Nothing is ever cut off.

use comfy_table::{CellAlignment, ContentArrangement, Table, presets};
use netdyno_lab_analysis::report::plain;
use textwrap::{Options, WordSplitter, WrapAlgorithm, core::display_width};

/// Columns of what is no terminal: a log or a file.
const LOG_COLUMNS: usize = 100;
/// Widths that can be written to; others are taken for the nearest of them.
const LEAST_COLUMNS: usize = 40;
const MOST_COLUMNS: usize = 400;
/// Columns between two cells.
const GAP: usize = 2;
/// Columns before each line of a table.
const MARGIN: usize = 1;
/// A text in fewer columns than this is easier to read below its row.
const LEAST_TEXT: usize = 44;
/// Of what stands below a row.
const INDENT: &str = "     ";

/// Columns of stdout: what COLUMNS says, else the terminal's, else [`LOG_COLUMNS`].
#[must_use]
pub fn columns() -> usize {
    let asked = std::env::var("COLUMNS").ok().and_then(|text| text.trim().parse().ok());
    let terminal = || terminal_size::terminal_size_of(std::io::stdout()).map(|(width, _)| width.0.into());
    let asked = asked.filter(|columns| *columns > 0).or_else(terminal);
    asked.unwrap_or(LOG_COLUMNS).clamp(LEAST_COLUMNS, MOST_COLUMNS)
}

/// Columns of stderr, where that is a terminal. A line of a log stays whole: it may be searched for.
#[must_use]
pub fn error_columns() -> Option<usize> {
    let asked: Option<usize> = std::env::var("COLUMNS").ok().and_then(|text| text.trim().parse().ok());
    let terminal = terminal_size::terminal_size_of(std::io::stderr()).map(|(width, _)| width.0.into());
    let width = terminal.map(|terminal| asked.filter(|columns| *columns > 0).unwrap_or(terminal));
    width.map(|width| width.clamp(LEAST_COLUMNS, MOST_COLUMNS))
}

/// Prose in lines of `width`, broken between words alone; newlines stay. `first` begins the first line, `rest` the others.
#[must_use]
pub fn wrapped(text: &str, width: usize, first: &str, rest: &str) -> String {
    let options = Options::new(width)
        .initial_indent(first)
        .subsequent_indent(rest)
        .break_words(false)
        .word_splitter(WordSplitter::NoHyphenation)
        .wrap_algorithm(WrapAlgorithm::FirstFit);
    textwrap::fill(text, options)
}

/// A list: all columns to the left. The last one is a text, and wraps; what does not fit beside the others stands below
/// its row.
#[must_use]
pub fn grid(head: &[String], rows: &[Vec<String>], width: usize) -> String {
    let width = width - MARGIN;
    let widths = widths(head, rows);
    let total = |count: usize| widths[..count].iter().map(|w| w + GAP).sum::<usize>();
    let last = head.len() - 1;
    if total(head.len()) <= width + GAP || total(last) + LEAST_TEXT <= width {
        let room = width.saturating_sub(total(last));
        let wrap = |row: &Vec<String>| {
            let mut row = row.clone();
            row[last] = wrapped(&row[last], room, "", "");
            row
        };
        return rendered(head, &rows.iter().map(wrap).collect::<Vec<_>>(), |_| CellAlignment::Left);
    }
    let kept = (1..=last).rev().find(|count| total(*count) <= width + GAP).unwrap_or(1);
    let below = |row: &Vec<String>| {
        let named = |i: usize| if i == last { row[i].clone() } else { format!("{}: {}", head[i], row[i]) };
        let texts = (kept..=last).filter(|i| !row[*i].is_empty()).map(named);
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

/// Figures, names first: numbers to the right, the last column to the left. What does not fit beside each other comes in
/// further blocks below, in the order of the columns; those begin with the `short` names of the rows.
pub fn blocks(head: &[String], rows: &[Vec<String>], short: &[String], width: usize) -> Vec<String> {
    let width = width - MARGIN;
    let head: Vec<String> = head.iter().enumerate().map(|(i, h)| folded(h, content(rows, i))).collect();
    let widths = widths(&head, rows);
    let last = head.len() - 1;
    let mut blocks = Vec::new();
    let mut next = 1;
    while next <= last {
        let names: Vec<&String> = match next {
            1 => rows.iter().map(|row| &row[0]).collect(),
            _ => short.iter().collect(),
        };
        let names_width = names.iter().map(|name| display_width(name)).max().unwrap_or(0) + GAP;
        let (first, mut used) = (next, names_width);
        while next <= last && (next == first || used + widths[next] <= width) {
            used += widths[next] + GAP;
            next += 1;
        }
        let room = width.saturating_sub(names_width).max(1);
        let row = |(row, name): (&Vec<String>, &&String)| {
            let cells = row[first..next].iter();
            // A column that is too wide even alone is a text.
            let cells =
                cells.map(|cell| if next - first == 1 { wrapped(cell, room, "", "") } else { cell.clone() });
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

/// A head that is wider than what stands below it goes on in a second line where it says more in brackets.
fn folded(head: &str, content: usize) -> String {
    match head.split_once(" (") {
        Some((name, more)) if display_width(head) > content => format!("{name}\n({more}"),
        _ => head.to_owned(),
    }
}

/// The width of each column.
fn widths(head: &[String], rows: &[Vec<String>]) -> Vec<usize> {
    head.iter().enumerate().map(|(i, head)| content(rows, i).max(lines_width(head))).collect()
}

/// The width of a column's cells, its head left out.
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
        let text = "tokio-current-thread: no difference to /a/long/path/that/nobody/can/break beyond 2 %";
        let lines = wrapped(text, 40, "  ", "    ");
        assert_eq!(lines.split_whitespace().collect::<Vec<_>>(), text.split_whitespace().collect::<Vec<_>>());
        assert!(lines.starts_with("  tokio") && lines.contains("\n    /a/long"), "{lines}");
        assert_eq!(wrapped("a\n\nb", 40, "", "  "), "a\n\n  b");
    }

    #[test]
    fn a_list_wraps_its_last_column_or_puts_it_below() {
        let head = texts(&["name", "here", "about"]);
        let why = "not found; apt-get install it\nand one more line that says much more than fits beside the others";
        let rows = [texts(&["first", "yes", "short"]), texts(&["second", "no", why])];
        let wide = grid(&head, &rows, 120);
        assert_eq!(wide.lines().count(), 4, "{wide}");
        assert!(wide.starts_with(" name    here  about\n first   yes   short\n"), "{wide}");
        let beside = grid(&head, &rows, 50);
        assert!(beside.lines().all(|l| l.len() <= 50) && beside.lines().count() > 4, "{beside}");
        let below = grid(&head, &rows, 40);
        assert!(below.lines().all(|l| l.len() <= 40), "{below}");
        assert!(
            below.starts_with(" name    here\n first   yes\n     short\n second  no\n     not found;"),
            "{below}"
        );
        for text in [beside, below] {
            assert!(why.split_whitespace().all(|word| text.contains(word)), "{text}");
        }
    }

    #[test]
    fn figures_that_do_not_fit_stand_in_further_blocks() {
        let head = texts(&["", "rate", "vs base", "peak (a + b)", "bottleneck"]);
        let rows = [
            texts(&["one 1.2.3", "12.0 k/s", "baseline", "3 MB (1 + 2)", "waiting (a 50 %, b 40 %)"]),
            texts(&["two 4.5", "9 k/s", "0.75x  (0.7 - 0.8)", "4 MB (2 + 2)", "a CPU"]),
        ];
        let short = texts(&["one", "two"]);
        assert_eq!(blocks(&head, &rows, &short, 120).len(), 1);
        let narrow = blocks(&head, &rows, &short, 40);
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
    fn a_head_folds_where_it_is_wider_than_its_column() {
        assert_eq!(folded("peak RSS (ping + pong)", 12), "peak RSS\n(ping + pong)");
        assert_eq!(folded("peak RSS (ping + pong)", 30), "peak RSS (ping + pong)");
        assert_eq!(folded("of ceiling", 3), "of ceiling");
    }
}
