//! The core of a Redis-compatible key-value server without I/O: keyspace, commands, sessions, replication.
//!
//! | does | does not |
//! |---|---|
//! | strings, lists, hashes, sets, sorted sets, bitmaps, deadlines, scans | streams, scripts, modules, geo, HyperLogLog, clusters |
//! | transactions with WATCH, publish/subscribe, blocking commands, ACL users, CLIENT, CONFIG, INFO | open sockets, spawn threads, lock, read a clock or the system's random source |
//! | replies in RESP2 and RESP3, with the texts of Redis 7.0 | parse requests: see `netdyno-resp` |
//! | eviction at `maxmemory`, by the size of keys and values | measure the memory of the allocator or the process |
//! | log each change as a command, dump all keys in parts; read and write RDB snapshots; act as primary or replica | write files, open connections |
//!
//! An [`Engine`] is the state that all connections share. Each connection has a session. The caller executes
//! one command at a time, so each is atomic, and collects output for other sessions with
//! [`Engine::poll_output`].
//!
//! ```
//! use netdyno_kv_core::{Config, Engine, Timestamp, Outcome};
//!
//! let mut engine = Engine::new(Config::default(), 7);
//! let now = Timestamp { unix_ms: 1_700_000_000_000, monotonic_us: 0 };
//! let session = engine.open(now, "127.0.0.1:50000");
//! let mut out = Vec::new();
//! engine.execute(now, session, &[b"SET", b"key", b"value"], &mut out);
//! assert_eq!(engine.execute(now, session, &[b"GET", b"key"], &mut out), Outcome::Continue);
//! assert_eq!(out, b"+OK\r\n$5\r\nvalue\r\n");
//! ```
//!
//! A custom command is a row of properties and a function:
//!
//! ```
//! use netdyno_kv_core::{Command, Config, Engine, Flags, Group, Keys, Timestamp};
//!
//! let mut engine = Engine::new(Config::default(), 7);
//! engine.register(Command::new("shout", 2, Flags::READ_ONLY, Keys::single(), Group::String, |context, args| {
//!     let text = context.string(args[1])?.unwrap_or_default().to_ascii_uppercase();
//!     context.reply().bulk(&text);
//!     Ok(())
//! }));
//! # let now = Timestamp::default();
//! # let session = engine.open(now, "test");
//! # let mut out = Vec::new();
//! # engine.execute(now, session, &[b"set", b"key", b"quiet"], &mut out);
//! # engine.execute(now, session, &[b"shout", b"key"], &mut out);
//! # assert_eq!(out, b"+OK\r\n$5\r\nQUIET\r\n");
//! ```
#![forbid(unsafe_code)]

mod acl;
mod args;
mod batch;
mod blocking;
mod call;
mod client_memory;
mod command;
mod commands;
mod config;
mod engine;
mod entropy;
mod error;
mod fast;
mod followers;
mod glob;
mod held;
mod host;
mod keyspace;
mod limits;
mod monitors;
mod number;
mod primary;
mod primary_stream;
mod program;
mod pubsub;
mod random;
mod rdb;
mod replica;
mod replica_link;
mod replication;
mod saves;
mod session;
mod slow;
mod snapshot;
mod spec;
mod timestamp;
mod world;

pub use batch::Batch;
pub use command::{Command, Context, Run};
pub use config::Config;
pub use engine::Engine;
pub use entropy::Entropy;
pub use error::Error;
pub use held::Buffers;
pub use host::HostRequest;
pub use keyspace::{Loaded, Policy};
pub use rdb::{RdbError, RdbFault};
pub use replica_link::{LinkAction, ReplicaLink};
pub use replication::{LinkState, LinkStatus};
pub use session::{Outcome, Output, SessionId};
pub use snapshot::Loader;
pub use spec::{Flags, Group, Keys};
pub use timestamp::Timestamp;
