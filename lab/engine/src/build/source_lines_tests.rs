//! Lines of code of builds, and why some are unknown.

use super::package::Package;
use super::tests::Repository;
use super::*;

/// A library of two crates in the checkout, one with a build script; a part of the adapter is also generated.
#[test]
fn lines_of_code_are_counted_by_the_build() {
    let repository = Repository::cargo("fn main() {\n    // prints\n    println!(\"{}\", tiny::lib())\n}\n");
    let package = |name: &str, more: &str| {
        format!("[package]\nname = \"{name}\"\nversion = \"1.0.0\"\nedition = \"2024\"\n{more}")
    };
    let root = "[workspace]\n[dependencies]\ntiny = { path = \"../../../lib\" }\n";
    repository.write("contenders/w/tiny/Cargo.toml", &package("w-tiny", root).replace("1.0.0", "0.1.0"));
    repository.write(
        "contenders/w/tiny/Cargo.lock",
        "version = 4\n[[package]]\nname = \"part\"\nversion = \"1.0.0\"\n\
         [[package]]\nname = \"tiny\"\nversion = \"1.0.0\"\ndependencies = [\"part\"]\n\
         [[package]]\nname = \"w-tiny\"\nversion = \"0.1.0\"\ndependencies = [\"tiny\"]\n",
    );
    repository.write(
        "contenders/w/tiny/src/words.rs",
        "// @generated\npub const A: u8 = 1;\npub const B: u8 = 2;\n",
    );
    repository.write("contenders/w/tiny/tests/more.rs", "fn not_counted() {}\n");
    repository.write("lib/Cargo.toml", &package("tiny", "[dependencies]\npart = { path = \"../part\" }\n"));
    repository.write("lib/src/lib.rs", "/// Doc.\npub fn lib() -> u8 {\n    part::PART\n}\n");
    repository.write("part/Cargo.toml", &package("part", ""));
    let script = "fn main() {\n    let out = std::env::var(\"OUT_DIR\").unwrap();\n    \
                  std::fs::write(out + \"/made.rs\", \"pub const PART: u8 = 1;\").unwrap();\n}\n";
    repository.write("part/build.rs", script);
    repository.write("part/src/lib.rs", "include!(concat!(env!(\"OUT_DIR\"), \"/made.rs\"));\n");

    // The library's version is 1 in the manifest, and 1.0.0 in its package.
    let built = repository.build().unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(built.record.lines.library.lines, None, "another version is another library");
    assert!(built.record.lines.library.source.contains("no package tiny 1 "), "{:?}", built.record.lines);
    let mut repository = repository;
    repository.contender.implementation.version = "1.0.0".to_owned();
    repository.contender.language = "rust".to_owned();
    repository.write("contenders/w/tiny/src/more.rs", "");
    let built = repository.build().unwrap();
    let lines = &built.record.lines;
    let [library, adapter, generated] = lines.parts().map(|(_, count)| count.lines);
    assert_eq!((library, adapter, generated), (Some(8), Some(3), Some(3)), "{lines:?}");
    let parts = [("part 1.0.0".to_owned(), 5), ("tiny 1.0.0".to_owned(), 3)].into();
    assert_eq!(lines.library.parts, parts);
    assert_eq!(lines.library.source, "tokei, of tiny 1.0.0 and 1 more package of its owner");

    let again = repository.build().unwrap();
    assert!(again.cached);
    assert_eq!(again.record.lines, *lines, "what was counted is kept");
}

#[test]
fn a_missing_library_has_a_reason() {
    let mut repository = Repository::cargo("fn main() {}");
    let mut said = |module: &str, version: &str, language: &str| {
        let (module, version) = (module.to_owned(), version.to_owned());
        repository.contender.implementation = netdyno_lab_manifest::LibraryVersion { module, version };
        repository.contender.language = language.to_owned();
        let packages = [("lib", "js", "a.js", "let a = 1;\n"), ("w-tiny", "own", "src/main.rs", "")].map(
            |(name, folder, file, text)| {
                let below = if name == "lib" { "elsewhere" } else { "contenders" };
                repository.write(&format!("{below}/{folder}/{file}"), text);
                repository.write(&format!("{below}/{folder}/lib.so"), "");
                let folder = repository.dir.path().join(below).join(folder);
                Package { name: name.to_owned(), version: "1".to_owned(), folder, ..Package::default() }
            },
        );
        source_lines::count(&repository.contender, &Ok(packages.to_vec()))
    };
    for (module, version, language, why) in [
        ("std", "toolchain", "rust", "std comes with the toolchain, without its source"),
        ("server", "distribution", "c", "server comes with the distribution, without its source"),
        ("gone", "1", "rust", "no package gone 1 with its source in the build"),
        ("lib", "1", "c++", "no c++ in lib 1; 1 compiled file without its source is beside it"),
    ] {
        let lines = said(module, version, language);
        assert_eq!((lines.library.lines, lines.library.source.as_str()), (None, why));
        assert_eq!((lines.generated.lines, lines.generated.source.as_str()), (None, why));
        assert_eq!(lines.adapter.lines, Some(1));
    }
    let lines = said("lib", "1", "javascript");
    assert_eq!(lines.library.lines, Some(1));
    assert!(lines.library.source.ends_with("lib 1; 1 compiled file without its source is beside it"));
    let lines = said("w-tiny", "1", "rust");
    assert_eq!((lines.library.lines, lines.generated.lines), (None, Some(0)), "{lines:?}");
    assert!(lines.library.source.contains("itself is under test"));
    let compiled = source_lines::count(&repository.contender, &Err(super::package::COMPILED.to_owned()));
    assert_eq!(compiled.library.source, super::package::COMPILED);
}

/// A build of an older netdyno still provides its duration, and is rebuilt for its lines.
#[test]
fn a_record_without_lines_is_still_read() {
    let repository = Repository::cargo("fn main() {}");
    let built = repository.build().unwrap();
    let mut older = serde_json::to_value(&built.record).unwrap();
    older.as_object_mut().unwrap().remove("lines").unwrap();
    let record: Record = serde_json::from_value(older).unwrap();
    assert_eq!((record.seconds, record.lines.library.lines), (built.record.seconds, None));
    assert!(record.lines.adapter.source.contains("predates"));
}
