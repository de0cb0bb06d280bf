//! `scan`: lists the nodes and their objects.

use std::time::Duration;

use netdyno_echonet::core::{Eoj, Epc, NodeAddress};
use serde_json::json;

use super::args::Network;
use super::output::Printer;
use super::session::{Question, Session};
use super::{Failure, names};

const PROFILE: [Epc; 3] = [Epc::STANDARD_VERSION, Epc::IDENTIFICATION_NUMBER, Epc::MANUFACTURER_CODE];

pub(crate) fn run(network: &Network, printer: &Printer, wait: Duration) -> Result<bool, Failure> {
    let mut session = Session::open(&network.settings(), network.controller())?;
    session.search(wait)?;
    let nodes: Vec<(NodeAddress, Vec<Eoj>)> = session
        .controller
        .core()
        .nodes()
        .map(|(node, known)| (node, known.instances().iter().map(|instance| instance.eoj).collect()))
        .collect();
    let questions: Vec<_> = nodes
        .iter()
        .map(|(node, _)| Question { node: *node, eoj: Eoj::NODE_PROFILE, epcs: PROFILE.to_vec() })
        .collect();
    let profiles = session.ask(&questions)?;
    let states: Vec<_> = nodes
        .iter()
        .flat_map(|(node, objects)| objects.iter().map(|eoj| (*node, *eoj)))
        .map(|(node, eoj)| Question { node, eoj, epcs: vec![Epc::OPERATION_STATUS] })
        .collect();
    let mut answers = session.ask(&states)?.into_iter();
    let mut rows = Vec::new();
    for ((node, objects), profile) in nodes.iter().zip(profiles) {
        let value = |epc| profile.as_ref().ok().and_then(|answer| answer.get(epc)).map(<[u8]>::to_vec);
        let maker = value(Epc::MANUFACTURER_CODE);
        let maker_name = maker.as_ref().map_or("?".to_owned(), |code| names::maker(code));
        let id = value(Epc::IDENTIFICATION_NUMBER).map_or(String::new(), |id| names::hex(&id));
        for eoj in objects.iter().copied() {
            let state = answers.next().and_then(Result::ok);
            let state = state.as_ref().and_then(|answer| answer.get(Epc::OPERATION_STATUS));
            let state =
                state.map_or("?".to_owned(), |edt| names::value(eoj.class(), Epc::OPERATION_STATUS, edt));
            let class = names::class(eoj.class());
            let json = json!({
                "node": node.to_string(), "object": eoj.to_string(), "class": class, "state": state,
                "manufacturer": maker.as_ref().map(|code| names::hex(code)), "id": id,
            });
            rows.push((
                vec![node.to_string(), eoj.to_string(), class, state, maker_name.clone(), id.clone()],
                json,
            ));
        }
        if objects.is_empty() {
            let json = json!({ "node": node.to_string(), "manufacturer": maker.map(|code| names::hex(&code)), "id": id });
            rows.push((
                vec![node.to_string(), String::new(), "no devices".to_owned(), String::new(), maker_name, id],
                json,
            ));
        }
    }
    if rows.is_empty() {
        printer.remark("no node answered: select the interface with --interface, wait longer with --wait, or check whether a firewall blocks UDP port 3610");
        return Ok(false);
    }
    printer.table(&["node", "object", "class", "state", "maker", "id"], &rows)?;
    Ok(true)
}
