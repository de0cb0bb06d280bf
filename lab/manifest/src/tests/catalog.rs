//! The catalogue, of synthetic repositories and of this one.

use std::path::Path;

use super::*;

#[test]
fn one_broken_manifest_does_not_hide_others() {
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
            .replace("[build]\ntool = \"go\"", &format!("[build]\nfrom = \"{from}\""))
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
    let (variant, pion) =
        (catalog.contender("w", "variant").unwrap(), catalog.contender("w", "pion").unwrap());
    assert_eq!((variant.build.tool, &variant.build.needs), (pion.build.tool, &pion.build.needs));
    assert!(catalog.contender("w", "lost").unwrap_err().to_string().contains("no contender \"nobody\""));
    assert_eq!(catalog.contender("w", "pion").unwrap().dir, dir.path().join("contenders/w/pion"));
    let error = |name| catalog.contender("w", name).unwrap_err().to_string();
    assert_eq!(error("poin"), "unknown contender \"poin\"; did you mean \"pion\"?; known: pion, variant");
    assert!(error("bad").starts_with("contenders/w/bad/contender.toml:1: "), "{}", error("bad"));
    assert!(
        catalog.workload("x").unwrap_err().to_string().starts_with("workloads/x.toml:1: name: invalid type")
    );
    assert_eq!(catalog.broken_contender("bad"), catalog.contender("w", "bad").err());
    assert_eq!(catalog.broken_contender("w/bad"), catalog.broken_contender("bad"));
    assert_eq!((catalog.broken_contender("ad"), catalog.broken_contender("w/pion")), (None, None));
    let beside = |named: &[&str]| catalog.problems_beside(named).count();
    assert_eq!(
        [beside(&[]), beside(&["bad"]), beside(&["x", "w/lost", "variant"]), beside(&["w"])],
        [4, 3, 2, 4]
    );
    assert!(Catalog::load(&dir.path().join("none")).is_err());
}

#[test]
fn all_problems_of_a_manifest_are_one_error() {
    let dir = tempfile::tempdir().unwrap();
    for folder in ["workloads", "contenders/w/pion"] {
        std::fs::create_dir_all(dir.path().join(folder)).unwrap();
    }
    std::fs::write(dir.path().join("workloads/w.toml"), WORKLOAD).unwrap();
    let text = CONTENDER.replace("{bin}", "{binn}").replace("tuning = \"defaults\"", "tuning = \"peak\"");
    std::fs::write(dir.path().join("contenders/w/pion/contender.toml"), text).unwrap();
    let error = Catalog::load(dir.path()).unwrap().contender("w", "pion").unwrap_err().to_string();
    assert!(error.contains("{binn}") && error.contains("tuned: must list"), "{error}");
}

#[test]
fn the_repositorys_own_manifests_are_valid() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let root = if root.join("workloads").is_dir() { root } else { find_root().unwrap().unwrap() };
    let catalog = Catalog::load(&root).unwrap();
    let problems: Vec<String> = catalog.problems.iter().map(ManifestError::to_string).collect();
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    assert!(!catalog.workloads.is_empty());
    for workload in catalog.workloads.values().filter(|workload| workload.gate.input.is_none()) {
        for preset in workload.presets.keys() {
            workload.gate.expected(&workload.resolve(Some(preset), &[]).unwrap(), 1).unwrap();
        }
    }
}
