//! An incremental parser that relies on the known form of requests.

use netdyno_contender::kv::SETUP_KEY;

use crate::table::{Slot, Table, number};

/// Maximum length of a request's head, which ends before the value of a SET.
const MAX_HEAD_BYTES: usize = 256;
const END_BYTES: usize = 2;

/// An answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// To a GET of a key that is never written.
    Null,
    Ok,
    Value(Slot),
}

/// The received part of a connection's current request.
#[derive(Debug, Default)]
pub struct Reader {
    /// An incomplete head of a request.
    head: Vec<u8>,
    /// The slot of a value that is being received, the received length, and the remaining length including the CRLF.
    setting: Option<(Slot, usize, usize)>,
}

/// The head of a request.
enum Head {
    /// A GET of a key that is never written.
    Setup,
    Get(Slot),
    /// A SET of a value of this length.
    Set(Slot, usize),
}

impl Reader {
    /// Parses received bytes and reports each complete request.
    pub fn take(
        &mut self,
        table: &mut Table,
        mut input: &[u8],
        mut on_answer: impl FnMut(Answer),
    ) -> Result<(), String> {
        while !input.is_empty() {
            if let Some((slot, from, left)) = self.setting {
                let length = left.min(input.len());
                table.put(slot, from, &input[..length.min(left.saturating_sub(END_BYTES))]);
                input = &input[length..];
                self.setting = (length < left).then_some((slot, from + length, left - length));
                if self.setting.is_none() {
                    on_answer(Answer::Ok);
                }
                continue;
            }
            let used = if self.head.is_empty() {
                let Some((head, used)) = head(table, input)? else {
                    self.head.extend_from_slice(input);
                    return Ok(());
                };
                self.begin(head, &mut on_answer);
                used
            } else {
                // Append only as many bytes as complete the head.
                let held = self.head.len();
                self.head.extend_from_slice(&input[..input.len().min(MAX_HEAD_BYTES)]);
                let Some((head, used)) = head(table, &self.head)? else {
                    if self.head.len() > MAX_HEAD_BYTES {
                        return Err("the head of a request is too long".to_owned());
                    }
                    return Ok(());
                };
                self.head.clear();
                self.begin(head, &mut on_answer);
                used - held
            };
            input = &input[used..];
        }
        Ok(())
    }

    fn begin(&mut self, head: Head, on_answer: &mut impl FnMut(Answer)) {
        match head {
            Head::Setup => on_answer(Answer::Null),
            Head::Get(slot) => on_answer(Answer::Value(slot)),
            Head::Set(slot, length) => self.setting = Some((slot, 0, length + END_BYTES)),
        }
    }
}

/// Parses the head of the first request and its length. Returns `None` if more bytes are needed.
#[inline]
fn head(table: &Table, input: &[u8]) -> Result<Option<(Head, usize)>, String> {
    // `*2 CRLF $3 CRLF GET CRLF $16 CRLF`: the command's first letter is at 8.
    const COMMAND: usize = 8;
    const KEY_LENGTH: usize = 13;
    let wrong = || {
        Err(format!(
            "not SET or GET of a key of the workload: `{}`",
            input[..input.len().min(64)].escape_ascii()
        ))
    };
    if input.len() <= COMMAND {
        return Ok(None);
    }
    match (input[1], input[COMMAND]) {
        (b'2', b'G') | (b'3', b'S') => {}
        _ => return wrong(),
    }
    let Some((key_bytes, at)) = line(input, KEY_LENGTH + 1) else { return Ok(None) };
    let end = at + key_bytes + END_BYTES;
    if input.len() < end {
        return Ok(None);
    }
    let key = &input[at..at + key_bytes];
    let Some(slot) = table.slot(key) else {
        return if input[1] == b'2' && key == SETUP_KEY { Ok(Some((Head::Setup, end))) } else { wrong() };
    };
    if input[1] == b'2' {
        return Ok(Some((Head::Get(slot), end)));
    }
    let Some((value_bytes, at)) = line(input, end + 1) else { return Ok(None) };
    if value_bytes != table.value_bytes() {
        return Err(format!("value of {value_bytes} bytes, expected {}", table.value_bytes()));
    }
    Ok(Some((Head::Set(slot, value_bytes), at)))
}

/// Parses the number at `from`, and returns it with the offset of the next line.
#[inline]
fn line(input: &[u8], from: usize) -> Option<(usize, usize)> {
    let length = input.get(from..)?.iter().position(|byte| *byte == b'\n')?;
    let digits = &input[from..from + length.saturating_sub(1)];
    Some((number(digits).unwrap_or(u64::MAX >> 1) as usize, from + length + 1))
}
