//! Numbers with their units, for people.

/// A value of a metric in a readable size: `B/s` as MB/s, `ns` as us or ms, `B` as MB (10^6 bytes).
#[must_use]
pub fn value(value: f64, unit: &str) -> String {
    match unit {
        "B/s" => scaled(value, &[(1e9, "GB/s"), (1e6, "MB/s"), (1e3, "kB/s"), (1.0, "B/s")]),
        "B" => scaled(value, &[(1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "B")]),
        "ns" => scaled(value, &[(1e9, "s"), (1e6, "ms"), (1e3, "us"), (1.0, "ns")]),
        "1/s" => scaled(value, &[(1e6, "M/s"), (1e3, "k/s"), (1.0, "/s")]),
        "1" => digits(value),
        other => format!("{} {other}", digits(value)),
    }
}

/// The parts of a sum without a unit of their own, in the scale of `whole`: `12 + 30`.
#[must_use]
pub(super) fn parts(parts: &[f64], unit: &str, whole: f64) -> String {
    let steps: &[f64] = if matches!(unit, "B" | "B/s" | "ns") { &[1e9, 1e6, 1e3, 1.0] } else { &[1.0] };
    let step = steps.iter().copied().find(|s| whole.abs() >= *s).unwrap_or(1.0);
    parts.iter().map(|p| digits(p / step)).collect::<Vec<_>>().join(" + ")
}

/// A number of bytes as a parameter: `64 B`, `1 KiB`.
#[must_use]
pub fn bytes(n: u64) -> String {
    match n {
        n if n >= 1 << 20 && n.is_multiple_of(1 << 20) => format!("{} MiB", n >> 20),
        n if n >= 1 << 10 && n.is_multiple_of(1 << 10) => format!("{} KiB", n >> 10),
        n => format!("{n} B"),
    }
}

fn scaled(value: f64, steps: &[(f64, &str)]) -> String {
    let (step, unit) =
        steps.iter().find(|(s, _)| value.abs() >= *s).or(steps.last()).expect("a scale has a step");
    format!("{} {unit}", digits(value / step))
}

/// Three significant digits, no exponent.
pub(super) fn digits(value: f64) -> String {
    match value.abs() {
        a if a >= 100.0 => format!("{value:.0}"),
        a if a >= 10.0 => format!("{value:.1}"),
        a if a >= 0.01 || a == 0.0 => format!("{value:.2}"),
        _ => format!("{value:.2e}"),
    }
}

/// A ratio with enough digits that its interval shows: `4.1`, `0.98`.
pub(super) fn ratio(value: f64) -> String {
    match value {
        v if v >= 100.0 => format!("{v:.0}"),
        v if v >= 10.0 => format!("{v:.1}"),
        v => format!("{v:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values() {
        for (number, unit, text) in [
            (213_380_000.0, "B/s", "213 MB/s"),
            (3.75e9, "B/s", "3.75 GB/s"),
            (690_000.0, "ns", "690 us"),
            (1_140_000.0, "ns", "1.14 ms"),
            (0.0, "ns", "0.00 ns"),
            (182_191.0, "1/s", "182 k/s"),
            (41e6, "B", "41.0 MB"),
            (0.001, "1", "1.00e-3"),
            (12.0, "frames", "12.0 frames"),
        ] {
            assert_eq!(value(number, unit), text);
        }
        assert_eq!(parts(&[12e6, 30e6], "B", 42e6), "12.0 + 30.0");
        assert_eq!(bytes(1024), "1 KiB");
        assert_eq!(bytes(1200), "1200 B");
        assert_eq!(bytes(1 << 20), "1 MiB");
    }
}
