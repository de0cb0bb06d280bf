//! `netdyno replicate`: tests published claims.

mod course;
mod plans;
mod runs;

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::Path;

use indexmap::IndexMap;

use super::{
    CELL_FAILED, CommandResult, Fallible, GOOD, INTERRUPTED, cancel_on_signal, print, print_json,
    quiet_catalog, write_file,
};
use crate::cli::{Format, ReplicateArgs};
use netdyno_lab_analysis::claims::{self, ArticleClaim, Loaded, Replication, SCHEMA_VERSION};
use netdyno_lab_engine::run::Resolved;
use netdyno_lab_manifest::{Catalog, ManifestError};
use netdyno_lab_report::{columns, grid, plot, wrapped};

/// One article and the claims to test.
struct Asked {
    loaded: Loaded,
    /// Ids of its claims, in the order of the file.
    claims: Vec<String>,
    /// The methods that test them, in the order of the file.
    plans: IndexMap<String, Resolved>,
}

impl Asked {
    fn claims(&self) -> Vec<&ArticleClaim> {
        self.loaded.article.claims.iter().filter(|c| self.claims.contains(&c.id)).collect()
    }
}

/// Runs the methods that the claims need, or loads stored runs, and prints the results.
pub(crate) fn run(args: &ReplicateArgs) -> CommandResult {
    let catalog = quiet_catalog()?;
    let asked = asked(&args.claims, &catalog)?;
    if args.list {
        print(&listed(&asked, columns()));
        return Ok(GOOD);
    }
    if (args.into.is_some() || args.picture.is_some()) && asked.len() != 1 {
        return Err(
            format!("--into and --picture need exactly one article, not {}: name one", asked.len()).into()
        );
    }
    // Detect an unusable document before measuring.
    let document = args.into.as_deref().map(Document::read).transpose()?;
    let cancel = cancel_on_signal()?;
    let found = if args.from.is_empty() {
        course::measured(&asked, args.budget, args.resume, &cancel)?
    } else {
        runs::stored(&asked, &args.from)?
    };
    let mut articles = Vec::new();
    for (one, runs) in asked.iter().zip(&found) {
        articles.push(claims::judge(&one.loaded.article, &one.claims(), runs)?);
    }
    let replication = Replication { schema_version: SCHEMA_VERSION, articles };
    let markdown = netdyno_lab_report::claims::markdown(&replication);
    match args.format {
        Format::Table => print(&netdyno_lab_report::claims::terminal(&replication, columns())),
        Format::Json => print_json(&replication)?,
        Format::Markdown => print(&markdown),
    }
    write_files(args, &replication, document, &markdown)?;
    let ids: Vec<&str> =
        replication.articles.iter().flat_map(|a| &a.methods).map(|m| m.run.as_str()).collect();
    let stored: BTreeSet<&str> = ids.iter().copied().filter(|id| !id.is_empty()).collect();
    if args.from.is_empty() && !stored.is_empty() {
        let (what, runs) = (args.claims.join(" "), stored.into_iter().collect::<Vec<_>>().join(" "));
        let again = format!("netdyno replicate {what} --from {runs}");
        let _ = writeln!(anstream::stderr(), "to judge these runs again:\n  {again}");
    }
    let is_interrupted = cancel.load(std::sync::atomic::Ordering::Relaxed);
    Ok(match ids.iter().all(|id| !id.is_empty()) {
        _ if is_interrupted => INTERRUPTED,
        true => GOOD,
        false => CELL_FAILED,
    })
}

/// Writes the picture, and the block of the document with a link to the picture.
fn write_files(
    args: &ReplicateArgs,
    replication: &Replication,
    document: Option<Document<'_>>,
    markdown: &str,
) -> Fallible<()> {
    let mut link = String::new();
    if let (Some(file), Some(article)) = (&args.picture, replication.articles.first()) {
        let ranking = netdyno_lab_report::claims::picture(article)?;
        write_file(file, plot::ranking_svg(&ranking, plot::WIDTH).file())?;
        let is_beside = document.as_ref().is_some_and(|d| d.file.parent() == file.parent());
        let target = file.file_name().filter(|_| is_beside).map_or(file.as_path(), Path::new);
        link = format!("![Published and measured ratios of {}]({})\n\n", article.id, target.display());
    }
    if let Some(document) = document {
        write_file(document.file, document.with(&format!("{link}{markdown}"))?)?;
    }
    Ok(())
}

/// A document with markers for the generated block.
struct Document<'a> {
    file: &'a Path,
    text: String,
}

impl<'a> Document<'a> {
    fn read(file: &'a Path) -> Result<Self, String> {
        let text = std::fs::read_to_string(file).map_err(|e| format!("{}: {e}", file.display()))?;
        let document = Self { file, text };
        document.with("").map(|_| document)
    }

    fn with(&self, block: &str) -> Result<String, String> {
        netdyno_lab_report::claims::into_block(&self.text, block)
            .map_err(|e| format!("{} {e}", self.file.display()))
    }
}

/// The named articles and claims, each article once, in the order of the arguments.
fn asked(names: &[String], catalog: &Catalog) -> Fallible<Vec<Asked>> {
    // A file outside the repository does not depend on those inside.
    let all_files = !names.is_empty() && names.iter().all(|name| is_file(name));
    let known = if all_files { Vec::new() } else { claims::load_all(&catalog.root)? };
    let mut wanted: Vec<(Loaded, Vec<String>)> = Vec::new();
    for (loaded, claim) in chosen(names, &known)? {
        let ids = claims::named(&loaded.article, claim.as_deref())?.into_iter().map(|c| c.id.clone());
        match wanted.iter_mut().find(|(l, _)| l.file == loaded.file) {
            Some((_, all)) => all.extend(ids),
            None => wanted.push((loaded.clone(), ids.collect())),
        }
    }
    if wanted.is_empty() {
        let folder = claims::folder(&catalog.root);
        return Err(format!("no claims in {}: name a file of claims", folder.display()).into());
    }
    let asked = wanted.into_iter().map(|(loaded, claims)| {
        let all = plans::resolve_methods(&loaded, catalog)?;
        let tested = loaded.article.claims.iter().filter(|c| claims.contains(&c.id));
        let needed: BTreeSet<String> = tested.flat_map(|c| c.tests().map(|(_, test)| test.method)).collect();
        let needed = all.into_iter().filter(|(name, _)| needed.contains(name));
        let asked = Asked { loaded, claims, plans: IndexMap::new() };
        let plans =
            needed.map(|(name, plan)| (name.clone(), plans::restrict_to(plan, &asked.claims(), &name)));
        let plans = plans.collect();
        Ok(Asked { plans, ..asked })
    });
    asked.collect::<Result<Vec<_>, ManifestError>>().map_err(Into::into)
}

/// The articles, each with its named claim, if any.
fn chosen(names: &[String], known: &[Loaded]) -> Result<Vec<(Loaded, Option<String>)>, ManifestError> {
    if names.is_empty() {
        return Ok(known.iter().map(|loaded| (loaded.clone(), None)).collect());
    }
    let parse = |name: &String| {
        if is_file(name) {
            return Ok((claims::load(Path::new(name))?, None));
        }
        let (article, claim) =
            name.split_once('.').map_or((name.as_str(), None), |(a, c)| (a, Some(c.to_owned())));
        let found = known.iter().find(|l| l.article.id.eq_ignore_ascii_case(article));
        let ids = || known.iter().map(|l| &l.article.id);
        let found = found.ok_or_else(|| ManifestError::unknown("article", article, ids()))?;
        Ok((found.clone(), claim))
    };
    names.iter().map(parse).collect()
}

fn is_file(name: &str) -> bool {
    name.ends_with(".toml")
}

/// Lists the claims and the runs that test them.
fn listed(asked: &[Asked], width: usize) -> String {
    let mut out = Vec::new();
    for one in asked {
        let article = &one.loaded.article;
        out.push(wrapped(&format!("{}  {}", article.id, article.title), width, "", "   "));
        out.push(wrapped(&article.about, width, "   ", "   "));
        out.push(String::new());
        let row = |c: &&ArticleClaim| {
            let why = c.untested.as_ref().map_or(String::new(), |why| format!("\nnot tested: {why}"));
            vec![format!("{}.{}", article.id, c.id), format!("{}{why}", c.statement)]
        };
        let rows: Vec<Vec<String>> = one.claims().iter().map(row).collect();
        out.push(grid(&["claim", "the article says"].map(str::to_owned), &rows, width));
        out.push(String::new());
        for name in one.plans.keys() {
            let method = &article.methods[name];
            let seconds = method.seconds;
            out.push(wrapped(&format!("{name}: {}; {seconds} s", method.about), width, "   ", "   "));
            out.push(wrapped(&method.command(), width, "     ", "       "));
        }
        out.push(String::new());
    }
    out.join("\n")
}

/// For each article, the runs by method.
type Found = Vec<BTreeMap<String, Result<netdyno_lab_store::Run, String>>>;
