//! `names`: lists the known classes, or the properties of a class, in the form that the command line accepts.

use netdyno_echonet::core::{ClassCode, Definition, Rule};
use serde_json::json;

use super::names::{self, Kind};
use super::output::Printer;
use super::{Failure, parse};

pub(crate) fn run(printer: &Printer, class: Option<&str>) -> Result<bool, Failure> {
    match class {
        Some(class) => properties(printer, parse::object(class)?.class())?,
        None => classes(printer)?,
    }
    Ok(true)
}

fn classes(printer: &Printer) -> Result<(), Failure> {
    let rows: Vec<_> = names::database()
        .classes()
        .map(|class| {
            let (code, name) = (class.code.to_string(), class.short_name.clone());
            let json = json!({ "class": code, "name": name, "title": class.name });
            (vec![code, name, class.name.clone()], json)
        })
        .collect();
    Ok(printer.table(&["class", "name", "title"], &rows)?)
}

fn properties(printer: &Printer, class: ClassCode) -> Result<(), Failure> {
    if names::database().class(class).is_none() {
        return Err(Failure::new(format!(
            "unknown class {class}: pass the consortium's Machine Readable Appendix with --mra"
        )));
    }
    let rows: Vec<_> = names::properties(class)
        .map(|known| {
            let (epc, name, values) = (known.epc.to_string(), known.short_name.clone(), values(class, known));
            let access: Vec<_> = [("get", known.get), ("set", known.set), ("announce", known.announce)]
                .into_iter()
                .filter(|(_, rule)| *rule != Rule::No)
                .map(|(word, _)| word)
                .collect();
            let json =
                json!({ "epc": epc, "name": name, "title": known.name, "access": access, "values": values });
            (vec![epc, name, access.join(" "), values], json)
        })
        .collect();
    Ok(printer.table(&["epc", "name", "access", "values"], &rows)?)
}

/// The values that can be written.
fn values(class: ClassCode, known: &Definition) -> String {
    match names::kind(class, known.epc) {
        Kind::Switch(on, off) => format!("{on}, {off}"),
        Kind::Choice(words) => words.join(", "),
        Kind::Number { unit, min, max, .. } => format!("{min} to {max} {unit}").trim_end().to_owned(),
        Kind::Other => "0x and hexadecimal digits".to_owned(),
    }
}
