//! The table of docs/NAT.md, which is what the test has found.

use std::fs;
use std::path::Path;

use crate::peers::Way;

/// Set to have the table written; else it has to be there as it was found.
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

/// Those who offer by those who answer.
pub(crate) fn of<const N: usize>(names: &[&str; N], ways: &[[Way; N]; N]) -> String {
    let mut table = format!("| | {} |\n|---|{}\n", names.join(" | "), "---|".repeat(N));
    for (name, row) in names.iter().zip(ways) {
        table += &format!("| {name} | {} |\n", row.map(word).join(" | "));
    }
    table
}

/// Below, where both are in one place.
pub(crate) fn list(names: &[&str], ways: &[Way]) -> String {
    let rows = names.iter().zip(ways).map(|(name, way)| format!("| {name} | {} |\n", word(*way)));
    format!("\n| | |\n|---|---|\n{}", rows.collect::<String>())
}

/// Writes it where it belongs, or compares.
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
