//! The file that says what a virtual home has.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::Path;

use netdyno_echonet::core::{Access, ClassCode, Description, Epc, ObjectDescription};
use serde::Deserialize;

use super::{Failure, names, parse};

/// Nodes of one home, all kinds together.
const NODES_MAX: u32 = 65_536;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct HomeFile {
    #[serde(default)]
    node: Vec<Kind>,
}

/// Nodes of one kind.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Kind {
    #[serde(default = "one")]
    count: u32,
    /// The first one's; the others have those that follow.
    address: Option<IpAddr>,
    #[serde(default = "experimental")]
    manufacturer: String,
    #[serde(default)]
    object: Vec<Object>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Object {
    class: String,
    #[serde(default = "one")]
    count: u32,
    /// Beyond those that every device has: property and value.
    #[serde(default)]
    values: BTreeMap<String, String>,
    /// Properties that can be written.
    #[serde(default)]
    set: Vec<String>,
    /// Properties that are told when they change.
    #[serde(default)]
    announce: Vec<String>,
}

fn one() -> u32 {
    1
}

fn experimental() -> String {
    "FFFFFE".to_owned()
}

impl HomeFile {
    pub(crate) fn read(path: &Path) -> Result<Self, Failure> {
        let text = std::fs::read_to_string(path).map_err(|error| {
            Failure::told(format!("{}: {error}: give the path of a home's file", path.display()))
        })?;
        toml::from_str(&text).map_err(|error| Failure::told(format!("{}: {error}", path.display())))
    }

    /// The nodes and their addresses.
    pub(crate) fn nodes(&self) -> Result<Vec<(Option<IpAddr>, Description)>, Failure> {
        let total: u32 = self.node.iter().map(|kind| kind.count).fold(0, u32::saturating_add);
        if !(1..=NODES_MAX).contains(&total) {
            return Err(Failure::told(format!("a home has 1 to {NODES_MAX} nodes ([[node]]), not {total}")));
        }
        let mut nodes: Vec<(Option<IpAddr>, Description)> = Vec::new();
        for kind in &self.node {
            if kind.count > 1 && kind.address.is_none() {
                return Err(Failure::told("nodes with a `count` need an `address`: the first one's"));
            }
            for offset in 0..kind.count {
                let address = kind.address.map(|address| following(address, offset)).transpose()?;
                nodes.push((address, kind.description(nodes.len() as u32)?));
            }
        }
        Ok(nodes)
    }
}

impl Kind {
    fn description(&self, number: u32) -> Result<Description, Failure> {
        let maker = names::unhex(&self.manufacturer).and_then(|bytes| <[u8; 3]>::try_from(bytes).ok());
        let maker = maker.ok_or_else(|| {
            Failure::told(format!(
                "manufacturer = \"{}\": it takes six hexadecimal digits",
                self.manufacturer
            ))
        })?;
        let mut unique = *b"netdyno \0\0\0\0\0";
        unique[9..].copy_from_slice(&number.to_be_bytes());
        let mut description = Description::new(maker, unique);
        let mut used: BTreeMap<ClassCode, u8> = BTreeMap::new();
        for object in &self.object {
            let eoj =
                parse::object(&object.class).or_else(|_| parse::object(&format!("{}:1", object.class)))?;
            for _ in 0..object.count {
                let last = used.entry(eoj.class()).or_insert(0);
                if *last == 0x7F {
                    return Err(Failure::told(format!(
                        "class {}: a node has 127 of it at the most",
                        eoj.class()
                    )));
                }
                *last += 1;
                let object = object.description(eoj.class(), *last, maker)?;
                description = description.object(object);
            }
        }
        Ok(description)
    }
}

impl Object {
    fn description(
        &self,
        class: ClassCode,
        instance: u8,
        maker: [u8; 3],
    ) -> Result<ObjectDescription, Failure> {
        let mut object = ObjectDescription::device(class.instance(instance), maker);
        let codes = |names: &[String]| {
            names.iter().map(|name| parse::property(class, name)).collect::<Result<Vec<Epc>, _>>()
        };
        let (set, announce) = (codes(&self.set)?, codes(&self.announce)?);
        for (name, text) in &self.values {
            let (epc, edt) = parse::assignment(class, &format!("{name}={text}"))?;
            let announced = object.properties.iter().any(|known| known.epc == epc && known.access.announce);
            let access =
                Access { get: true, set: set.contains(&epc), announce: announced || announce.contains(&epc) };
            object = object.property(epc, edt, access);
        }
        for property in &mut object.properties {
            property.access.set |= set.contains(&property.epc);
            property.access.announce |= announce.contains(&property.epc);
        }
        let has = |epc: &&Epc| object.properties.iter().any(|property| property.epc == **epc);
        match set.iter().chain(&announce).find(|epc| !has(epc)) {
            Some(epc) => Err(Failure::told(format!(
                "class {class}: property {epc} can be set or is announced, but has no value: add it to `values`"
            ))),
            None => Ok(object),
        }
    }
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
    use super::*;

    fn nodes(text: &str) -> Result<Vec<(Option<IpAddr>, Description)>, String> {
        let file: HomeFile = toml::from_str(text).map_err(|error| error.to_string())?;
        file.nodes().map_err(|error| error.to_string())
    }

    #[test]
    fn a_home_as_written() {
        let nodes = nodes(
            r#"
            [[node]]
            count = 300
            address = "127.1.0.200"
            manufacturer = "00000B"
            [[node.object]]
            class = "0291"
            count = 2
            set = ["80", "B0"]
            [node.object.values]
            80 = "31"
            B0 = "0x64"
            [[node]]
            [[node.object]]
            class = "0130"
            "#,
        )
        .unwrap();
        assert_eq!(nodes.len(), 301);
        assert_eq!(nodes[56].0, Some("127.1.1.0".parse().unwrap()));
        let light = &nodes[299].1.objects[1];
        assert_eq!(light.eoj.to_string(), "029102");
        let of = |epc| light.properties.iter().find(|property| property.epc == Epc(epc)).unwrap();
        assert_eq!((&of(0x80).value[..], of(0x80).access), (&[0x31][..], Access::ALL));
        assert_eq!(of(0xB0).access, Access::GET_SET);
        assert_eq!((nodes[300].0, nodes[300].1.objects.len()), (None, 1));
    }

    #[test]
    fn what_is_wrong_is_told() {
        for (text, part) in [
            ("", "1 to 65536 nodes"),
            ("[[node]]\ncount = 2", "need an `address`"),
            ("[[node]]\ncolour = 2", "colour"),
            ("[[node]]\nmanufacturer = \"xyz\"", "six hexadecimal digits"),
            ("[[node]]\n[[node.object]]\nclass = \"lamp of mine\"", "lamp of mine"),
            ("[[node]]\n[[node.object]]\nclass = \"0291\"\ncount = 128", "127 of it"),
            ("[[node]]\n[[node.object]]\nclass = \"0291\"\nset = [\"B0\"]", "add it to `values`"),
            ("[[node]]\ncount = 70000\naddress = \"127.0.0.1\"", "65536"),
            ("[[node]]\ncount = 300\naddress = \"255.255.255.0\"", "no 256 addresses after"),
        ] {
            let told = nodes(text).unwrap_err();
            assert!(told.contains(part), "{text}: {told}");
        }
    }
}
