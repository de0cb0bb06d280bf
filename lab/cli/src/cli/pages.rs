//! What shows runs in a browser, as typed.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;

/// `serve`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  netdyno serve                                    then open the address that it prints
  netdyno serve --listen 127.0.0.1:0               any free port
  netdyno serve --listen 192.0.2.7:8089            for others: prints a token that they need
  netdyno serve --listen [::]:8089 --token-file token --name lab.example

A run that goes on is followed by its page: what is done, how the intervals narrow, what is left. A browser takes CPU time from what is \
measured: open it on another machine. Ctrl-C ends it.")]
pub struct ServeArgs {
    /// Address and port; beyond loopback readers need a token
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:8089")]
    pub listen: SocketAddr,
    /// A file with the token that readers need: 16 to 256 characters [default: beyond loopback a new one, printed once]
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<PathBuf>,
    /// A name that readers use, beside addresses and localhost; others are refused
    #[arg(long, value_name = "NAME")]
    pub name: Vec<String>,
    /// A folder of studies in Markdown [default: docs/studies of the checkout]
    #[arg(long, value_name = "DIR")]
    pub studies: Option<PathBuf>,
}

/// `site`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  netdyno site public                          then open public/index.html, or publish the folder
  netdyno site public --runs 500

Said again, it writes what changed and removes pages that it wrote and that are gone. Files that it did not write stay.")]
pub struct SiteArgs {
    /// The folder to write into
    pub folder: PathBuf,
    /// Pages for the newest N runs
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub runs: usize,
    /// A folder of studies in Markdown [default: docs/studies of the checkout]
    #[arg(long, value_name = "DIR")]
    pub studies: Option<PathBuf>,
}
