//! `set`: writes properties.

use netdyno_echonet::core::{Epc, Property};
use serde_json::json;

use super::args::Network;
use super::output::Printer;
use super::session::Session;
use super::{Failure, names, parse};

pub(crate) fn run(
    network: &Network,
    printer: &Printer,
    node: &str,
    object: &str,
    values: &[String],
) -> Result<bool, Failure> {
    let (node, eoj) = (network.node(node)?, parse::object(object)?);
    let values: Vec<(Epc, Vec<u8>)> =
        values.iter().map(|text| parse::assignment(eoj.class(), text)).collect::<Result<_, _>>()?;
    let mut session = Session::open(&network.settings(), network.controller())?;
    let properties: Vec<_> = values.iter().map(|(epc, edt)| Property { epc: *epc, edt }).collect();
    let answer = session.controller.set(node, eoj, &properties).map_err(Failure::at(node))?;
    for (epc, edt) in &values {
        let done = !answer.refused_writes().contains(epc);
        let (name, value) = (names::property(eoj.class(), *epc), names::value(eoj.class(), *epc, edt));
        let outcome =
            if done { "done" } else { "refused: the property is not writable, or the value is invalid" };
        let json = || {
            json!({
                "node": node.to_string(), "object": eoj.to_string(), "epc": epc.to_string(), "property": name,
                "value": value, "bytes": names::hex(edt), "done": done,
            })
        };
        printer.line(&format!("{node} {eoj} {epc} {name} = {value}: {outcome}"), json)?;
    }
    Ok(answer.is_complete())
}
