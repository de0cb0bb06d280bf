//! The packages of a program, and which of them belong to the library under test.
//!
//! Libraries are divided into packages in many ways: one crate, fifteen of one repository, or a repository per
//! protocol. The library therefore consists of the package in the manifest and the program's packages with the same
//! owner: the first path component of their repositories or, for Go modules, of their paths.

use std::path::PathBuf;

use super::limits::COUNTED_PACKAGES_MAX;
use netdyno_lab_manifest::{LibraryVersion, version_matches};

/// The reason for tools that install compiled packages.
pub(super) const COMPILED: &str = "it is distributed in compiled form, without source";

#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Package {
    pub(super) name: String,
    /// Its version, without a leading `v`.
    pub(super) version: String,
    /// Its owners, as `forge/name`.
    pub(super) owners: Vec<String>,
    pub(super) folder: PathBuf,
    /// Its files, relative to the folder, if it shares the folder; none: all files.
    pub(super) files: Option<Vec<PathBuf>>,
    /// Output folders of its build scripts.
    pub(super) made: Vec<PathBuf>,
    /// Not a release, but a folder referenced by path.
    pub(super) is_local: bool,
}

/// The library's package, followed by others of the same owner. Packages referenced by path have the same owner.
pub(super) fn of_library(packages: &[Package], library: &LibraryVersion) -> Result<Vec<Package>, String> {
    let is_it = |p: &&Package| p.name == library.module && version_matches(&library.version, &p.version);
    let Some(found) = packages.iter().find(is_it) else {
        return Err(format!(
            "no package {} {} with its source in the build",
            library.module, library.version
        ));
    };
    let is_kin = |p: &&Package| {
        let same = p.owners.iter().any(|owner| found.owners.contains(owner));
        !std::ptr::eq(*p, found) && (same || found.is_local && p.is_local)
    };
    let all: Vec<Package> = [found].into_iter().chain(packages.iter().filter(is_kin)).cloned().collect();
    match all.len() > COUNTED_PACKAGES_MAX {
        true => Err(format!("more than {COUNTED_PACKAGES_MAX} packages of one owner")),
        false => Ok(all),
    }
}

/// The owner of a repository: `github.com/owner` for `git+https://github.com/owner/name.git`.
pub(super) fn owner(repository: &str) -> Option<String> {
    let address = repository.trim().to_lowercase();
    let address = match address.split_once("://") {
        Some((_, rest)) => rest.to_owned(),
        // `git@host:owner/name`, and npm's `github:owner/name`.
        None => match address.split_once(':') {
            Some((host, path)) if host.contains('.') => format!("{host}/{path}"),
            Some((host, path)) => format!("{host}.com/{path}"),
            None => return None,
        },
    };
    let (host, path) = address.split_once('/')?;
    let host = host.rsplit('@').next()?;
    let owner = path.split('/').next().filter(|owner| !owner.is_empty())?;
    Some(format!("{}/{owner}", host.strip_prefix("www.").unwrap_or(host)))
}

/// The owner of a Go module: the first two components of its path.
pub(super) fn owner_of_module(path: &str) -> String {
    path.split('/').take(2).collect::<Vec<_>>().join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_owner_is_the_first_part_of_a_repositorys_path() {
        for (address, expected) in [
            ("https://github.com/a/b", Some("github.com/a")),
            ("https://www.github.com/A/b.git/", Some("github.com/a")),
            ("https://github.com/a/b/tree/master/c", Some("github.com/a")),
            ("git+https://github.com/a/b.git", Some("github.com/a")),
            ("git+ssh://git@github.com/a/b.git", Some("github.com/a")),
            ("git@codeberg.org:a/b.git", Some("codeberg.org/a")),
            ("github:a/b", Some("github.com/a")),
            ("https://example.org", None),
            ("https://example.org/", None),
            ("", None),
        ] {
            assert_eq!(owner(address).as_deref(), expected, "{address}");
        }
        assert_eq!(owner_of_module("github.com/a/b/v4"), "github.com/a");
        assert_eq!(owner_of_module("net"), "net");
    }

    fn package(name: &str, version: &str, owner: &str) -> Package {
        let owners = (!owner.is_empty()).then(|| owner.to_owned()).into_iter().collect();
        let (name, version, is_local) = (name.to_owned(), version.to_owned(), owner == "h/local");
        Package { name, version, owners, is_local, ..Package::default() }
    }

    #[test]
    fn the_library_is_what_the_manifest_names_and_its_owners_packages() {
        let packages = [
            package("dtls", "1.0.0", "h/a"),
            package("lib", "1.0.0", "h/old"),
            package("lib", "2.0.0", "h/a"),
            package("bytes", "1.0.0", "h/b"),
            package("alone", "1.0.0", ""),
            package("nobodys", "1.0.0", ""),
            package("ours", "0.1.0", "h/local"),
            package("part", "0.1.0", "h/local"),
        ];
        for (module, version, expected) in [
            ("lib", "2.0.0", Ok(vec!["lib", "dtls"])),
            ("lib", "1.0.0", Ok(vec!["lib"])),
            ("alone", "1.0.0", Ok(vec!["alone"])),
            ("ours", "0.1.0", Ok(vec!["ours", "part"])),
            ("lib", "3.0.0", Err("no package lib 3.0.0 with its source in the build".to_owned())),
            ("gone", "1.0.0", Err("no package gone 1.0.0 with its source in the build".to_owned())),
        ] {
            let library = LibraryVersion { module: module.to_owned(), version: version.to_owned() };
            let found = of_library(&packages, &library);
            let names = found.as_ref().map(|all| all.iter().map(|p| p.name.as_str()).collect::<Vec<_>>());
            assert_eq!(names.map_err(Clone::clone), expected, "{module} {version}");
        }
        let many: Vec<Package> =
            (0..=COUNTED_PACKAGES_MAX).map(|i| package(&i.to_string(), "1", "h/a")).collect();
        let library = LibraryVersion { module: "0".to_owned(), version: "1".to_owned() };
        assert!(of_library(&many, &library).unwrap_err().starts_with("more than"));
    }
}
