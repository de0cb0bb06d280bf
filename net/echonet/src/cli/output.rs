//! What is printed: tables and lines for people, JSON lines for programs.

use std::io::{self, Write};

use comfy_table::{ContentArrangement, Table, presets};
use serde_json::Value;

/// Writes to stdout in one of two forms. Colours go away on a pipe.
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

    /// A table; its JSON form is a line for each row.
    pub(crate) fn table(&self, head: &[&str], rows: &[(Vec<String>, Value)]) -> io::Result<()> {
        let mut out = anstream::stdout().lock();
        if self.json {
            for (_, json) in rows {
                writeln!(out, "{json}")?;
            }
            return out.flush();
        }
        let mut table = Table::new();
        table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
        table.set_header(head.iter().map(|name| name.to_uppercase()));
        for (cells, _) in rows {
            table.add_row(cells.iter().map(|cell| plain(cell)));
        }
        for (number, line) in table.lines().enumerate() {
            let line = line.trim_end();
            let line = line.strip_prefix(' ').unwrap_or(line);
            if number == 0 {
                let bold = anstyle::Style::new().bold();
                writeln!(out, "{bold}{line}{bold:#}")?;
            } else {
                writeln!(out, "{line}")?;
            }
        }
        out.flush()
    }

    /// A remark for people, on stderr.
    pub(crate) fn remark(&self, text: &str) {
        anstream::eprintln!("{}", plain(text));
    }
}

/// Without the control characters by which a device could write elsewhere on the terminal.
pub(crate) fn plain(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).collect()
}
