//! Display of numbers with units.

/// Formats the value of a metric with an SI prefix: `B/s` as MB/s, `ns` as us or ms, `B` as MB (10^6 bytes).
pub fn value(value: f64, unit: &str) -> String {
    match (step(value, unit), unit) {
        ((step, prefixed), _) if !prefixed.is_empty() => format!("{} {prefixed}", digits(value / step)),
        (_, "1") => digits(value),
        (_, other) => format!("{} {other}", digits(value)),
    }
}

/// Formats the parts of a sum without unit, in the scale of `whole`: `12 + 30`.
pub fn parts(parts: &[f64], unit: &str, whole: f64) -> String {
    let (step, _) = step(whole, unit);
    parts.iter().map(|p| digits(p / step)).collect::<Vec<_>>().join(" + ")
}

/// The greatest step of a unit's scale that a value reaches, else the least one, and its name; empty without a scale.
fn step(value: f64, unit: &str) -> (f64, &'static str) {
    let steps: &[(f64, &str)] = match unit {
        "B/s" => &[(1e9, "GB/s"), (1e6, "MB/s"), (1e3, "kB/s"), (1.0, "B/s")],
        "B" => &[(1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "B")],
        "ns" => &[(1e9, "s"), (1e6, "ms"), (1e3, "us"), (1.0, "ns")],
        "1/s" => &[(1e6, "M/s"), (1e3, "k/s"), (1.0, "/s")],
        _ => &[],
    };
    steps.iter().find(|(step, _)| value.abs() >= *step).or(steps.last()).copied().unwrap_or((1.0, ""))
}

/// Formats a range in the scale of its greater value: `118 - 131 MB/s`.
pub fn range(low: f64, high: f64, unit: &str) -> String {
    let high_text = value(high, unit);
    match high_text.split_once(' ') {
        Some(_) => format!("{} - {high_text}", parts(&[low], unit, high)),
        None => format!("{} - {high_text}", value(low, unit)),
    }
}

/// Formats a number of bytes as a parameter: `64 B`, `1 KiB`.
pub fn bytes(n: u64) -> String {
    match n {
        n if n >= 1 << 20 && n.is_multiple_of(1 << 20) => format!("{} MiB", n >> 20),
        n if n >= 1 << 10 && n.is_multiple_of(1 << 10) => format!("{} KiB", n >> 10),
        n => format!("{n} B"),
    }
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

/// Formats a count with separators: `73,120`.
pub fn whole(n: u64) -> String {
    let digits = n.to_string();
    let parts: Vec<&str> =
        digits.as_bytes().rchunks(3).rev().filter_map(|p| std::str::from_utf8(p).ok()).collect();
    parts.join(",")
}

/// Formats a ratio with enough digits to resolve its interval: `4.12`, `0.98`, `0.0033`.
pub fn ratio(value: f64) -> String {
    match value {
        v if v >= 100.0 => format!("{v:.0}"),
        v if v >= 10.0 => format!("{v:.1}"),
        v if v >= 0.0995 || v == 0.0 => format!("{v:.2}"),
        v if v >= 0.00995 => format!("{v:.3}"),
        v if v >= 0.000_995 => format!("{v:.4}"),
        v => format!("{v:.1e}"),
    }
}

/// Formats a range of ratios: `0.98 - 1.01`.
pub fn ratio_range((low, high): (f64, f64)) -> String {
    format!("{} - {}", ratio(low), ratio(high))
}

/// Formats a value, or "not measured".
pub fn value_or_not(measured: Option<f64>, unit: &str) -> String {
    measured.map_or_else(|| "not measured".to_owned(), |v| value(v, unit))
}

/// Removes control characters, which could move the cursor of a terminal, and characters that change the text direction, which
/// could misrepresent the text. A tab becomes a space.
pub fn plain(text: &str) -> String {
    let changes_direction = |c: char| matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let kept = text.chars().filter(|c| !c.is_control() && !changes_direction(*c) || matches!(c, '\n' | '\t'));
    kept.map(|c| if c == '\t' { ' ' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_separated() {
        for (n, text) in
            [(0, "0"), (999, "999"), (1000, "1,000"), (73_120, "73,120"), (1_000_001, "1,000,001")]
        {
            assert_eq!(whole(n), text);
        }
    }

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
        assert_eq!(parts(&[800.0], "1/s", 1500.0), "0.80");
        for (low, high, unit, text) in [
            (118e6, 131.4e6, "B/s", "118 - 131 MB/s"),
            (0.9e6, 131.4e6, "B/s", "0.90 - 131 MB/s"),
            (900.0, 1100.0, "ns", "0.90 - 1.10 us"),
            (1.0, 12.0, "1", "1.00 - 12.0"),
        ] {
            assert_eq!(range(low, high, unit), text);
        }
        assert_eq!(bytes(1024), "1 KiB");
        assert_eq!(bytes(1200), "1200 B");
        assert_eq!(bytes(1 << 20), "1 MiB");
    }

    #[test]
    fn ratios_keep_significant_digits() {
        for (number, text) in [
            (214.0, "214"),
            (11.06, "11.1"),
            (1.0, "1.00"),
            (0.982, "0.98"),
            (0.0996, "0.10"),
            (0.0512, "0.051"),
            (0.00332, "0.0033"),
            (0.000_12, "1.2e-4"),
            (0.0, "0.00"),
        ] {
            assert_eq!(ratio(number), text);
        }
    }
}
