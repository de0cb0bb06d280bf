//! `netdyno new`: creates a contender that passes `check`, as a template for a library.
//!
//! Templates are in `contenders/sdk/<language>/templates/<workload>/`. Each file is rendered with `name`, without its `.j2`
//! extension, to `contenders/<workload>/<name>/` of a checkout. Outside a checkout, the target is the folder that `netdyno.toml` names,
//! else `netdyno/` with a new `netdyno.toml`. The SDK is copied there, so that the repository builds without a checkout.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use minijinja::{Environment, UndefinedBehavior, context};

use super::place::{self, Home};
use super::{CommandResult, Fallible, GOOD, catalog, print};
use crate::cli::NewArgs;
use netdyno_lab_engine::build::SKIPPED;
use netdyno_lab_manifest::{Catalog, Contender, ManifestError, project};

/// Folders of an SDK that are not copied, besides [`SKIPPED`].
const NOT_VENDORED: [&str; 2] = ["templates", "tests"];
/// Limit of files in a template.
const FILES_MAX: usize = 100;

pub(crate) fn run(args: &NewArgs) -> CommandResult {
    let catalog = catalog(&[&args.workload])?;
    let workload = catalog.workload(&args.workload)?;
    let template = template(&catalog, &args.language, &workload.name)?;
    let home = place::home()?;
    let (Home::Checkout(contenders) | Home::Own { folder: contenders, .. }) = &home;
    let folder = contenders.join(&workload.name).join(&args.name);
    if let Ok(other) = catalog.contender(&workload.name, &args.name) {
        let at = other.dir.display();
        return Err(format!("{}/{} exists in {at}: choose another name", workload.name, args.name).into());
    }
    if folder.exists() {
        return Err(format!("{} exists: choose another name, or remove it", folder.display()).into());
    }
    let rendered = render(&template, &args.name)?;
    // Reject an invalid name before anything is written.
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
    if let Home::Own { project, .. } = &home {
        vendor(&catalog, &args.language, &workload.name, contenders)?;
        if let Some(file) = project {
            fs::write(file, project_file(&workload.name, &args.name))?;
            print(&format!("created {}, which names this contender\n", file.display()));
        }
    }
    let (folder, workload, name) = (folder.display(), &workload.name, &args.name);
    let next = format!("netdyno check {workload}/{name}, add your library, netdyno run {workload} {name}");
    print(&format!("created {folder}\nnext: {next}\n"));
    Ok(GOOD)
}

/// Copies the SDK to where templates expect it, next to the contenders, unless it exists there. Of its folders for single
/// workloads, copies only that of this workload.
fn vendor(catalog: &Catalog, language: &str, workload: &str, contenders: &Path) -> std::io::Result<()> {
    let to = contenders.join("sdk").join(language);
    let from = catalog.root.join("contenders/sdk").join(language);
    let own = PathBuf::from(workload);
    let is_new = !to.exists();
    let mut folders = if is_new { vec![PathBuf::new()] } else { vec![own.clone()] };
    folders.retain(|folder| from.join(folder).is_dir() && (is_new || !to.join(folder).exists()));
    if folders.is_empty() {
        return Ok(());
    }
    let is_others =
        |folder: &Path| *folder != own && catalog.workloads.keys().any(|name| Path::new(name) == folder);
    while let Some(folder) = folders.pop() {
        fs::create_dir_all(to.join(&folder))?;
        for entry in fs::read_dir(from.join(&folder))? {
            let entry = entry?;
            let (name, relative) = (entry.file_name(), folder.join(entry.file_name()));
            if entry.path().is_dir() {
                let is_skipped = NOT_VENDORED.iter().chain(SKIPPED).any(|skipped| name == *skipped);
                if !is_skipped && !is_others(&relative) {
                    folders.push(relative);
                }
                continue;
            }
            fs::copy(entry.path(), to.join(&relative))?;
        }
    }
    // A parent folder may hold a workspace without this member.
    let manifest = to.join("Cargo.toml");
    if is_new && manifest.exists() {
        let text = fs::read_to_string(&manifest)?;
        fs::write(&manifest, format!("[workspace]\n\n{text}"))?;
    }
    print(&format!("created {}, the SDK it uses\n", to.display()));
    Ok(())
}

/// The content of a new `netdyno.toml`.
fn project_file(workload: &str, name: &str) -> String {
    format!(
        "# Settings for netdyno; all keys are described in its docs/CI.md.\nworkload = \"{workload}\"\ncontender = \"{name}\"\n\
         contenders = [\"{}\"]\nfail-on = [\"regression=3%\"]\n",
        project::FOLDER
    )
}

/// The folder of a template. The error lists the languages that have one.
fn template(catalog: &Catalog, language: &str, workload: &str) -> Result<PathBuf, ManifestError> {
    let sdk = catalog.root.join("contenders/sdk");
    let folder = |language: &str| sdk.join(language).join("templates").join(workload);
    if folder(language).is_dir() && !language.contains(['/', '.']) {
        return Ok(folder(language));
    }
    let all = fs::read_dir(&sdk).into_iter().flatten().flatten();
    let all = all.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let known: BTreeSet<String> = all.filter(|language| folder(language).is_dir()).collect();
    Err(ManifestError::unknown("language", language, known))
}

/// The rendered files of the template, with their paths.
fn render(template: &Path, name: &str) -> Fallible<Vec<(PathBuf, String)>> {
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
            // Rendering drops the last newline.
            let text =
                format!("{}\n", environment.render_str(&fs::read_to_string(&path)?, context! { name })?);
            let relative = path.strip_prefix(template)?;
            files.push((relative.with_extension(""), text));
        }
    }
    Ok(files)
}
