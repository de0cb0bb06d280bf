//! Whether an answer is the right one, wherever it is cut: what is right is compared as it comes, and nothing is put together.

use netdyno_contender::kv::{Answer, parse};

use crate::draw::Operation;
use crate::frames::{END, Frames, OK};

/// Longest line of a wrong answer.
const MAX_LINE_BYTES: usize = 64 << 10;

/// What has come of an answer.
#[derive(Debug)]
pub enum Check {
    /// So many bytes, all of them right.
    Right(usize),
    /// It is wrong; the line that it begins with, so far.
    Line(Vec<u8>),
    /// It is wrong; so many bytes of it are to come.
    Rest(usize),
}

/// What became of an answer by some more bytes.
#[derive(Debug, PartialEq, Eq)]
pub enum Progress {
    Partial,
    Right,
    /// All of it was taken, and it is wrong: the error that it is, if it is one.
    Wrong(Option<String>),
}

impl Check {
    /// Takes the next bytes of the answer to this operation; says how many of them are done with. An error is what no
    /// answer begins with: the connection cannot be read any further.
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
                        Err("an answer's line is too long".to_owned())
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

/// What the right answer goes on with after so many bytes, up to the end of its part; and what is left of its line.
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

/// What follows on the whole line that a wrong answer begins with.
fn judge(line: &[u8]) -> Result<(Check, Progress), String> {
    match parse(line)? {
        Some((Answer::Error(text), _)) => {
            Ok((Check::Right(0), Progress::Wrong(Some(text.escape_ascii().to_string()))))
        }
        Some(_) => Ok((Check::Right(0), Progress::Wrong(None))),
        // A bulk string: the line says how long.
        None => {
            let length =
                std::str::from_utf8(&line[1..line.len() - END.len()]).ok().and_then(|text| text.parse().ok());
            let length: usize = length.ok_or_else(|| format!("the answer `{}`", line.escape_ascii()))?;
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

    /// Everything that becomes of an answer that comes in pieces which end where `cuts` says.
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
    fn right_answers_are_right_wherever_they_are_cut() {
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
    fn wrong_answers_are_wrong_wherever_they_are_cut_and_the_next_is_found() {
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
    fn what_is_no_answer_is_an_error() {
        let frames = frames(20);
        for answer in [b"*1\r\n".as_slice(), b"HTTP/1.1 400\r\n", b"$x\r\n", &[b'+'; MAX_LINE_BYTES + 2]] {
            assert!(taken(&frames, Operation::new(false, 5), answer, &[]).is_err());
        }
    }
}
