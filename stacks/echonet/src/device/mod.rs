//! A device node: other nodes read and write its properties and receive its notifications.

mod answer;
mod config;
mod duplicates;
mod engine;
mod event;
mod object;
mod outbox;
mod profile;
mod senders;
mod source_limit;
mod waiting;

pub use config::DeviceConfig;
pub use engine::Device;
pub use event::{AbuseKind, Decision, DeviceEvent, DeviceStats, SetError, WriteId};
pub use source_limit::SourceLimit;
