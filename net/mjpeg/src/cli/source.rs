//! Where pictures come from, as typed.

use std::path::PathBuf;

use clap::Args;
use netdyno_mjpeg::source::{Files, Source};

use super::Failure;

/// Of `send` and `serve`.
#[derive(Debug, Args)]
pub(crate) struct SourceArgs {
    /// A file of JPEG pictures, one or many one after the other, or a folder of such files; several in their order
    #[arg(value_name = "SOURCE", required = true)]
    sources: Vec<String>,

    /// Begin again at the end
    #[arg(long = "loop")]
    repeat: bool,
}

impl SourceArgs {
    /// Opens what was named: one choice a line, the first that fits.
    pub(crate) fn open(&self) -> Result<Box<dyn Source>, Failure> {
        let paths: Vec<_> = self.sources.iter().map(PathBuf::from).collect();
        Ok(Box::new(Files::open(&paths, self.repeat)?))
    }
}
