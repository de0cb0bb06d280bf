//! The order of builds: contenders that every comparison needs, then those that build fastest.

/// The names without duplicates: first those of `first`, in order; the others by expected duration, then by name.
pub(super) fn order(
    names: impl IntoIterator<Item = String>,
    first: &[&str],
    expected_seconds: impl Fn(&str) -> f64,
) -> Vec<String> {
    let rank = |name: &String| first.iter().position(|of| of == name).unwrap_or(first.len());
    let mut names: Vec<String> = names.into_iter().collect();
    names.sort_by(|a, b| {
        let by_seconds = || expected_seconds(a).total_cmp(&expected_seconds(b));
        rank(a).cmp(&rank(b)).then_with(by_seconds).then_with(|| a.cmp(b))
    });
    names.dedup();
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_every_comparison_needs_comes_first_then_the_quickest() {
        let seconds = |name: &str| match name {
            "slow" | "top" | "base" => 100.0,
            "medium" => 5.0,
            _ => 0.0,
        };
        // (names, first) -> order
        type Row<'a> = (&'a [&'a str], &'a [&'a str], &'a [&'a str]);
        let rows: [Row<'_>; 5] = [
            (
                &["slow", "there", "top", "medium", "base", "again", "slow"],
                &["base", "top"],
                &["base", "top", "again", "there", "medium", "slow"],
            ),
            (&["medium", "base", "partner"], &["partner", "base"], &["partner", "base", "medium"]),
            (&["slow", "medium"], &["base"], &["medium", "slow"]),
            (&["top", "slow", "base"], &[], &["base", "slow", "top"]),
            (&[], &[], &[]),
        ];
        for (names, first, wanted) in rows {
            let names = names.iter().map(|name| (*name).to_owned());
            assert_eq!(order(names, first, seconds), wanted);
        }
    }
}
