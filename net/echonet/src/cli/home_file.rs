//! The file that says what a virtual home has: descriptions of devices as the core reads them, how many there are of each, and where.

use std::collections::HashSet;
use std::fmt::Display;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::Path;

use netdyno_echonet::core::{
    ClassCode, Description, DescriptionFileError, Epc, ObjectDescription, WritePolicy,
};
use serde::Deserialize;

use super::{Failure, names};

/// Nodes of one home, all kinds together.
const NODES_MAX: u32 = 65_536;
/// Bytes of the identification number (83) that count the nodes of one kind: its last ones.
const COUNTER_BYTES: usize = 4;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct HomeFile {
    #[serde(default)]
    nodes: Vec<Kind>,
}

/// Nodes of one kind.
#[derive(Debug, Deserialize)]
struct Kind {
    #[serde(default = "one")]
    count: u32,
    /// The first one's; the others have those that follow.
    address: Option<IpAddr>,
    /// All else is the core's: [`Description::from_toml`] says what may stand there.
    #[serde(flatten)]
    description: toml::Table,
}

fn one() -> u32 {
    1
}

impl HomeFile {
    /// The nodes of a file, and their addresses.
    pub(crate) fn read(path: &Path) -> Result<Vec<(Option<IpAddr>, Description)>, Failure> {
        let told = |why: &dyn Display| Failure::told(format!("{}: {why}", path.display()));
        let text = std::fs::read_to_string(path)
            .map_err(|error| told(&format_args!("{error}: give the path of a home's file")))?;
        let file: Self = toml::from_str(&text).map_err(|error| told(&error))?;
        file.nodes().map_err(|error| told(&error))
    }

    fn nodes(&self) -> Result<Vec<(Option<IpAddr>, Description)>, Failure> {
        let total: u32 = self.nodes.iter().map(|kind| kind.count).fold(0, u32::saturating_add);
        if !(1..=NODES_MAX).contains(&total) {
            return Err(Failure::told(format!("a home has 1 to {NODES_MAX} nodes ([[nodes]]), not {total}")));
        }
        let (mut nodes, mut numbers) = (Vec::new(), HashSet::new());
        for (place, kind) in (1..).zip(&self.nodes) {
            let wrong = |why: String| Failure::told(format!("[[nodes]] number {place}: {why}"));
            if kind.count > 1 && kind.address.is_none() {
                return Err(wrong("with a `count` it needs an `address`: the first one's".to_owned()));
            }
            let described = kind.description().map_err(wrong)?;
            for offset in 0..kind.count {
                let address = kind.address.map(|address| following(address, offset)).transpose()?;
                let (description, number) = numbered(described.clone(), offset).map_err(wrong)?;
                if !numbers.insert(number) {
                    return Err(wrong(
                        "`unique` stands at other nodes too: give it letters of its own".to_owned(),
                    ));
                }
                nodes.push((address, description));
            }
        }
        Ok(nodes)
    }
}

impl Kind {
    fn description(&self) -> Result<Description, String> {
        let text = toml::to_string(&self.description).map_err(|error| error.to_string())?;
        let described = Description::from_toml(&text, names::database());
        let mut described = described.map_err(|error| match error {
            // Its lines are those of this part alone.
            DescriptionFileError::Toml(error) => error.message().to_owned(),
            other => other.to_string(),
        })?;
        judge_writes(&mut described.profile);
        described.objects.iter_mut().for_each(judge_writes);
        Ok(described)
    }
}

/// Has us be asked about values whose form is known, so that we can refuse those that are none.
fn judge_writes(object: &mut ObjectDescription) {
    let class = object.eoj.class();
    let accepted = object.properties.iter_mut().filter(|property| property.writes == WritePolicy::Accept);
    for property in accepted.filter(|property| is_known(class, property.epc)) {
        property.writes = WritePolicy::Ask;
    }
}

fn is_known(class: ClassCode, epc: Epc) -> bool {
    names::database().definition(class, epc).is_some()
}

/// One of several nodes of a kind, and its identification number, which no other has.
fn numbered(mut description: Description, offset: u32) -> Result<(Description, Vec<u8>), String> {
    let properties = &mut description.profile.properties;
    let Some(number) = properties.iter_mut().find(|known| known.epc == Epc::IDENTIFICATION_NUMBER) else {
        return Err("it has no identification number (83)".to_owned());
    };
    let counter = number.value.last_chunk_mut::<COUNTER_BYTES>();
    let counter = counter.filter(|counter| offset == 0 || **counter == [0; COUNTER_BYTES]);
    match counter {
        Some(counter) if offset > 0 => *counter = offset.to_be_bytes(),
        None if offset > 0 => {
            return Err(format!(
                "with a `count`, `unique` has 9 letters at the most: {COUNTER_BYTES} bytes count the nodes"
            ));
        }
        _ => {}
    }
    let number = number.value.clone();
    Ok((description, number))
}

/// The address so many after this one.
fn following(address: IpAddr, offset: u32) -> Result<IpAddr, Failure> {
    let next = match address {
        IpAddr::V4(v4) => u32::from(v4).checked_add(offset).map(|bits| Ipv4Addr::from(bits).into()),
        IpAddr::V6(v6) => u128::from(v6).checked_add(offset.into()).map(|bits| Ipv6Addr::from(bits).into()),
    };
    next.ok_or_else(|| Failure::told(format!("there are no {offset} addresses after {address}")))
}

#[cfg(test)]
mod tests {
    use netdyno_echonet::core::Access;

    use super::*;

    fn nodes(text: &str) -> Result<Vec<(Option<IpAddr>, Description)>, String> {
        let file: HomeFile = toml::from_str(text).map_err(|error| error.to_string())?;
        file.nodes().map_err(|error| error.to_string())
    }

    #[test]
    fn a_home_as_written() {
        let nodes = nodes(
            r#"
            [[nodes]]
            count = 300
            address = "127.1.0.200"
            manufacturer = "00000B"
            unique = "light"
            [[nodes.objects]]
            class = "mono_functional_lighting"
            instances = 2
            properties.operation_status = "off"
            properties.B0 = 100
            properties.F0 = { value = "0x01", access = "get set" }
            [[nodes]]
            manufacturer = "00000B"
            unique = "cooler"
            [[nodes.objects]]
            class = "0130"
            "#,
        )
        .unwrap();
        assert_eq!(nodes.len(), 301);
        assert_eq!(nodes[56].0, Some("127.1.1.0".parse().unwrap()));
        let light = &nodes[299].1.objects[1];
        assert_eq!(light.eoj.to_string(), "029102");
        let of = |object: &ObjectDescription, epc| {
            object.properties.iter().find(|property| property.epc == Epc(epc)).unwrap().clone()
        };
        assert_eq!((&of(light, 0x80).value[..], of(light, 0x80).access), (&[0x31][..], Access::ALL));
        assert_eq!((of(light, 0xB0).access, of(light, 0xB0).writes), (Access::GET_SET, WritePolicy::Ask));
        // Nobody knows what it may be.
        assert_eq!(of(light, 0xF0).writes, WritePolicy::Accept);
        let number = |node: usize| names::hex(&of(&nodes[node].1.profile, 0x83).value);
        assert_eq!(number(0), "FE00000B6C696768740000000000000000");
        assert_eq!(number(299), "FE00000B6C69676874000000000000012B");
        assert_eq!((nodes[300].0, nodes[300].1.objects.len()), (None, 1));
    }

    #[test]
    fn what_is_wrong_is_told() {
        let head = "[[nodes]]\nmanufacturer = \"00000B\"\nunique = \"x\"\n";
        for (text, part) in [
            ("", "1 to 65536 nodes"),
            ("colour = 2", "colour"),
            ("[[nodes]]", "[[nodes]] number 1: missing field `manufacturer`"),
            ("HEAD count = 2", "needs an `address`"),
            ("HEAD colour = 2", "[[nodes]] number 1: unknown field `colour`"),
            ("HEAD [[nodes.objects]]\nclass = \"lamp of mine\"", "lamp of mine"),
            ("HEAD [[nodes.objects]]\nclass = \"0291\"\nproperties.B0 = 101", "between 0 % and 100 %"),
            ("HEAD HEAD", "number 2: `unique` stands at other nodes too"),
            (
                "HEAD profile.properties.83 = \"0xFE00000B00000000000000000000000001\"\ncount = 2\naddress = \"127.1.0.1\"",
                "9 letters",
            ),
            ("HEAD count = 70000\naddress = \"127.0.0.1\"", "65536"),
            ("HEAD count = 300\naddress = \"255.255.255.0\"", "no 256 addresses after"),
        ] {
            let told = nodes(&text.replace("HEAD ", head).replace("HEAD", head)).unwrap_err();
            assert!(told.contains(part), "{text}: {told}");
        }
    }
}
