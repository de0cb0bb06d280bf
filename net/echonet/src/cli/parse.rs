//! Parses nodes, objects, properties and values from the command line.

use std::net::IpAddr;

use netdyno_echonet::Interface;
use netdyno_echonet::core::{ClassCode, Eoj, Epc, NodeAddress};

use super::{Failure, names};

/// The similarity, at most 1, from which a name is suggested.
const ALIKE: f64 = 0.85;

/// An address; a link-local IPv6 address may be followed by % and its interface.
pub(crate) fn node(text: &str) -> Result<NodeAddress, Failure> {
    let wrong =
        || Failure::new(format!("{text}: a node is an address, such as 192.168.1.20 or fe80::1%eth0"));
    let (address, scope) =
        text.split_once('%').map_or((text, None), |(address, scope)| (address, Some(scope)));
    let ip: IpAddr = address.parse().map_err(|_| wrong())?;
    let scope_id = match scope {
        None => 0,
        Some(scope) => match scope.parse() {
            Ok(number) => number,
            Err(_) => Interface::find(scope).map_err(|error| Failure::new(error.to_string()))?.index,
        },
    };
    Ok(NodeAddress { scope_id, ..ip.into() })
}

/// Six digits, or the name of a class, followed by `:` and an instance if it is not the first.
pub(crate) fn object(text: &str) -> Result<Eoj, Failure> {
    if let Ok(eoj) = text.parse() {
        return Ok(eoj);
    }
    let (name, instance) = text.split_once(':').unwrap_or((text, "1"));
    let class = name.parse::<ClassCode>().ok().or_else(|| names::find_class(name));
    match (class, instance.parse()) {
        (Some(class), Ok(instance @ 1..=0x7F)) => Ok(class.instance(instance)),
        _ => Err(Failure::new(format!(
            "{text}: an object is six hexadecimal digits, such as 029101, or a class and an instance, such as 0291:1 \
             (`netdyno-echonet names` lists classes){}",
            suggestion(name, names::database().classes().map(|class| &*class.short_name))
        ))),
    }
}

/// Two digits, or a property name of the class.
pub(crate) fn property(class: ClassCode, text: &str) -> Result<Epc, Failure> {
    text.parse().ok().or_else(|| names::find_property(class, text)).ok_or_else(|| {
        let known = names::properties(class).map(|definition| &*definition.short_name);
        Failure::new(format!(
            "{text}: a property is two hexadecimal digits, such as 80, or a name (`netdyno-echonet names {class}` lists them){}",
            suggestion(text, known)
        ))
    })
}

/// A suggestion for a misspelt name.
fn suggestion<'n>(typed: &str, names: impl Iterator<Item = &'n str>) -> String {
    let likeness = |name: &&str| strsim::jaro_winkler(typed, name);
    let nearest =
        names.filter(|name| likeness(name) > ALIKE).max_by(|a, b| likeness(a).total_cmp(&likeness(b)));
    nearest.map_or_else(String::new, |name| format!("; did you mean {name}?"))
}

/// `PROPERTY=VALUE`.
pub(crate) fn assignment(class: ClassCode, text: &str) -> Result<(Epc, Vec<u8>), Failure> {
    let (name, value) = text
        .split_once('=')
        .ok_or_else(|| Failure::new(format!("{text}: must be PROPERTY=VALUE, such as 80=30")))?;
    let epc = property(class, name)?;
    Ok((epc, names::parse(class, epc, value).map_err(|why| Failure::new(format!("{text}: {why}")))?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_arguments() {
        assert_eq!(object("029101").unwrap(), Eoj([2, 0x91, 1]));
        assert_eq!(object("0291:3").unwrap(), Eoj([2, 0x91, 3]));
        for wrong in ["", "lamp of mine", "0291:0", "0291:128", "02910"] {
            let text = object(wrong).unwrap_err().to_string();
            assert!(text.contains("six hexadecimal digits"), "{text}");
        }
        let message = object("mono_functional_lightning").unwrap_err().to_string();
        assert!(message.contains("did you mean mono_functional_lighting?"), "{message}");
        let message = property(ClassCode(0x0291), "operatoin_status").unwrap_err().to_string();
        assert!(
            message.contains("did you mean operation_status?") && message.contains("names 0291"),
            "{message}"
        );
        assert_eq!(node("192.0.2.1").unwrap().ip.to_string(), "192.0.2.1");
        assert_eq!(node("fe80::1%7").unwrap().scope_id, 7);
        assert!(node("lamp").is_err());
        let light = ClassCode(0x0291);
        assert_eq!(assignment(light, "80=30").unwrap(), (Epc(0x80), vec![0x30]));
        assert_eq!(assignment(light, "B0=0x40").unwrap(), (Epc(0xB0), vec![0x40]));
        for wrong in ["80", "8=30", "80=3", "80=", "=30"] {
            assert!(assignment(light, wrong).is_err(), "{wrong}");
        }
    }
}
