//! Connections through NATs of each kind, in every pairing.
#![allow(clippy::unwrap_used, missing_docs)]

mod bed;
#[path = "../chromium/browser.rs"]
mod browser;
mod coturn;
mod peers;
mod probe;
mod table;

use std::thread;

use bed::{Bed, Nat, alone};
use coturn::Coturn;
use netdyno_rtc::Settings;
use peers::Way;
use probe::{Behaviour, Filtering, Mapping};

/// What a host may be behind of, the innermost NAT first, and what that does.
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

/// Two that are behind the same NAT, and what each has before it besides.
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

/// How two are to connect: by what their NATs do, or where they are.
fn expected(one: usize, other: usize) -> Way {
    let [one, other] = [one, other].map(|at| KINDS[at].2);
    if one.meets(other) { Way::Direct } else { Way::Relayed }
}

#[test]
fn every_pairing() {
    alone("every_pairing", || {
        let mut bed = Bed::new();
        let public = bed.public.clone();
        let _coturn = Coturn::start(&bed);
        let [offerers, answerers] = [(); 2].map(|()| KINDS.map(|(_, nats, _)| bed.host(&public, nats)));
        let places = PLACES.map(|(name, carrier, nats, way)| {
            let carrier = bed.nat(&public, carrier);
            (name, [(); 2].map(|()| bed.host(&carrier, nats)), way)
        });
        let settings = &Settings::new().unwrap();
        let (found, beside) = thread::scope(|scope| {
            let try_ = |one, other| scope.spawn(move || peers::connect(one, other, settings));
            let rows = offerers.each_ref().map(|one| answerers.each_ref().map(|other| try_(one, other)));
            let beside = places.each_ref().map(|(_, [one, other], _)| try_(one, other));
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

#[test]
fn chromium_twice() {
    use browser::Browser;
    use serde_json::json;
    browser::installed().unwrap();
    alone("chromium_twice", || {
        let mut bed = Bed::new();
        let public = bed.public.clone();
        let _coturn = Coturn::start(&bed);
        for nat in [Nat::PortRestricted, Nat::Symmetric, Nat::NoUdp] {
            let t = std::time::Instant::now();
            let hosts = [(); 2].map(|()| bed.host(&public, &[nat]));
            let tail = if nat == Nat::NoUdp { "?transport=tcp" } else { "?transport=udp" };
            let servers = json!([{ "urls": [coturn::url("turn", tail)],
                "username": coturn::USER, "credential": coturn::PASSWORD }]);
            let mut browsers = hosts.map(|host| {
                host.enter(|| Browser::start(&["--disable-features=WebRtcHideLocalIpsWithMdns"]).unwrap())
            });
            println!("started {:?}", t.elapsed());
            for browser in &mut browsers {
                browser.call("create", json!(["peer", { "iceServers": servers }]));
            }
            let [one, other] = &mut browsers;
            one.call("createChannel", json!(["peer", "chat", {}]));
            let offer = one.call("offer", json!(["peer", false, false]));
            println!("{}", offer.as_str().unwrap());
            let answer = other.call("acceptOffer", json!(["peer", offer, false]));
            one.call("acceptAnswer", json!(["peer", answer]));
            one.expect(&[("type", json!("open"))]);
            println!("{nat:?} {} {:?}", one.call("selectedPair", json!(["peer"])), t.elapsed());
        }
    });
}
