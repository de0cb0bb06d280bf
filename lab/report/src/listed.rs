//! Text for lists of runs.

use netdyno_lab_store::{Listed, RunStatus};

/// Contenders named in full; the rest are counted.
const NAMED: usize = 4;

/// Status of a run, and the reason it stopped. `is_measured` tells whether a process measures it.
pub fn state(run: &Listed, is_measured: bool) -> String {
    match run.stopped_because.as_str() {
        _ if run.status == RunStatus::Running && !is_measured => "not finished".to_owned(),
        "" => run.status.as_str().to_owned(),
        reason => format!("{}: {reason}", run.status.as_str()),
    }
}

/// `pion, rustrtc`, or the first few names and the number of the others.
pub fn abbreviated(names: &[String]) -> String {
    match names.len() {
        n if n > NAMED + 1 => format!("{} and {} more", names[..NAMED].join(", "), n - NAMED),
        _ => names.join(", "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_list_of_contenders_is_counted() {
        for (names, text) in [
            (&["a"][..], "a"),
            (&["a", "b", "c", "d", "e"], "a, b, c, d, e"),
            (&["a", "b", "c", "d", "e", "f"], "a, b, c, d and 2 more"),
            (&[], ""),
        ] {
            let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            assert_eq!(abbreviated(&names), text);
        }
    }
}
