//! The `netdyno` command.

use std::process::ExitCode;

use clap::Parser;
use netdyno_lab::cli::{Cli, Verb};
use netdyno_lab::{cmd, dummy};

fn main() -> ExitCode {
    let Cli { folders, verb } = Cli::parse();
    cmd::place::also_in(folders);
    // A parent process reads stdout and stderr of these, and they must start single-threaded.
    if !matches!(verb, Verb::Agent | Verb::Holder | Verb::Dummy(_)) {
        cmd::log_as_asked();
    }
    match verb {
        Verb::Run(args) => cmd::exit(cmd::run::run(&args)),
        Verb::List(args) => cmd::exit(cmd::list::run(&args)),
        Verb::Doctor(args) => cmd::exit(cmd::doctor::run(&args)),
        Verb::Check(args) => cmd::exit(cmd::check::run(&args)),
        Verb::New(args) => cmd::exit(cmd::new::run(&args)),
        Verb::Show(args) => cmd::exit(cmd::show::run(&args)),
        Verb::Plot(args) => cmd::exit(cmd::plot::run(&args)),
        Verb::Compare(args) => cmd::exit(cmd::compare::run(&args)),
        Verb::Export(args) => cmd::exit(cmd::export::run(&args)),
        Verb::Import(args) => cmd::exit(cmd::import::run(&args)),
        Verb::Replay(args) => cmd::exit(cmd::replay::run(&args)),
        Verb::Replicate(args) => cmd::exit(cmd::replicate::run(&args)),
        Verb::Explain(args) => cmd::exit(cmd::explain::run(&args)),
        Verb::History(args) => cmd::exit(cmd::history::run(&args)),
        Verb::Serve(args) => cmd::exit(cmd::serve::run(&args)),
        Verb::Site(args) => cmd::exit(cmd::site::run(&args)),
        Verb::Prune(args) => cmd::exit(cmd::prune::run(&args)),
        Verb::Schema(args) => cmd::exit(cmd::schema::run(&args)),
        Verb::Completions(args) => cmd::exit(cmd::completions::run(&args)),
        Verb::Agent => cmd::exit_internal("agent", netdyno_lab_arena::run_agent()),
        Verb::Holder => cmd::exit_internal("holder", netdyno_lab_arena::run_holder()),
        Verb::Dummy(args) => dummy::play(args.fault, &args.costs, args.steps),
    }
}
