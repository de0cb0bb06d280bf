//! The command line as typed.

use clap::{Parser, Subcommand};

/// Motion JPEG over RTP (RFC 2435): send, serve by RTSP, receive.
#[derive(Debug, Parser)]
#[command(name = "netdyno-mjpeg", version)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Send pictures to one address by RTP over UDP.
    Send(super::source::SourceArgs),
    /// Serve pictures by RTSP, to many clients at a time, by UDP or TCP.
    Serve(super::serve::ServeArgs),
}
