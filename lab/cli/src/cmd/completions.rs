//! `netdyno completions`.

use clap::CommandFactory;

use super::{CommandResult, GOOD};
use crate::cli::{Cli, CompletionsArgs};

pub(crate) fn run(args: &CompletionsArgs) -> CommandResult {
    clap_complete::generate(args.shell, &mut Cli::command(), "netdyno", &mut std::io::stdout());
    Ok(GOOD)
}
