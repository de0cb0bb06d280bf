//! The `netdyno` command: one file a verb.
//!
//! | does | does not |
//! |---|---|
//! | parse the command line ([`cli`]), and run one verb ([`cmd`]) | measure, judge or render: the crates below it do |
//! | carry the catalogue of workloads and contenders ([`embedded`]) | know a workload or contender by name |
//! | test the machine and the lab itself ([`doctor`], [`dummy`]) | |

mod cli;
mod cmd;
mod doctor;
mod dummy;
mod embedded;

use std::process::ExitCode;

use clap::Parser;

use cli::{Cli, Verb};

fn main() -> ExitCode {
    let Cli { folders, verb } = Cli::parse();
    cmd::place::also_in(folders);
    // A parent process reads stdout and stderr of these, and they must start single-threaded.
    if !matches!(verb, Verb::Agent | Verb::Holder | Verb::Dummy(_)) {
        cmd::log_as_asked();
    }
    cmd::exit(match verb {
        Verb::Run(args) => cmd::run::run(&args),
        Verb::List(args) => cmd::list::run(&args),
        Verb::Doctor(args) => cmd::doctor::run(&args),
        Verb::Check(args) => cmd::check::run(&args),
        Verb::New(args) => cmd::new::run(&args),
        Verb::Show(args) => cmd::show::run(&args),
        Verb::Plot(args) => cmd::plot::run(&args),
        Verb::Compare(args) => cmd::compare::run(&args),
        Verb::Export(args) => cmd::export::run(&args),
        Verb::Import(args) => cmd::import::run(&args),
        Verb::Replay(args) => cmd::replay::run(&args),
        Verb::Replicate(args) => cmd::replicate::run(&args),
        Verb::Explain(args) => cmd::explain::run(&args),
        Verb::History(args) => cmd::history::run(&args),
        Verb::Serve(args) => cmd::serve::run(&args),
        Verb::Site(args) => cmd::site::run(&args),
        Verb::Prune(args) => cmd::prune::run(&args),
        Verb::Schema(args) => cmd::schema::run(&args),
        Verb::Completions(args) => cmd::completions::run(&args),
        Verb::Agent => return cmd::exit_internal("agent", netdyno_lab_arena::run_agent()),
        Verb::Holder => return cmd::exit_internal("holder", netdyno_lab_arena::run_holder()),
        Verb::Dummy(args) => return dummy::play(args.fault, &args.costs, args.steps),
    })
}
