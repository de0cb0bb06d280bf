//! Addresses of pages. Links are relative, so that they work on a server and in a folder of files.

/// Address of a page.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Address {
    /// The index: `index.html`.
    Index,
    /// A page of the list of runs, newest first, numbered from 1: `runs-1.html`.
    Runs(usize),
    /// A run, by its id: `runs/20260131-120000-ab12.html`.
    Run(String),
    /// The history of a workload: `history/rtt.html`.
    History(String),
    /// A study: `studies/servers.html`.
    Study(String),
}

/// Maximum length of a name in an address.
const NAME_BYTES_MAX: usize = 128;

impl Address {
    /// Parses a path without leading slash; none if it is not the address of a page.
    pub(crate) fn parse(path: &str) -> Option<Address> {
        if path.is_empty() {
            return Some(Address::Index);
        }
        let name = path.strip_suffix(".html")?;
        let Some((folder, name)) = name.split_once('/') else {
            let part = || name.strip_prefix("runs-")?.parse().ok().filter(|n| *n > 0);
            return if name == "index" { Some(Address::Index) } else { part().map(Address::Runs) };
        };
        let name = Some(name).filter(|name| is_name(name))?.to_owned();
        match folder {
            "runs" => Some(Address::Run(name)),
            "history" => Some(Address::History(name)),
            "studies" => Some(Address::Study(name)),
            _ => None,
        }
    }

    /// The path, without leading slash.
    pub(crate) fn path(&self) -> String {
        match self {
            Address::Index => "index.html".to_owned(),
            Address::Runs(part) => format!("runs-{part}.html"),
            Address::Run(id) => format!("runs/{id}.html"),
            Address::History(workload) => format!("history/{workload}.html"),
            Address::Study(name) => format!("studies/{name}.html"),
        }
    }
}

/// Whether a name is safe in an address, without path traversal. Names of imported runs are not trusted.
pub(crate) fn is_name(name: &str) -> bool {
    let is_allowed = |b: u8| b.is_ascii_alphanumeric() || b"-_.".contains(&b);
    (1..=NAME_BYTES_MAX).contains(&name.len()) && !name.starts_with('.') && name.bytes().all(is_allowed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_round_trip() {
        for path in [
            "index.html",
            "runs-2.html",
            "runs/20260131-120000-ab12.html",
            "history/rtt.html",
            "studies/a-b.html",
        ] {
            assert_eq!(Address::parse(path).map(|a| a.path()).as_deref(), Some(path));
        }
        assert_eq!(Address::parse(""), Some(Address::Index));
    }

    #[test]
    fn paths_outside_the_site_are_rejected() {
        for path in [
            "/",
            "..",
            "runs/..",
            "runs/../x.html",
            "runs/.html",
            "runs/..html",
            "runs/a/b.html",
            "runs/%2e%2e.html",
            "studies/../../etc/passwd",
            "studies/a.md",
            "studies/a.svg",
            "runs-0.html",
            "runs--1.html",
            "runs-99999999999999999999.html",
            "history/a\u{0}b.html",
            "history/<script>.html",
            "other.html",
        ] {
            assert_eq!(Address::parse(path), None, "{path}");
        }
    }
}
