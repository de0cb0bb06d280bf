//! The phase `verify`: each type of answer, with every byte compared.

use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;

use super::limits::{READ_BYTES, VERIFY_BATCH, VERIFY_BATCH_BYTES, VERIFY_LINKS};
use super::{Answer, GET_BYTES, Job, Values, append_command, append_get, append_set, parse};
use crate::{Digest, fill};

/// The content of `verified`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Verified {
    /// The digest of the values of the connections' own keys, as read back.
    pub digest: Digest,
    /// The number of these values.
    pub messages: u64,
    /// Their total length.
    pub bytes: u64,
}

/// Runs the phase: writes and reads back first the connections' own keys, then all keys of the job.
pub fn verify(job: &Job, links: &mut [TcpStream]) -> Result<Verified, String> {
    let mut batches = Batches::default();
    let mut verified = Verified::default();
    let group = (VERIFY_BATCH_BYTES * VERIFY_LINKS / (job.value_bytes + GET_BYTES)).clamp(1, VERIFY_LINKS);
    for (at, links) in links.chunks_mut(group).enumerate() {
        for number in 0..job.verify_keys {
            own_keys(job, links, at * group, number, &mut batches, &mut verified)?;
        }
    }
    let values = Values::new(job.seed, job.value_bytes);
    for set in [true, false] {
        all_keys(job, links, &values, set, &mut batches)?;
    }
    Ok(verified)
}

/// Performs GET, SET and GET of key `number` of each of these connections, the first of which has the number `first`.
fn own_keys(
    job: &Job,
    links: &mut [TcpStream],
    first: usize,
    number: u64,
    batches: &mut Batches,
    verified: &mut Verified,
) -> Result<(), String> {
    let key = |at: usize| format!("verify:{}:{number}", first + at).into_bytes();
    let mut value = vec![0; job.value_bytes];
    batches.round(
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
    batches.round(links, 1, set, |at, answer| match answer {
        Answer::Simple(b"OK") => Ok(()),
        _ => Err(wrong("SET", &key(at), "OK", answer)),
    })?;
    batches.round(
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

/// Writes or reads all keys in batches, which are distributed over the connections in turn.
fn all_keys(
    job: &Job,
    links: &mut [TcpStream],
    values: &Values,
    set: bool,
    batches: &mut Batches,
) -> Result<(), String> {
    let fitting = (VERIFY_BATCH_BYTES / (job.value_bytes + 2 * GET_BYTES)).max(1);
    let batch = VERIFY_BATCH.min(fitting) as u64;
    let group = VERIFY_LINKS.min(links.len());
    let (mut done, mut turn) = (0, 0);
    while done < job.keys {
        // A shorter last batch gets its own round.
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
        batches.round(members, of, requests, |at, answer| {
            let key = awaited[at];
            awaited[at] += 1;
            let right = match answer {
                Answer::Simple(b"OK") => set,
                Answer::Bulk(value) => !set && values.matches(key, value),
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
    format!("verify: {command} {} returned {}, expected {wanted}", key.escape_ascii(), answer.describe())
}

/// Rounds of requests: a round writes all requests, then reads all answers.
#[derive(Default)]
struct Batches {
    out: Vec<u8>,
    input: Input,
}

impl Batches {
    /// Sends the requests that `requests` appends for each link, and checks `answers` answers of each.
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
            link.write_all(&self.out).map_err(|error| describe(&error))?;
        }
        for (at, link) in links.iter_mut().enumerate() {
            for _ in 0..answers {
                check(at, self.input.answer(link).map_err(|error| describe(&error))?)?;
            }
            self.input.expect_end()?;
        }
        Ok(())
    }
}

fn describe(error: &io::Error) -> String {
    match error.kind() {
        ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset | ErrorKind::BrokenPipe => {
            "verify: the server closed a connection".to_owned()
        }
        ErrorKind::WouldBlock | ErrorKind::TimedOut => "verify: the server did not answer in time".to_owned(),
        _ => format!("verify: {error}"),
    }
}

/// Received bytes that have not been parsed, of one connection at a time.
#[derive(Debug, Default)]
pub(super) struct Input {
    bytes: Vec<u8>,
    from: usize,
    to: usize,
}

impl Input {
    /// Waits for the next answer.
    pub(super) fn answer(&mut self, link: &mut impl Read) -> io::Result<Answer<'_>> {
        loop {
            let found = parse(&self.bytes[self.from..self.to]);
            match found.map_err(|reason| io::Error::new(ErrorKind::InvalidData, reason))? {
                Some((_, length)) => {
                    // Parsed again, because the borrow of the first result would last for the whole loop.
                    let answer = &self.bytes[self.from..self.from + length];
                    self.from += length;
                    let again = parse(answer).ok().flatten();
                    return Ok(again.expect("the same bytes were parsed as an answer before").0);
                }
                None => self.read(link)?,
            }
        }
    }

    /// Checks that no bytes follow the expected answers.
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
            // The buffer doubles, so that a long value is parsed only a few times.
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

#[cfg(test)]
mod tests {
    use std::collections::HashMap;
    use std::io::{BufRead, BufReader};
    use std::net::TcpListener;
    use std::sync::{Arc, Mutex};

    use serde_json::json;

    use super::*;
    use crate::Lab;
    use crate::kv::{NULL, SETUP_KEY, connect};

    type Store = Arc<Mutex<HashMap<Vec<u8>, Vec<u8>>>>;

    /// Reads a word of a request.
    fn word(link: &mut impl BufRead) -> Option<Vec<u8>> {
        let mut line = String::new();
        link.read_line(&mut line).ok().filter(|length| *length > 0)?;
        let mut word = vec![0; line[1..].trim().parse::<usize>().unwrap() + 2];
        link.read_exact(&mut word).ok()?;
        word.truncate(word.len() - 2);
        Some(word)
    }

    /// A server with one thread per connection. `spoil` may change an answer to a GET.
    fn serve(store: &Store, spoil: fn(&[u8], Vec<u8>) -> Vec<u8>) -> std::net::SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let store = Arc::clone(store);
        std::thread::spawn(move || {
            for link in listener.incoming() {
                let (mut out, store) = (link.unwrap(), Arc::clone(&store));
                out.set_nodelay(true).unwrap();
                let mut link = BufReader::new(out.try_clone().unwrap());
                std::thread::spawn(move || {
                    let mut head = String::new();
                    while link.read_line(&mut head).is_ok_and(|length| length > 0) {
                        let count = head[1..].trim().parse().unwrap();
                        let words: Option<Vec<_>> = (0..count).map(|_| word(&mut link)).collect();
                        let Some(words) = words else { return };
                        let answer = match &words[..] {
                            [_, key] if key == SETUP_KEY => NULL.to_vec(),
                            [_, key] => {
                                let value = store.lock().unwrap().get(key).cloned();
                                let bulk = |value: Vec<u8>| {
                                    [format!("${}\r\n", value.len()).as_bytes(), &value, b"\r\n"].concat()
                                };
                                spoil(key, value.map_or_else(|| b"$-1\r\n".to_vec(), bulk))
                            }
                            _ => {
                                store.lock().unwrap().insert(words[1].clone(), words[2].clone());
                                b"+OK\r\n".to_vec()
                            }
                        };
                        out.write_all(&answer).unwrap();
                        head.clear();
                    }
                });
            }
        });
        address
    }

    fn job(connections: usize, pipeline: usize, value_bytes: usize, keys: u64) -> Job {
        let setup = json!({
            "protocol": 1, "workload": "kv", "role": "load", "seed": 3, "local": "127.0.0.1", "peer": "127.0.0.1",
            "params": { "connections": connections, "pipeline": pipeline, "value_bytes": value_bytes, "keys": keys, "set_percent": 50,
                        "distribution": "uniform", "rate": 0, "pacing": "spin", "seconds": 1.0, "verify_keys": 2 },
        });
        Job::new(Lab::for_tests(), &serde_json::from_value(setup).unwrap(), "load")
    }

    fn verified(job: &Job, spoil: fn(&[u8], Vec<u8>) -> Vec<u8>) -> (Result<Verified, String>, Store) {
        let store = Store::default();
        let (mut links, _) = connect(serve(&store, spoil), job.connections).unwrap();
        (verify(job, &mut links), store)
    }

    #[test]
    fn all_keys_exist_after_verify() {
        for (connections, pipeline, value_bytes, keys) in
            [(1, 1, 1, 1), (3, 4, 3, 1050), (70, 7, 20, 16_000), (5, 100, 70_000, 13), (2, 3, 5, 100)]
        {
            let job = job(connections, pipeline, value_bytes, keys);
            let (result, store) = verified(&job, |_, answer| answer);
            let (mut digest, mut message) = (Digest::default(), vec![0; value_bytes]);
            for (connection, number) in (0..connections).flat_map(|c| [(c, 0), (c, 1)]) {
                fill(&mut message, 3, connection as u32, number);
                digest.add(&message);
                let key = format!("verify:{connection}:{number}").into_bytes();
                assert_eq!(store.lock().unwrap().remove(&key).as_ref(), Some(&message));
            }
            let messages = 2 * connections as u64;
            assert_eq!(result, Ok(Verified { digest, messages, bytes: messages * value_bytes as u64 }));
            let (values, store) = (Values::new(3, value_bytes), store.lock().unwrap());
            assert_eq!(store.len() as u64, keys);
            for key in 0..keys {
                assert!(values.matches(key, &store[super::super::key_name(key).as_slice()]), "{key}");
            }
        }
    }

    #[test]
    fn a_wrong_answer_is_reported_with_its_key() {
        type Row = (fn(&[u8], Vec<u8>) -> Vec<u8>, &'static str);
        let rows: [Row; 5] = [
            (
                |_, _| b"$1\r\nx\r\n".to_vec(),
                "verify: GET verify:0:0 returned the bulk string `x`, expected null",
            ),
            (
                |key, answer| {
                    if key == b"verify:0:1" && answer.len() > 5 { b"$-1\r\n".to_vec() } else { answer }
                },
                "verify: GET verify:0:1 returned null, expected the value that was set",
            ),
            (
                |key, answer| if key == b"key:000000000004" { b"-ERR no\r\n".to_vec() } else { answer },
                "verify: GET key:000000000004 returned the error `ERR no`, expected the value that was set",
            ),
            (
                |key, answer| if key == b"key:000000000004" { [b"+", &answer[4..]].concat() } else { answer },
                "verify: GET key:000000000004 returned the simple string",
            ),
            (|_, _| b"*0\r\n".to_vec(), "verify: unexpected type of answer: `*`"),
        ];
        for (spoil, wanted) in rows {
            let message = verified(&job(1, 3, 3, 10), spoil).0.unwrap_err();
            assert!(message.starts_with(wanted), "{message}, not {wanted}");
        }
    }
}
