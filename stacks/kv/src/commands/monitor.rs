//! MONITOR: streams every command to the sessions that request it.

use crate::command::{Command, Context};
use crate::error::Error;
use crate::spec::{Flags, Group, Keys};

pub(super) const COMMANDS: &[Command] =
    &[Command::new("monitor", 1, Flags::ADMIN.with(Flags::NO_MULTI), Keys::None, Group::Server, monitor)];

fn monitor(context: &mut Context<'_>, _: &[&[u8]]) -> Result<(), Error> {
    context.world.monitors.add(context.id);
    context.reply.ok();
    Ok(())
}
