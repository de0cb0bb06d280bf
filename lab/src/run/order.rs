//! In which order contenders are built: what every comparison needs first, then what is there soonest.

/// The names, each once: the baseline, the ceiling, then by how long the build is expected to take; by name where that
/// is the same.
pub(super) fn order(
    names: impl IntoIterator<Item = String>,
    baseline: Option<&str>,
    ceiling: Option<&str>,
    expected_seconds: impl Fn(&str) -> f64,
) -> Vec<String> {
    let mut places: Vec<(u8, f64, String)> = names
        .into_iter()
        .map(|name| {
            let first = |of: Option<&str>| of == Some(name.as_str());
            let rank = if first(baseline) { 0 } else { 1 + u8::from(!first(ceiling)) };
            let seconds = if rank < 2 { 0.0 } else { expected_seconds(&name) };
            (rank, seconds, name)
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
    fn the_baseline_and_the_ceiling_come_first_then_the_quickest() {
        let seconds = |name: &str| match name {
            "slow" | "top" | "base" => 100.0,
            "medium" => 5.0,
            _ => 0.0,
        };
        // (names, baseline, ceiling) -> order
        type Row<'a> = (&'a [&'a str], Option<&'a str>, Option<&'a str>, &'a [&'a str]);
        let rows: [Row<'_>; 4] = [
            (
                &["slow", "there", "top", "medium", "base", "again", "slow"],
                Some("base"),
                Some("top"),
                &["base", "top", "again", "there", "medium", "slow"],
            ),
            (&["slow", "medium"], Some("base"), None, &["medium", "slow"]),
            (&["top", "slow", "base"], None, None, &["base", "slow", "top"]),
            (&[], None, None, &[]),
        ];
        for (names, baseline, ceiling, wanted) in rows {
            let names = names.iter().map(|name| (*name).to_owned());
            assert_eq!(order(names, baseline, ceiling, seconds), wanted);
        }
    }
}
