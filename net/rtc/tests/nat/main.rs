//! Connections through NATs of each kind, in every pairing.
#![allow(clippy::unwrap_used, missing_docs)]

mod bed;
#[path = "../chromium/browser.rs"]
mod browser;
mod coturn;
mod names;
mod peers;
mod probe;
mod table;
mod tcp;

use std::array::from_fn;
use std::net::Ipv4Addr;
use std::thread;
use std::time::Instant;

use bed::{Bed, Nat, alone};
use browser::Browser;
use peers::{End, MESSAGE_BYTES, Way};
use probe::{Behaviour, Filtering, Mapping};
use serde_json::json;

/// 10 MB.
const BULK_MESSAGES: usize = 160;

/// The NATs in front of a host, the innermost first, and their behaviour.
const KINDS: [(&str, &[Nat], Behaviour); 6] = [
    ("no NAT", &[], Behaviour::new(Mapping::Independent, Filtering::Independent)),
    ("full cone", &[Nat::FullCone], Behaviour::new(Mapping::Independent, Filtering::Independent)),
    (
        "address-restricted",
        &[Nat::AddressRestricted],
        Behaviour::new(Mapping::Independent, Filtering::Address),
    ),
    (
        "port-restricted",
        &[Nat::PortRestricted],
        Behaviour::new(Mapping::Independent, Filtering::AddressAndPort),
    ),
    ("symmetric", &[Nat::Symmetric], Behaviour::new(Mapping::Dependent, Filtering::AddressAndPort)),
    (
        "two in a row",
        &[Nat::PortRestricted, Nat::PortRestricted],
        Behaviour::new(Mapping::Independent, Filtering::AddressAndPort),
    ),
];

/// Two hosts behind the same NAT, and further NATs in front of each.
const PLACES: [(&str, Nat, &[Nat], Way); 3] = [
    ("both behind one port-restricted NAT", Nat::PortRestricted, &[], Way::Direct),
    (
        "each behind a port-restricted NAT, both behind a full cone that hairpins",
        Nat::Hairpin,
        &[Nat::PortRestricted],
        Way::Direct,
    ),
    (
        "each behind a port-restricted NAT, both behind a full cone that does not hairpin",
        Nat::FullCone,
        &[Nat::PortRestricted],
        Way::Relayed,
    ),
];

#[test]
fn a_kind_is_what_it_says() {
    alone("a_kind_is_what_it_says", || {
        let mut bed = Bed::new();
        let public = bed.public.clone();
        probe::serve(&bed);
        for (name, nats, behaviour) in KINDS {
            let host = bed.host(&public, nats);
            assert_eq!(probe::behaviour(&host), Some(behaviour), "{name}");
        }
        assert_eq!(probe::behaviour(&bed.host(&public, &[Nat::NoUdp])), None);
        for (nat, hairpins) in [(Nat::Hairpin, true), (Nat::FullCone, false)] {
            let carrier = bed.nat(&public, nat);
            let [one, other] = [(); 2].map(|()| bed.host(&carrier, &[Nat::PortRestricted]));
            assert_eq!(probe::hairpins(&one, &other), hairpins, "{nat:?}");
        }
    });
}

/// The expected kind of connection, from the NATs' behaviour or the hosts' positions.
fn expected(one: usize, other: usize) -> Way {
    let [one, other] = [one, other].map(|at| KINDS[at].2);
    if one.meets(other) { Way::Direct } else { Way::Relayed }
}

#[test]
fn every_pairing() {
    alone("every_pairing", || {
        let mut bed = Bed::new();
        let public = bed.public.clone();
        let _coturn = coturn::start(&bed);
        let [offerers, answerers] = [(); 2].map(|()| KINDS.map(|(_, nats, _)| bed.host(&public, nats)));
        let places = PLACES.map(|(name, carrier, nats, way)| {
            let carrier = bed.nat(&public, carrier);
            (name, [(); 2].map(|()| bed.host(&carrier, nats)), way)
        });
        let (found, beside) = thread::scope(|scope| {
            let start = |one, other, way| scope.spawn(move || peers::way(one, other, way));
            let row = |i: usize| from_fn(|j| start(&offerers[i], &answerers[j], expected(i, j)));
            let rows: [[_; KINDS.len()]; KINDS.len()] = from_fn(row);
            let beside = places.each_ref().map(|(_, [one, other], way)| start(one, other, *way));
            let found = rows.map(|row| row.map(|way| way.join().unwrap()));
            (found, beside.map(|way| way.join().unwrap()))
        });
        let mut table = table::of(&KINDS.map(|(name, ..)| name), &found);
        table += &table::list(&PLACES.map(|(name, ..)| name), &beside);
        println!("{table}");
        for (i, row) in found.iter().enumerate() {
            for (j, way) in row.iter().enumerate() {
                assert_eq!(*way, expected(i, j), "{}, {}", KINDS[i].0, KINDS[j].0);
            }
        }
        assert_eq!(beside, PLACES.map(|(.., way)| way));
        table::check(&table);
    });
}

/// Reaches the other side only through coturn; receives 10 MB and sends them back.
#[test]
fn chromium_and_we_behind_symmetric_nats() {
    if let Err(reason) = browser::installed() {
        return bed::skip(&reason);
    }
    alone("chromium_and_we_behind_symmetric_nats", || {
        let mut bed = Bed::new();
        let public = bed.public.clone();
        let _coturn = coturn::start(&bed);
        let [theirs, ours] = [(); 2].map(|()| bed.host(&public, &[Nat::Symmetric]));
        let mut browser = theirs.enter(|| Browser::start(&[])).unwrap();
        for we_offer in [false, true] {
            let end = End::new(&ours);
            let name = if we_offer { "answers" } else { "offers" };
            browser.call("create", json!([name, { "iceServers": coturn::ice_servers() }]));
            let channel = if we_offer {
                let channel = end.create_channel();
                let offer = end.does(|peer| peer.create_offer().unwrap());
                let answer = browser.call("acceptOffer", json!([name, offer, false]));
                end.does(|peer| peer.accept_answer(answer.as_str().unwrap()).unwrap());
                channel
            } else {
                browser.call("createChannel", json!([name, "bulk", {}]));
                let offer = browser.call("offer", json!([name, false, false]));
                let answer = end.does(|peer| peer.accept_offer(offer.as_str().unwrap()).unwrap());
                browser.call("acceptAnswer", json!([name, answer]));
                end.accept_channel().expect("a channel")
            };
            let begun = Instant::now();
            // Messages are echoed.
            let way = end.way(MESSAGE_BYTES, || peers::carry(&channel, &channel, BULK_MESSAGES));
            assert_eq!(way, Way::Relayed);
            println!("Chromium {name}: 10 MB there and back in {:?}", begun.elapsed());
            browser.call("close", json!([name]));
        }
    });
}

/// A NAT gets another address, as after a new dial-up.
#[test]
fn a_peer_whose_address_changes_is_followed() {
    alone("a_peer_whose_address_changes_is_followed", || {
        let mut bed = Bed::new();
        let public = bed.public.clone();
        probe::serve(&bed);
        let _coturn = coturn::start(&bed);
        let server = bed.host(&public, &[]);
        let nat = bed.nat(&public, Nat::PortRestricted);
        let client = bed.host(&nat, &[]);
        let (_ends, [here, there]) = peers::connect(&client, &server).unwrap();
        peers::carry(&here, &there, 1);
        let other = Ipv4Addr::new(203, 0, 113, 200);
        let change = format!(
            "addr del {}/24 dev wan\naddr add {other}/24 dev wan\nroute add default via {}\n",
            nat.address,
            bed::PUBLIC[0]
        );
        probe::changes_address(&client, || nat.ip(&change));
        let begun = Instant::now();
        peers::carry(&here, &there, 1);
        peers::carry(&there, &here, 1);
        println!("followed within {:?}", begun.elapsed());
    });
}

/// A host gets another address, as after moving to another network. It notices by failed sends.
#[test]
fn an_address_of_ours_that_changes_is_left() {
    alone("an_address_of_ours_that_changes_is_left", || {
        let mut bed = Bed::new();
        let public = bed.public.clone();
        let _coturn = coturn::start(&bed);
        let [one, other] = [(); 2].map(|()| bed.host(&public, &[]));
        for (mover, last) in [(&one, 200), (&other, 201)] {
            let (_ends, [here, there]) = peers::connect(&one, &other).unwrap();
            peers::carry(&here, &there, 1);
            let new = Ipv4Addr::new(203, 0, 113, last);
            mover.ip(&format!(
                "addr del {}/24 dev wan\naddr add {new}/24 dev wan\nroute add default via {}\n",
                mover.address,
                bed::PUBLIC[0]
            ));
            let begun = Instant::now();
            peers::carry(&here, &there, 1);
            peers::carry(&there, &here, 1);
            println!("both ways again after {:?}", begun.elapsed());
            // Otherwise it would take 7 s of silence.
            assert!(begun.elapsed().as_secs() < 6);
        }
    });
}
