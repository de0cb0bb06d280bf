//! Lines of code of a build: library, adapter and generated code.
//!
//! Does: assign files to the three, or say why one is unknown. Does not: fail a build, since the count does not
//! affect it.

use std::fs;

use super::count::Tally;
use super::package::{Package, of_library};
use netdyno_lab_manifest::Contender;
use netdyno_lab_store::code_lines::{CodeLines, LineCount};

/// Counts lines. `packages` is what the program was built from.
pub(super) fn count(contender: &Contender, packages: &Result<Vec<Package>, String>) -> CodeLines {
    // The folder of contenders, including SDKs.
    let ours = contender.dir.ancestors().nth(2).unwrap_or(&contender.dir);
    let ours = fs::canonicalize(ours).unwrap_or_else(|_| ours.to_owned());
    let is_ours = |p: &&Package| fs::canonicalize(&p.folder).is_ok_and(|folder| folder.starts_with(&ours));
    let adapter = Tally::folder(&contender.dir);
    let library = library(contender, packages, &is_ours);
    // Output of the contender's own build script. The SDK's output does not count.
    let dir = fs::canonicalize(&contender.dir).unwrap_or_else(|_| contender.dir.clone());
    let is_itself = |p: &&Package| fs::canonicalize(&p.folder).is_ok_and(|folder| folder == dir);
    let itself: Vec<&Package> = packages.iter().flatten().filter(is_itself).collect();
    CodeLines {
        library: match &library {
            Ok(library) => library.shown(),
            Err(Absent::Itself) => {
                LineCount::not_measured("the contender itself is under test: its lines are the adapter's")
            }
            Err(Absent::Unknown(why)) => LineCount::not_measured(why),
        },
        adapter: match &adapter {
            Ok(tally) => LineCount::of(tally.lines(), format!("tokei, of the files of {}", contender.id())),
            Err(why) => LineCount::not_measured(why),
        },
        generated: generated(&adapter, &library, &itself),
    }
}

enum Absent {
    /// The contender itself is under test.
    Itself,
    Unknown(String),
}

struct Library {
    packages: Vec<Package>,
    tallies: Vec<Tally>,
    sum: Tally,
}

fn library(
    contender: &Contender,
    packages: &Result<Vec<Package>, String>,
    is_ours: &dyn Fn(&&Package) -> bool,
) -> Result<Library, Absent> {
    let implementation = &contender.implementation;
    if let Some(with) = implementation.comes_with() {
        let why = format!("{} comes with the {with}, without its source", implementation.module);
        return Err(Absent::Unknown(why));
    }
    let all = packages.as_ref().map_err(|why| Absent::Unknown(why.clone()))?;
    let (ours, others): (Vec<&Package>, Vec<&Package>) = all.iter().partition(is_ours);
    if ours.iter().any(|package| package.name == implementation.module) {
        return Err(Absent::Itself);
    }
    let others: Vec<Package> = others.into_iter().cloned().collect();
    let packages = of_library(&others, implementation).map_err(Absent::Unknown)?;
    let tally = |package: &Package| match &package.files {
        Some(files) => Tally::files(&package.folder, files),
        None => Tally::folder(&package.folder),
    };
    let tallies = packages.iter().map(tally).collect::<Result<Vec<_>, _>>().map_err(Absent::Unknown)?;
    let mut sum = Tally::default();
    tallies.iter().for_each(|tally| sum.add(tally));
    let library = Library { packages, tallies, sum };
    let language = &contender.language;
    if !library.sum.has(language) {
        // Its source only calls compiled code.
        return Err(Absent::Unknown(format!("no {language} in {}{}", library.named(), library.compiled())));
    }
    Ok(library)
}

impl Library {
    /// Its name and the number of other packages.
    fn named(&self) -> String {
        let name = self.packages.first().map_or_else(String::new, name);
        match self.packages.len() {
            0 | 1 => name,
            2 => format!("{name} and 1 more package of its owner"),
            n => format!("{name} and {} more packages of its owner", n - 1),
        }
    }

    fn compiled(&self) -> String {
        match self.sum.compiled {
            0 => String::new(),
            1 => "; 1 compiled file without its source is beside it".to_owned(),
            n => format!("; {n} compiled files without their source are beside it"),
        }
    }

    fn shown(&self) -> LineCount {
        let mut count =
            LineCount::of(self.sum.lines(), format!("tokei, of {}{}", self.named(), self.compiled()));
        if self.packages.len() > 1 {
            count.parts =
                self.packages.iter().zip(&self.tallies).map(|(p, tally)| (name(p), tally.lines())).collect();
        }
        count
    }
}

fn name(package: &Package) -> String {
    format!("{} {}", package.name, package.version)
}

/// Generated lines: files marked as such, and output of build scripts. Unknown if the library's source is.
fn generated(
    adapter: &Result<Tally, String>,
    library: &Result<Library, Absent>,
    itself: &[&Package],
) -> LineCount {
    let (marked, packages) = match (adapter, library) {
        (Ok(adapter), Ok(library)) => (adapter.generated() + library.sum.generated(), &*library.packages),
        (Ok(adapter), Err(Absent::Itself)) => (adapter.generated(), &[][..]),
        (Err(why), _) | (_, Err(Absent::Unknown(why))) => return LineCount::not_measured(why),
    };
    let folders = packages.iter().chain(itself.iter().copied()).flat_map(|package| &package.made);
    let made = folders.map(|folder| Tally::made(folder)).sum::<Result<u64, String>>();
    match made {
        Ok(made) => {
            let source = "tokei, of files marked as generated and of Rust files from build scripts";
            LineCount::of(marked + made, source)
        }
        Err(why) => LineCount::not_measured(why),
    }
}
