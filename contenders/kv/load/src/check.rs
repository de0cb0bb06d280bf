//! An incremental comparison of answers with their expected bytes, without reassembly.

use netdyno_contender::kv::{Answer, parse};

use crate::draw::Operation;
use crate::frames::{END, Frames, OK};

/// Maximum length of a line of a wrong answer.
const MAX_LINE_BYTES: usize = 64 << 10;

/// The state of the current answer.
#[derive(Debug)]
pub enum Check {
    /// The received bytes, whose number this is, are right.
    Right(usize),
    /// The answer is wrong; the received part of its first line.
    Line(Vec<u8>),
    /// The answer is wrong; the number of its remaining bytes.
    Rest(usize),
}

/// The result of a step.
#[derive(Debug, PartialEq, Eq)]
pub enum Progress {
    Partial,
    Right,
    /// The answer is complete and wrong. Contains the text of an error answer.
    Wrong(Option<String>),
}

impl Check {
    /// Handles the next bytes of the answer to this operation and returns how many of them were consumed. An error means that
    /// the bytes are not an answer and the connection cannot be parsed any further.
    pub fn step(
        &mut self,
        frames: &Frames,
        operation: Operation,
        input: &[u8],
    ) -> Result<(usize, Progress), String> {
        match self {
            Self::Right(matched) => {
                let lead = frames.values.lead(operation.key());
                let (expected, line) = expected(frames, operation, &lead, *matched);
                let length = expected.len().min(input.len());
                if expected[..length] != input[..length] {
                    *self = if line == 0 {
                        Self::Rest(frames.answer_bytes(operation) - *matched)
                    } else {
                        let whole = if operation.is_set() { OK } else { &frames.answer_head };
                        Self::Line(whole[..*matched].to_vec())
                    };
                    return Ok((0, Progress::Partial));
                }
                *matched += length;
                if *matched < frames.answer_bytes(operation) {
                    return Ok((length, Progress::Partial));
                }
                *self = Self::Right(0);
                Ok((length, Progress::Right))
            }
            Self::Line(line) => {
                let length = input.iter().position(|byte| *byte == b'\n').map_or(input.len(), |at| at + 1);
                line.extend_from_slice(&input[..length]);
                if !line.ends_with(END) {
                    let long = line.len() > MAX_LINE_BYTES;
                    return if long {
                        Err("a line of an answer is too long".to_owned())
                    } else {
                        Ok((length, Progress::Partial))
                    };
                }
                let (next, progress) = judge(line)?;
                *self = next;
                Ok((length, progress))
            }
            Self::Rest(rest) => {
                let length = input.len().min(*rest);
                *rest -= length;
                if *rest > 0 {
                    return Ok((length, Progress::Partial));
                }
                *self = Self::Right(0);
                Ok((length, Progress::Wrong(None)))
            }
        }
    }
}

/// Returns the expected bytes after `at` bytes, up to the end of the current part, and the rest of the line.
fn expected<'a>(
    frames: &'a Frames,
    operation: Operation,
    lead: &'a [u8],
    matched: usize,
) -> (&'a [u8], usize) {
    if operation.is_set() {
        return (&OK[matched..], OK.len() - matched);
    }
    let parts = [&frames.answer_head, &lead[..frames.values.lead_bytes()], frames.values.body(), END];
    let mut at = matched;
    for (number, part) in parts.iter().enumerate() {
        if at < part.len() {
            return (&part[at..], if number == 0 { part.len() - at } else { 0 });
        }
        at -= part.len();
    }
    (&[], 0)
}

/// Determines the state after the complete first line of a wrong answer.
fn judge(line: &[u8]) -> Result<(Check, Progress), String> {
    match parse(line)? {
        Some((Answer::Error(text), _)) => {
            Ok((Check::Right(0), Progress::Wrong(Some(text.escape_ascii().to_string()))))
        }
        Some(_) => Ok((Check::Right(0), Progress::Wrong(None))),
        // A bulk string: the line contains its length.
        None => {
            let length =
                std::str::from_utf8(&line[1..line.len() - END.len()]).ok().and_then(|text| text.parse().ok());
            let length: usize = length.ok_or_else(|| format!("invalid answer `{}`", line.escape_ascii()))?;
            Ok((Check::Rest(length + END.len()), Progress::Partial))
        }
    }
}

#[cfg(test)]
mod tests {
    use netdyno_contender::kv::Values;

    use super::*;

    fn frames(value_bytes: usize) -> Frames {
        Frames::new(Box::leak(Box::new(Values::new(9, value_bytes))))
    }

    fn right(frames: &Frames, operation: Operation) -> Vec<u8> {
        if operation.is_set() {
            return OK.to_vec();
        }
        let mut answer = frames.answer_head.to_vec();
        frames.values.append(&mut answer, operation.key());
        answer.extend_from_slice(END);
        answer
    }

    /// Returns the results of an answer that is split at `cuts`.
    fn taken(
        frames: &Frames,
        operation: Operation,
        answer: &[u8],
        cuts: &[usize],
    ) -> Result<Vec<Progress>, String> {
        let (mut check, mut ended, mut from) = (Check::Right(0), Vec::new(), 0);
        for to in cuts.iter().copied().chain([answer.len()]) {
            let mut piece = &answer[from..to];
            from = to;
            while !piece.is_empty() {
                let (used, progress) = check.step(frames, operation, piece)?;
                piece = &piece[used..];
                if progress != Progress::Partial {
                    ended.push(progress);
                }
            }
        }
        assert!(matches!(check, Check::Right(0)), "{check:?}");
        Ok(ended)
    }

    #[test]
    fn right_answers_pass_wherever_they_are_split() {
        for value_bytes in [1, 3, 8, 20] {
            let frames = frames(value_bytes);
            for operation in [Operation::new(true, 5), Operation::new(false, 5)] {
                let answer = right(&frames, operation);
                assert_eq!(answer.len(), frames.answer_bytes(operation));
                for first in 0..=answer.len() {
                    for second in first..=answer.len() {
                        assert_eq!(
                            taken(&frames, operation, &answer, &[first, second]),
                            Ok(vec![Progress::Right]),
                            "{operation:?} {first} {second}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn wrong_answers_are_detected_and_the_next_one_is_found() {
        let frames = frames(20);
        let get = Operation::new(false, 5);
        let (set, good) = (Operation::new(true, 5), right(&frames, get));
        let mut flipped = good.clone();
        flipped[17] ^= 1;
        let as_simple = [b"+", &good[5..25], b"\r\n"].concat();
        let error = || Progress::Wrong(Some("ERR no".to_owned()));
        let rows: Vec<(Operation, &[u8], Progress)> = vec![
            (get, b"$-1\r\n", Progress::Wrong(None)),
            (get, b"$2\r\nab\r\n", Progress::Wrong(None)),
            (get, b"-ERR no\r\n", error()),
            (get, b"+OK\r\n", Progress::Wrong(None)),
            (get, b":1\r\n", Progress::Wrong(None)),
            (get, &flipped, Progress::Wrong(None)),
            (get, &as_simple, Progress::Wrong(None)),
            (set, b"-ERR no\r\n", error()),
            (set, b"+OX\r\n", Progress::Wrong(None)),
            (set, b"+QUEUED\r\n", Progress::Wrong(None)),
            (set, &good, Progress::Wrong(None)),
        ];
        for (operation, answer, wanted) in rows {
            let both = [answer, &right(&frames, operation)].concat();
            for cut in 0..both.len() {
                let ended = taken(&frames, operation, &both, &[cut]).unwrap();
                let next = Progress::Right;
                assert!(
                    ended.len() == 2 && ended[0] == wanted && ended[1] == next,
                    "{operation:?} {cut}: {ended:?}"
                );
            }
        }
    }

    #[test]
    fn invalid_answers_are_errors() {
        let frames = frames(20);
        for answer in [b"*1\r\n".as_slice(), b"HTTP/1.1 400\r\n", b"$x\r\n", &[b'+'; MAX_LINE_BYTES + 2]] {
            assert!(taken(&frames, Operation::new(false, 5), answer, &[]).is_err());
        }
    }
}
