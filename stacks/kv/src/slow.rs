//! SLOWLOG and LATENCY: the time that commands take.
//!
//! The core has no clock; the host can set one ([`Engine::set_stopwatch`](crate::Engine::set_stopwatch)). It
//! is read twice per command that can take long, and for other commands only if the thresholds are low: with
//! default settings, GET and SET are not timed.

use std::collections::{BTreeMap, VecDeque};

use crate::args::is;
use crate::config::Config;
use crate::limits::{
    LATENCY_SAMPLES, SLOWLOG_ARGUMENT_BYTES, SLOWLOG_ARGUMENTS, SLOWLOG_MAX, TIMED_ALL_BELOW_US,
};
use crate::session::Session;
use crate::spec::{Flags, Spec};

/// Replaces an argument that may be a password.
const REDACTED: &[u8] = b"(redacted)";

/// A slow command.
#[derive(Debug, Clone)]
pub(crate) struct SlowCommand {
    pub(crate) number: u64,
    pub(crate) unix_s: u64,
    pub(crate) took_us: u64,
    pub(crate) args: Vec<Vec<u8>>,
    pub(crate) peer: Box<str>,
    pub(crate) name: Box<[u8]>,
}

/// Samples of an event: Unix time in seconds, and milliseconds.
#[derive(Debug, Default, Clone)]
pub(crate) struct LatencyEvent {
    pub(crate) samples: VecDeque<(u64, u64)>,
    pub(crate) most_ms: u64,
}

/// Which commands are timed.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Timed {
    #[default]
    None,
    /// Commands whose time depends on the amount of data.
    Long,
    All,
}

#[derive(Debug, Default)]
pub(crate) struct SlowLog {
    stopwatch: Option<fn() -> u64>,
    timed: Timed,
    /// `None` disables the log.
    log_us: Option<u64>,
    log_most: usize,
    /// 0 disables the samples.
    latency_ms: u64,
    pub(crate) log: VecDeque<SlowCommand>,
    numbers: u64,
    pub(crate) events: BTreeMap<&'static str, LatencyEvent>,
}

impl SlowLog {
    pub(crate) fn set_stopwatch(&mut self, stopwatch: fn() -> u64) {
        self.stopwatch = Some(stopwatch);
    }

    /// Applies the configuration.
    pub(crate) fn configure(&mut self, config: &Config) {
        let text = config.get("slowlog-log-slower-than").unwrap_or_default();
        self.log_us = text.parse().ok();
        self.log_most = config.number("slowlog-max-len").min(SLOWLOG_MAX);
        self.latency_ms = config.number("latency-monitor-threshold") as u64;
        self.timed = match (self.log_us, self.latency_ms) {
            (Some(us), _) if us < TIMED_ALL_BELOW_US => Timed::All,
            (None, 0) => Timed::None,
            _ => Timed::Long,
        };
        self.log.truncate(self.log_most);
    }

    /// Whether fast commands are timed too.
    pub(crate) fn times_all(&self) -> bool {
        self.timed == Timed::All
    }

    /// The start time, if this command is timed.
    #[inline]
    pub(crate) fn begin(&self, command: &Spec) -> Option<u64> {
        let is_timed = match self.timed {
            Timed::None => false,
            Timed::Long => !command.is_fast(),
            Timed::All => true,
        };
        if is_timed { self.stopwatch.map(|now_us| now_us()) } else { None }
    }

    /// Records a command that has finished without blocking.
    pub(crate) fn end(
        &mut self,
        begun_us: u64,
        unix_ms: u64,
        command: &Spec,
        args: &[&[u8]],
        session: Option<&Session>,
    ) {
        let Some(now_us) = self.stopwatch else { return };
        let (took_us, unix_s) = (now_us().saturating_sub(begun_us), unix_ms / 1000);
        if self.latency_ms > 0 && took_us / 1000 >= self.latency_ms {
            let kind = if command.flags.contains(Flags::FAST) { "fast-command" } else { "command" };
            self.events.entry(kind).or_default().add(unix_s, took_us / 1000);
        }
        let slow = self.log_us.is_some_and(|least| took_us >= least);
        let Some(session) = session.filter(|_| slow && self.log_most > 0) else { return };
        self.log.truncate(self.log_most - 1);
        self.log.push_front(SlowCommand {
            number: self.numbers,
            unix_s,
            took_us,
            args: shortened(&redacted(command.name, args)),
            peer: session.peer.clone(),
            name: session.name.clone(),
        });
        self.numbers += 1;
    }
}

impl LatencyEvent {
    /// Keeps the maximum per second.
    fn add(&mut self, unix_s: u64, ms: u64) {
        self.most_ms = self.most_ms.max(ms);
        if let Some((_, longest)) = self.samples.back_mut().filter(|(at, _)| *at == unix_s) {
            *longest = ms.max(*longest);
            return;
        }
        if self.samples.len() == LATENCY_SAMPLES {
            self.samples.pop_front();
        }
        self.samples.push_back((unix_s, ms));
    }
}

/// Replaces passwords and user names in AUTH, HELLO, ACL and CONFIG SET.
pub(crate) fn redacted<'a>(name: &str, args: &[&'a [u8]]) -> Vec<&'a [u8]> {
    let says =
        |at: usize, words: &[&str]| args.get(at).is_some_and(|arg| words.iter().any(|word| is(arg, word)));
    let secret = |at: usize| match name {
        "auth" => at > 0,
        "hello" => at > 1,
        "acl" => at > 1 && says(1, &["setuser", "deluser", "getuser"]),
        "config" => at > 2 && at % 2 == 1 && says(at - 1, &["requirepass", "masterauth", "masteruser"]),
        _ => false,
    };
    args.iter().enumerate().map(|(at, arg)| if secret(at) { REDACTED } else { *arg }).collect()
}

/// Truncates as in Redis: the number of arguments and the bytes of each, with a note of what was omitted.
fn shortened(args: &[&[u8]]) -> Vec<Vec<u8>> {
    let kept = if args.len() > SLOWLOG_ARGUMENTS { SLOWLOG_ARGUMENTS - 1 } else { args.len() };
    let argument = |arg: &&[u8]| match arg.len().checked_sub(SLOWLOG_ARGUMENT_BYTES) {
        None | Some(0) => arg.to_vec(),
        Some(more) => {
            [&arg[..SLOWLOG_ARGUMENT_BYTES], format!("... ({more} more bytes)").as_bytes()].concat()
        }
    };
    let rest =
        (kept < args.len()).then(|| format!("... ({} more arguments)", args.len() - kept).into_bytes());
    args[..kept].iter().map(argument).chain(rest).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_truncated_and_counted() {
        let long = [b'x'; 200];
        let cut = shortened(&[b"set", b"k", &long]);
        assert_eq!(cut[2], [&long[..128], b"... (72 more bytes)"].concat());
        let many = shortened(&[&b"a"[..]; 40]);
        assert_eq!((many.len(), many[31].as_slice()), (32, &b"... (9 more arguments)"[..]));
        assert_eq!(shortened(&[&b"a"[..]; 32]).len(), 32);
    }

    #[test]
    fn passwords_are_redacted() {
        for (line, kept) in [
            ("auth secret", "auth (redacted)"),
            ("HELLO 3 AUTH ann secret", "HELLO 3 (redacted) (redacted) (redacted)"),
            ("acl setuser ann >secret", "acl setuser (redacted) (redacted)"),
            ("acl whoami", "acl whoami"),
            ("config set timeout 0 Requirepass secret", "config set timeout 0 Requirepass (redacted)"),
            ("config set requirepass", "config set requirepass"),
            ("set auth secret", "set auth secret"),
        ] {
            let args: Vec<&[u8]> = line.split(' ').map(str::as_bytes).collect();
            let name = line.split(' ').next().unwrap_or_default().to_lowercase();
            assert_eq!(redacted(&name, &args).join(&b' '), kept.as_bytes());
        }
    }

    #[test]
    fn latency_keeps_the_maximum_per_second() {
        let mut event = LatencyEvent::default();
        for second in 0..LATENCY_SAMPLES as u64 + 5 {
            event.add(second, 3);
            event.add(second, second);
        }
        assert_eq!((event.samples.len(), event.samples[0]), (LATENCY_SAMPLES, (5, 5)));
        assert_eq!(event.most_ms, LATENCY_SAMPLES as u64 + 4);
    }
}
