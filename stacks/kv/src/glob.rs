//! Glob patterns of KEYS, SCAN and PSUBSCRIBE: `*`, `?`, `[a-c]`, `[^x]`, `\x`.
//!
//! On a mismatch, matching backtracks to the last star only, so the work is at most the product of both
//! lengths. An additional limit bounds that product; no pattern takes exponential time.

use crate::limits::GLOB_STEPS_PER_BYTE;

/// Whether the whole text matches.
pub(crate) fn matches(pattern: &[u8], text: &[u8]) -> bool {
    matches_case(pattern, text, false)
}

/// The same, optionally ignoring the case of ASCII letters.
pub(crate) fn matches_case(pattern: &[u8], text: &[u8], ignore_case: bool) -> bool {
    if pattern == b"*" {
        return true;
    }
    let (mut at, mut seen) = (0, 0);
    // Position to resume from after a mismatch: the last star then matches one more byte.
    let mut star: Option<(usize, usize)> = None;
    let mut steps = text.len().saturating_add(1).saturating_mul(GLOB_STEPS_PER_BYTE);
    loop {
        if steps == 0 {
            return false;
        }
        steps -= 1;
        if at < pattern.len() && pattern[at] == b'*' {
            star = Some((at + 1, seen));
            at += 1;
            continue;
        }
        if seen == text.len() {
            if at == pattern.len() {
                return true;
            }
        } else if at < pattern.len()
            && let Some(next) = step(pattern, at, text[seen], ignore_case)
        {
            at = next;
            seen += 1;
            continue;
        }
        match star {
            Some((after, from)) if from < text.len() => {
                star = Some((after, from + 1));
                at = after;
                seen = from + 1;
            }
            _ => return false,
        }
    }
}

/// Matches one byte with the pattern at `at` and returns the next position in the pattern.
fn step(pattern: &[u8], at: usize, byte: u8, ignore_case: bool) -> Option<usize> {
    let fold = |b: u8| if ignore_case { b.to_ascii_lowercase() } else { b };
    match pattern[at] {
        b'?' => Some(at + 1),
        b'[' => class(pattern, at + 1, fold(byte), fold),
        b'\\' if at + 1 < pattern.len() => (fold(pattern[at + 1]) == fold(byte)).then_some(at + 2),
        literal => (fold(literal) == fold(byte)).then_some(at + 1),
    }
}

fn class(pattern: &[u8], mut at: usize, byte: u8, fold: impl Fn(u8) -> u8) -> Option<usize> {
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
    (found != negated).then_some(at)
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
    fn hostile_pattern_ends() {
        let pattern = "a*".repeat(200) + "b";
        assert!(!matches(pattern.as_bytes(), &[b'a'; 5000]));
    }
}
