//! The configuration that `CONFIG` reads and changes.

use std::collections::BTreeMap;

use crate::error::Error;
use crate::glob;
use crate::keyspace::{EventClass, Keyspace, Policy, SmallLimits};
use crate::limits::{DATABASES, DATABASES_MAX, SAVE_POINTS_MAX};

/// The Redis version that is emulated; clients use it to detect features.
pub(crate) const REDIS_VERSION: &str = "7.0.15";

/// A snapshot is saved once this many seconds have passed and this many changes were made since the last one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SavePoint {
    pub(crate) seconds: u64,
    pub(crate) changes: u64,
}

/// The type of a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    YesNo,
    Number,
    /// Bytes, with an optional suffix such as `kb`, `mb`, `gb`.
    Memory,
    /// Cannot be changed at runtime.
    Fixed,
    /// Locations of files; can be changed only with `enable-protected-configs`.
    Protected,
}

const T: Kind = Kind::Text;
const Y: Kind = Kind::YesNo;
const N: Kind = Kind::Number;
const M: Kind = Kind::Memory;
const F: Kind = Kind::Fixed;
const P: Kind = Kind::Protected;

/// Parameters with Redis' defaults. Those without an effect here are only stored.
#[rustfmt::skip]
const PARAMETERS: &[(&str, Kind, &str)] = &[
    ("activedefrag", Y, "no"), ("active-expire-effort", N, "1"), ("activerehashing", Y, "yes"),
    ("always-show-logo", Y, "no"), ("aof-load-truncated", Y, "yes"), ("aof-use-rdb-preamble", Y, "yes"),
    ("appendfilename", F, "appendonly.aof"), ("appendfsync", T, "everysec"), ("appendonly", Y, "no"),
    ("auto-aof-rewrite-min-size", M, "67108864"), ("auto-aof-rewrite-percentage", N, "100"), ("bind", T, ""),
    ("client-output-buffer-limit", T, "normal 0 0 0 slave 268435456 67108864 60 pubsub 33554432 8388608 60"),
    ("client-query-buffer-limit", M, "1073741824"), ("databases", F, "16"), ("daemonize", F, "no"), ("dbfilename", P, "dump.rdb"), ("dir", P, "."), ("enable-protected-configs", F, "no"),
    ("hash-max-listpack-entries", N, "512"), ("hash-max-listpack-value", M, "64"), ("hash-max-ziplist-entries", N, "512"),
    ("hash-max-ziplist-value", M, "64"), ("hz", N, "10"), ("io-threads", F, "1"), ("key-load-delay", N, "0"), ("latency-monitor-threshold", N, "0"),
    ("latency-tracking", Y, "yes"), ("lazyfree-lazy-eviction", Y, "no"), ("lazyfree-lazy-expire", Y, "no"), ("lazyfree-lazy-server-del", Y, "no"),
    ("lazyfree-lazy-user-del", Y, "no"), ("lazyfree-lazy-user-flush", Y, "no"), ("lfu-decay-time", N, "1"), ("lfu-log-factor", N, "10"),
    ("list-compress-depth", N, "0"), ("list-max-listpack-size", N, "-2"), ("list-max-ziplist-size", N, "-2"), ("loglevel", T, "notice"), ("logfile", F, ""),
    ("lua-time-limit", N, "5000"), ("maxclients", N, "10000"), ("maxmemory", M, "0"), ("maxmemory-clients", M, "0"), ("maxmemory-policy", T, "noeviction"),
    ("maxmemory-samples", N, "5"), ("maxmemory-eviction-tenacity", N, "10"), ("min-replicas-to-write", N, "0"), ("notify-keyspace-events", T, ""),
    ("oom-score-adj", T, "no"), ("port", F, "6379"), ("proto-max-bulk-len", M, "536870912"), ("protected-mode", Y, "yes"), ("repl-diskless-sync", Y, "yes"),
    ("replicaof", F, ""), ("masterauth", T, ""), ("masteruser", T, ""), ("repl-timeout", N, "60"), ("repl-backlog-size", M, "1048576"), ("requirepass", T, ""), ("save", T, ""), ("set-max-intset-entries", N, "512"), ("slave-read-only", Y, "yes"),
    ("replica-read-only", Y, "yes"), ("slowlog-log-slower-than", N, "10000"), ("slowlog-max-len", N, "128"), ("set-proc-title", Y, "yes"),
    ("stop-writes-on-bgsave-error", Y, "yes"), ("tcp-backlog", F, "511"), ("tcp-keepalive", N, "300"), ("timeout", N, "0"), ("tls-port", F, "0"), ("tls-replication", F, "no"),
    ("tracking-table-max-keys", N, "1000000"), ("unixsocket", F, ""), ("zset-max-listpack-entries", N, "128"), ("zset-max-listpack-value", M, "64"),
    ("zset-max-ziplist-entries", N, "128"), ("zset-max-ziplist-value", M, "64"), ("acl-pubsub-default", T, "resetchannels"), ("acllog-max-len", N, "128"),
    ("close-on-replica-write", Y, "yes"), ("enable-debug-command", F, "no"), ("jemalloc-bg-thread", Y, "yes"), ("stream-node-max-entries", N, "100"),
    ("stream-node-max-bytes", M, "4096"), ("rdbcompression", Y, "yes"), ("rdbchecksum", Y, "yes"), ("no-appendfsync-on-rewrite", Y, "no"),
    ("aof-timestamp-enabled", Y, "no"), ("dynamic-hz", Y, "yes"), ("crash-log-enabled", Y, "yes"), ("crash-memcheck-enabled", Y, "yes"), ("busy-reply-threshold", N, "5000"),
];

/// Parameters and their values. A server can add further names.
#[derive(Clone)]
pub struct Config {
    values: BTreeMap<String, String>,
    /// The largest `maxclients` that the host supports.
    pub(crate) clients_max: Option<usize>,
    /// Parameters that the host cannot change at runtime, with the alternative.
    pub(crate) fixed: BTreeMap<String, String>,
}

impl std::fmt::Debug for Config {
    /// Without values, some of which are passwords.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names: Vec<_> = self.values.keys().collect();
        f.debug_struct("Config").field("parameters", &names).finish_non_exhaustive()
    }
}

impl Default for Config {
    fn default() -> Self {
        Self {
            values: PARAMETERS
                .iter()
                .map(|(name, _, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect(),
            clients_max: None,
            fixed: BTreeMap::new(),
        }
    }
}

impl Config {
    /// Sets a parameter before startup, including fixed ones. The error states the accepted values.
    pub fn with(mut self, name: &str, value: &str) -> Result<Self, Error> {
        let name = name.to_ascii_lowercase();
        let value = match kind(&name) {
            Some(Kind::Fixed) | None => value.to_owned(),
            Some(kind) => normal(&name, kind, value).map_err(|why| failed(&name, &why))?,
        };
        self.values.insert(name, value);
        Ok(self)
    }

    /// The value of a parameter.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.values.get(name).map(String::as_str)
    }

    pub(crate) fn number(&self, name: &str) -> usize {
        self.get(name).and_then(|value| value.parse().ok()).unwrap_or(0)
    }

    pub(crate) fn databases(&self) -> usize {
        self.get("databases").and_then(|n| n.parse().ok()).unwrap_or(DATABASES).clamp(1, DATABASES_MAX)
    }

    /// All parameters whose names match, in order.
    pub(crate) fn matching(&self, patterns: &[&[u8]]) -> Vec<(&str, &str)> {
        let wanted = |name: &str| patterns.iter().any(|p| glob::matches_case(p, name.as_bytes(), true));
        self.values.iter().filter(|(name, _)| wanted(name)).map(|(n, v)| (n.as_str(), v.as_str())).collect()
    }

    /// Sets all parameters or none.
    pub(crate) fn set(&mut self, pairs: &[(&[u8], &[u8])]) -> Result<(), Error> {
        let mut new = Vec::new();
        for (name, value) in pairs {
            let (name, value) =
                (String::from_utf8_lossy(name).to_ascii_lowercase(), String::from_utf8_lossy(value));
            let Some(kind) = kind(&name) else {
                return Err(Error::new(format!(
                    "ERR Unknown option or number of arguments for CONFIG SET - '{name}'"
                )));
            };
            if new.iter().any(|(other, _)| *other == name) {
                return Err(failed(&name, "duplicate parameter"));
            }
            if kind == Kind::Protected && self.get("enable-protected-configs") != Some("yes") {
                return Err(failed(&name, "can't set protected config"));
            }
            if kind == Kind::Fixed {
                return Err(failed(&name, "can't set immutable config"));
            }
            let value = normal(&name, kind, &value).map_err(|why| failed(&name, &why))?;
            self.check_room(&name, &value)?;
            new.extend(other_name(&name).map(|other| (other, value.clone())));
            new.push((name, value));
        }
        self.values.extend(new);
        Ok(())
    }

    /// The save points.
    pub(crate) fn save_points(&self) -> Vec<SavePoint> {
        self.get("save").and_then(save_points).unwrap_or_default()
    }

    fn check_room(&self, name: &str, value: &str) -> Result<(), Error> {
        if let Some(remedy) = self.fixed.get(name).filter(|_| self.get(name) != Some(value)) {
            return Err(failed(name, &format!("It cannot be changed at runtime: {remedy}")));
        }
        match self.clients_max.filter(|_| name == "maxclients") {
            Some(most) if value.parse().is_ok_and(|wanted: usize| wanted > most) => {
                let why = format!(
                    "The server was started for {most} clients: restart it with --maxclients {value}"
                );
                Err(failed(name, &why))
            }
            _ => Ok(()),
        }
    }

    /// Applies the parameters of the keyspace.
    pub(crate) fn apply(&self, keys: &mut Keyspace) {
        keys.memory_max = self.number("maxmemory");
        keys.small = SmallLimits {
            hash_entries: self.number("hash-max-listpack-entries"),
            hash_bytes: self.number("hash-max-listpack-value"),
            set_integers: self.number("set-max-intset-entries"),
            zset_entries: self.number("zset-max-listpack-entries"),
            zset_bytes: self.number("zset-max-listpack-value"),
        };
        keys.samples = self.number("maxmemory-samples").max(1);
        keys.policy = Policy::parse(self.get("maxmemory-policy").unwrap_or_default()).unwrap_or_default();
        let events = self.get("notify-keyspace-events").unwrap_or_default();
        keys.notify = EventClass::parse(events.as_bytes()).unwrap_or_default();
    }
}

/// The older or newer alias of a parameter.
fn other_name(name: &str) -> Option<String> {
    let names = [("ziplist", "listpack"), ("listpack", "ziplist")].map(|(from, to)| name.replace(from, to));
    names.into_iter().find(|other| other != name && kind(other).is_some())
}

fn kind(name: &str) -> Option<Kind> {
    PARAMETERS.iter().find(|(parameter, _, _)| *parameter == name).map(|(_, kind, _)| *kind)
}

fn failed(name: &str, why: &str) -> Error {
    Error::new(format!("ERR CONFIG SET failed (possibly related to argument '{name}') - {why}"))
}

/// The normalised value of a parameter.
fn normal(name: &str, kind: Kind, value: &str) -> Result<String, String> {
    match kind {
        Kind::YesNo if matches!(value.to_ascii_lowercase().as_str(), "yes" | "no") => Ok(value.to_ascii_lowercase()),
        Kind::YesNo => Err("argument must be 'yes' or 'no'".into()),
        Kind::Number => {
            let number: i64 = value.parse().map_err(|_| "argument couldn't be parsed into an integer")?;
            // The minimum of parameters for which smaller values have no or another meaning.
            let least = match name {
                "maxmemory-samples" | "maxclients" => 1,
                "slowlog-log-slower-than" => -1,
                "timeout" | "slowlog-max-len" | "latency-monitor-threshold" => 0,
                _ => i64::MIN,
            };
            if number < least {
                return Err(format!("argument must be between {least} and 2147483647 inclusive"));
            }
            Ok(number.to_string())
        }
        Kind::Memory => memory(value).map(|n| n.to_string()).ok_or_else(|| "argument must be a memory value".into()),
        Kind::Text | Kind::Fixed | Kind::Protected => match name {
            "save" => save_points(value).map(|points| points_text(&points)).ok_or_else(|| "Invalid save parameters".into()),
            "dbfilename" if value.is_empty() || value.contains('/') => {
                Err("dbfilename can't be a path, just a filename".into())
            }
            "maxmemory-policy" => Policy::parse(value).map(|p| p.name().to_owned()).ok_or_else(|| {
                "argument(s) must be one of the following: volatile-lru, volatile-lfu, volatile-random, volatile-ttl, \
                 allkeys-lru, allkeys-lfu, allkeys-random, noeviction"
                    .into()
            }),
            "appendfsync" if !matches!(value, "always" | "everysec" | "no") => {
                Err("argument(s) must be one of the following: everysec, always, no".into())
            }
            "notify-keyspace-events" => EventClass::parse(value.as_bytes())
                .map(EventClass::text)
                .ok_or_else(|| "Invalid event class character. Use 'Ag$lshzxeKEtmdn'.".into()),
            _ => Ok(value.to_owned()),
        },
    }
}

/// Parses save points such as `3600 1 300 100`: pairs of seconds and changes; empty for none.
fn save_points(text: &str) -> Option<Vec<SavePoint>> {
    let numbers: Option<Vec<u64>> = text.split_whitespace().map(|word| word.parse().ok()).collect();
    let numbers = numbers.filter(|numbers| numbers.len() % 2 == 0 && numbers.len() <= 2 * SAVE_POINTS_MAX)?;
    let points = numbers.chunks_exact(2).map(|pair| SavePoint { seconds: pair[0], changes: pair[1] });
    // Both numbers must be positive.
    points.map(|point| (point.seconds > 0 && point.changes > 0).then_some(point)).collect()
}

fn points_text(points: &[SavePoint]) -> String {
    let words: Vec<_> = points.iter().map(|point| format!("{} {}", point.seconds, point.changes)).collect();
    words.join(" ")
}

/// Parses a number of bytes: `100`, `100mb`, `1g`.
fn memory(text: &str) -> Option<u64> {
    let text = text.to_ascii_lowercase();
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let unit = match &text[digits..] {
        "" | "b" => 1,
        "k" => 1000,
        "kb" => 1 << 10,
        "m" => 1_000_000,
        "mb" => 1 << 20,
        "g" => 1_000_000_000,
        "gb" => 1 << 30,
        _ => return None,
    };
    text[..digits].parse::<u64>().ok()?.checked_mul(unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_output_contains_no_password() {
        let config = Config::default().with("requirepass", "hunter2").unwrap();
        let text = format!("{config:?}");
        assert!(text.contains("requirepass") && !text.contains("hunter2"), "{text}");
    }
}
