//! The catalog, of a repository made up and of this one.

use std::path::Path;

use super::*;

#[test]
fn one_broken_manifest_hides_no_other() {
    let dir = tempfile::tempdir().unwrap();
    let write = |file: &str, text: &str| {
        let path = dir.path().join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    write("workloads/w.toml", WORKLOAD);
    write("workloads/x.toml", "name = 1");
    write("contenders/w/pion/contender.toml", CONTENDER);
    write("contenders/w/bad/contender.toml", "nonsense");
    let variant = |from: &str| {
        CONTENDER
            .replace("\"pion\"", "\"variant\"")
            .replace("[build]", &format!("[build]\nfrom = \"{from}\""))
    };
    write("contenders/w/variant/contender.toml", &variant("pion"));
    write("contenders/w/lost/contender.toml", &variant("nobody").replace("\"variant\"", "\"lost\""));
    write("contenders/y/pion/contender.toml", &CONTENDER.replace("\"w\"", "\"y\""));
    write("contenders/sdk/go/go.mod", "module x");
    write("contenders/w/unfinished/main.go", "package main");
    let catalog = Catalog::load(dir.path()).unwrap();
    assert_eq!(catalog.contenders_of("w").count(), 2);
    assert_eq!(catalog.problems.len(), 4, "{:?}", catalog.problems);
    assert_eq!(catalog.contender("w", "variant").unwrap().dir, dir.path().join("contenders/w/pion"));
    assert!(catalog.contender("w", "lost").unwrap_err().to_string().contains("no contender \"nobody\""));
    assert_eq!(catalog.contender("w", "pion").unwrap().dir, dir.path().join("contenders/w/pion"));
    let error = |name| catalog.contender("w", name).unwrap_err().to_string();
    assert_eq!(error("poin"), "unknown contender \"poin\"; did you mean \"pion\"?; known: pion, variant");
    assert!(error("bad").starts_with("contenders/w/bad/contender.toml:1: "), "{}", error("bad"));
    assert!(
        catalog.workload("x").unwrap_err().to_string().starts_with("workloads/x.toml:1: name: invalid type")
    );
    assert!(Catalog::load(&dir.path().join("none")).is_err());
}

#[test]
fn the_repositorys_own_manifests_are_valid() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let root = if root.join("workloads").is_dir() { root } else { find_root().unwrap() };
    let catalog = Catalog::load(&root).unwrap();
    let problems: Vec<String> = catalog.problems.iter().map(ManifestError::to_string).collect();
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    assert!(!catalog.workloads.is_empty());
    for workload in catalog.workloads.values() {
        for preset in workload.presets.keys() {
            workload.gate.expected(&workload.resolve(Some(preset), &[]).unwrap(), 1).unwrap();
        }
    }
}
