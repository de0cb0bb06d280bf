//! The embedded catalogue, for use outside of checkouts: workloads, contenders, SDKs and the stacks of this
//! repository.
//!
//! Does: unpack it into the cache, once per version. Does not: read it; the unpacked folder is treated like a
//! checkout.
//!
//! ```text
//! <cache>/catalogues/<16 hex>/      the archive of `build.rs`, named by its hash
//! ```

use std::path::{Path, PathBuf};
use std::{fs, io};

use flate2::read::GzDecoder;
use sha2::{Digest, Sha256};

use netdyno_lab_manifest::hex;

/// Empty if the program was built outside its repository.
static PACKED: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/catalogue.tar.gz"));

/// The folder name of the catalogue: a hash of its content.
pub(crate) fn name() -> String {
    name_of(PACKED)
}

fn name_of(packed: &[u8]) -> String {
    hex(&Sha256::digest(packed))[..16].to_owned()
}

/// The folder of the catalogue, unpacked on first use; none if the program has none.
pub(crate) fn unpacked(cache: &Path) -> io::Result<Option<PathBuf>> {
    unpack(PACKED, cache)
}

fn unpack(packed: &[u8], cache: &Path) -> io::Result<Option<PathBuf>> {
    if packed.is_empty() {
        return Ok(None);
    }
    let (folder, name) = (cache.join("catalogues"), name_of(packed));
    let (whole, partial) = (folder.join(&name), folder.join(format!("{name}.partial")));
    if whole.is_dir() {
        return Ok(Some(whole));
    }
    // Another netdyno may be unpacking it.
    let _lock = netdyno_lab_engine::build::lock(cache, &name)?;
    if whole.is_dir() {
        return Ok(Some(whole));
    }
    match fs::remove_dir_all(&partial) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e),
        _ => fs::create_dir_all(&partial)?,
    }
    tar::Archive::new(GzDecoder::new(packed)).unpack(&partial)?;
    fs::rename(&partial, &whole)?;
    Ok(Some(whole))
}

#[cfg(test)]
mod tests {
    use super::*;
    use netdyno_lab_manifest::Catalog;

    #[test]
    fn it_is_a_checkout_with_all_that_builds_need_and_is_unpacked_once() {
        let cache = tempfile::tempdir().unwrap();
        let root = unpacked(cache.path()).unwrap().expect("built in its repository");
        let catalog = Catalog::load(&root).unwrap();
        assert!(catalog.problems.is_empty(), "{:?}", catalog.problems);
        assert!(catalog.contenders.len() > 10);
        for file in ["contenders/sdk/rust/Cargo.toml", "contenders/PROTOCOL.md", "Cargo.lock"] {
            assert!(root.join(file).is_file(), "{file}");
        }
        let workspace: toml::Table = fs::read_to_string(root.join("Cargo.toml")).unwrap().parse().unwrap();
        for member in workspace["workspace"]["members"].as_array().unwrap() {
            let member = member.as_str().unwrap();
            assert!(root.join(member).join("Cargo.toml").is_file(), "{member}");
        }
        fs::write(root.join("mine"), "").unwrap();
        assert_eq!(unpacked(cache.path()).unwrap(), Some(root.clone()));
        assert!(root.join("mine").exists());
    }

    #[test]
    fn what_was_interrupted_is_unpacked_again_and_nothing_is_no_catalogue() {
        let cache = tempfile::tempdir().unwrap();
        assert_eq!(unpack(&[], cache.path()).unwrap(), None);
        let mut archive =
            tar::Builder::new(flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast()));
        let mut header = tar::Header::new_gnu();
        header.set_size(3);
        header.set_mode(0o644);
        archive.append_data(&mut header, "folder/file", &b"abc"[..]).unwrap();
        let packed = archive.into_inner().unwrap().finish().unwrap();
        let name = name_of(&packed);
        fs::create_dir_all(cache.path().join(format!("catalogues/{name}.partial/other"))).unwrap();
        let root = unpack(&packed, cache.path()).unwrap().unwrap();
        assert_eq!(fs::read_to_string(root.join("folder/file")).unwrap(), "abc");
        assert!(!root.join("other").exists());
        assert!(unpack(&packed[..packed.len() / 2], &cache.path().join("cut")).is_err());
    }
}
