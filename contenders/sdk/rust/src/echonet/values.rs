//! The twelve reads of a round and the checks of their values.

use std::fmt;

use crate::fill;

/// Number of reads in a round.
pub const ROUND: usize = 12;
/// The node profile of the device.
pub const NODE_PROFILE: [u8; 3] = [0x0e, 0xf0, 0x01];
/// The device's other object, a mono-functional lighting.
pub const LIGHTING: [u8; 3] = [0x02, 0x91, 0x01];
/// Length of the part of the node profile's 83 that is derived from the seed.
pub const IDENTIFIER_BYTES: usize = 13;
/// The manufacturer's code for devices without one.
pub(super) const MANUFACTURER: [u8; 3] = [0x00, 0x00, 0x0b];

/// Length of the whole 83.
const IDENTIFICATION_BYTES: usize = 1 + MANUFACTURER.len() + IDENTIFIER_BYTES;
/// Length of a property map in its longer form, and the minimum number of codes for it.
const BITMAP_BYTES: usize = 17;
const BITMAP_CODES: usize = 16;
/// The codes that every 9F must contain: those that no published library loses.
const READABLE: [u8; 7] = [0x80, 0x82, 0x83, 0x8a, 0x9d, 0x9e, 0x9f];

/// A property of one of the device's objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Property {
    /// The object.
    pub eoj: [u8; 3],
    /// The code of the property.
    pub epc: u8,
}

impl fmt::Display for Property {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let object = if self.eoj == LIGHTING { "lighting" } else { "node profile" };
        write!(f, "{object} {:02X}", self.epc)
    }
}

/// The reads of a round, in order.
pub const READS: [Property; ROUND] = {
    let codes = [0x80, 0x82, 0x83, 0x8a, 0x9d, 0x9e, 0x9f, 0xd3, 0xd4, 0xd6, 0xd7, 0x80];
    let mut reads = [Property { eoj: NODE_PROFILE, epc: 0 }; ROUND];
    let mut i = 0;
    while i < ROUND {
        reads[i].epc = codes[i];
        i += 1;
    }
    reads[ROUND - 1].eoj = LIGHTING;
    reads
};

/// The last bytes of 83, by which the gate identifies the device.
pub fn identifier(seed: u64) -> [u8; IDENTIFIER_BYTES] {
    let mut bytes = [0; IDENTIFIER_BYTES];
    fill(&mut bytes, seed, 0, 0);
    bytes
}

/// Checks the value of a property as specified by the contract.
pub(super) fn check(property: Property, value: &[u8], seed: u64) -> Result<(), String> {
    let wrong = |wanted: &str| Err(format!("{property} is [{}], not {wanted}", hex(value)));
    let exactly = |wanted: &[u8]| if value == wanted { Ok(()) } else { wrong(&format!("[{}]", hex(wanted))) };
    match property.epc {
        0x80 => exactly(&[0x30]),
        0x82 if value.len() != 4 => wrong("four bytes"),
        0x83 => match value.split_last_chunk::<IDENTIFIER_BYTES>() {
            Some((first, last))
                if value.len() == IDENTIFICATION_BYTES && first[0] == 0xfe && *last == identifier(seed) =>
            {
                Ok(())
            }
            _ => wrong(&format!("FE, three bytes and [{}]", hex(&identifier(seed)))),
        },
        0x8a if value.len() != MANUFACTURER.len() => wrong("three bytes"),
        0x9d..=0x9f => match codes(value) {
            None => wrong("a property map"),
            Some(codes) if property.epc == 0x9f && !READABLE.iter().all(|epc| codes & bit(*epc) != 0) => {
                wrong(&format!("a map with [{}]", hex(&READABLE)))
            }
            Some(_) => Ok(()),
        },
        0xd3 => exactly(&[0, 0, 1]),
        0xd4 => exactly(&[0, 2]),
        0xd6 => exactly(&[1, LIGHTING[0], LIGHTING[1], LIGHTING[2]]),
        0xd7 => match value {
            // The standard excludes the node profile, but several libraries count it.
            [1, 0x02, 0x91] | [2, 0x02, 0x91, 0x0e, 0xf0] | [2, 0x0e, 0xf0, 0x02, 0x91] => Ok(()),
            _ => wrong("[01 02 91]"),
        },
        _ => Ok(()),
    }
}

/// Whether a value equals an earlier one. The order of codes in a map is ignored, because one library varies it.
pub(super) fn is_same(property: Property, value: &[u8], before: &[u8]) -> bool {
    let is_map = (0x9d..=0x9f).contains(&property.epc);
    value == before || is_map && codes(value).is_some_and(|codes_now| codes(before) == Some(codes_now))
}

/// The codes of a property map as a bit set.
fn codes(map: &[u8]) -> Option<u128> {
    let (&count, rest) = map.split_first()?;
    if usize::from(count) < BITMAP_CODES {
        let listed = rest.len() == usize::from(count) && rest.iter().all(|epc| *epc >= 0x80);
        return listed.then(|| rest.iter().fold(0, |codes, epc| codes | bit(*epc)));
    }
    let set = |(low, byte): (u8, &u8)| {
        let high = (0..8u8).filter(|high| byte >> high & 1 == 1);
        high.fold(0, |codes, high| codes | bit(0x80 + 0x10 * high + low))
    };
    (map.len() == BITMAP_BYTES).then(|| (0u8..).zip(rest).map(set).fold(0, |all, codes| all | codes))
}

fn bit(epc: u8) -> u128 {
    1 << (epc - 0x80)
}

/// Formats bytes in hexadecimal.
pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02X}")).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_text(property: Property, value: &[u8]) -> String {
        check(property, value, 1).err().unwrap_or_default()
    }

    #[test]
    fn the_identifier_matches_the_test_vector() {
        assert_eq!(hex(&identifier(1)), "54 30 1A 43 35 24 37 2B 04 84 5C 1C DD");
    }

    #[test]
    fn every_wrong_byte_is_detected() {
        let own = [&[0xfe, 0, 0, 0x0b][..], &identifier(1)].concat();
        let readable = [11, 0x80, 0x82, 0x83, 0x8a, 0x9d, 0x9e, 0x9f, 0xd3, 0xd4, 0xd6, 0xd7];
        let values: [&[u8]; ROUND] = [
            &[0x30],
            &[1, 13, 1, 0],
            &own,
            &[0, 0, 0x0b],
            &[2, 0x80, 0xd5],
            &[0],
            &readable,
            &[0, 0, 1],
            &[0, 2],
            &[1, 2, 0x91, 1],
            &[1, 2, 0x91],
            &[0x30],
        ];
        // Bytes of which only the form is checked may have any value.
        let free: [&[usize]; ROUND] =
            [&[], &[0, 1, 2, 3], &[1, 2, 3], &[0, 1, 2], &[], &[], &[8, 9, 10, 11], &[], &[], &[], &[], &[]];
        for ((read, value), free) in READS.iter().zip(values).zip(free) {
            assert_eq!(check_text(*read, value), "", "{read:?}");
            for at in (0..value.len()).filter(|at| !free.contains(at)) {
                let mut other = value.to_vec();
                other[at] ^= 0x80;
                if (0x9d..=0x9e).contains(&read.epc) && at > 0 {
                    continue; // the contents of these two maps are not checked
                }
                assert_ne!(check_text(*read, &other), "", "{read:?} {at}");
            }
            assert_ne!(check_text(*read, &value[..value.len() - 1]), "", "{read:?}, cut short");
            assert_ne!(check_text(*read, &[value, &[0]].concat()), "", "{read:?}, a byte more");
        }
    }

    #[test]
    fn both_forms_of_a_map_are_parsed() {
        let all = READS[6];
        let mut bitmap = [0; BITMAP_BYTES];
        bitmap[0] = 16;
        for epc in READABLE {
            bitmap[1 + usize::from(epc & 0xf)] |= 1 << (epc >> 4 & 7);
        }
        assert_eq!(check_text(all, &bitmap), "");
        bitmap[1 + 0xa] = 0;
        assert!(
            check_text(all, &bitmap).contains("not a map with [80 82 83 8A"),
            "{}",
            check_text(all, &bitmap)
        );
        assert_ne!(check_text(all, &bitmap[..16]), "");
        assert_ne!(check_text(READS[4], &[1, 0x7f]), "", "no such code");
    }

    #[test]
    fn the_order_of_codes_in_a_map_is_ignored() {
        for (read, value, before, same) in [
            (READS[4], &[2, 0x80, 0xd5][..], &[2, 0xd5, 0x80][..], true),
            (READS[4], &[2, 0x80, 0xd5], &[2, 0x81, 0xd5], false),
            (READS[4], &[2, 0x80], &[2, 0x80, 0xd5], false),
            (READS[7], &[0, 1, 0], &[0, 0, 1], false),
            (READS[7], &[0, 0, 1], &[0, 0, 1], true),
        ] {
            assert_eq!(is_same(read, value, before), same, "{value:?} {before:?}");
        }
    }

    #[test]
    fn the_node_profile_may_be_counted_as_a_class() {
        for value in [&[2, 2, 0x91, 0x0e, 0xf0][..], &[2, 0x0e, 0xf0, 2, 0x91]] {
            assert_eq!(check_text(READS[10], value), "");
        }
        assert_eq!(check_text(READS[10], &[0]), "node profile D7 is [00], not [01 02 91]");
    }
}
