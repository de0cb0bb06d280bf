//! The file that describes a virtual home: device descriptions in the core's format, with the number and
//! addresses of each.

use std::collections::HashSet;
use std::fmt::Display;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::ops::Range;
use std::path::Path;

use netdyno_echonet::core::{ClassCode, Description, Epc, ObjectDescription, WritePolicy};
use serde::de::DeserializeOwned;
use toml::Spanned;
use toml::de::{DeTable, DeValue, ValueDeserializer};

use super::{Failure, names};

/// Nodes of a home, all kinds together.
const NODES_MAX: u32 = 65_536;
/// The last bytes of the identification number (83), which number the nodes of a kind.
const COUNTER_BYTES: usize = 4;

/// The nodes of a file, and their addresses.
pub(crate) fn read(path: &Path) -> Result<Vec<(Option<IpAddr>, Description)>, Failure> {
    let fail = |why: &dyn Display| Failure::new(format!("{}: {why}", path.display()));
    let text = std::fs::read_to_string(path)
        .map_err(|error| fail(&format_args!("{error}: give the path of a home's file")))?;
    nodes(&text).map_err(|error| fail(&error))
}

fn nodes(text: &str) -> Result<Vec<(Option<IpAddr>, Description)>, Failure> {
    let (mut nodes, mut numbers) = (Vec::new(), HashSet::new());
    for Kind { line, count, address, description } in kinds(text)? {
        let wrong = |why: String| Failure::new(format!("line {line}: {why}"));
        if count > 1 && address.is_none() {
            return Err(wrong("with a `count` it needs an `address`, that of the first node".to_owned()));
        }
        for offset in 0..count {
            let address = address.map(|address| following(address, offset)).transpose().map_err(wrong)?;
            let (description, number) = numbered(description.clone(), offset).map_err(wrong)?;
            if !numbers.insert(number) {
                return Err(wrong("`unique` is used by other nodes too: choose another one".to_owned()));
            }
            nodes.push((address, description));
        }
    }
    Ok(nodes)
}

/// Nodes of a kind.
struct Kind {
    /// Their line in the file.
    line: usize,
    count: u32,
    /// The address of the first node; the others have the following addresses.
    address: Option<IpAddr>,
    /// The other fields are parsed by [`Description::from_toml`].
    description: Description,
}

fn kinds(text: &str) -> Result<Vec<Kind>, Failure> {
    let toml = |mut error: toml::de::Error| {
        error.set_input(Some(text));
        Failure::new(error.to_string().trim_end())
    };
    let line = |span: Range<usize>| 1 + text.get(..span.start).unwrap_or_default().matches('\n').count();
    let mut file = DeTable::parse(text).map_err(toml)?.into_inner();
    let nodes = file.remove("nodes").map(Spanned::into_inner);
    if let Some(key) = file.keys().next() {
        let (line, key) = (line(key.span()), key.get_ref());
        return Err(Failure::new(format!("line {line}: unknown field `{key}`: a home has only [[nodes]]")));
    }
    let Some(DeValue::Array(nodes)) = nodes else {
        return Err(Failure::new("it has no nodes: describe each kind of node in a table [[nodes]]"));
    };
    let (mut kinds, mut total) = (Vec::new(), 0_u32);
    for node in nodes {
        let (span, line) = (node.span(), line(node.span()));
        let DeValue::Table(mut fields) = node.into_inner() else {
            return Err(Failure::new(format!("line {line}: a node must be a table")));
        };
        let count = field(&mut fields, "count").map_err(toml)?.unwrap_or(1);
        total = total.saturating_add(count);
        if count == 0 || total > NODES_MAX {
            return Err(Failure::new(format!(
                "line {line}: a home has 1 to {NODES_MAX} nodes, and a kind at least 1"
            )));
        }
        let address = field(&mut fields, "address").map_err(toml)?;
        let described = Description::from_toml_table(text, Spanned::new(span, fields), names::database());
        let mut description = described.map_err(|error| Failure::new(error.to_string().trim_end()))?;
        judge_writes(&mut description.profile);
        description.objects.iter_mut().for_each(judge_writes);
        kinds.push(Kind { line, count, address, description });
    }
    Ok(kinds)
}

/// Removes a field from a table.
fn field<T: DeserializeOwned>(fields: &mut DeTable<'_>, name: &str) -> Result<Option<T>, toml::de::Error> {
    fields.remove(name).map(|value| T::deserialize(ValueDeserializer::from(value))).transpose()
}

/// Sets the write policy to `Ask` for values of a known format, so that invalid ones can be refused.
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

/// A node of a kind, and its unique identification number.
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
                "with a `count`, `unique` has at most 9 letters: {COUNTER_BYTES} bytes number the nodes"
            ));
        }
        _ => {}
    }
    let number = number.value.clone();
    Ok((description, number))
}

/// The address `offset` after this one.
fn following(address: IpAddr, offset: u32) -> Result<IpAddr, String> {
    let next = match address {
        IpAddr::V4(v4) => u32::from(v4).checked_add(offset).map(|bits| Ipv4Addr::from(bits).into()),
        IpAddr::V6(v6) => u128::from(v6).checked_add(offset.into()).map(|bits| Ipv6Addr::from(bits).into()),
    };
    next.ok_or_else(|| format!("fewer than {offset} addresses follow {address}"))
}

#[cfg(test)]
mod tests {
    use netdyno_echonet::core::Access;

    use super::*;

    #[test]
    fn parses_a_home() {
        let nodes = super::nodes(
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
        let property = |object: &ObjectDescription, epc| {
            object.properties.iter().find(|property| property.epc == Epc(epc)).unwrap().clone()
        };
        assert_eq!(
            (&property(light, 0x80).value[..], property(light, 0x80).access),
            (&[0x31][..], Access::ALL)
        );
        assert_eq!(
            (property(light, 0xB0).access, property(light, 0xB0).writes),
            (Access::GET_SET, WritePolicy::Ask)
        );
        // Its format is unknown.
        assert_eq!(property(light, 0xF0).writes, WritePolicy::Accept);
        let number = |node: usize| names::hex(&property(&nodes[node].1.profile, 0x83).value);
        assert_eq!(number(0), "FE00000B6C696768740000000000000000");
        assert_eq!(number(299), "FE00000B6C69676874000000000000012B");
        assert_eq!((nodes[300].0, nodes[300].1.objects.len()), (None, 1));
    }

    #[test]
    fn invalid_files_are_rejected() {
        let head = "[[nodes]]\nmanufacturer = \"00000B\"\nunique = \"x\"\n";
        for (text, part) in [
            ("", "it has no nodes"),
            ("nodes = 5", "it has no nodes"),
            ("colour = 2", "line 1: unknown field `colour`"),
            ("[[nodes]]", "missing field `manufacturer`"),
            ("\n[[nodes]]\nunique = \"x\"", "at line 2"),
            ("HEAD count = 0", "line 1: a home has 1 to 65536 nodes"),
            ("HEAD count = 2", "line 1: with a `count` it needs an `address`"),
            ("HEAD count = \"two\"", "at line 4"),
            ("HEAD address = \"house\"", "at line 4"),
            ("HEAD colour = 2", "unknown field `colour`, expected one of `manufacturer`"),
            (
                "HEAD [[nodes.objects]]\nclass = \"lamp of mine\"",
                "line 5: class \"lamp of mine\" is not known",
            ),
            (
                "HEAD [[nodes.objects]]\nclass = \"0291\"\nproperties.B0 = 101",
                "line 6: 0291: property \"B0\": 101",
            ),
            (
                "HEAD [[nodes.objects]]\nclass = \"0291\"\nproperties.B0 = { value = 1, acess = \"get\" }",
                "unknown field `acess`",
            ),
            ("HEAD HEAD", "line 4: `unique` is used by other nodes too"),
            (
                "HEAD profile.properties.83 = \"0xFE00000B00000000000000000000000001\"\ncount = 2\naddress = \"127.1.0.1\"",
                "9 letters",
            ),
            ("HEAD count = 70000\naddress = \"127.0.0.1\"", "65536"),
            ("HEAD count = 300\naddress = \"255.255.255.0\"", "fewer than 256 addresses follow"),
        ] {
            let text = text.replace("HEAD ", head).replace("HEAD", head);
            let message = super::nodes(&text).unwrap_err().to_string();
            assert!(message.contains(part), "{text}: {message}");
        }
    }
}
