//! `netdyno new`: a contender that passes `check`, to put a library into.
//!
//! Templates are `contenders/sdk/<language>/templates/<workload>/`: every file, its `.j2` taken off, is rendered with
//! `name` into `contenders/<workload>/<name>/`.

use std::fs;
use std::path::{Path, PathBuf};

use minijinja::{Environment, UndefinedBehavior, context};

use super::{GOOD, Outcome, catalog, print};
use crate::cli::NewArgs;
use crate::manifest::{Catalog, Contender, ManifestError, find_root};

/// Files of a template at the most.
const FILES_MAX: usize = 100;

/// Makes the contender's folder.
///
/// # Errors
/// When the workload or the template is unknown, the name is taken or not allowed, or the folder cannot be written.
pub fn run(args: &NewArgs) -> Outcome {
    let root = find_root()?;
    if root.is_compiled_in {
        let path = root.path.display();
        return Err(format!(
            "there is no checkout here or above, and `new` writes into one: run it in your checkout, or set \
             NETDYNO_ROOT={path}, where this program was built"
        )
        .into());
    }
    let catalog = catalog(&[&args.workload])?;
    let workload = catalog.workload(&args.workload)?;
    let template = template(&catalog, &args.language, &workload.name)?;
    let folder = catalog.root.join("contenders").join(&workload.name).join(&args.name);
    if folder.exists() {
        return Err(format!("{} exists: choose another name, or remove it", folder.display()).into());
    }
    let rendered = render(&template, &args.name)?;
    // What a wrong name would break, before anything is written.
    if let Some((file, text)) = rendered.iter().find(|(file, _)| file == Path::new("contender.toml")) {
        Contender::parse(&folder.join(file), text)
            .map_err(|errors| errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))?;
    }
    for (file, text) in &rendered {
        let path = folder.join(file);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::write(&path, text)?;
    }
    print(&format!(
        "made {}\nnext: netdyno check {}/{name}, put your library into it, netdyno run {} {name}\n",
        folder.display(),
        workload.name,
        workload.name,
        name = args.name
    ));
    Ok(GOOD)
}

/// The folder of a template; where there is none, says which languages have one.
fn template(catalog: &Catalog, language: &str, workload: &str) -> Result<PathBuf, ManifestError> {
    let sdk = catalog.root.join("contenders/sdk");
    let folder = |language: &str| sdk.join(language).join("templates").join(workload);
    if folder(language).is_dir() && !language.contains(['/', '.']) {
        return Ok(folder(language));
    }
    let mut known: Vec<String> = fs::read_dir(&sdk)
        .into_iter()
        .flatten()
        .flatten()
        .map(|e| e.file_name().to_string_lossy().into_owned())
        .filter(|l| folder(l).is_dir())
        .collect();
    known.sort();
    Err(ManifestError::unknown("language", language, known))
}

/// Every file of the template, rendered, by its path.
fn render(template: &Path, name: &str) -> Result<Vec<(PathBuf, String)>, Box<dyn std::error::Error>> {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    let mut files = Vec::new();
    let mut folders = vec![template.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder)? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            if files.len() >= FILES_MAX {
                return Err(format!("{}: more than {FILES_MAX} files", template.display()).into());
            }
            // Rendering drops a file's last newline.
            let text =
                format!("{}\n", environment.render_str(&fs::read_to_string(&path)?, context! { name })?);
            let relative = path.strip_prefix(template)?;
            files.push((relative.with_extension(""), text));
        }
    }
    Ok(files)
}
