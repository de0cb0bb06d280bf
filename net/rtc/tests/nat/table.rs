//! The table in docs/NAT.md with the test's results.

use std::fs;
use std::path::Path;

use crate::peers::Way;

/// If set, the table is written; otherwise it is compared.
const WRITE: &str = "NETDYNO_NAT_WRITE";
const DOCUMENT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/NAT.md");
const BEGIN: &str = "<!-- pairings:begin -->\n";
const END: &str = "<!-- pairings:end -->";

fn word(way: Way) -> &'static str {
    match way {
        Way::Direct => "direct",
        Way::Relayed => "by TURN",
        Way::Not => "not at all",
    }
}

/// Offerers in rows, answerers in columns.
pub(crate) fn of<const N: usize>(names: &[&str; N], ways: &[[Way; N]; N]) -> String {
    let mut table = format!("| | {} |\n|---|{}\n", names.join(" | "), "---|".repeat(N));
    for (name, row) in names.iter().zip(ways) {
        table += &format!("| {name} | {} |\n", row.map(word).join(" | "));
    }
    table
}

/// Below: both behind one NAT.
pub(crate) fn list(names: &[&str], ways: &[Way]) -> String {
    let rows = names.iter().zip(ways).map(|(name, way)| format!("| {name} | {} |\n", word(*way)));
    format!("\n| | |\n|---|---|\n{}", rows.collect::<String>())
}

/// Writes the table, or compares it.
pub(crate) fn check(table: &str) {
    let document = fs::read_to_string(Path::new(DOCUMENT)).unwrap();
    let (before, rest) = document.split_once(BEGIN).unwrap();
    let (there, after) = rest.split_once(END).unwrap();
    if std::env::var_os(WRITE).is_some() {
        fs::write(DOCUMENT, format!("{before}{BEGIN}{table}{END}{after}")).unwrap();
    } else {
        assert_eq!(there, table, "docs/NAT.md says otherwise; {WRITE}=1 writes what was found");
    }
}
