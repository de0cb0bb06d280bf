//! Parses arbitrary text as a manifest of a workload or contender, or as a file of claims: no panic.
#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use netdyno_lab_analysis::claims::Article;
use netdyno_lab_manifest::{Contender, Workload};

fuzz_target!(|text: &str| {
    if let Err(errors) = Workload::parse(Path::new("workloads/w.toml"), text) {
        assert!(!errors.is_empty());
    }
    if let Err(errors) = Contender::parse(Path::new("contenders/w/c/contender.toml"), text) {
        assert!(!errors.is_empty());
    }
    if let Err(errors) = Article::parse(Path::new("claims/x.toml"), text) {
        assert!(!errors.is_empty());
    }
});
