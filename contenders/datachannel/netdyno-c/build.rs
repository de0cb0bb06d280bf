//! Compiles the program from its own sources and those of the SDK, with the lab's flags for C.

use std::fs;
use std::path::{Path, PathBuf};

const SDK: &str = "../../sdk/c";
const HEADER: &str = "../../../bindings/c/include";

fn main() {
    let mut build = cc::Build::new();
    build
        .std("gnu17")
        .define("_GNU_SOURCE", None)
        .opt_level(2)
        .flag("-Wall")
        .flag("-Wextra")
        .flag("-pthread");
    build.includes(["src", SDK, HEADER]);
    for folder in ["src", SDK] {
        println!("cargo:rerun-if-changed={folder}");
        build.files(sources(Path::new(folder)));
    }
    println!("cargo:rerun-if-changed={HEADER}");
    build.compile("contender");
}

/// The C files of a folder, without subfolders.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("a folder of the repository");
    let paths = entries.map(|entry| entry.expect("a folder that can be read").path());
    let mut sources: Vec<_> = paths.filter(|path| path.extension().is_some_and(|e| e == "c")).collect();
    sources.sort();
    sources
}
