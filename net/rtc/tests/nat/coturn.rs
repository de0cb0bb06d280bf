//! coturn on the public segment, as STUN and TURN server.

#[path = "../support/coturn.rs"]
mod server;

use netdyno_rtc::IceServer;
use serde_json::{Value, json};
use server::Coturn;

use crate::bed::{Bed, PUBLIC};

const USER: &str = "netdyno";
const PASSWORD: &str = "a test's password";
const PORT: u16 = 3478;

/// Starts coturn.
pub(crate) fn start(bed: &Bed) -> Coturn {
    let user = format!("{USER}:{PASSWORD}");
    let spawned = Coturn::start_at((PUBLIC[0], PORT).into(), &user, &["--fingerprint"], |command| {
        bed.public.enter(|| command.spawn())
    });
    spawned.expect("the bed has seen that it is there")
}

/// Its URLs (RFC 7064, RFC 7065).
fn urls() -> [String; 2] {
    let place = format!("{}:{PORT}", PUBLIC[0]);
    [format!("stun:{place}"), format!("turn:{place}?transport=udp")]
}

/// For local settings.
pub(crate) fn servers() -> Vec<IceServer> {
    let [stun, turn] = urls();
    vec![IceServer::stun(stun), IceServer::turn(turn, USER, PASSWORD)]
}

/// For networks that block UDP.
pub(crate) fn server_by_tcp() -> IceServer {
    IceServer::turn(format!("turn:{}:{PORT}?transport=tcp", PUBLIC[0]), USER, PASSWORD)
}

/// For a browser.
pub(crate) fn ice_servers() -> Value {
    json!([{ "urls": urls(), "username": USER, "credential": PASSWORD }])
}
