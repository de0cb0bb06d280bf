//! The addresses of pages: the same below a server's root and below a folder, so that links are relative and work in both.

/// What a page is of.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Address {
    /// What there is: `index.html`.
    Index,
    /// All runs, newest first, in parts from 1: `runs-1.html`.
    Runs(usize),
    /// A run, by its id: `runs/20260131-120000-ab12.html`.
    Run(String),
    /// A workload over time: `history/rtt.html`.
    History(String),
    /// A study: `studies/servers.html`.
    Study(String),
}

/// Longest name in an address.
const NAME_BYTES_MAX: usize = 128;

impl Address {
    /// Reads a path without its first slash; none where no page is like it.
    #[must_use]
    pub fn parse(path: &str) -> Option<Address> {
        if path.is_empty() {
            return Some(Address::Index);
        }
        let Some((folder, file)) = path.split_once('/') else {
            let page = path.strip_suffix(".html")?;
            return match page.strip_prefix("runs-") {
                _ if page == "index" => Some(Address::Index),
                Some(part) => part.parse().ok().filter(|n| *n > 0).map(Address::Runs),
                None => None,
            };
        };
        let name = file.strip_suffix(".html").filter(|name| is_name(name))?.to_owned();
        match folder {
            "runs" => Some(Address::Run(name)),
            "history" => Some(Address::History(name)),
            "studies" => Some(Address::Study(name)),
            _ => None,
        }
    }

    /// The path, without a first slash.
    #[must_use]
    pub fn path(&self) -> String {
        match self {
            Address::Index => "index.html".to_owned(),
            Address::Runs(part) => format!("runs-{part}.html"),
            Address::Run(id) => format!("runs/{id}.html"),
            Address::History(workload) => format!("history/{workload}.html"),
            Address::Study(name) => format!("studies/{name}.html"),
        }
    }

    /// What leads from this page to the top: nothing, or `../`.
    #[must_use]
    pub fn to_top(&self) -> &'static str {
        if matches!(self, Address::Index | Address::Runs(_)) { "" } else { "../" }
    }
}

/// Whether a name can stand in an address: nothing in it leads elsewhere. Runs of others, once imported, may be called anything.
#[must_use]
pub fn is_name(name: &str) -> bool {
    let is_fine = |b: u8| b.is_ascii_alphanumeric() || b"-_.".contains(&b);
    (1..=NAME_BYTES_MAX).contains(&name.len()) && !name.starts_with('.') && name.bytes().all(is_fine)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_as_they_are_written() {
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
    fn what_leads_elsewhere_is_no_address() {
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
