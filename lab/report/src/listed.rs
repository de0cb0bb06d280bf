//! Texts of lists of runs.

use netdyno_lab_store::Listed;

/// Contenders of a run that are named; of the others it says how many.
const NAMED: usize = 4;

/// How a run stands, and why.
pub fn state(run: &Listed) -> String {
    match run.stopped_because.as_str() {
        "" => run.status.as_str().to_owned(),
        why => format!("{}: {why}", run.status.as_str()),
    }
}

/// `pion, rustrtc`, or the first few and how many more.
pub fn some_of(names: &[String]) -> String {
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
            assert_eq!(some_of(&names), text);
        }
    }
}
