//! Values of options.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use netdyno_kv::core;

const MEMORY: &str = "a number of bytes with an optional unit kb, mb or gb, for example 100mb";

pub(super) fn memory(text: &str) -> Result<String, String> {
    validated("maxmemory", text, MEMORY)
}

pub(super) fn client_memory(text: &str) -> Result<String, String> {
    validated("maxmemory-clients", text, MEMORY)
}

pub(super) fn policy(text: &str) -> Result<String, String> {
    let rule = "noeviction, allkeys-lru, allkeys-lfu, allkeys-random, volatile-lru, volatile-lfu, volatile-random or volatile-ttl";
    validated("maxmemory-policy", text, rule)
}

/// A password from an option or environment variable, or else from a file. Empty without either.
pub(super) fn secret(
    option: &str,
    value: &Option<String>,
    file: Option<&Path>,
) -> Result<String, core::Error> {
    let Some(path) = file else { return Ok(value.clone().unwrap_or_default()) };
    let invalid = |reason: &str| core::Error::new(format!("{option}: {}: {reason}", path.display()));
    let metadata = fs::metadata(path).map_err(|error| invalid(&error.to_string()))?;
    if metadata.permissions().mode() & 0o077 != 0 {
        return Err(invalid("other users have access to it; use chmod 600"));
    }
    let text = fs::read_to_string(path).map_err(|error| invalid(&error.to_string()))?;
    let password = text.strip_suffix('\n').unwrap_or(&text);
    if password.is_empty() || password.contains('\n') {
        return Err(invalid("must contain one line, the password"));
    }
    Ok(password.to_owned())
}

/// Returns the text if the configuration accepts it.
fn validated(name: &str, text: &str, rule: &str) -> Result<String, String> {
    let config = core::Config::default().with(name, text);
    config.map(|_| text.to_owned()).map_err(|_| format!("expected {rule}"))
}
