//! Descriptions as TOML, and the consortium's JSON.
#![cfg(all(feature = "description", feature = "mra"))]
#![allow(clippy::unwrap_used, missing_docs)]

mod common;

use common::{hex, to_hex};
use netdyno_echonet_core::{
    Access, ClassCode, Database, Description, DescriptionFileError, Device, Eoj, Epc, Kind, Mra, MraError,
    Rule, WritePolicy,
};

const HOME: &str = r#"
manufacturer = "00000B"
unique = "000102030405060708090A0B0C"
profile.properties.serial_number = "AB-12"

[[objects]]
class = "home_air_conditioner"
[objects.properties]
operation_status = true
operation_mode = "heating"
target_temperature = 22
room_temperature = { value = "unmeasurable", writes = "refuse" }
air_flow_level = { value = "auto", access = "get set announce", writes = "ask" }
F0 = "0x010203"

[[objects]]
class = "0291"
instances = 2

[[objects]]
class = "mono_functional_lighting"

[[objects]]
class = "0F7E"
"#;

#[test]
fn a_home_is_described() {
    let description = Description::from_toml(HOME, &Database::builtin()).unwrap();
    let device = Device::new(&description).unwrap();
    let objects: Vec<String> = device.objects().map(|eoj| eoj.to_string()).collect();
    assert_eq!(objects, ["013001", "029101", "029102", "029103", "0F7E01"]);
    let air = Eoj([1, 0x30, 1]);
    let rows = [
        (air, 0x80, "30"),
        (air, 0xB0, "43"),
        (air, 0xB3, "16"),
        (air, 0xBB, "7E"),
        (air, 0xA0, "41"),
        (air, 0xF0, "010203"),
        (air, 0x8A, "00000B"),
        (Eoj([2, 0x91, 3]), 0x80, "30"),
        (Eoj::NODE_PROFILE, 0x83, "FE00000B000102030405060708090A0B0C"),
        (Eoj::NODE_PROFILE, 0x8D, "41422D313200000000000000"),
    ];
    for (eoj, epc, value) in rows {
        assert_eq!(device.get(eoj, Epc(epc)).map(to_hex), Some(value.to_owned()), "{eoj} {epc:02X}");
    }
    let property =
        |epc| description.objects[0].properties.iter().find(|property| property.epc == Epc(epc)).unwrap();
    assert_eq!((property(0xB0).access, property(0xF0).access), (Access::ALL, Access::GET));
    assert_eq!((property(0xA0).writes, property(0xBB).writes), (WritePolicy::Ask, WritePolicy::Refuse));
}

#[test]
fn invalid_files_are_rejected() {
    let head = "manufacturer = \"00000B\"\nunique = \"x\"\n";
    let rows = [
        ("manufacturer = 5", "invalid type"),
        ("manufacturer = \"00000B\"\nunique = \"x\"\ncolour = 1", "unknown field"),
        ("manufacturer = \"B\"\nunique = \"x\"", "manufacturer \"B\""),
        ("manufacturer = \"00000B\"\nunique = \"\"", "unique \"\""),
        ("manufacturer = \"00000B\"\nunique = \"more than thirteen\"", "up to 13 letters"),
        ("[[objects]]\nclass = \"toaster\"", "class \"toaster\" is not known"),
        ("[[objects]]\nclass = \"0291\"\ninstances = 0", "0 instances"),
        ("[[objects]]\nclass = \"0291\"\ninstances = 127\n[[objects]]\nclass = \"0291\"", "128 instances"),
        ("[[objects]]\nclass = \"0291\"\nproperties.colour = 1", "0291: property \"colour\" is not known"),
        ("[[objects]]\nclass = \"0291\"\nproperties.light_level = 101", "101 is not between 0 % and 100 %"),
        ("[[objects]]\nclass = \"0291\"\nproperties.F0 = 5", "its values are unknown"),
        (
            "[[objects]]\nclass = \"0291\"\nproperties.F0 = { value = \"0x05\", access = \"read\" }",
            "access \"read\"",
        ),
        (
            "[[objects]]\nclass = \"0291\"\nproperties.F0 = { value = \"0x05\", writes = \"perhaps\" }",
            "unknown variant `perhaps`, expected one of `accept`, `ask`, `refuse`",
        ),
        (
            "[[objects]]\nclass = \"0291\"\nproperties.B0 = [1]",
            "expected a string, a number, true, false, or { value",
        ),
        (
            "[[objects]]\nclass = \"0291\"\nproperties.B0 = { value = [1] }",
            "expected a string, a number, true or false",
        ),
        (
            "[[objects]]\nclass = \"0291\"\nproperties.B0 = { value = 1, acess = \"get\" }",
            "unknown field `acess`, expected one of `value`, `access`, `writes`",
        ),
        ("[[objects]]\nclass = \"0291\"\nproperties.B0 = { value = 1, acess = \"get\" }", "at line 5"),
        ("[[objects]]\nclass = \"0291\"\ninstances = 300", "line 4: 300 instances: a class has 1 to 127"),
        ("[[objects]]\nclass = \"0291\"\ninstances = -1", "line 4: -1 instances"),
        (
            "[[objects]]\nclass = \"0291\"\n[objects.properties]\n# here\nB0 = 500",
            "line 7: 0291: property \"B0\": 500",
        ),
        ("[[objects]]\n\nclass = \"toaster\"", "line 5: class \"toaster\""),
        ("manufacturer = \"00000B\"\nunique = \"\"", "line 2: unique \"\""),
    ];
    for (text, expected) in rows {
        let text = if text.starts_with("[[") { format!("{head}{text}") } else { text.to_owned() };
        let error = Description::from_toml(&text, &Database::builtin()).unwrap_err().to_string();
        assert!(error.contains(expected), "{text}: {error}");
    }
    let long = "#".repeat((1 << 20) + 1);
    assert!(matches!(
        Description::from_toml(&long, &Database::builtin()),
        Err(DescriptionFileError::TooLong { .. })
    ));
}

const DEFINITIONS: &str = r##"{ "definitions": {
    "number_temperature": { "type": "number", "format": "int16", "minimum": -2732, "maximum": 32766, "multiple": 0.1, "unit": "Celsius" },
    "number_energy": { "type": "number", "format": "uint32", "minimum": 0, "maximum": 99999999, "unit": "kWh" },
    "state_none": { "type": "state", "size": 1, "enum": [{ "edt": "0xFD", "name": "notSet" }] },
    "around": { "$ref": "#/definitions/around" }
} }"##;

const CLASS: &str = r##"{
    "eoj": "0x0F01", "validRelease": { "from": "A", "to": "latest" },
    "className": { "ja": "x", "en": "Test device" }, "shortName": "testDevice2D",
    "elProperties": [
        { "epc": "0xE0", "validRelease": { "from": "A", "to": "C" }, "shortName": "old", "propertyName": { "en": "Old" },
          "accessRule": { "get": "optional", "set": "optional", "inf": "optional" }, "data": { "type": "raw", "minSize": 1, "maxSize": 1 } },
        { "epc": "0xE0", "validRelease": { "from": "D", "to": "latest" }, "shortName": "outsideTemperature",
          "propertyName": { "en": "Outside temperature" },
          "accessRule": { "get": "required", "set": "notApplicable", "inf": "optional" },
          "data": { "$ref": "#/definitions/number_temperature" } },
        { "epc": "0xE1", "oneOf": [
          { "validRelease": { "from": "A", "to": "latest" }, "shortName": "mode", "propertyName": { "en": "Mode" },
            "accessRule": { "get": "required_c", "set": "required", "inf": "required" },
            "data": { "oneOf": [{ "type": "level", "base": "0x31", "maximum": 8 }, { "$ref": "#/definitions/state_none" }] } }] },
        { "epc": "0xE2", "shortName": "history", "propertyName": { "en": "History" },
          "accessRule": { "get": "optional", "set": "notApplicable", "inf": "notApplicable" },
          "data": { "type": "object", "properties": [
            { "shortName": "when", "element": { "type": "date-time", "size": 6 } },
            { "shortName": "energyOfDay", "element": { "type": "array", "itemSize": 4, "maxItems": 3,
              "items": { "$ref": "#/definitions/number_energy", "coefficient": ["0xD3", "0xE1"] } } }] } },
        { "epc": "0xE3", "shortName": "flags", "propertyName": { "en": "Flags" }, "accessRule": { "get": "optional" },
          "data": { "type": "bitmap", "size": 1, "bitmaps": [
            { "name": "isHot", "position": { "index": 0, "bitMask": "0b00000001" } },
            { "name": "fanSpeed", "position": { "index": 0, "bitMask": "0b00000110" } }] } },
        { "epc": "0xE4", "shortName": "unit", "propertyName": { "en": "Unit" }, "accessRule": { "get": "optional" },
          "data": { "type": "numericValue", "size": 1, "enum": [{ "edt": "0x01", "numericValue": 0.1 }] } },
        { "epc": "0xE5", "shortName": "endless", "propertyName": { "en": "Endless" }, "accessRule": { "get": "optional" },
          "data": { "$ref": "#/definitions/around" } },
        { "epc": "0xE6", "shortName": "tenth", "propertyName": { "en": "Tenth" }, "accessRule": { "get": "optional" },
          "data": { "type": "number", "format": "uint8", "multipleOf": 0.1, "unit": "A" } },
        { "epc": "0xE7", "shortName": "clock", "propertyName": { "en": "Clock" }, "accessRule": { "get": "optional" },
          "data": { "type": "time", "size": 2 } },
        { "epc": "0xE8", "shortName": "new", "propertyName": { "en": "New" }, "accessRule": { "get": "optional" },
          "data": { "type": "hologram" } },
        { "epc": "0xE9", "shortName": "fault", "propertyName": { "en": "Fault" }, "accessRule": { "get": "optional" },
          "data": { "type": "state", "size": 2, "enum": [{ "edt": "0x0000", "name": "noFault" },
            { "edt": "0x000a...0x0013", "name": "safetyDevice" }, { "edt": "0x03FF", "name": "other" }] } },
        { "epc": "0xEA", "shortName": "del", "propertyName": { "en": "Left out" }, "accessRule": { "get": "optional" },
          "data": { "type": "raw", "minSize": 1, "maxSize": 1 } },
        { "epc": "0xEB", "shortName": "mute", "propertyName": { "en": "Mute" }, "accessRule": { "get": "optional" },
          "data": { "type": "state", "size": 1, "enum": [{ "edt": "0x30", "name": "true", "descriptions": { "en": "Mute ON" } },
            { "edt": "0x31", "name": "false", "descriptions": { "en": "Mute OFF" } },
            { "edt": "0x32", "name": "true", "descriptions": { "en": "Found" } }] } }
    ] }"##;

#[test]
fn the_consortiums_files_are_parsed() {
    let class = Mra::new(DEFINITIONS.as_bytes()).unwrap().class(CLASS.as_bytes()).unwrap();
    assert_eq!(
        (class.code, &class.name[..], &class.short_name[..]),
        (ClassCode(0x0F01), "Test device", "test_device2_d")
    );
    let rows = [
        (0xE0, "outside_temperature", "FFF6", "-1.0 °C"),
        (0xE1, "mode", "33", "3"),
        (0xE1, "mode", "FD", "not_set"),
        (
            0xE2,
            "history",
            "07EA01020304 00000001 00000002",
            "when=2026-01-02 03:04, energy_of_day=1 kWh, 2 kWh",
        ),
        (0xE3, "flags", "05", "is_hot=on, fan_speed=2"),
        (0xE4, "unit", "01", "0.1"),
        (0xE5, "endless", "01", "0x01"),
        (0xE6, "tenth", "FF", "25.5 A"),
        (0xE7, "clock", "0102", "01:02"),
        (0xE8, "new", "0102", "0x0102"),
        (0xE9, "fault", "03FF", "other"),
        (0xE9, "fault", "000B", "0x000B"),
        (0xEA, "left_out", "01", "0x01"),
        (0xEB, "mute", "31", "off"),
        (0xEB, "mute", "32", "true"),
    ];
    for (epc, name, bytes, text) in rows {
        let definition = class.property(Epc(epc)).unwrap();
        let shown = definition.decode(&hex(bytes)).to_string();
        assert_eq!((&definition.short_name[..], &shown[..]), (name, text), "{epc:02X}");
    }
    let property = |epc| class.property(Epc(epc)).unwrap();
    let rules = |epc| (property(epc).get, property(epc).set, property(epc).announce);
    assert_eq!(rules(0xE0), (Rule::Required, Rule::No, Rule::Optional));
    assert_eq!(rules(0xE1), (Rule::Optional, Rule::Required, Rule::Required));
    let Kind::Record(fields) = &property(0xE2).kind else { panic!("no record") };
    let Kind::List { item, .. } = &fields[1].1 else { panic!("no list") };
    let Kind::Number(number) = &**item else { panic!("no number") };
    assert_eq!(number.coefficients, [Epc(0xD3), Epc(0xE1)]);
    // Older versions list the codes before the properties.
    let older = CLASS.replacen("\"elProperties\": [", "\"elProperties\": { \"0xE9\": ", 1);
    let older = format!(
        "{} }} }}",
        &older[..older.find("{ \"epc\": \"0xE1\"").unwrap()].trim_end().trim_end_matches(',')
    );
    let older = older.replacen(
        &older[older.find("{ \"epc\": \"0xE0\", \"validRelease\": { \"from\": \"A\"").unwrap()
            ..older.find("{ \"epc\": \"0xE0\", \"validRelease\": { \"from\": \"D\"").unwrap()],
        "",
        1,
    );
    let class = Mra::new(DEFINITIONS.as_bytes()).unwrap().class(older.as_bytes()).unwrap();
    assert_eq!(class.properties()[0].epc, Epc(0xE9));
}

#[test]
fn known_definitions_keep_their_names() {
    let light = r#"{ "eoj": "0x0291", "className": { "en": "Light" }, "shortName": "light", "elProperties": [
        { "epc": "0x80", "shortName": "power", "propertyName": { "en": "Power" }, "accessRule": { "get": "required" },
          "data": { "type": "raw", "minSize": 1, "maxSize": 1 } },
        { "epc": "0xFE", "shortName": "colour", "propertyName": { "en": "Colour" }, "accessRule": { "get": "required" },
          "data": { "type": "raw", "minSize": 1, "maxSize": 1 } }] }"#;
    let (mut database, class) = (Database::builtin(), ClassCode(0x0291));
    let before = database.class(class).unwrap().clone();
    let mra = Mra::new(DEFINITIONS.as_bytes()).unwrap();
    database.complete(mra.class(light.as_bytes()).unwrap());
    database.complete(mra.class(CLASS.as_bytes()).unwrap());
    let light = database.class(class).unwrap();
    assert_eq!(light.short_name, before.short_name);
    assert_eq!(light.property(Epc(0x80)), before.property(Epc(0x80)));
    assert_eq!(
        (light.properties().len(), &*light.property(Epc(0xFE)).unwrap().short_name),
        (before.properties().len() + 1, "colour")
    );
    assert!(database.class(ClassCode(0x0F01)).is_some());
}

#[test]
fn other_files_are_rejected() {
    let mra = Mra::new(DEFINITIONS.as_bytes()).unwrap();
    assert!(matches!(Mra::new(b"{}"), Err(MraError::Missing("definitions"))));
    assert!(matches!(Mra::new(b"{"), Err(MraError::Json(_))));
    assert!(matches!(mra.class(b"[]"), Err(MraError::Missing("eoj"))));
    assert!(matches!(mra.class(br#"{ "eoj": "0x0130" }"#), Err(MraError::Missing("elProperties"))));
    assert!(matches!(
        mra.class(br#"{ "eoj": "0x0130", "elProperties": [{}] }"#),
        Err(MraError::Missing("epc"))
    ));
    assert!(matches!(mra.class(&vec![b' '; (4 << 20) + 1]), Err(MraError::TooLong { .. })));
    // The deepest nesting that the JSON parser accepts.
    let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
    assert!(matches!(mra.class(deep.as_bytes()), Err(MraError::Json(_))));
}

/// Compares all files of the user's archive with the built-in tables: `NETDYNO_MRA=FOLDER cargo test -p
/// netdyno-echonet-core --all-features --test files -- --ignored`.
#[test]
#[ignore = "needs the consortium's archive: NETDYNO_MRA names its folder"]
fn a_whole_archive() {
    let folder = std::env::var("NETDYNO_MRA").unwrap();
    let folder = std::path::Path::new(&folder);
    let mra = Mra::new(&std::fs::read(folder.join("definitions/definitions.json")).unwrap()).unwrap();
    let (builtin, mut differences) = (Database::builtin(), 0);
    for below in ["superClass", "nodeProfile", "devices"] {
        for entry in std::fs::read_dir(folder.join(below)).unwrap() {
            let class = mra.class(&std::fs::read(entry.unwrap().path()).unwrap()).unwrap();
            let Some(ours) = builtin.class(class.code) else { continue };
            for property in ours.properties() {
                let theirs = class.property(property.epc).unwrap();
                assert_eq!(
                    (property.get == Rule::Required, property.set),
                    (theirs.get == Rule::Required, theirs.set),
                    "{} {}",
                    class.code,
                    property.epc
                );
                if property.kind.lengths() != theirs.kind.lengths() {
                    differences += 1;
                    eprintln!(
                        "{} {}: {:?} and {:?}",
                        class.code,
                        property.epc,
                        property.kind.lengths(),
                        theirs.kind.lengths()
                    );
                }
            }
        }
    }
    assert!(differences < 12, "{differences}");
}
