//! The built-in tables: completeness and round trips.
#![allow(clippy::unwrap_used, missing_docs)]

mod common;

use common::{hex, to_hex};
use netdyno_echonet_core::{
    Class, ClassCode, Database, Epc, Kind, Rule, TableError, Value, manufacturer_name,
};

const TABLES: [&str; 21] = [
    "0000", "0007", "0011", "0130", "0135", "0263", "026B", "026F", "0272", "0279", "027B", "027C", "027D",
    "027E", "0287", "0288", "0290", "0291", "03B7", "05FF", "0EF0",
];

#[test]
fn every_table_is_read() {
    let database = Database::builtin();
    let codes: Vec<String> = database.classes().map(|class| class.code.to_string()).collect();
    assert_eq!(codes, TABLES);
    for class in database.classes() {
        let path = format!("{}/src/database/data/{}.txt", env!("CARGO_MANIFEST_DIR"), class.code);
        let text = std::fs::read_to_string(path).unwrap();
        assert!(Class::from_table(&text).as_ref() == Ok(class), "{}", class.code);
        assert_eq!(
            class.properties().len(),
            text.lines().count() - 1,
            "a property stands twice in {}",
            class.code
        );
        assert_eq!(database.class_named(&class.short_name), Some(class));
        assert_eq!(database.class_named(&class.code.to_string()), Some(class));
        for property in class.properties() {
            let name = format!("{} {}", class.code, property.short_name);
            assert!(
                property.get != Rule::No || property.set != Rule::No || property.announce != Rule::No,
                "{name}"
            );
            let by_name = database.definition_named(class.code, &property.short_name);
            assert_eq!(by_name.map(|definition| definition.epc), Some(property.epc), "{name}");
            assert!(
                !property.name.is_empty()
                    && property
                        .short_name
                        .bytes()
                        .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_'),
                "{name}"
            );
            check_names(&name, &property.kind);
        }
    }
}

/// Codes and names of states are unique, and values fit a property.
fn check_names(name: &str, kind: &Kind) {
    assert!(*kind.lengths().end() <= 255, "{name}");
    match kind {
        Kind::State { states, .. } => {
            for (index, (code, state)) in states.iter().enumerate() {
                assert!(
                    states[..index].iter().all(|(other, text)| other != code && text != state),
                    "{name} {state}"
                );
            }
        }
        Kind::OneOf(kinds) => kinds.iter().for_each(|kind| check_names(name, kind)),
        Kind::Record(fields) => fields.iter().for_each(|(_, kind)| check_names(name, kind)),
        _ => {}
    }
}

/// The mandatory properties of the node profile and the super class.
#[test]
fn mandatory_properties() {
    let database = Database::builtin();
    let required = |code| -> Vec<u8> {
        let class = database.class(code).unwrap();
        class
            .properties()
            .iter()
            .filter(|property| property.get == Rule::Required)
            .map(|property| property.epc.0)
            .collect()
    };
    assert_eq!(required(ClassCode::NODE_PROFILE), hex("80 82 83 8A 9D 9E 9F D3 D4 D6 D7"));
    assert_eq!(required(Database::SUPER_CLASS), hex("80 81 82 88 8A 9D 9E 9F"));
}

/// Class, property, bytes, text; decoded and, unless the text is for display only, encoded.
#[test]
fn values_and_their_text() {
    let database = Database::builtin();
    let rows = [
        (0x0130, 0x80, "30", "on"),
        (0x0130, 0x88, "41", "yes"),
        (0x0130, 0xB0, "42", "cooling"),
        (0x0130, 0xB3, "19", "25 °C"),
        (0x0130, 0xB3, "FD", "undefined"),
        (0x0130, 0xBB, "F6", "-10 °C"),
        (0x0130, 0xBB, "7E", "unmeasurable"),
        (0x0130, 0xBF, "85", "-12.3 °C"),
        (0x0130, 0xA0, "31", "1"),
        (0x0130, 0xA0, "38", "8"),
        (0x0130, 0xA0, "41", "auto"),
        (0x0130, 0x91, "1705", "23:05"),
        (0x0291, 0xB0, "64", "100 %"),
        (0x0011, 0xE0, "FFF6", "-1.0 °C"),
        (0x0007, 0xB1, "41", "yes"),
        (0x0288, 0xE1, "01", "0.1"),
        (0x0288, 0xE0, "0001E240", "123456 kWh"),
        (0x0288, 0xE7, "FFFFFF9C", "-100 W"),
        (0x0288, 0xE8, "00327FFE", "r_phase=5.0 A, t_phase=no_data"),
        (0x027D, 0xE4, "32", "50 %"),
        (0x0279, 0xE0, "01F4", "500 W"),
        (0x0130, 0x98, "07EA0C1F", "2026-12-31"),
        (0x0130, 0x97, "0C00", "12:00"),
    ];
    for (class, epc, bytes, text) in rows {
        let definition = database.definition(ClassCode(class), Epc(epc)).unwrap();
        let name = format!("{class:04X} {epc:02X}");
        assert_eq!(definition.decode(&hex(bytes)).to_string(), text, "{name}");
        assert_eq!(definition.encode(text), Ok(hex(bytes)), "{name} {text}");
        assert_eq!(definition.encode(&format!("0x{bytes}")), Ok(hex(bytes)), "{name}");
        assert!(definition.is_valid(&hex(bytes)), "{name}");
    }
}

#[test]
fn values_for_display_only() {
    let database = Database::builtin();
    let rows = [
        (0x0EF0, 0xD6, "02029101013001", "029101 013001"),
        (0x0EF0, 0xD7, "010291", "0291"),
        (0x0EF0, 0x9F, "028082", "80 82"),
        (0x0EF0, 0x8C, "414220000000000000000000", "AB"),
        (0x0130, 0x80, "32", "0x32"),
        (0x0130, 0x80, "3030", "0x3030"),
        (0x0130, 0x80, "", "0x"),
        (0x0130, 0xB3, "33", "0x33"),
        (0x0130, 0x9F, "01", "0x01"),
        (0x0EF0, 0xD6, "03029101", "0x03029101"),
    ];
    for (class, epc, bytes, text) in rows {
        let definition = database.definition(ClassCode(class), Epc(epc)).unwrap();
        assert_eq!(definition.decode(&hex(bytes)).to_string(), text, "{class:04X} {epc:02X}");
    }
    assert_eq!(manufacturer_name([0, 0, 0x0B]), Some("Panasonic"));
    assert_eq!(manufacturer_name([0xFF; 3]), None);
}

#[test]
fn invalid_text_is_rejected() {
    let database = Database::builtin();
    let rows = [
        (
            0xB0,
            "frozen",
            "\"frozen\" is not one of: auto, cooling, heating, dehumidification, circulation, other",
        ),
        (0xB3, "51", "51 is not between 0 °C and 50 °C"),
        (0xBB, "25.5", "\"25.5\" is not a number with at most 0 decimals"),
        (0xBF, "1.25", "\"1.25\" is not a number with at most 1 decimals"),
        (0xB9, "1.25", "\"1.25\" is not a number with at most 1 decimals"),
        (
            0xB9,
            "9999999999999999999999",
            "\"9999999999999999999999\" is not a number with at most 1 decimals",
        ),
        (0xB3, "0x1", "\"0x1\" does not have the form 0x and an even number of hexadecimal digits"),
        (0xB3, "0x1234", "a value of 2 bytes: this property allows 1 to 1"),
        (0x91, "2359", "\"2359\" does not have the form 23:59"),
        (0x98, "2026-01", "\"2026-01\" does not have the form 2026-01-31"),
        (0x9F, "80", "\"80\" does not have the form 0x and hexadecimal digits"),
    ];
    for (epc, text, error) in rows {
        let definition = database.definition(ClassCode(0x0130), Epc(epc)).unwrap();
        assert_eq!(definition.encode(text).unwrap_err().to_string(), error, "{epc:02X}");
    }
    // Synonyms of on and off.
    let power = database.definition_named(ClassCode(0x0291), "operation_status").unwrap();
    for (text, byte) in
        [("on", 0x30), ("TRUE", 0x30), ("yes", 0x30), ("Off", 0x31), ("no", 0x31), ("false", 0x31)]
    {
        assert_eq!(power.encode(text), Ok(vec![byte]), "{text}");
    }
}

#[test]
fn invalid_tables_are_rejected() {
    let head = "class 0291 light Light\n";
    let rows = [
        ("", 1),
        ("klass 0291 light Light", 1),
        ("class 291 light Light", 1),
        ("class 0291 light", 1),
        ("class 0291 light Light\n\n8 RRR a | A | raw 1", 3),
    ];
    for (text, line) in rows {
        assert_eq!(Class::from_table(text).map_err(|error| error.line), Err(line), "{text}");
    }
    let rows = [
        "80",
        "80 RRX a | A | raw 1",
        "80 RR a | A | raw 1",
        "80 RRR",
        "80 RRR a",
        "80 RRR a | A",
        "80 RRR a | A |",
        "80 RRR a | A | on=3 off=31",
        "80 RRR a | A | on=30 off=3100",
        "80 RRR a | A | on=ZZ",
        "80 RRR a | A | on=30 off",
        "80 RRR a | A | u8",
        "80 RRR a | A | u8 5",
        "80 RRR a | A | u8 0..5 x0",
        "80 RRR a | A | u8 0..5 x0.00000001",
        "80 RRR a | A | u8 0..5 *D",
        "80 RRR a | A | u24 0..5",
        "80 RRR a | A | level 31 0",
        "80 RRR a | A | level FF 2",
        "80 RRR a | A | raw x",
        "80 RRR a | A | time 4",
        "80 RRR a | A | record a",
        "80 RRR a | A | list x u8 0..5",
        "80 RRR a | A | bits 1 a@0",
        "80 RRR a | A | raw 1;",
        "80 RRR a | A | u32 0..4294967296",
        "80 RRR a | A | u8 0..5 x1000001",
        "80 RRR a | A | list 1 list 1 list 1 list 1 list 1 list 1 list 1 list 1 list 1 raw 1",
    ];
    for row in rows {
        let result = Class::from_table(&format!("{head}{row}"));
        assert!(matches!(result, Err(TableError { line: 2, .. })), "{row}: {result:?}");
    }
}

#[test]
fn a_user_defined_class() {
    let table = "class 0F01 mine My device\n\
        F0 ROO record_of | A record | record a=u8 0..9; none=FF, b=i16 -5..5 x0.5 V\n\
        F1 R-- list_of | A list | list 4 u16 0..1000 x10 W\n\
        F2 R-- bits_of | Bits | bits 2 fan@0:01 level@1:70\n\
        F3 R-- when | When | datetime 7\n\
        80 RRR operation_status | Operation status | on=30";
    let mut database = Database::new();
    assert!(database.insert(Class::from_table(table).unwrap()).is_none());
    let definition = |epc| database.definition(ClassCode(0x0F01), Epc(epc)).unwrap();
    let rows = [
        (0xF0, "05FFFD", "a=5, b=-1.5 V"),
        (0xF0, "FF0005", "a=none, b=2.5 V"),
        (0xF1, "00050006", "50 W, 60 W"),
        (0xF1, "", ""),
        (0xF2, "0150", "fan=on, level=5"),
        (0xF3, "07EA0102030405", "2026-01-02 03:04:05"),
        (0x80, "31", "0x31"),
    ];
    for (epc, bytes, text) in rows {
        assert_eq!(definition(epc).decode(&hex(bytes)).to_string(), text, "{epc:02X}");
    }
    for (epc, bytes, text) in [rows[0], rows[1], rows[5]] {
        assert_eq!(
            definition(epc).encode(text).map(|bytes| to_hex(&bytes)),
            Ok(bytes.to_owned()),
            "{epc:02X}"
        );
    }
    assert_eq!(definition(0xF1).decode(&[1]), Value::Raw(vec![1]));
    assert!(definition(0xF0).encode("b=1, a=2").is_err() && definition(0xF0).encode("a=5, b=0.3").is_err());
}

/// xorshift64*.
fn next(state: &mut u64) -> u64 {
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    state.wrapping_mul(0x2545_F491_4F6C_DD1D)
}

/// Whether values of this kind have a text form that can be parsed.
fn has_text(kind: &Kind) -> bool {
    match kind {
        Kind::Number(_) | Kind::State { .. } | Kind::Level { .. } | Kind::Date | Kind::Time { .. } => true,
        Kind::DateTime { .. } => true,
        Kind::OneOf(kinds) => kinds.iter().all(has_text),
        Kind::Record(fields) => fields.iter().all(|(_, kind)| has_text(kind)),
        _ => false,
    }
}

/// For every property: arbitrary bytes are decoded, and the text encodes to the same bytes.
#[test]
fn decoded_values_can_be_encoded() {
    let (database, mut random, mut read) = (Database::builtin(), 0x1234_5678_9ABC_DEF0_u64, 0);
    for class in database.classes() {
        for property in class.properties() {
            let lengths = property.kind.lengths();
            for round in 0..300_u64 {
                let span = (lengths.end() - lengths.start() + 1) as u64;
                let bytes = lengths.start() + usize::try_from(round % span).unwrap();
                // Small values are valid more often.
                let mask = if round % 2 == 0 { 0xFF } else { 0x4F };
                let edt: Vec<u8> = (0..bytes).map(|_| next(&mut random).to_le_bytes()[3] & mask).collect();
                let (value, name) =
                    (property.decode(&edt), format!("{} {} {edt:02X?}", class.code, property.epc));
                let text = value.to_string();
                if property.is_valid(&edt) && has_text(&property.kind) {
                    let again =
                        property.encode(&text).unwrap_or_else(|error| panic!("{name} {text}: {error}"));
                    assert_eq!(property.decode(&again), value, "{name} {text}");
                    read += 1;
                }
                let digits = format!("0x{}", to_hex(&edt));
                assert_eq!(property.encode(&digits), Ok(edt), "{name}");
            }
        }
    }
    assert!(read > 10_000, "{read}");
}
