//! Codes in hexadecimal, with or without `0x`.

/// The text is not a code.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("a code is {digits} hexadecimal digits, with or without the prefix 0x")]
pub struct CodeError {
    /// The expected number of digits.
    pub digits: usize,
}

/// Parses exactly `N` bytes.
pub(crate) fn parse<const N: usize>(text: &str) -> Result<[u8; N], CodeError> {
    let digits = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")).unwrap_or(text).as_bytes();
    if digits.len() != 2 * N {
        return Err(CodeError { digits: 2 * N });
    }
    let mut bytes = [0; N];
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
        let [high, low] = [pair[0], pair[1]].map(|digit| char::from(digit).to_digit(16));
        let (Some(high), Some(low)) = (high, low) else { return Err(CodeError { digits: 2 * N }) };
        *byte = u8::try_from(high << 4 | low).unwrap_or_default();
    }
    Ok(bytes)
}

/// Parses any number of bytes, without `0x`.
#[cfg(feature = "std")]
pub(crate) fn bytes(digits: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u8>> =
        digits.chars().map(|digit| u8::try_from(digit.to_digit(16)?).ok()).collect();
    let digits = digits.filter(|digits| digits.len().is_multiple_of(2))?;
    Some(digits.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]).collect())
}
