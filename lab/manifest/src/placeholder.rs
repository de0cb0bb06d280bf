//! Placeholders in the command of a role.

use strum::IntoEnumIterator;

use super::nearest;

/// A name in braces in the command of a role.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::Display, strum::EnumIter, strum::EnumString)]
#[strum(serialize_all = "snake_case")]
pub enum Placeholder {
    /// The built program.
    Bin,
    /// The folder of the build.
    Dir,
    /// The contender's sources: in Python the copy in the build, else its folder in the repository.
    Src,
    /// The Python of the virtual environment.
    Python,
    /// The Node program.
    Node,
}

/// Replaces placeholders by values. The error has the violated rule and the placeholder that was probably meant.
pub fn substitute(
    text: &str,
    value: impl Fn(Placeholder) -> Option<String>,
) -> Result<String, (String, Option<String>)> {
    let mut done = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(['{', '}']) {
        let (before, from) = rest.split_at(at);
        done.push_str(before);
        let inside = from.strip_prefix('{').and_then(|tail| tail.split_once('}'));
        let Some((name, tail)) = inside else {
            return Err((format!("an unmatched brace in \"{text}\""), None));
        };
        match name.parse().map(&value) {
            Ok(Some(value)) => done.push_str(&value),
            Ok(None) => return Err((format!("{{{name}}} is for another build tool"), None)),
            Err(_) => {
                let near = nearest(name, Placeholder::iter().map(|p| p.to_string()));
                return Err((format!("unknown placeholder {{{name}}}"), near.map(|n| format!("{{{n}}}"))));
            }
        }
        rest = tail;
    }
    done.push_str(rest);
    Ok(done)
}
