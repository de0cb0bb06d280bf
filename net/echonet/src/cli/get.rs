//! `get`: reads properties.

use netdyno_echonet::core::{Eoj, Epc, NodeAddress};
use serde_json::{Value, json};

use super::args::Network;
use super::output::Printer;
use super::session::{Question, Session};
use super::{Failure, names, parse};

pub(crate) fn run(
    network: &Network,
    printer: &Printer,
    node: &str,
    object: Option<&str>,
    properties: &[String],
) -> Result<bool, Failure> {
    let node = network.node(node)?;
    let object = object.map(parse::object).transpose()?;
    let epcs = object.map_or(Ok(Vec::new()), |eoj| {
        properties.iter().map(|name| parse::property(eoj.class(), name)).collect::<Result<Vec<Epc>, _>>()
    })?;
    let mut session = Session::open(&network.settings(), network.controller())?;
    let questions = match object {
        Some(eoj) if !epcs.is_empty() => vec![Question { node, eoj, epcs }],
        Some(eoj) => readable(&mut session, node, vec![eoj])?,
        None => {
            let objects = [vec![Eoj::NODE_PROFILE], session.objects(node)?].concat();
            readable(&mut session, node, objects)?
        }
    };
    let answers = session.ask(&questions)?;
    let (mut rows, mut all) = (Vec::new(), true);
    for (question, answer) in questions.iter().zip(answers) {
        let answer = answer.map_err(netdyno_echonet::CallError::from).map_err(Failure::at(node))?;
        for property in answer.properties() {
            rows.push(row(node, question.eoj, property.epc, property.edt));
        }
        for epc in answer.refused() {
            all = false;
            printer.remark(&format!(
                "{} refuses to read {epc} ({})",
                question.eoj,
                names::property(question.eoj.class(), *epc)
            ));
        }
    }
    printer.table(&["object", "epc", "property", "value", "bytes"], &rows)?;
    Ok(all)
}

fn readable(session: &mut Session, node: NodeAddress, objects: Vec<Eoj>) -> Result<Vec<Question>, Failure> {
    let questions = session.readable(objects.into_iter().map(|eoj| (node, eoj)).collect())?;
    match questions.iter().find(|question| question.epcs.is_empty()) {
        Some(Question { eoj, .. }) => Err(Failure::new(format!(
            "{node} does not list the properties of {eoj}: is it on, and does it have this object? `netdyno-echonet scan` lists them; name properties to read them anyway"
        ))),
        None => Ok(questions),
    }
}

/// A value, as table cells and as JSON.
pub(crate) fn row(node: NodeAddress, eoj: Eoj, epc: Epc, edt: &[u8]) -> (Vec<String>, Value) {
    let (name, value, bytes) =
        (names::property(eoj.class(), epc), names::value(eoj.class(), epc, edt), names::hex(edt));
    let json = json!({
        "node": node.to_string(), "object": eoj.to_string(), "epc": epc.to_string(), "property": name,
        "value": value, "bytes": bytes,
    });
    // If the value is shown as its bytes, they are printed once.
    let bytes = if value.strip_prefix("0x") == Some(&bytes) { String::new() } else { bytes };
    (vec![eoj.to_string(), epc.to_string(), name, value, bytes], json)
}
