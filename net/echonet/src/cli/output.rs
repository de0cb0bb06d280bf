//! Output: tables and text lines, or JSON lines.

use std::io::{self, Write};

use comfy_table::{ColumnConstraint, ContentArrangement, Table, presets};
use serde_json::Value;
use terminal_size::{Width, terminal_size_of};

/// The maximum width of a column of codes; wider ones are wrapped on a narrow terminal.
const CODE_COLUMNS: u16 = 7;

/// Writes to stdout as text or JSON. Colours are disabled on a pipe.
#[derive(Debug)]
pub(crate) struct Printer {
    pub(crate) json: bool,
}

impl Printer {
    pub(crate) fn new(json: bool) -> Self {
        Self { json }
    }

    /// A line, and its JSON form.
    pub(crate) fn line(&self, text: &str, json: impl FnOnce() -> Value) -> io::Result<()> {
        let mut out = anstream::stdout().lock();
        if self.json { writeln!(out, "{}", json()) } else { writeln!(out, "{text}") }?;
        out.flush()
    }

    /// A table, at most as wide as the terminal; its JSON form is a line for each row.
    pub(crate) fn table(&self, head: &[&str], rows: &[(Vec<String>, Value)]) -> io::Result<()> {
        let mut out = anstream::stdout().lock();
        if self.json {
            for (_, json) in rows {
                writeln!(out, "{json}")?;
            }
            return out.flush();
        }
        // Lines in a file can be of any length.
        let columns = terminal_size_of(io::stdout()).map(|(Width(columns), _)| columns);
        for (number, line) in lines(head, rows, columns).iter().enumerate() {
            if number == 0 {
                let bold = anstyle::Style::new().bold();
                writeln!(out, "{bold}{line}{bold:#}")?;
            } else {
                writeln!(out, "{line}")?;
            }
        }
        out.flush()
    }

    /// A message for the user, on stderr.
    pub(crate) fn remark(&self, text: &str) {
        anstream::eprintln!("{}", plain(text));
    }
}

/// The lines of a table, the header first, at most `columns` wide.
fn lines(head: &[&str], rows: &[(Vec<String>, Value)], columns: Option<u16>) -> Vec<String> {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(head.iter().map(|name| name.to_uppercase()));
    for (cells, _) in rows {
        table.add_row(cells.iter().map(|cell| plain(cell)));
    }
    if let Some(columns) = columns {
        // Each line begins and ends with a space, which is removed below.
        table.set_content_arrangement(ContentArrangement::Dynamic).set_width(columns.saturating_add(2));
    }
    // Codes are not wrapped if they fit at all.
    let widths = table.column_max_content_widths();
    for (column, _) in table.column_iter_mut().zip(widths).filter(|(_, width)| *width <= CODE_COLUMNS) {
        column.set_constraint(ColumnConstraint::ContentWidth);
    }
    let trim = |line: String| line.strip_prefix(' ').unwrap_or(&line).trim_end().to_owned();
    table.lines().map(trim).collect()
}

/// Removes control characters, by which a device could manipulate the terminal.
pub(crate) fn plain(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_as_wide_as_the_terminal() {
        let row =
            ["192.168.100.100", "029101", "Mono functional lighting", "FEFFFFFE6C696768740000000000000000"];
        let rows = [(row.map(str::to_owned).to_vec(), Value::Null)];
        let render = |columns| lines(&["node", "object", "class", "id"], &rows, columns);
        assert_eq!(render(None), render(Some(200)));
        assert_eq!(render(None).len(), 2);
        for columns in [40, 60, 80] {
            let lines = render(Some(columns));
            assert!(lines.iter().all(|line| line.chars().count() <= columns.into()), "{lines:#?}");
            assert!(lines.iter().any(|line| line.contains("029101")), "{lines:#?}");
        }
    }

    #[test]
    fn control_characters_are_removed() {
        let rows = [(vec!["a\u{1b}[2Jb\n".to_owned()], Value::Null)];
        assert_eq!(lines(&["value"], &rows, None), ["VALUE", "a[2Jb"]);
    }
}
