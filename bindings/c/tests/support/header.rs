//! Generates the header from the sources with cbindgen.

use std::path::Path;

/// In the order of the header.
const SOURCES: [&str; 10] =
    ["error", "memory", "options", "stats", "report", "endpoint", "peer", "channel", "reactor", "connection"];

pub(crate) fn generate() -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut config =
        cbindgen::Config::from_file(folder.join("cbindgen.toml")).expect("cbindgen.toml is valid");
    config.after_includes = Some(format!("\n#define ND_VERSION \"{}\"", env!("CARGO_PKG_VERSION")));
    let mut builder = cbindgen::Builder::new().with_config(config);
    for source in SOURCES {
        builder = builder.with_src(folder.join(format!("src/{source}.rs")));
    }
    let mut header = Vec::new();
    builder.generate().expect("cbindgen can parse the sources").write(&mut header);
    let header = String::from_utf8(header).expect("the sources are UTF-8");
    // cbindgen would declare an excluded type after its users, so the typedef is replaced here instead.
    let header = header
        .replace("typedef const nd_ice_server *Servers;\n\n", "")
        .replace("  Servers ", "  const nd_ice_server *");
    // Renamed pointer types end in a superfluous space.
    ["void", "char", "nd_bytes"]
        .iter()
        .fold(header, |text, name| text.replace(&format!("{name} * "), &format!("{name} *")))
}
