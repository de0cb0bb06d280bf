//! Integers in Redis' canonical form: no plus sign, leading zeros or surrounding characters.

/// Parses an integer: accepts `0`, `17`, `-3`; rejects `+1`, `01`, `-0`, ` 1`.
pub fn parse_integer(text: &[u8]) -> Option<i64> {
    let (negative, digits) = match text {
        [b'-', digits @ ..] => (true, digits),
        digits => (false, digits),
    };
    match digits {
        [b'0'] if !negative => return Some(0),
        [b'1'..=b'9', ..] if digits.len() <= MAX_DIGITS => {}
        _ => return None,
    }
    let mut value: u64 = 0;
    for digit in digits {
        if !digit.is_ascii_digit() {
            return None;
        }
        // Nineteen digits cannot overflow.
        value = value * 10 + u64::from(digit - b'0');
    }
    if negative { 0_i64.checked_sub_unsigned(value) } else { i64::try_from(value).ok() }
}

/// Digits of an `i64`.
const MAX_DIGITS: usize = 19;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_as_redis() {
        for (text, expected) in [
            ("0", Some(0)),
            ("7", Some(7)),
            ("-7", Some(-7)),
            ("1234567", Some(1_234_567)),
            ("9223372036854775807", Some(i64::MAX)),
            ("9223372036854775808", None),
            ("-9223372036854775808", Some(i64::MIN)),
            ("-9223372036854775809", None),
            ("9999999999999999999", None),
            ("99999999999999999999", None),
            ("", None),
            ("-", None),
            ("-0", None),
            ("+1", None),
            ("01", None),
            (" 1", None),
            ("1 ", None),
            ("1a", None),
            ("--1", None),
        ] {
            assert_eq!(parse_integer(text.as_bytes()), expected, "{text:?}");
        }
    }

    proptest::proptest! {
        #[test]
        fn integers_round_trip(value: i64) {
            assert_eq!(parse_integer(value.to_string().as_bytes()), Some(value));
        }
    }
}
