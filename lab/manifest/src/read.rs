//! Reading manifests: TOML to types, with all problems collected.

use std::io::Read;
use std::path::{Path, PathBuf};

use serde::Deserializer;
use serde::de::DeserializeOwned;
use toml::de::{DeTable, DeValue};

use super::limits::{ENTRIES_MAX, MANIFEST_BYTES_MAX, NAME_BYTES_MAX};
use super::{Checked, ManifestError, nearest};

/// The problems of one manifest.
pub struct Problems<'a> {
    file: PathBuf,
    text: &'a str,
    errors: Vec<ManifestError>,
}

impl<'a> Problems<'a> {
    /// No problems yet.
    pub fn new(file: &Path, text: &'a str) -> Self {
        Self { file: file.to_owned(), text, errors: Vec::new() }
    }

    /// Records that `field` violates `rule`.
    pub fn push(&mut self, field: impl Into<String>, rule: impl Into<String>) {
        self.push_near(field, rule, None);
    }

    /// Like `push`, with the name that was probably meant.
    pub fn push_near(&mut self, field: impl Into<String>, rule: impl Into<String>, nearest: Option<String>) {
        let (file, field, rule) = (self.file.clone(), field.into(), rule.into());
        let line = line_of_field(self.text, &field);
        self.errors.push(ManifestError::Invalid { file, line, field, rule, nearest });
    }

    /// Records that `field` violates `rule`, unless it holds.
    pub fn require(&mut self, holds: bool, field: impl Into<String>, rule: impl Into<String>) {
        if !holds {
            self.push(field, rule);
        }
    }

    /// Requires a name that is also a valid folder name: lower-case letters, digits, `-`, `_` and `.`.
    pub fn name(&mut self, field: &str, name: &str) {
        let rule = format!(
            "\"{name}\" is not a name: 1 to {NAME_BYTES_MAX} of a-z, 0-9, '-', '_' and '.', first a letter or digit"
        );
        self.require(is_name(name), field, rule);
    }

    /// Requires a text that is not blank.
    pub fn not_empty(&mut self, field: &str, text: &str) {
        self.require(!text.trim().is_empty(), field, "must not be empty");
    }

    /// Requires one of the known names, and suggests the closest.
    pub fn known<S: AsRef<str>>(
        &mut self,
        field: &str,
        what: &str,
        name: &str,
        known: impl IntoIterator<Item = S>,
    ) {
        let known: Vec<String> = known.into_iter().map(|k| k.as_ref().to_owned()).collect();
        if !known.iter().any(|k| k == name) {
            let rule = format!("unknown {what} \"{name}\"; known: {}", known.join(", "));
            self.push_near(field, rule, nearest(name, &known));
        }
    }

    pub(crate) fn entries(&mut self, field: &str, count: usize) {
        let rule = format!("{count} entries; at most {ENTRIES_MAX} are allowed");
        self.require(count <= ENTRIES_MAX, field, rule);
    }

    /// Returns the value if there are no problems.
    pub fn finish<T>(self, value: T) -> Checked<T> {
        if self.errors.is_empty() { Ok(value) } else { Err(self.errors) }
    }
}

/// Whether `name` is a valid name of a workload, contender, role, parameter, metric, preset or SDK.
pub(crate) fn is_name(name: &str) -> bool {
    let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    name.len() <= NAME_BYTES_MAX
        && name.bytes().next().is_some_and(plain)
        && name.bytes().all(|b| plain(b) || matches!(b, b'-' | b'_' | b'.'))
}

/// Reads `root/file`; errors name `file`.
pub fn read_text(root: &Path, file: &Path) -> Result<String, ManifestError> {
    let mut text = String::new();
    let read = std::fs::File::open(root.join(file))
        .and_then(|f| f.take(MANIFEST_BYTES_MAX + 1).read_to_string(&mut text))
        .map_err(|e| ManifestError::unreadable(file, &e))?;
    if read as u64 > MANIFEST_BYTES_MAX {
        let reason = format!("longer than {MANIFEST_BYTES_MAX} bytes");
        return Err(ManifestError::Unreadable { file: file.to_owned(), reason });
    }
    Ok(text)
}

/// Reads a TOML file into a type; errors name the file.
pub fn read_manifest<T: DeserializeOwned>(file: &Path) -> Result<T, ManifestError> {
    decode(file, &read_text(Path::new(""), file)?)
}

/// Parses TOML into a type; errors have the position.
pub fn decode<T: DeserializeOwned>(file: &Path, text: &str) -> Result<T, ManifestError> {
    let deserializer = toml::de::Deserializer::parse(text).map_err(|e| invalid(file, text, &e, "."))?;
    deserialize(file, text, deserializer)
}

/// Like `decode`, for a variant: missing fields of `[build]` are inherited from the sibling's manifest.
pub(super) fn decode_variant<T: DeserializeOwned>(
    file: &Path,
    text: &str,
    sibling: &str,
) -> Result<T, ManifestError> {
    let mut whole: toml::Table = decode(file, text)?;
    if let Some(build) = whole.get_mut("build").and_then(toml::Value::as_table_mut) {
        for (field, value) in build_of(sibling).unwrap_or_default() {
            build.entry(field).or_insert(value);
        }
    }
    deserialize(file, text, whole)
}

fn deserialize<'de, T: DeserializeOwned>(
    file: &Path,
    text: &str,
    from: impl Deserializer<'de, Error = toml::de::Error>,
) -> Result<T, ManifestError> {
    serde_path_to_error::deserialize(from)
        .map_err(|error| invalid(file, text, error.inner(), &error.path().to_string()))
}

/// The field at `path`, which is `.` for the whole file, cannot be read.
fn invalid(file: &Path, text: &str, error: &toml::de::Error, path: &str) -> ManifestError {
    let (rule, nearest) = explain(error.message());
    let line = error.span().map(|span| line_at(text, span.start)).or_else(|| line_of_field(text, path));
    let field = if path == "." { String::new() } else { path.to_owned() };
    ManifestError::Invalid { file: file.to_owned(), line, field, rule, nearest }
}

/// The table `[build]` of a manifest that may be invalid elsewhere.
pub(super) fn build_of(text: &str) -> Option<toml::Table> {
    let mut whole: toml::Table = text.parse().ok()?;
    match whole.remove("build")? {
        toml::Value::Table(build) => Some(build),
        _ => None,
    }
}

/// Adds the closest name to serde's "unknown field `x`, expected one of `y`, `z`".
fn explain(message: &str) -> (String, Option<String>) {
    let message = message.trim().replace('\n', " ");
    let mut quoted = message.split('`').skip(1).step_by(2);
    let nearest = match quoted.next() {
        Some(name) if message.starts_with("unknown ") => nearest(name, quoted),
        _ => None,
    };
    (message, nearest)
}

/// The line, from 1, of a byte offset.
fn line_at(text: &str, offset: usize) -> usize {
    let upto = text.as_bytes().iter().take(offset);
    1 + upto.filter(|b| **b == b'\n').count()
}

/// The line of the field at a dotted path, or of the deepest existing part of the path.
fn line_of_field(text: &str, field: &str) -> Option<usize> {
    let table = DeTable::parse(text).ok()?;
    let mut here: Option<&DeValue<'_>> = None;
    let mut offset = None;
    let parts = field.split('.').flat_map(|part| part.split('[')).filter(|part| !part.is_empty());
    for part in parts {
        let index = part.strip_suffix(']').and_then(|digits| digits.parse::<usize>().ok());
        let value = match (index, here) {
            (Some(index), Some(list)) => list.get(index)?,
            (_, here) => {
                let inside = here.map_or(Some(table.get_ref()), DeValue::as_table);
                let Some((key, value)) = inside.and_then(|t| t.get_key_value(part)) else { break };
                offset = Some(key.span().start);
                value
            }
        };
        if index.is_some() {
            offset = Some(value.span().start);
        }
        here = Some(value.get_ref());
    }
    offset.map(|offset| line_at(text, offset))
}
