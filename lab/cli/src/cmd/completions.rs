//! `netdyno completions`.

use clap::CommandFactory;

use super::{GOOD, Outcome};
use crate::cli::{Cli, CompletionsArgs};

/// Prints a completion script.
///
/// # Errors
/// None is expected.
pub fn run(args: &CompletionsArgs) -> Outcome {
    clap_complete::generate(args.shell, &mut Cli::command(), "netdyno", &mut std::io::stdout());
    Ok(GOOD)
}
