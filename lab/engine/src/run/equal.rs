//! Equalising a property of all contenders of a run, to measure its effect. Such a run does not describe the
//! unmodified contenders.

use std::path::Path;

use netdyno_lab_store::Equal;

pub(super) fn set(equal: &Equal, env: &mut Vec<(String, String)>) {
    match equal {
        Equal::Rcvbuf { library } => {
            preload(env, library);
            env.push(("NETDYNO_RCVBUF".to_owned(), "keep".to_owned()));
        }
        Equal::Allocator { library } => preload(env, library),
        Equal::Gso | Equal::Workers => {}
    }
}

/// Adds a library to those that a role preloads.
pub(crate) fn preload(env: &mut Vec<(String, String)>, library: &Path) {
    let library = library.display();
    match env.iter_mut().find(|(name, _)| name == "LD_PRELOAD") {
        Some((_, libraries)) => libraries.push_str(&format!(":{library}")),
        None => env.push(("LD_PRELOAD".to_owned(), library.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_are_loaded_beside_others() {
        let mut env = Vec::new();
        set(&Equal::Allocator { library: "/a.so".into() }, &mut env);
        set(&Equal::Gso, &mut env);
        set(&Equal::Rcvbuf { library: "/b.so".into() }, &mut env);
        let expected = [("LD_PRELOAD", "/a.so:/b.so"), ("NETDYNO_RCVBUF", "keep")];
        assert_eq!(env, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
    }
}
