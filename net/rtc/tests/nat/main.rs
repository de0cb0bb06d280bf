//! Connections through NATs of each kind, in every pairing.
#![allow(clippy::unwrap_used, missing_docs)]

mod bed;
mod probe;

use bed::{Bed, Nat, alone};
use probe::{Behaviour, Filtering, Mapping};

/// What a host may be behind of, the innermost NAT first.
const KINDS: [(&str, &[Nat], Mapping, Filtering); 6] = [
    ("no NAT", &[], Mapping::Independent, Filtering::Independent),
    ("full cone", &[Nat::FullCone], Mapping::Independent, Filtering::Independent),
    ("address-restricted", &[Nat::AddressRestricted], Mapping::Independent, Filtering::Address),
    ("port-restricted", &[Nat::PortRestricted], Mapping::Independent, Filtering::AddressAndPort),
    ("symmetric", &[Nat::Symmetric], Mapping::Dependent, Filtering::AddressAndPort),
    (
        "two in a row",
        &[Nat::PortRestricted, Nat::PortRestricted],
        Mapping::Independent,
        Filtering::AddressAndPort,
    ),
];

#[test]
fn a_kind_is_what_it_says() {
    alone("a_kind_is_what_it_says", || {
        let mut bed = Bed::new();
        let public = bed.public.clone();
        probe::serve(&bed);
        for (name, nats, mapping, filtering) in KINDS {
            let host = bed.host(&public, nats);
            assert_eq!(probe::behaviour(&host), Some(Behaviour { mapping, filtering }), "{name}");
        }
        assert_eq!(probe::behaviour(&bed.host(&public, &[Nat::NoUdp])), None);
        for (nat, hairpins) in [(Nat::Hairpin, true), (Nat::FullCone, false)] {
            let carrier = bed.nat(&public, nat);
            let [one, other] = [(); 2].map(|()| bed.host(&carrier, &[Nat::PortRestricted]));
            assert_eq!(probe::hairpins(&one, &other), hairpins, "{nat:?}");
        }
    });
}
