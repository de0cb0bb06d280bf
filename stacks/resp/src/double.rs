//! Doubles as text: the shortest digits that round-trip, formatted as in Redis.

use std::fmt::Write;

/// Appends `value`, for example `3.1`, `17`, `1e+30`, `inf`, `-inf`, `nan`.
pub fn write_double(out: &mut Vec<u8>, value: f64) {
    /// Integers up to this value are exact and formatted as integers.
    const EXACT: f64 = 4_503_599_627_370_496.0;
    if value.is_nan() {
        out.extend_from_slice(b"nan");
    } else if value.is_infinite() {
        out.extend_from_slice(if value > 0.0 { b"inf" } else { b"-inf" });
    } else if value == 0.0 {
        out.extend_from_slice(if value.is_sign_negative() { b"-0" } else { b"0" });
    } else if value.abs() <= EXACT && value.trunc() == value {
        out.extend_from_slice(itoa::Buffer::new().format(value as i64).as_bytes());
    } else {
        write_digits(out, value);
    }
}

fn write_digits(out: &mut Vec<u8>, value: f64) {
    let mut text = Scratch::default();
    // A finite double fits: at most 17 digits, a point, a sign and a short exponent.
    let _ = write!(text, "{:e}", value.abs());
    let (mantissa, exponent) = text.split();
    if value < 0.0 {
        out.push(b'-');
    }
    let digits = mantissa.iter().copied().filter(u8::is_ascii_digit);
    let count = digits.clone().count() as i32;
    // Digits before the point in plain notation.
    let before = exponent + 1;
    if before >= count && exponent < count + 7 {
        out.extend(digits);
        out.extend(std::iter::repeat_n(b'0', (before - count) as usize));
    } else if before < count && (before - count > -7 || exponent.abs() < 4) {
        write_plain(out, digits, before);
    } else {
        for (index, digit) in digits.enumerate() {
            if index == 1 {
                out.push(b'.');
            }
            out.push(digit);
        }
        out.extend_from_slice(if exponent < 0 { b"e-" } else { b"e+" });
        out.extend_from_slice(itoa::Buffer::new().format(exponent.unsigned_abs()).as_bytes());
    }
}

/// Plain notation: `0.001`, `1234.5`.
fn write_plain(out: &mut Vec<u8>, digits: impl Iterator<Item = u8>, before: i32) {
    if before <= 0 {
        out.extend_from_slice(b"0.");
        out.extend(std::iter::repeat_n(b'0', before.unsigned_abs() as usize));
    }
    for (index, digit) in digits.enumerate() {
        if before > 0 && index as i32 == before {
            out.push(b'.');
        }
        out.push(digit);
    }
}

/// A buffer for the digits of a double, without allocation.
#[derive(Default)]
struct Scratch {
    bytes: [u8; 32],
    length: usize,
}

impl Scratch {
    /// The mantissa before the `e`, and the exponent.
    fn split(&self) -> (&[u8], i32) {
        let text = &self.bytes[..self.length];
        let at = text.iter().position(|byte| *byte == b'e').unwrap_or(text.len());
        let exponent = text.get(at + 1..).unwrap_or_default();
        let negative = exponent.first() == Some(&b'-');
        let digits = exponent.iter().filter(|byte| byte.is_ascii_digit());
        let exponent = digits.fold(0, |sum, digit| sum * 10 + i32::from(digit - b'0'));
        (&text[..at], if negative { -exponent } else { exponent })
    }
}

impl Write for Scratch {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        let place = self.bytes.get_mut(self.length..self.length + text.len()).ok_or(std::fmt::Error)?;
        place.copy_from_slice(text.as_bytes());
        self.length += text.len();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(value: f64) -> String {
        let mut out = Vec::new();
        write_double(&mut out, value);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn formatted_as_in_redis() {
        for (value, expected) in [
            (0.0, "0"),
            (-0.0, "-0"),
            (3.0, "3"),
            (-17.0, "-17"),
            (3.1, "3.1"),
            (-1.5, "-1.5"),
            (1234.5, "1234.5"),
            (0.1, "0.1"),
            (0.001, "0.001"),
            (0.000_012_345, "1.2345e-5"),
            (0.000_012, "0.000012"),
            (1e-7, "1e-7"),
            (1.5e-9, "1.5e-9"),
            (1e30, "1e+30"),
            (1.7976931348623157e308, "1.7976931348623157e+308"),
            (5e-324, "5e-324"),
            (4503599627370496.0, "4503599627370496"),
            (9007199254740993.0, "9007199254740992"),
            (1e16, "1e+16"),
            (123456789012345680000.0, "123456789012345680000"),
            (f64::INFINITY, "inf"),
            (f64::NEG_INFINITY, "-inf"),
            (f64::NAN, "nan"),
        ] {
            assert_eq!(text(value), expected);
        }
    }

    proptest::proptest! {
        #[test]
        fn doubles_round_trip(bits: u64) {
            let value = f64::from_bits(bits);
            proptest::prop_assume!(value.is_finite());
            assert_eq!(text(value).parse::<f64>().unwrap().to_bits(), value.to_bits());
        }
    }
}
