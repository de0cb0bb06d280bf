//! The phase `verify`: every kind of answer once, and every byte.

use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;

use super::limits::{READ_BYTES, VERIFY_BATCH_BYTES, VERIFY_LINKS};
use super::{Answer, GET_BYTES, Job, Values, append_command, append_get, append_set, parse};
use crate::{Digest, fill};

/// What goes into `verified`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Verified {
    /// Of the values of the connections' own keys, as read back.
    pub digest: Digest,
    /// How many these were.
    pub messages: u64,
    /// And their bytes.
    pub bytes: u64,
}

/// Goes through the phase: first the connections' own keys, then all of the job's keys are written and read back.
pub fn verify(job: &Job, links: &mut [TcpStream]) -> Result<Verified, String> {
    let mut talk = Talk::default();
    let mut verified = Verified::default();
    let group = (VERIFY_BATCH_BYTES * VERIFY_LINKS / (job.value_bytes + GET_BYTES)).clamp(1, VERIFY_LINKS);
    for (at, links) in links.chunks_mut(group).enumerate() {
        for number in 0..job.verify_keys {
            own_keys(job, links, at * group, number, &mut talk, &mut verified)?;
        }
    }
    let values = Values::new(job.seed, job.value_bytes);
    for set in [true, false] {
        all_keys(job, links, &values, set, &mut talk)?;
    }
    Ok(verified)
}

/// Key `number` of each of these connections, the first of which is number `first`: GET, SET, GET.
fn own_keys(
    job: &Job,
    links: &mut [TcpStream],
    first: usize,
    number: u64,
    talk: &mut Talk,
    verified: &mut Verified,
) -> Result<(), String> {
    let key = |at: usize| format!("verify:{}:{number}", first + at).into_bytes();
    let mut value = vec![0; job.value_bytes];
    talk.round(
        links,
        1,
        |out, at| append_command(out, &[b"GET", &key(at)]),
        |at, answer| {
            matches!(answer, Answer::Null).then_some(()).ok_or_else(|| wrong("GET", &key(at), "null", answer))
        },
    )?;
    let mut expected = value.clone();
    let set = |out: &mut Vec<u8>, at: usize| {
        fill(&mut value, job.seed, (first + at) as u32, number);
        append_command(out, &[b"SET", &key(at), &value]);
    };
    talk.round(links, 1, set, |at, answer| match answer {
        Answer::Simple(b"OK") => Ok(()),
        _ => Err(wrong("SET", &key(at), "OK", answer)),
    })?;
    talk.round(
        links,
        1,
        |out, at| append_command(out, &[b"GET", &key(at)]),
        |at, answer| {
            fill(&mut expected, job.seed, (first + at) as u32, number);
            if answer != Answer::Bulk(&expected) {
                return Err(wrong("GET", &key(at), "the value that was set", answer));
            }
            verified.digest.add(&expected);
            verified.messages += 1;
            verified.bytes += expected.len() as u64;
            Ok(())
        },
    )
}

/// Writes all keys, or reads them: the connections in turn take as many as a batch has.
fn all_keys(
    job: &Job,
    links: &mut [TcpStream],
    values: &Values,
    set: bool,
    talk: &mut Talk,
) -> Result<(), String> {
    let fitting = (VERIFY_BATCH_BYTES / (job.value_bytes + 2 * GET_BYTES)).max(1);
    let batch = job.pipeline.min(fitting) as u64;
    let group = (VERIFY_LINKS * fitting / batch as usize).clamp(1, VERIFY_LINKS).min(links.len());
    let links = &mut links[..];
    let (mut done, mut turn) = (0, 0);
    while done < job.keys {
        // The keys that are left, in batches, the last of which may be shorter: a round of its own.
        let whole = (job.keys - done) / batch;
        let (count, of) = if whole == 0 { (1, job.keys - done) } else { (whole.min(group as u64), batch) };
        let from = if turn + count as usize > links.len() { 0 } else { turn };
        let members = &mut links[from..from + count as usize];
        turn = from + count as usize;
        let requests = |out: &mut Vec<u8>, at: usize| {
            for key in done + at as u64 * of..done + (at as u64 + 1) * of {
                if set { append_set(out, key, values) } else { append_get(out, key) }
            }
        };
        let mut awaited: Vec<u64> = (0..count).map(|at| done + at * of).collect();
        talk.round(members, of, requests, |at, answer| {
            let key = awaited[at];
            awaited[at] += 1;
            let right = match answer {
                Answer::Simple(b"OK") => set,
                Answer::Bulk(value) => !set && values.is(key, value),
                _ => false,
            };
            let (command, wanted) = if set { ("SET", "OK") } else { ("GET", "the value that was set") };
            right.then_some(()).ok_or_else(|| wrong(command, &super::key_name(key), wanted, answer))
        })?;
        done += count * of;
    }
    Ok(())
}

fn wrong(command: &str, key: &[u8], wanted: &str, answer: Answer<'_>) -> String {
    format!("verify: {command} {} was answered by {}, not by {wanted}", key.escape_ascii(), answer.describe())
}

/// Rounds of requests: all of them are written, then all answers read.
#[derive(Default)]
struct Talk {
    out: Vec<u8>,
    input: Input,
}

impl Talk {
    /// Each link is written what `requests` appends for it, and then has to answer so many times.
    fn round(
        &mut self,
        links: &mut [TcpStream],
        answers: u64,
        mut requests: impl FnMut(&mut Vec<u8>, usize),
        mut check: impl FnMut(usize, Answer<'_>) -> Result<(), String>,
    ) -> Result<(), String> {
        for (at, link) in links.iter_mut().enumerate() {
            self.out.clear();
            requests(&mut self.out, at);
            link.write_all(&self.out).map_err(|error| told(&error))?;
        }
        for (at, link) in links.iter_mut().enumerate() {
            for _ in 0..answers {
                check(at, self.input.answer(link).map_err(|error| told(&error))?)?;
            }
            self.input.expect_end()?;
        }
        Ok(())
    }
}

fn told(error: &io::Error) -> String {
    match error.kind() {
        ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset | ErrorKind::BrokenPipe => {
            "verify: the server closed a connection".to_owned()
        }
        ErrorKind::WouldBlock | ErrorKind::TimedOut => "verify: the server does not answer".to_owned(),
        _ => format!("verify: {error}"),
    }
}

/// What has come and was not looked at yet, of one connection at a time.
#[derive(Debug, Default)]
pub(super) struct Input {
    bytes: Vec<u8>,
    from: usize,
    to: usize,
}

impl Input {
    /// The next answer; waits for it.
    pub(super) fn answer(&mut self, link: &mut impl Read) -> io::Result<Answer<'_>> {
        loop {
            let found = parse(&self.bytes[self.from..self.to]);
            match found.map_err(|reason| io::Error::new(ErrorKind::InvalidData, reason))? {
                Some((_, length)) => {
                    // Parsed again: the borrow of the first would last for the whole loop.
                    let answer = &self.bytes[self.from..self.from + length];
                    self.from += length;
                    let again = parse(answer).ok().flatten();
                    return Ok(again.expect("the same bytes were an answer right now").0);
                }
                None => self.read(link)?,
            }
        }
    }

    /// Nothing more may have come than was asked for.
    fn expect_end(&mut self) -> Result<(), String> {
        if self.from < self.to {
            return Err("verify: more answers than requests".to_owned());
        }
        Ok(())
    }

    fn read(&mut self, link: &mut impl Read) -> io::Result<()> {
        self.bytes.copy_within(self.from..self.to, 0);
        (self.from, self.to) = (0, self.to - self.from);
        if self.bytes.len() < self.to + READ_BYTES {
            // Doubled, so that a long value is parsed few times.
            self.bytes.resize(2 * self.to + READ_BYTES, 0);
        }
        match link.read(&mut self.bytes[self.to..]) {
            Ok(0) => Err(ErrorKind::UnexpectedEof.into()),
            Ok(more) => {
                self.to += more;
                Ok(())
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => Ok(()),
            Err(error) => Err(error),
        }
    }
}
