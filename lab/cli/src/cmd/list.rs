//! `netdyno list`.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use serde_json::json;

use super::{CommandResult, GOOD, builder, catalog, print, print_json};
use crate::cli::{Format, ListArgs};
use netdyno_lab_engine::build::{Availability, Builder};
use netdyno_lab_manifest::{Catalog, Contender, InputSpec, Metric, ParamSpec, Preset, Workload};
use netdyno_lab_report::{columns, grid, markdown_table, wrapped};

/// Lists workloads and contenders, or prints one workload in full.
pub(crate) fn run(args: &ListArgs) -> CommandResult {
    let catalog = catalog(&args.workload.as_deref().into_iter().collect::<Vec<_>>())?;
    let builder = builder(&catalog, &Arc::new(AtomicBool::new(false)))?;
    let workloads: Vec<&Workload> = match &args.workload {
        Some(name) => vec![catalog.workload(name)?],
        None => catalog.workloads.values().collect(),
    };
    if args.format == Format::Json {
        print_json(&workloads.iter().map(|w| as_json(&catalog, &builder, w)).collect::<Vec<_>>())?;
    } else {
        let texts = workloads.iter().map(|w| as_text(&catalog, &builder, w, args));
        print(&texts.collect::<Vec<_>>().join("\n"));
    }
    Ok(GOOD)
}

const HEAD: [&str; 6] = ["contender", "version", "language", "tuning", "available", "about"];

/// The reason why a contender is unavailable gets its own line, since it may be long.
fn row(builder: &Builder, w: &Workload, c: &Contender) -> Vec<String> {
    let (here, about) = match builder.availability(c) {
        Availability::Available => ("yes", c.about.clone()),
        Availability::Unavailable { reason, remedy } => {
            ("no", format!("{}\nunavailable: {reason}; {remedy}", c.about))
        }
    };
    let name = format!("{}{}", c.name, part(w, c));
    let tuning = format!("{:?}", c.tuning).to_lowercase();
    vec![name, c.implementation.version.clone(), c.language.clone(), tuning, here.to_owned(), about]
}

/// A suffix for contenders that are not compared: the ceiling and partners.
fn part(w: &Workload, c: &Contender) -> String {
    let compared = w.compared().any(|role| c.plays(role));
    match w.roles.iter().find(|role| c.plays(role)) {
        _ if c.ceiling => " (ceiling)".to_owned(),
        Some(role) if w.partners.get(role) == Some(&c.name) => format!(" (partner: {role})"),
        Some(role) if !compared => format!(" ({role} only)"),
        _ => String::new(),
    }
}

/// Describes the partners and stand-ins of a workload, and why its roles need networks of their own.
fn remarks(w: &Workload) -> impl Iterator<Item = String> {
    let compared = w.compared().map(String::as_str).collect::<Vec<_>>().join(", ");
    let partner = move |(role, name): (&String, &String)| {
        format!("{name} plays the {role} for all contenders, unless --matrix is given. Compared: {compared}.")
    };
    let stand_in = |(role, name): (&String, &String)| {
        format!(
            "{name} plays the {role} for contenders that lack it. Other contenders play every role themselves."
        )
    };
    let network = |why| format!("Each role runs in its own network, connected by a link: {why}.");
    let players = w.partners.iter().map(partner).chain(w.stand_ins.iter().map(stand_in));
    players.chain(w.networks_apart.as_ref().map(network))
}

fn as_text(catalog: &Catalog, builder: &Builder, w: &Workload, args: &ListArgs) -> String {
    let rows: Vec<Vec<String>> = catalog.contenders_of(&w.name).map(|c| row(builder, w, c)).collect();
    let head = HEAD.map(str::to_owned);
    let width = columns();
    let table = match args.format {
        Format::Markdown => markdown_table(&head, &rows),
        Format::Table | Format::Json => format!("{}\n", grid(&head, &rows, width)),
    };
    let title = format!("{}: {} - {}", w.name, w.title, w.about);
    let mut out = format!("{}\n{table}", wrapped(&title, width, "", "  "));
    if args.workload.is_none() {
        return out;
    }
    let remarks: String = remarks(w).map(|text| format!("{}\n", wrapped(&text, width, "  ", "  "))).collect();
    let roles = w.roles.join(", ");
    out.push_str(&format!("\nroles: {roles}\n{remarks}\nparameters (--set NAME=VALUE):\n"));
    let param = |(name, spec): (&String, &ParamSpec)| {
        let unit = spec.unit.as_deref().map_or(String::new(), |u| format!(" {u}"));
        (name.clone(), format!("{} [default: {}{unit}]", spec.about, spec.default))
    };
    entries(&mut out, w.params.iter().map(param), width);
    if !w.inputs.is_empty() {
        out.push_str("\ninputs (generated before the trials and cached):\n");
        let input = |(name, input): (&String, &InputSpec)| {
            (name.clone(), format!("{}, depends on {}", input.about, input.params.join(", ")))
        };
        entries(&mut out, w.inputs.iter().map(input), width);
    }
    out.push_str("\npresets (--preset NAME):\n");
    entries(&mut out, w.presets.iter().map(|(name, preset)| (name.clone(), preset.about.clone())), width);
    out.push_str("\nmetrics:\n");
    let metric = |m: &Metric| {
        let better = format!("{:?}", m.better).to_lowercase();
        let primary = if m.primary { " (primary: determines the verdicts)" } else { "" };
        (m.name.clone(), format!("{}, {better} is better{primary}", m.unit))
    };
    entries(&mut out, w.metrics.iter().map(metric), width);
    out.push_str(&format!("\ncontract:\n{}\n", reflowed(w.contract.trim(), width)));
    out
}

/// Appends names with their descriptions, next to each other or, if that leaves less than half of the width, below.
fn entries(out: &mut String, entries: impl Iterator<Item = (String, String)>, width: usize) {
    let entries: Vec<(String, String)> = entries.collect();
    let names = entries.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    for (name, text) in entries {
        let text = if names + 4 <= width / 2 {
            wrapped(&text, width, &format!("  {name:names$}  "), &" ".repeat(names + 4))
        } else {
            format!("  {name}\n{}", wrapped(&text, width, "      ", "      "))
        };
        out.push_str(&format!("{text}\n"));
    }
}

/// Rewraps paragraphs and list items to another width.
fn reflowed(text: &str, width: usize) -> String {
    let mut parts: Vec<String> = Vec::new();
    for line in text.lines() {
        match parts.last_mut() {
            Some(part) if !part.is_empty() && !line.is_empty() && !line.starts_with("- ") => {
                // An unindented line after a list item starts a new paragraph.
                if part.starts_with("- ") && !line.starts_with(' ') {
                    parts.push(line.to_owned());
                } else {
                    part.push(' ');
                    part.push_str(line.trim());
                }
            }
            _ => parts.push(line.to_owned()),
        }
    }
    let rest = |part: &String| if part.starts_with("- ") { "  " } else { "" };
    parts.iter().map(|part| wrapped(part, width, "", rest(part))).collect::<Vec<_>>().join("\n")
}

fn as_json(catalog: &Catalog, builder: &Builder, w: &Workload) -> serde_json::Value {
    let contender = |c: &Contender| {
        let (available, reason, remedy) = match builder.availability(c) {
            Availability::Available => (true, String::new(), String::new()),
            Availability::Unavailable { reason, remedy } => (false, reason, remedy),
        };
        json!({
            "name": c.name, "version": c.implementation.version, "module": c.implementation.module,
            "language": c.language, "license": c.license, "about": c.about, "tuning": c.tuning,
            "ceiling": c.ceiling, "available": available, "reason": reason, "remedy": remedy,
            "roles": c.roles.keys().collect::<Vec<_>>(), "alone": c.alone, "capabilities": c.capabilities,
        })
    };
    let contenders: Vec<_> = catalog.contenders_of(&w.name).map(contender).collect();
    let preset = |(name, p): (&String, &Preset)| json!({ "name": name, "about": p.about });
    let presets: Vec<_> = w.presets.iter().map(preset).collect();
    let param = |(name, s): (&String, &ParamSpec)| json!({ "name": name, "about": s.about, "default": s.default, "unit": s.unit });
    let params: Vec<_> = w.params.iter().map(param).collect();
    json!({
        "name": w.name, "title": w.title, "about": w.about, "roles": w.roles, "partners": w.partners, "stand_ins": w.stand_ins,
        "networks_apart": w.networks_apart, "inputs": w.inputs.keys().collect::<Vec<_>>(), "params": params, "presets": presets, "contenders": contenders,
    })
}
