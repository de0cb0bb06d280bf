//! Parses a table of commands and replies, and replies in RESP.
#![allow(dead_code)]

/// Commands and their replies.
pub(crate) fn rows(text: &str) -> Vec<(&str, &str)> {
    let mut lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let mut rows = Vec::new();
    while let (Some(command), Some(answer)) = (lines.next(), lines.next()) {
        rows.push((command, answer.strip_prefix("= ").unwrap()));
    }
    rows
}

/// Expands the words of a line: `f{1..2}:v` to `f1 v f2 v`, `w{3}` to `www`.
pub(crate) fn words(line: &str) -> Vec<String> {
    line.split(' ').flat_map(expanded).collect()
}

fn expanded(word: &str) -> Vec<String> {
    let Some((before, rest)) = word.split_once('{') else { return vec![word.to_owned()] };
    let (range, after) = rest.split_once('}').unwrap();
    match range.split_once("..") {
        None => vec![before.repeat(range.parse().unwrap())],
        Some((first, last)) => {
            let (first, last): (u32, u32) = (first.parse().unwrap(), last.parse().unwrap());
            let each = |n: u32| format!("{before}{n}{after}");
            (first..=last).flat_map(|n| each(n).split(':').map(str::to_owned).collect::<Vec<_>>()).collect()
        }
    }
}

/// The strings and numbers of a reply, with arrays flattened.
pub(crate) fn elements(answer: &str) -> Vec<String> {
    let mut lines = answer.split("\r\n");
    let mut elements = Vec::new();
    while let Some(line) = lines.next() {
        match line.split_at_checked(1) {
            Some(("*", _)) | None => {}
            Some(("$", _)) => elements.extend(lines.next().map(str::to_owned)),
            Some((_, text)) => elements.push(text.to_owned()),
        }
    }
    elements
}

/// Commands in RESP, as words.
pub(crate) fn requests(commands: &[u8]) -> Vec<Vec<String>> {
    let text = std::str::from_utf8(commands).unwrap();
    text.split('*').skip(1).map(|request| elements(request.split_once("\r\n").unwrap().1)).collect()
}
