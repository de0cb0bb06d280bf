//! Resolves the methods of an article to runs, and verifies that they measure what its claims refer to.

use clap::Parser;
use indexmap::IndexMap;

use super::super::fail_conditions::FailConditions;
use super::super::run::with_project;
use crate::cli::{Cli, ReportFormat, RunArgs, Verb};
use netdyno_lab_analysis::claims::{self, ArticleClaim, CODE, JudgedClaim, Loaded, Method};
use netdyno_lab_engine::run::Resolved;
use netdyno_lab_manifest::project::Project;
use netdyno_lab_manifest::read::Problems;
use netdyno_lab_manifest::{Catalog, ManifestError, nearest};
use netdyno_lab_store::Side;

/// The arguments of `netdyno run` for a method.
pub(super) fn words(method: &Method) -> impl Iterator<Item = &str> {
    method.run.split_whitespace()
}

/// Resolves every method against the catalogue, and checks that each side of each claim is exactly one cell.
pub(super) fn resolve_methods(
    loaded: &Loaded,
    catalog: &Catalog,
) -> Result<IndexMap<String, Resolved>, ManifestError> {
    let mut problems = Problems::new(&loaded.file, &loaded.text);
    let mut plans = IndexMap::new();
    for (name, method) in &loaded.article.methods {
        match resolved(method, catalog) {
            Ok(plan) => drop(plans.insert(name.clone(), plan)),
            Err(rule) => problems.push(format!("methods.{name}.run"), rule),
        }
    }
    for (i, claim) in loaded.article.claims.iter().enumerate() {
        for (place, test) in claim.tests() {
            let Some(plan) = plans.get(&test.method) else { continue };
            let field = |name: &str, is_own: bool| match is_own {
                true => format!("claims[{i}].{place}.{name}"),
                false => format!("claims[{i}].{name}"),
            };
            let metrics = plan.workload.metrics.iter().map(|m| m.name.clone());
            let code = ["library", "adapter", "generated"].map(|part| format!("{CODE}{part}"));
            let at = field("metric", test.metric.is_some());
            problems.known(&at, "metric", claim.metric_of(&test), metrics.chain(code));
            for (name, side, own) in [("a", claim.a_of(&test), &test.a), ("b", claim.b_of(&test), &test.b)] {
                if let Err((rule, near)) = cell(side, plan, &test.method) {
                    problems.push_near(field(name, own.is_some()), rule, near);
                }
            }
        }
    }
    problems.finish(plans).map_err(ManifestError::Broken)
}

/// Restricts the plan to the cells that these claims need.
pub(super) fn restrict_to(mut plan: Resolved, claims: &[&ArticleClaim], method: &str) -> Resolved {
    let asked: Vec<(&ArticleClaim, Option<&JudgedClaim>)> =
        claims.iter().map(|claim| (*claim, None)).collect();
    plan.ask(claims::questions(&asked, method));
    plan
}

fn resolved(method: &Method, catalog: &Catalog) -> Result<Resolved, String> {
    let typed = ["netdyno", "run"].into_iter().chain(words(method));
    let first_line = |e: clap::Error| e.to_string().lines().next().unwrap_or_default().to_owned();
    let Verb::Run(args) = Cli::try_parse_from(typed).map_err(first_line)?.verb else {
        return Err("must be the arguments of `netdyno run`".to_owned());
    };
    let RunArgs { budget, resume, format, .. } = &*args;
    if budget.is_some() || resume.is_some() || *format != ReportFormat::Table {
        return Err(
            "--budget, --resume and --format are not allowed here (use `seconds` for the budget)".to_owned()
        );
    }
    // Claims are self-contained: a project must not add settings.
    let args = with_project(&args, Project::default())?;
    args.resolve(&FailConditions::default(), catalog).map_err(|e| e.to_string())
}

/// Checks that a run has exactly one cell for a side. The error has the reason and the name that was probably meant.
fn cell(side: &Side, plan: &Resolved, method: &str) -> Result<(), (String, Option<String>)> {
    if side.figure.is_some() {
        return Ok(());
    }
    let count = plan.cells.iter().filter(|cell| cell.is_side(side)).count();
    if count == 1 {
        return Ok(());
    }
    let label = side.label();
    if count > 1 {
        let rule = format!("{label} matches {count} cells of the method {method}: select one with `where`");
        return Err((rule, None));
    }
    let wanted = side.contender.iter().chain(side.roles.values());
    let known: Vec<&String> = plan.cells.iter().flat_map(|c| c.contenders.values()).collect();
    let near = wanted.filter(|name| !known.contains(name)).find_map(|name| nearest(name, &known));
    Err((format!("{label} matches no cell of the method {method}"), near))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn the_example_of_the_documents_is_a_valid_file() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let document = std::fs::read_to_string(root.join("docs/CLAIMS.md")).unwrap();
        let text = document.split("```toml\n").nth(1).unwrap().split("```").next().unwrap().to_owned();
        let file = Path::new("example.toml").to_owned();
        let article = claims::Article::parse(&file, &text).unwrap();
        let plans = resolve_methods(&Loaded { file, text, article }, &Catalog::load(&root).unwrap());
        assert_eq!(plans.unwrap_or_else(|e| panic!("{e}")).len(), 2);
    }

    #[test]
    fn the_claims_of_this_repository_have_a_cell_for_each_side() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let catalog = Catalog::load(&root).unwrap();
        let all = claims::load_all(&root).unwrap();
        let mut ids: Vec<&str> = all.iter().map(|l| l.article.id.as_str()).collect();
        ids.sort_unstable();
        assert_eq!(ids, ["D", "E", "K", "M", "R"]);
        for loaded in &all {
            let plans = resolve_methods(loaded, &catalog).unwrap_or_else(|e| panic!("{e}"));
            let used = |name: &&String| {
                loaded.article.claims.iter().any(|c| c.tests().any(|(_, test)| test.method == **name))
            };
            let idle: Vec<&String> = plans.keys().filter(|name| !used(name)).collect();
            assert!(idle.is_empty(), "{}: methods that test nothing: {idle:?}", loaded.file.display());
        }
    }
}
