//! The header as cbindgen makes it from the sources.

use std::path::Path;

/// In the order in which they stand in the header.
const SOURCES: [&str; 10] =
    ["error", "border", "options", "stats", "report", "endpoint", "peer", "channel", "reactor", "connection"];

pub(crate) fn made() -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut config =
        cbindgen::Config::from_file(folder.join("cbindgen.toml")).expect("cbindgen.toml is in order");
    config.after_includes = Some(format!("\n#define ND_VERSION \"{}\"", env!("CARGO_PKG_VERSION")));
    let mut builder = cbindgen::Builder::new().with_config(config);
    for source in SOURCES {
        builder = builder.with_src(folder.join(format!("src/{source}.rs")));
    }
    let mut header = Vec::new();
    builder.generate().expect("the sources are what cbindgen knows").write(&mut header);
    let header = String::from_utf8(header).expect("the sources are UTF-8");
    // What it points to has to stand before it, which a name that is left out does not bring about.
    let header = header
        .replace("typedef const nd_ice_server *Servers;\n\n", "")
        .replace("  Servers ", "  const nd_ice_server *");
    // Names that stand for pointers have a space behind them.
    ["void", "char", "nd_bytes"]
        .iter()
        .fold(header, |text, name| text.replace(&format!("{name} * "), &format!("{name} *")))
}
