//! Replicas of this server: each receives a copy of all keys, or resumes from its offset, and then every
//! change.
//!
//! All changes form one byte stream, the history. The backlog keeps its last bytes (`repl-backlog-size`) so
//! that a broken link can resume, and all bytes that a connected replica has not received. A replica that
//! falls too far behind is disconnected and has to start over. A copy is a snapshot that is sent while it is
//! produced; replicas that ask during a copy wait for the next one.

use std::collections::{BTreeMap, VecDeque};

use netdyno_io::tcp::Key;
use netdyno_kv_core::{Engine, SessionId, Timestamp};
use netdyno_resp::write_command;

use crate::limits::{
    DUMP_PART_BYTES, FEED_PART_BYTES, FEED_RETRY_US, FOLLOWER_BEHIND_BYTES, FOLLOWER_CHECK_US,
    FOLLOWER_PENDING_BYTES, PING_INTERVAL_US, SNAPSHOT_QUEUE_BYTES,
};
use crate::wire::Wire;

/// The output of all threads to replicas. Accessed with the lock on the engine.
#[derive(Default)]
pub(crate) struct Feed {
    /// A replica has connected at least once; from then on the backlog is kept.
    active: bool,
    /// The engine logs changes only for replication.
    owns_log: bool,
    /// Replicas of a history that has ended.
    cut: Vec<SessionId>,
    /// Other threads have data to send.
    has_new_data: bool,
    /// A copy is wanted while another snapshot is in progress; the time of the next attempt.
    again_us: u64,
    history: String,
    backlog: VecDeque<u8>,
    /// Offset in the history at which the backlog starts.
    start: u64,
    /// Bytes of this iteration's log that are already in the backlog.
    collected: usize,
    copy: Option<Copy>,
    followers: BTreeMap<SessionId, Follower>,
    ping_us: u64,
}

/// A copy in progress.
struct Copy {
    /// Offset in the history at which the copy was taken.
    base: u64,
    bytes: VecDeque<u8>,
    /// Bytes of the copy that every receiver has been sent.
    start: u64,
    whole: bool,
    mark: String,
}

struct Follower {
    thread: usize,
    key: Key,
    phase: Phase,
    /// Time of the last progress, and the number of acknowledgements.
    moved_us: u64,
    words: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Waits for the next copy.
    Waits,
    /// Has been sent this many bytes of the copy.
    Copies(u64),
    /// Has been sent the whole copy. A replica searches for the end mark only after it has read the copy, so
    /// the count of acknowledgements at that time is stored.
    Marked(u64, u64),
    /// Has been sent the history up to this offset.
    Follows(u64),
}

impl Feed {
    /// Registers a replica.
    pub(crate) fn attach(
        &mut self,
        engine: &mut Engine,
        now: Timestamp,
        session: SessionId,
        (thread, key): (usize, Key),
        asked: Option<(String, u64)>,
        output: &mut Vec<u8>,
    ) {
        self.begin(engine);
        self.collect_log(engine);
        let wanted =
            asked.filter(|(history, _)| *history == self.history).map(|(_, next)| next.wrapping_sub(1));
        let phase = match wanted.filter(|at| (self.start..=self.end()).contains(at)) {
            Some(at) => {
                output.extend_from_slice(format!("+CONTINUE {}\r\n", self.history).as_bytes());
                Phase::Follows(at)
            }
            None => Phase::Waits,
        };
        self.followers.insert(session, Follower { thread, key, phase, moved_us: now.monotonic_us, words: 0 });
    }

    fn begin(&mut self, engine: &mut Engine) {
        if !self.active {
            self.active = true;
            self.owns_log = !engine.is_recorded();
            if self.owns_log {
                engine.record_for_followers();
            }
            // The log of this iteration precedes the new history.
            self.collected = engine.take_log().len();
        }
        if self.history != engine.history() {
            // The keys were replaced, so no replica can resume from an earlier offset.
            self.history = engine.history().to_owned();
            self.start = self.end();
            self.backlog.clear();
            self.cut.extend(std::mem::take(&mut self.followers).into_keys());
            self.copy = None;
        }
    }

    fn end(&self) -> u64 {
        self.start + self.backlog.len() as u64
    }

    /// Appends new log bytes to the backlog.
    fn collect_log(&mut self, engine: &mut Engine) {
        let log = engine.take_log();
        let new = &log[self.collected.min(log.len())..];
        self.has_new_data |= !new.is_empty();
        self.backlog.extend(new);
        self.collected = log.len();
    }

    /// Called at the end of an iteration, before the log is written to the storage.
    pub(crate) fn finish_turn(&mut self, engine: &mut Engine) {
        if !self.active {
            return;
        }
        self.collect_log(engine);
        if self.owns_log {
            engine.take_log().clear();
        }
        self.collected = 0;
        engine.set_log_base(self.end());
    }

    /// Work of the leading thread for all replicas. Returns the sessions to disconnect.
    pub(crate) fn advance(&mut self, engine: &mut Engine, now: Timestamp) -> Vec<SessionId> {
        if !self.active {
            return Vec::new();
        }
        self.begin(engine);
        self.collect_log(engine);
        self.advance_copy(engine, now);
        if !self.followers.is_empty() && now.monotonic_us >= self.ping_us {
            self.ping_us = now.monotonic_us + PING_INTERVAL_US;
            self.append_command(engine, &[b"PING"]);
        }
        let mut lost = self.trim(engine);
        lost.append(&mut self.silent(engine, now));
        lost.append(&mut self.cut);
        lost.iter().for_each(|session| self.forget(*session));
        lost
    }

    /// Requests an acknowledgement from all replicas.
    pub(crate) fn request_acknowledgements(&mut self, engine: &mut Engine) {
        if self.active {
            self.append_command(engine, &[b"REPLCONF", b"GETACK", b"*"]);
        }
    }

    /// Appends a command to the history that is not a change.
    fn append_command(&mut self, engine: &mut Engine, words: &[&[u8]]) {
        self.collect_log(engine);
        let mut out = Vec::new();
        write_command(&mut out, words);
        self.backlog.extend(&out);
        self.has_new_data = true;
    }

    fn advance_copy(&mut self, engine: &mut Engine, now: Timestamp) {
        let waits = self.followers.values().any(|follower| follower.phase == Phase::Waits);
        if self.copy.is_none() && waits && now.monotonic_us >= self.again_us {
            if !engine.begin_feed(now) {
                self.again_us = now.monotonic_us + FEED_RETRY_US;
                return;
            }
            let mark = engine.draw_end_mark();
            self.copy = Some(Copy { base: self.end(), bytes: VecDeque::new(), start: 0, whole: false, mark });
            let copy = self.followers.values_mut().filter(|follower| follower.phase == Phase::Waits);
            copy.for_each(|follower| follower.phase = Phase::Copies(u64::MAX));
        }
        let Some(copy) = &mut self.copy else { return };
        if !copy.whole && copy.bytes.len() < SNAPSHOT_QUEUE_BYTES {
            let mut part = Vec::new();
            copy.whole = engine.snapshot(DUMP_PART_BYTES, &mut part);
            copy.bytes.extend(part);
            self.has_new_data = true;
        }
        let had = self.followers.values().filter_map(|follower| match follower.phase {
            Phase::Copies(u64::MAX) => Some(0),
            Phase::Copies(at) => Some(at),
            _ => None,
        });
        match had.min() {
            Some(had) => {
                copy.bytes.drain(..(had - copy.start) as usize);
                copy.start = had;
            }
            // Every receiver has the whole copy or has disconnected.
            None => {
                self.copy = None;
                engine.drop_feed();
            }
        }
    }

    /// Replicas without progress or acknowledgement for `repl-timeout`; a copy would otherwise wait for them
    /// forever.
    fn silent(&mut self, engine: &Engine, now: Timestamp) -> Vec<SessionId> {
        let most_s = engine.config("repl-timeout").and_then(|text| text.parse::<u64>().ok()).unwrap_or(60);
        let most_us = most_s.saturating_mul(1_000_000);
        for (session, follower) in &mut self.followers {
            let words = engine.follower_words(*session);
            if std::mem::replace(&mut follower.words, words) != words || follower.phase == Phase::Waits {
                follower.moved_us = now.monotonic_us;
            }
        }
        let silent = |follower: &Follower| now.monotonic_us.saturating_sub(follower.moved_us) > most_us;
        self.followers.iter().filter(|(_, follower)| silent(follower)).map(|(session, _)| *session).collect()
    }

    /// Trims the backlog. Returns replicas that are too far behind.
    fn trim(&mut self, engine: &Engine) -> Vec<SessionId> {
        let kept = engine.config("repl-backlog-size").and_then(|text| text.parse().ok()).unwrap_or(1 << 20);
        let end = self.end();
        let behind = |follower: &Follower| match follower.phase {
            Phase::Follows(at) | Phase::Marked(at, _) => end - at,
            Phase::Copies(_) => self.copy.as_ref().map_or(0, |copy| end - copy.base),
            Phase::Waits => 0,
        };
        let lost: Vec<SessionId> = self
            .followers
            .iter()
            .filter(|(_, follower)| behind(follower) > FOLLOWER_BEHIND_BYTES as u64)
            .map(|(session, _)| *session)
            .collect();
        let needed = self.followers.values().map(behind).max().unwrap_or(0).min(FOLLOWER_BEHIND_BYTES as u64);
        let most = usize::try_from(needed).unwrap_or(usize::MAX).max(kept);
        let over = self.backlog.len().saturating_sub(most);
        self.backlog.drain(..over);
        self.start += over as u64;
        lost
    }

    /// Sends pending data to the replicas of a thread. Returns the time of the next attempt if data remains.
    pub(crate) fn send(
        &mut self,
        engine: &Engine,
        now: Timestamp,
        thread: usize,
        wire: &mut Wire,
    ) -> Option<u64> {
        let (start, end) = (self.start, self.end());
        let (mut more, mut later) = (false, false);
        for (session, follower) in self.followers.iter_mut().filter(|(_, follower)| follower.thread == thread)
        {
            if wire.pending_output(follower.key) > FOLLOWER_PENDING_BYTES {
                later = true;
                continue;
            }
            if let (Phase::Copies(at), Some(copy)) = (follower.phase, &self.copy) {
                let out = wire.output(follower.key);
                let at = if at == u64::MAX {
                    out.extend_from_slice(
                        format!("+FULLRESYNC {} {}\r\n$EOF:", self.history, copy.base).as_bytes(),
                    );
                    out.extend_from_slice(copy.mark.as_bytes());
                    out.extend_from_slice(b"\r\n");
                    0
                } else {
                    at
                };
                let had = append(&copy.bytes, (at - copy.start) as usize, out) as u64 + at;
                follower.phase = Phase::Copies(had);
                if had > at {
                    (follower.moved_us, more) = (now.monotonic_us, true);
                }
                later = true;
                if copy.whole && had == copy.start + copy.bytes.len() as u64 {
                    out.extend_from_slice(copy.mark.as_bytes());
                    follower.phase = Phase::Marked(copy.base, engine.follower_words(*session));
                }
            }
            if let Phase::Marked(base, words) = follower.phase
                && engine.follower_words(*session) > words
            {
                follower.phase = Phase::Follows(base);
            }
            if let Phase::Follows(at) = follower.phase {
                let out = wire.output(follower.key);
                let at = at + append(&self.backlog, (at - start) as usize, out) as u64;
                follower.phase = Phase::Follows(at);
                more |= at < end;
            }
        }
        let soon = now.monotonic_us + FEED_RETRY_US;
        more.then_some(now.monotonic_us).or(later.then_some(soon))
    }

    pub(crate) fn forget(&mut self, session: SessionId) {
        self.followers.remove(&session);
    }

    /// Threads that have new data to send.
    pub(crate) fn take_threads_with_data(&mut self) -> impl Iterator<Item = usize> {
        let has_new_data = std::mem::take(&mut self.has_new_data);
        self.followers.values().filter(move |_| has_new_data).map(|follower| follower.thread)
    }

    /// When the leading thread has work next, on the monotonic clock.
    pub(crate) fn next_us(&self, now: Timestamp) -> Option<u64> {
        let soon = now.monotonic_us + FEED_RETRY_US;
        let copy = match &self.copy {
            Some(copy) if !copy.whole && copy.bytes.len() < SNAPSHOT_QUEUE_BYTES => Some(now.monotonic_us),
            Some(_) => Some(soon),
            None if self.followers.values().any(|follower| follower.phase == Phase::Waits) => {
                Some(self.again_us.max(now.monotonic_us))
            }
            None => None,
        };
        // Liveness is checked once a second.
        let look = self.ping_us.min(now.monotonic_us + FOLLOWER_CHECK_US);
        (!self.followers.is_empty()).then(|| copy.map_or(look, |at| at.min(look)))
    }
}

/// Appends bytes from `at`, up to the limit of one send. Returns their number.
fn append(bytes: &VecDeque<u8>, at: usize, out: &mut Vec<u8>) -> usize {
    let end = bytes.len().min(at + FEED_PART_BYTES);
    let (first, second) = bytes.as_slices();
    out.extend_from_slice(first.get(at..end.min(first.len())).unwrap_or_default());
    let (from, to) = (at.saturating_sub(first.len()), end.saturating_sub(first.len()));
    out.extend_from_slice(second.get(from..to).unwrap_or_default());
    end - at
}
