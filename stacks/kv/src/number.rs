//! Parsing and formatting of numbers, as in Redis.

/// Parses an integer in canonical form: no plus sign, leading zeros or spaces.
pub(crate) fn integer(text: &[u8]) -> Option<i64> {
    let (negative, digits) = match text {
        [b'-', rest @ ..] => (true, rest),
        all => (false, all),
    };
    match digits {
        [] => return None,
        [b'0'] => return (!negative).then_some(0),
        [b'0', ..] => return None,
        _ if digits.len() > 19 => return None,
        _ => {}
    }
    let mut magnitude: u64 = 0;
    for digit in digits {
        if !digit.is_ascii_digit() {
            return None;
        }
        magnitude = magnitude.checked_mul(10)?.checked_add(u64::from(digit - b'0'))?;
    }
    match negative {
        true if magnitude <= 1 << 63 => Some((magnitude as i64).wrapping_neg()),
        true => None,
        false => i64::try_from(magnitude).ok(),
    }
}

/// Parses a cursor: digits only.
pub(crate) fn unsigned(text: &[u8]) -> Option<u64> {
    if text.is_empty() || text.len() > 20 {
        return None;
    }
    text.iter().try_fold(0u64, |sum, digit| {
        digit.is_ascii_digit().then(|| sum.checked_mul(10)?.checked_add(u64::from(digit - b'0')))?
    })
}

/// Parses a floating-point number; no spaces, no NaN.
pub(crate) fn float(text: &[u8]) -> Option<f64> {
    let text = std::str::from_utf8(text).ok()?;
    if let Some(hexadecimal) = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        return u64::from_str_radix(hexadecimal, 16).ok().map(|value| value as f64);
    }
    let value: f64 = text.parse().ok()?;
    // An infinity must be written as such; overflow is an error.
    let spelled = text.trim_start_matches(['+', '-']).starts_with(['i', 'I']);
    (!value.is_nan() && (value.is_finite() || spelled)).then_some(value)
}

/// Formats a double as in replies.
pub(crate) fn double(value: f64) -> Vec<u8> {
    let mut text = Vec::new();
    netdyno_resp::write_double(&mut text, value);
    text
}

/// The decimal places of INCRBYFLOAT, as a power of ten.
const SCALE: i128 = 100_000_000_000_000_000;
const PLACES: i32 = 17;

/// Adds like INCRBYFLOAT. Computes in decimals if both numbers fit, so that 0.1 plus 0.2 is 0.3, as with
/// Redis' long double. Numbers of more than 19 digits can differ in the last one.
pub(crate) fn add_decimal(left: &[u8], right: &[u8]) -> Option<String> {
    if let (Some(a), Some(b)) = (decimal(left), decimal(right))
        && let Some(sum) = a.checked_add(b)
    {
        return Some(print_decimal(sum));
    }
    let sum = float(left)? + float(right)?;
    sum.is_finite().then(|| format!("{sum}"))
}

/// A number times `SCALE`, if it fits and has no more decimal places.
fn decimal(text: &[u8]) -> Option<i128> {
    let text = std::str::from_utf8(text).ok()?;
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
        None => (text, 0),
    };
    let (negative, digits) = match mantissa.as_bytes() {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        all => (false, all),
    };
    let point = digits.iter().position(|b| *b == b'.').unwrap_or(digits.len());
    let places = digits.len().saturating_sub(point + 1);
    let mut value: i128 = 0;
    let mut any = false;
    for digit in digits.iter().enumerate().filter(|(i, _)| *i != point).map(|(_, d)| d) {
        if !digit.is_ascii_digit() {
            return None;
        }
        any = true;
        value = value.checked_mul(10)?.checked_add(i128::from(digit - b'0'))?;
    }
    let shift = PLACES + exponent - i32::try_from(places).ok()?;
    if !any || !(0..=37).contains(&shift) {
        return None;
    }
    value = value.checked_mul(10i128.checked_pow(shift.unsigned_abs())?)?;
    (value < 10i128.pow(36)).then_some(if negative { -value } else { value })
}

fn print_decimal(value: i128) -> String {
    let sign = if value < 0 { "-" } else { "" };
    let (whole, fraction) =
        (value.unsigned_abs() / SCALE.unsigned_abs(), value.unsigned_abs() % SCALE.unsigned_abs());
    if fraction == 0 {
        return format!("{sign}{whole}");
    }
    let places = format!("{fraction:017}");
    format!("{sign}{whole}.{}", places.trim_end_matches('0'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_canonical_integers_are_accepted() {
        for (text, value) in [
            ("0", Some(0)),
            ("-1", Some(-1)),
            ("9223372036854775807", Some(i64::MAX)),
            ("-9223372036854775808", Some(i64::MIN)),
            ("9223372036854775808", None),
            ("-0", None),
            ("+1", None),
            ("01", None),
            (" 1", None),
            ("1 ", None),
            ("", None),
            ("-", None),
        ] {
            assert_eq!(integer(text.as_bytes()), value, "{text}");
        }
    }

    #[test]
    fn decimal_addition_is_exact() {
        for (a, b, sum) in [
            ("0.1", "0.2", "0.3"),
            ("5.0e3", "2.0e2", "5200"),
            ("3", "-1.5", "1.5"),
            ("1e300", "1", "1e300"),
            ("-0.5", "0.5", "0"),
        ] {
            let expected = if sum == "1e300" { format!("{}", 1e300) } else { sum.to_owned() };
            assert_eq!(add_decimal(a.as_bytes(), b.as_bytes()), Some(expected));
        }
        assert_eq!(add_decimal(b"x", b"1"), None);
    }
}
