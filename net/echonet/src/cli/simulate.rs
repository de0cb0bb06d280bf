//! `simulate`: a home of one node or thousands.

use std::path::Path;
use std::time::Duration;

use netdyno_echonet::core::DeviceEvent;
use netdyno_echonet::{Home, Spread};
use serde_json::json;

use super::args::Network;
use super::home_file::HomeFile;
use super::output::Printer;
use super::session::End;
use super::{Failure, names};

/// Datagrams that go together where answers are spread.
const TOGETHER: usize = 20;

pub(crate) fn run(
    network: &Network,
    printer: &Printer,
    file: &Path,
    spread_ms: u64,
) -> Result<bool, Failure> {
    let file = HomeFile::read(file)?;
    let nodes = file.nodes()?;
    let objects: usize = nodes.iter().map(|(_, description)| description.objects.len()).sum();
    let addresses: Vec<_> = nodes.iter().map(|(address, _)| *address).collect();
    let pause = Duration::from_millis(spread_ms) * TOGETHER as u32 / 1000;
    let mut home = Home::open(&network.settings(), nodes, Spread { together: TOGETHER, pause })?;
    let end = End::default();
    end.on_signals(home.waker())?;
    let told = format!("{} nodes with {objects} objects answer at port 3610; Ctrl-C ends it", home.len());
    printer.line(&told, || json!({ "event": "serves", "nodes": home.len(), "objects": objects }))?;
    while !end.is_wanted() {
        let Some(happened) = home.poll(None)? else { continue };
        if let DeviceEvent::Written { from, eoj, epc } = happened.event {
            let edt =
                home.node(happened.node).and_then(|node| node.get(eoj, epc)).unwrap_or_default().to_vec();
            let node =
                addresses[happened.node].map_or("this machine".to_owned(), |address| address.to_string());
            let (name, value) = (names::property(eoj.class(), epc), names::value(eoj.class(), epc, &edt));
            let json = || {
                json!({
                    "event": "written", "node": node, "from": from.to_string(), "object": eoj.to_string(),
                    "epc": epc.to_string(), "property": name, "value": value, "bytes": names::hex(&edt),
                })
            };
            printer.line(&format!("{node} {eoj} {epc} {name} = {value}, written by {from}"), json)?;
        }
    }
    Ok(true)
}
