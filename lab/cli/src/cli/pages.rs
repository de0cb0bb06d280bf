//! Arguments of `serve` and `site`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;

/// `serve`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  netdyno serve                                    open the printed address
  netdyno serve --listen 127.0.0.1:0               use any free port
  netdyno serve --listen 192.0.2.7:8089            remote access; prints a token
  netdyno serve --listen [::]:8089 --token-file token --name lab.example

The page of a running measurement shows its progress, its confidence intervals and the remaining time. A browser on the measuring \
machine competes for CPU time: use another machine. Press Ctrl-C to stop.")]
pub(crate) struct ServeArgs {
    /// Address and port to listen on; other than on loopback, clients need a token
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:8089")]
    pub(crate) listen: SocketAddr,
    /// File with the access token, 16 to 256 characters [default: other than on loopback, a new one, printed once]
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
    /// Accept this host name in requests, in addition to addresses and localhost; repeatable
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Vec<String>,
    /// Folder of studies in Markdown [default: docs/studies of the checkout]
    #[arg(long, value_name = "DIR")]
    pub(crate) studies: Option<PathBuf>,
}

/// `site`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  netdyno site public                          open public/index.html, or publish the folder
  netdyno site public --runs 500

Repeating the command writes changed pages and removes obsolete ones. Files written by other programs are kept.")]
pub(crate) struct SiteArgs {
    /// Folder to write to
    pub(crate) folder: PathBuf,
    /// Write pages for the newest N runs
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub(crate) runs: usize,
    /// Folder of studies in Markdown [default: docs/studies of the checkout]
    #[arg(long, value_name = "DIR")]
    pub(crate) studies: Option<PathBuf>,
}
