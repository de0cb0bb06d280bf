//! `netdyno list`.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use serde_json::json;

use super::{GOOD, Outcome, builder, catalog, print};
use crate::build::{Availability, Builder};
use crate::cli::{Format, ListArgs};
use crate::manifest::{Catalog, Contender, Workload};
use crate::report::{grid, markdown_table};

/// Lists workloads and contenders, or tells all of one workload.
///
/// # Errors
/// When there is no checkout, or no such workload.
pub fn run(args: &ListArgs) -> Outcome {
    let catalog = catalog(&args.workload.as_deref().into_iter().collect::<Vec<_>>())?;
    let builder = builder(&catalog, &Arc::new(AtomicBool::new(false)))?;
    let workloads: Vec<&Workload> = match &args.workload {
        Some(name) => vec![catalog.workload(name)?],
        None => catalog.workloads.values().collect(),
    };
    let text = match args.format {
        Format::Json => {
            let all: Vec<_> = workloads.iter().map(|w| as_json(&catalog, &builder, w)).collect();
            format!("{}\n", serde_json::to_string_pretty(&all)?)
        }
        Format::Table | Format::Markdown => {
            let parts: Vec<String> = workloads.iter().map(|w| as_text(&catalog, &builder, w, args)).collect();
            parts.join("\n")
        }
    };
    print(&text);
    Ok(GOOD)
}

const HEAD: [&str; 6] = ["contender", "version", "language", "tuning", "here", "about"];

fn row(builder: &Builder, c: &Contender) -> Vec<String> {
    let here = match builder.availability(c) {
        Availability::Available => "yes".to_owned(),
        Availability::Unavailable { reason, remedy } => format!("no: {reason}; {remedy}"),
    };
    let name = if c.ceiling { format!("{} (the bound)", c.name) } else { c.name.clone() };
    let tuning = format!("{:?}", c.tuning).to_lowercase();
    vec![name, c.implementation.version.clone(), c.language.clone(), tuning, here, c.about.clone()]
}

fn as_text(catalog: &Catalog, builder: &Builder, w: &Workload, args: &ListArgs) -> String {
    let rows: Vec<Vec<String>> = catalog.contenders_of(&w.name).map(|c| row(builder, c)).collect();
    let head = HEAD.map(str::to_owned);
    let table = match args.format {
        Format::Markdown => markdown_table(&head, &rows),
        Format::Table | Format::Json => format!("{}\n", grid(&head, rows.iter())),
    };
    let mut out = format!("{}: {} - {}\n{table}", w.name, w.title, w.about);
    if args.workload.is_none() {
        return out;
    }
    out.push_str(&format!("\nroles: {}\n\nparameters (--set NAME=VALUE):\n", w.roles.join(", ")));
    for (name, spec) in &w.params {
        let unit = spec.unit.as_deref().map_or(String::new(), |u| format!(" {u}"));
        out.push_str(&format!("  {name:18} {} [default: {}{unit}]\n", spec.about, spec.default));
    }
    out.push_str("\npresets (--preset NAME):\n");
    for (name, preset) in &w.presets {
        out.push_str(&format!("  {name:18} {}\n", preset.about));
    }
    out.push_str("\nmetrics:\n");
    for m in &w.metrics {
        let primary = if m.primary { " (verdicts are of this one)" } else { "" };
        out.push_str(&format!("  {:18} {}, {:?} is better{primary}\n", m.name, m.unit, m.better));
    }
    out.push_str(&format!("\ncontract:\n{}\n", w.contract.trim()));
    out
}

fn as_json(catalog: &Catalog, builder: &Builder, w: &Workload) -> serde_json::Value {
    let contenders: Vec<_> = catalog
        .contenders_of(&w.name)
        .map(|c| {
            let (available, reason, remedy) = match builder.availability(c) {
                Availability::Available => (true, String::new(), String::new()),
                Availability::Unavailable { reason, remedy } => (false, reason, remedy),
            };
            json!({
                "name": c.name, "version": c.implementation.version, "module": c.implementation.module,
                "language": c.language, "license": c.license, "about": c.about, "tuning": c.tuning,
                "ceiling": c.ceiling, "available": available, "reason": reason, "remedy": remedy,
                "capabilities": c.capabilities,
            })
        })
        .collect();
    let presets: Vec<_> =
        w.presets.iter().map(|(name, p)| json!({ "name": name, "about": p.about })).collect();
    let params: Vec<_> = w
        .params
        .iter()
        .map(|(name, s)| json!({ "name": name, "about": s.about, "default": s.default, "unit": s.unit }))
        .collect();
    json!({
        "name": w.name, "title": w.title, "about": w.about, "roles": w.roles, "params": params,
        "presets": presets, "contenders": contenders,
    })
}
