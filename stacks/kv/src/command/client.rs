use super::Command;

pub(super) const COMMANDS: &[Command] = &[];
pub(super) fn check_name(_: &[u8]) -> Result<(), crate::error::Error> { Ok(()) }
