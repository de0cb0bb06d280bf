//! Glob patterns of KEYS, SCAN and PSUBSCRIBE: `*`, `?`, `[a-c]`, `[^x]`, `\x`.
//!
//! On a mismatch, matching backtracks to the last star only, so the work is at most the product of both
//! lengths. An additional limit bounds that product; no pattern takes exponential time.

use crate::limits::{GLOB_STEPS_MAX, GLOB_STEPS_PER_BYTE};

/// Whether the whole text matches.
pub(crate) fn matches(pattern: &[u8], text: &[u8]) -> bool {
    matches_case(pattern, text, false)
}

/// The same, optionally ignoring the case of ASCII letters.
pub(crate) fn matches_case(pattern: &[u8], text: &[u8], ignore_case: bool) -> bool {
    if pattern == b"*" {
        return true;
    }
    let (mut at, mut position) = (0, 0);
    // Position to resume from after a mismatch: the last star then matches one more byte.
    let mut star: Option<(usize, usize)> = None;
    let retries = text.len().saturating_add(1).saturating_mul(GLOB_STEPS_PER_BYTE).min(GLOB_STEPS_MAX);
    let mut steps = retries.saturating_add(2 * (pattern.len() + text.len()));
    while steps > 0 {
        steps -= 1;
        if at < pattern.len() && pattern[at] == b'*' {
            at += 1;
            if at == pattern.len() {
                return true;
            }
            star = Some((at, position));
            continue;
        }
        if position == text.len() {
            return at == pattern.len();
        }
        if at < pattern.len()
            && let Some(next) = step(pattern, at, text[position], ignore_case, &mut steps)
        {
            at = next;
            position += 1;
            continue;
        }
        let Some((after, from)) = star else { return false };
        star = Some((after, from + 1));
        (at, position) = (after, from + 1);
    }
    false
}

/// Matches one byte with the pattern at `at` and returns the next position in the pattern.
fn step(pattern: &[u8], at: usize, byte: u8, ignore_case: bool, steps: &mut usize) -> Option<usize> {
    let fold = |b: u8| if ignore_case { b.to_ascii_lowercase() } else { b };
    match pattern[at] {
        b'?' => Some(at + 1),
        b'[' => {
            let (end, matches) = class(pattern, at + 1, fold(byte), fold);
            *steps = steps.saturating_sub(end - at);
            matches.then_some(end)
        }
        b'\\' if at + 1 < pattern.len() => (fold(pattern[at + 1]) == fold(byte)).then_some(at + 2),
        literal => (fold(literal) == fold(byte)).then_some(at + 1),
    }
}

/// The end of a class, and whether it contains a byte.
fn class(pattern: &[u8], mut at: usize, byte: u8, fold: impl Fn(u8) -> u8) -> (usize, bool) {
    let negated = pattern.get(at) == Some(&b'^');
    at += usize::from(negated);
    let mut found = false;
    loop {
        match pattern.get(at) {
            // An unterminated class ends with the pattern.
            None => break,
            Some(b']') => {
                at += 1;
                break;
            }
            Some(b'\\') if at + 1 < pattern.len() => {
                found |= fold(pattern[at + 1]) == byte;
                at += 2;
            }
            Some(&first) if pattern.len() >= at + 3 && pattern[at + 1] == b'-' => {
                let (first, last) = (fold(first), fold(pattern[at + 2]));
                found |= (first.min(last)..=first.max(last)).contains(&byte);
                at += 3;
            }
            Some(&literal) => {
                found |= fold(literal) == byte;
                at += 1;
            }
        }
    }
    (at, found != negated)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns() {
        for (pattern, text, expected) in [
            ("*", "", true),
            ("", "", true),
            ("", "a", false),
            ("h?llo", "hello", true),
            ("h*llo", "heeeello", true),
            ("h[ae]llo", "hallo", true),
            ("h[^e]llo", "hello", false),
            ("h[a-c]llo", "hbllo", true),
            ("h[c-a]llo", "hbllo", true),
            ("a\\*b", "a*b", true),
            ("a\\*b", "axb", false),
            ("[a-", "a", true),
            ("a*b*c", "aXXbYYc", true),
            ("a*b*c", "aXXbYYcd", false),
            ("[\\]]", "]", true),
            ("*foo*", "a foo", true),
            ("abc*", "ab", false),
            ("\\", "\\", true),
        ] {
            assert_eq!(matches(pattern.as_bytes(), text.as_bytes()), expected, "{pattern} {text}");
        }
        assert!(matches_case(b"MAX*", b"maxmemory", true));
    }

    #[test]
    fn a_hostile_pattern_terminates() {
        let pattern = "a*".repeat(200) + "b";
        assert!(!matches(pattern.as_bytes(), &[b'a'; 5000]));
    }
}
