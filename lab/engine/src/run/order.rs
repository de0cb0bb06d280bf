//! The order of builds: contenders that every comparison needs, then those that build fastest.

/// The names without duplicates: first those of `first`, in order; the others by expected duration, then by name.
pub(super) fn order(
    names: impl IntoIterator<Item = String>,
    first: &[&str],
    expected_seconds: impl Fn(&str) -> f64,
) -> Vec<String> {
    let mut places: Vec<(usize, f64, String)> = names
        .into_iter()
        .map(|name| {
            let rank = first.iter().position(|of| *of == name);
            let seconds = if rank.is_some() { 0.0 } else { expected_seconds(&name) };
            (rank.unwrap_or(first.len()), seconds, name)
        })
        .collect();
    places.sort_by(|(a, x, left), (b, y, right)| a.cmp(b).then(x.total_cmp(y)).then(left.cmp(right)));
    places.dedup_by(|(_, _, left), (_, _, right)| left == right);
    places.into_iter().map(|(_, _, name)| name).collect()
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
