//! The server: each connection has a queue of answers, which are encoded when they are sent.

use std::collections::VecDeque;

use netdyno_contender::kv::NULL;
use netdyno_contender::kv::turns::{Outbox, Service, Wait};

use crate::requests::{Answer, Reader};
use crate::table::Table;

/// Values up to this length are copied into the send buffer; longer ones are passed to the kernel without a copy.
const COPIED_BYTES: usize = 1024;
const OK: &[u8] = b"+OK\r\n";
const END: &[u8] = b"\r\n";

#[derive(Default)]
struct Connection {
    reader: Reader,
    answers: VecDeque<Answer>,
    /// The sent length of the first answer.
    sent: usize,
    /// The number of answers in the last written message, and its length.
    written: (usize, usize),
}

pub struct Server {
    table: Table,
    /// The head of an answer with a value.
    head: Box<[u8]>,
    connections: Vec<Connection>,
}

impl Server {
    pub fn new(table: Table) -> Self {
        let head = format!("${}\r\n", table.value_bytes()).into_bytes().into();
        Self { table, head, connections: Vec::new() }
    }

    fn answer_bytes(&self, answer: Answer) -> usize {
        match answer {
            Answer::Null => NULL.len(),
            Answer::Ok => OK.len(),
            Answer::Value(slot) => match self.table.get(slot) {
                None => NULL.len(),
                Some(value) => self.head.len() + value.len() + END.len(),
            },
        }
    }
}

impl Service for Server {
    fn turn(&mut self, _: &mut Vec<usize>) -> Wait {
        Wait::Long
    }

    fn received(&mut self, number: usize, bytes: &[u8], _: u64) -> Result<bool, String> {
        let Connection { reader, answers, .. } = &mut self.connections[number];
        reader.take(&mut self.table, bytes, |answer| answers.push_back(answer))?;
        Ok(!answers.is_empty())
    }

    fn write(&mut self, number: usize, out: &mut Outbox) {
        let connection = &mut self.connections[number];
        let (mut count, mut bytes) = (0, 0);
        for answer in &connection.answers {
            let (line, value) = match answer {
                Answer::Null => (NULL, None),
                Answer::Ok => (OK, None),
                Answer::Value(slot) => match self.table.get(*slot) {
                    None => (NULL, None),
                    Some(value) => (&*self.head, Some(value)),
                },
            };
            let value = value.unwrap_or(&[]);
            let end = if value.is_empty() { b"" } else { END };
            let whole = line.len() + value.len() + end.len();
            let copied = if value.len() <= COPIED_BYTES { whole } else { whole - value.len() };
            if !out.has_room(copied) {
                break;
            }
            if copied == whole {
                let space = out.space(whole);
                space[..line.len()].copy_from_slice(line);
                space[line.len()..whole - end.len()].copy_from_slice(value);
                space[whole - end.len()..].copy_from_slice(end);
            } else {
                out.space(line.len()).copy_from_slice(line);
                out.lend(value);
                out.space(end.len()).copy_from_slice(end);
            }
            count += 1;
            bytes += whole;
        }
        out.skip(connection.sent);
        connection.written = (count, bytes - connection.sent);
    }

    fn sent(&mut self, number: usize, bytes: usize) {
        let connection = &mut self.connections[number];
        if bytes == connection.written.1 {
            connection.sent = 0;
            if connection.written.0 == connection.answers.len() {
                connection.answers.clear();
            } else {
                connection.answers.drain(..connection.written.0);
            }
            return;
        }
        let mut sent = connection.sent + bytes;
        while let Some(answer) = self.connections[number].answers.front().copied() {
            let whole = self.answer_bytes(answer);
            if sent < whole {
                break;
            }
            sent -= whole;
            self.connections[number].answers.pop_front();
        }
        self.connections[number].sent = sent;
    }

    fn unsent(&self, number: usize) -> bool {
        !self.connections[number].answers.is_empty()
    }

    fn opened(&mut self, number: usize) -> Result<(), String> {
        debug_assert_eq!(number, self.connections.len());
        self.connections.push(Connection::default());
        Ok(())
    }

    fn closed(&mut self, number: usize, _: &str) -> Result<(), String> {
        self.connections[number] = Connection::default();
        Ok(())
    }
}
