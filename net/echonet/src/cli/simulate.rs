//! `simulate`: a home of one node or thousands.

use std::path::Path;
use std::time::Duration;

use netdyno_echonet::core::{AbuseKind, Decision, Destination, DeviceEvent};
use netdyno_echonet::{Home, HomeEvent, Spread};
use serde_json::json;

use super::args::Network;
use super::output::Printer;
use super::session::End;
use super::{Failure, home_file, names};

/// Datagrams sent together when answers are spread.
const TOGETHER: usize = 20;

pub(crate) fn run(
    network: &Network,
    printer: &Printer,
    file: &Path,
    spread_ms: u64,
    source_limit_per_s: u32,
) -> Result<bool, Failure> {
    let nodes = home_file::read(file)?;
    let objects: usize = nodes.iter().map(|(_, description)| description.objects.len()).sum();
    let addresses: Vec<_> = nodes.iter().map(|(address, _)| *address).collect();
    let pause = Duration::from_millis(spread_ms) * TOGETHER as u32 / 1000;
    let mut settings = network.settings();
    (settings.tcp, settings.source_limit_per_s) = (network.tcp, source_limit_per_s);
    let mut home = Home::open(&settings, nodes, Spread { together: TOGETHER, pause })?;
    let end = End::default();
    end.on_signals(home.waker())?;
    let by = if network.tcp { "UDP and TCP port 3610" } else { "port 3610" };
    let message = format!("{} nodes with {objects} objects answer at {by}; press Ctrl-C to stop", home.len());
    let json = || json!({ "event": "serves", "nodes": home.len(), "objects": objects, "tcp": network.tcp });
    printer.line(&message, json)?;
    let describe = |node: usize| {
        addresses[node].map_or("this machine".to_owned(), |address: std::net::IpAddr| address.to_string())
    };
    while !end.is_wanted() {
        let Some(HomeEvent { node, event }) = home.poll(None)? else { continue };
        let (from, eoj, epc, edt, what) = match event {
            DeviceEvent::Written { from, eoj, epc } => {
                let value = home.node(node).and_then(|device| device.get(eoj, epc)).unwrap_or_default();
                (from, eoj, epc, value.to_vec(), "written")
            }
            DeviceEvent::WriteRequested { id, from, eoj, epc, value } => {
                let is_valid = names::is_valid(eoj.class(), epc, &value);
                let decision = if is_valid { Decision::Accept } else { Decision::Refuse };
                home.with(node, |device| device.decide(id, decision));
                if is_valid {
                    // A further event reports the write.
                    continue;
                }
                (from, eoj, epc, value, "refused")
            }
            DeviceEvent::Unsent { to, error } => {
                let to = match to {
                    Destination::Node(node) => node.to_string(),
                    Destination::Multicast => "all".to_owned(),
                    Destination::Connection(_) => continue,
                };
                let node = describe(node);
                let json =
                    || json!({ "event": "unsent", "node": node, "to": to, "error": error.to_string() });
                printer.line(&format!("{node} cannot send to {to}: {error}"), json)?;
                continue;
            }
            DeviceEvent::Abuse { from, kind } => {
                let (word, what) = match kind {
                    AbuseKind::Flood => ("flood", "more than 1000 messages a second"),
                    AbuseKind::Connections => ("connections", "too many TCP connections: one was closed"),
                    AbuseKind::OffLink => ("off_link", "a request from beyond the link was ignored"),
                    AbuseKind::Limited => ("limited", "datagrams were dropped: too many from one source"),
                    _ => continue,
                };
                let node = describe(node);
                let json =
                    || json!({ "event": "abuse", "kind": word, "node": node, "from": from.to_string() });
                printer.line(&format!("{node}: {what}; from {from}"), json)?;
                continue;
            }
            _ => continue,
        };
        let node = describe(node);
        let (name, value) = (names::property(eoj.class(), epc), names::value(eoj.class(), epc, &edt));
        let json = || {
            json!({
                "event": what, "node": node, "from": from.to_string(), "object": eoj.to_string(),
                "epc": epc.to_string(), "property": name, "value": value, "bytes": names::hex(&edt),
            })
        };
        printer.line(&format!("{node} {eoj} {epc} {name} = {value}, {what}; from {from}"), json)?;
    }
    Ok(true)
}
