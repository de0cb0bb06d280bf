//! The mount points of the cgroup hierarchies and this process's cgroups in them.

use std::path::{Path, PathBuf};

use procfs::process::{MountInfo, Process};

#[derive(Debug)]
pub(crate) struct Hierarchy {
    mount: PathBuf,
    /// The directory of this process's cgroup.
    own: PathBuf,
    /// v1's controllers; `None` for v2.
    controllers: Option<Vec<String>>,
}

impl Hierarchy {
    pub(crate) fn is_v2(&self) -> bool {
        self.controllers.is_none()
    }

    pub(crate) fn has_controller(&self, name: &str) -> bool {
        self.controllers.as_ref().is_some_and(|controllers| controllers.iter().any(|other| other == name))
    }

    /// The directories in which cgroups may be created: our own and, for v2, its parent.
    pub(crate) fn places(&self) -> Vec<PathBuf> {
        let mut places = vec![self.own.clone()];
        if self.is_v2() && self.own != self.mount {
            places.extend(self.own.parent().map(Path::to_path_buf));
        }
        places
    }
}

/// The mounted hierarchies that contain this process; none if the kernel has no cgroups.
pub(crate) fn hierarchies() -> Vec<Hierarchy> {
    let Ok(this) = Process::myself() else { return Vec::new() };
    let (Ok(mounts), Ok(groups)) = (this.mountinfo(), this.cgroups()) else { return Vec::new() };
    mounts
        .iter()
        .filter_map(|mount| {
            let is_v2 = match mount.fs_type.as_str() {
                "cgroup" => false,
                "cgroup2" => true,
                _ => return None,
            };
            let group = groups.0.iter().find(|group| match is_v2 {
                true => group.hierarchy == 0,
                false => group.hierarchy != 0 && controllers_mounted(mount, &group.controllers),
            })?;
            let own = own_directory(&mount.mount_point, &mount.root, &group.pathname)?;
            let controllers = (!is_v2).then(|| group.controllers.clone());
            Some(Hierarchy { mount: mount.mount_point.clone(), own, controllers })
        })
        .collect()
}

fn controllers_mounted(mount: &MountInfo, controllers: &[String]) -> bool {
    !controllers.is_empty() && controllers.iter().all(|name| mount.super_options.contains_key(name))
}

/// The directory of cgroup `path` in a hierarchy whose directory `root` is mounted at `mount_point`. `None` if it is
/// outside, which a cgroup namespace shows as a path that begins with `/..`.
fn own_directory(mount_point: &Path, root: &str, path: &str) -> Option<PathBuf> {
    if path.split('/').any(|part| part == "..") {
        return None;
    }
    let below = Path::new(path).strip_prefix(root).ok()?;
    Some(if below.as_os_str().is_empty() { mount_point.to_path_buf() } else { mount_point.join(below) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_directory_is_relative_to_the_mounted_root() {
        let check = |root, path, expected: Option<&str>| {
            assert_eq!(
                own_directory(Path::new("/cg"), root, path),
                expected.map(PathBuf::from),
                "{root} {path}"
            );
        };
        check("/", "/", Some("/cg"));
        check("/", "/a/b", Some("/cg/a/b"));
        check("/docker/x", "/docker/x", Some("/cg"));
        check("/docker/x", "/docker/x/y", Some("/cg/y"));
        check("/docker/x", "/user", None);
        check("/", "/../other", None);
    }

    #[test]
    fn v2_may_also_be_used_beside_us() {
        let v2 = Hierarchy { mount: "/cg".into(), own: "/cg/a/b".into(), controllers: None };
        assert_eq!(v2.places(), [PathBuf::from("/cg/a/b"), "/cg/a".into()]);
        let root = Hierarchy { mount: "/cg".into(), own: "/cg".into(), controllers: None };
        assert_eq!(root.places(), [PathBuf::from("/cg")]);
    }
}
