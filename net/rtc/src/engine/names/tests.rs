//! Names queried and answered on the loopback interface, between engines driven step by step.

use netdyno_rtc_core::PeerState;

use crate::engine::Port;
use crate::engine::support::{Side, settings, until};

/// An engine that can be found only by its name, because it makes no checks.
fn hidden(is_lite: bool) -> Side {
    let mut settings = settings();
    settings.hide_addresses = true;
    let mut peer = (*settings.peer).clone();
    peer.ice_lite = is_lite;
    settings.peer = peer.into();
    Side::new(settings)
}

#[test]
fn a_peer_is_found_by_its_name() {
    let (mut hidden, mut other) = (hidden(true), Side::new(settings()));
    let (there, here) = (hidden.engine.add(Port::Shared).unwrap(), other.engine.add(Port::Shared).unwrap());
    let mut connection = hidden.engine.connection(there).unwrap();
    connection.create_channel("test", Default::default()).unwrap();
    let offer = connection.create_offer(false).unwrap();
    let name = hidden.engine.names.own[0].name.clone();
    let candidate = offer.lines().find(|line| line.starts_with("a=candidate")).unwrap();
    assert!(candidate.contains(&name) && !candidate.contains("127.0.0.1"), "{candidate}");
    assert!(connection_lines(&mut hidden, there).iter().all(|line| line.contains(&name)));

    let answer = other.engine.connection(here).unwrap().accept_offer(&offer).unwrap();
    hidden.engine.connection(there).unwrap().accept_answer(&answer).unwrap();
    until(|| {
        hidden.turn();
        other.turn();
        hidden.state(there) == PeerState::Connected && other.state(here) == PeerState::Connected
    });
}

fn connection_lines(side: &mut Side, id: crate::ConnectionId) -> Vec<String> {
    side.engine.connection(id).unwrap().local_candidates()
}

/// Without the setting, or if there is nothing to check, no name is queried.
#[test]
fn without_the_setting_no_name_is_queried() {
    type Change = fn(&mut crate::settings::Settings);
    let changes: [Change; 3] = [
        |settings| settings.resolve_names = false,
        |settings| settings.relay_only = true,
        |settings| std::sync::Arc::make_mut(&mut settings.peer).ice_lite = true,
    ];
    let mut from = Side::new(settings());
    let id = from.engine.add(Port::Shared).unwrap();
    let offer = from.engine.connection(id).unwrap().create_offer(false).unwrap();
    let line = "a=candidate:9 1 udp 7 f00dcafe-0000-4000-8000-000000000000.local 5000 typ host\r\n";
    let offer = offer.replacen("a=candidate", &format!("{line}a=candidate"), 1);
    for (change, asks) in
        changes.into_iter().map(|change| (change, false)).chain([((|_| {}) as Change, true)])
    {
        let mut settings = settings();
        change(&mut settings);
        let mut side = Side::new(settings);
        let id = side.engine.add(Port::Shared).unwrap();
        side.engine.connection(id).unwrap().accept_offer(&offer).unwrap();
        assert_eq!(side.engine.names.next().is_some(), asks);
    }
}

#[test]
fn names_are_random_uuids() {
    let [one, other] = [(); 2].map(|()| super::state::random_name().unwrap());
    assert_ne!(one, other);
    let parts: Vec<&str> = one.strip_suffix(".local").unwrap().split('-').collect();
    assert_eq!(parts.iter().map(|part| part.len()).collect::<Vec<_>>(), [8, 4, 4, 4, 12]);
    assert!(parts[2].starts_with('4') && "89ab".contains(&parts[3][..1]), "{one}");
}
