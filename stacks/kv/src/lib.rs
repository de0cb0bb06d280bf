//! A Redis-compatible key-value server's keyspace, commands and sessions, as a core without I/O.
//!
//! | does | does not |
//! |---|---|
//! | strings, lists, hashes, sets, sorted sets, bitmaps, deadlines, scans | streams, scripts, modules, geo, HyperLogLog, clusters |
//! | transactions with WATCH, publish and subscribe, blocking commands, users, CLIENT, CONFIG, INFO | open sockets, read clocks (one that it is given times long commands), draw randomness, spawn, lock |
//! | answers in RESP2 and RESP3, in Redis 7.0's words | parse requests: that is `netdyno-resp`'s part |
//! | eviction at `maxmemory`, by the size that keys and values take | measure what the allocator or the process takes |
//! | tell each change as a command, dump all keys in parts; read and write snapshots in Redis' format; be a primary or a replica | write files, hold the links between them |
//!
//! An [`Engine`] is what all connections share. Each has a session; the caller runs one command after the other, so that each is
//! atomic, and asks [`Engine::poll_output`] for what others are to be told.
//!
//! ```
//! use netdyno_kv_core::{Config, Engine, Now, Outcome};
//!
//! let mut engine = Engine::new(Config::default(), 7);
//! let now = Now { unix_ms: 1_700_000_000_000, monotonic_us: 0 };
//! let session = engine.open(now, "127.0.0.1:50000");
//! let mut out = Vec::new();
//! engine.execute(now, session, &[b"SET", b"key", b"value"], &mut out);
//! assert_eq!(engine.execute(now, session, &[b"GET", b"key"], &mut out), Outcome::Continue);
//! assert_eq!(out, b"+OK\r\n$5\r\nvalue\r\n");
//! ```
//!
//! A command of one's own is a row of data and a function:
//!
//! ```
//! use netdyno_kv_core::{Command, Config, Engine, Flags, Group, Keys, Now};
//!
//! let mut engine = Engine::new(Config::default(), 7);
//! engine.register(Command::new("shout", 2, Flags::READ_ONLY, Keys::one(), Group::String, |context, args| {
//!     let text = context.string(args[1])?.unwrap_or_default().to_ascii_uppercase();
//!     context.reply().bulk(&text);
//!     Ok(())
//! }));
//! # let now = Now::default();
//! # let session = engine.open(now, "test");
//! # let mut out = Vec::new();
//! # engine.execute(now, session, &[b"set", b"key", b"quiet"], &mut out);
//! # engine.execute(now, session, &[b"shout", b"key"], &mut out);
//! # assert_eq!(out, b"+OK\r\n$5\r\nQUIET\r\n");
//! ```
#![forbid(unsafe_code)]

mod acl;
mod args;
mod blocking;
mod call;
mod command;
mod commands;
mod config;
mod engine;
mod error;
mod followers;
mod glob;
mod host;
mod keyspace;
mod limits;
mod monitors;
mod now;
mod number;
mod primary;
mod program;
mod pubsub;
mod quick;
mod random;
mod rdb;
mod replica;
mod replication;
mod saves;
mod session;
mod slow;
mod snapshot;
mod spec;
mod turn;
mod world;

pub use command::{Command, Context, Run};
pub use config::Config;
pub use engine::Engine;
pub use error::Error;
pub use host::Wish;
pub use keyspace::{Loaded, Policy};
pub use now::Now;
pub use rdb::{RdbError, RdbFault};
pub use replication::{LinkState, LinkStatus};
pub use session::{Outcome, Output, SessionId};
pub use snapshot::Loader;
pub use spec::{Flags, Group, Keys};
pub use turn::Turn;
