use super::Command;

pub(super) const COMMANDS: &[Command] = &[];
pub(super) const REDIS_VERSION: &str = "7.0.15";
