//! Requests as clients send them: arrays of bulk strings.

use std::io::Write as _;

use super::Values;

/// A key that is never written: its null is the first answer of a connection.
pub const SETUP_KEY: &[u8] = b"setup";
/// A GET of [`SETUP_KEY`].
pub const GET_SETUP: &[u8] = b"*2\r\n$3\r\nGET\r\n$5\r\nsetup\r\n";
/// The answer to a GET of a missing key.
pub const NULL: &[u8] = b"$-1\r\n";
/// Length of a key's name.
pub const KEY_BYTES: usize = 16;
/// The offset of the digits in a key's name.
pub const KEY_DIGITS: usize = 4;
/// Length of a GET of a key.
pub const GET_BYTES: usize = 36;

/// The name of a key: `key:` and twelve decimal digits.
pub fn key_name(key: u64) -> [u8; KEY_BYTES] {
    let mut name = *b"key:000000000000";
    write_digits(&mut name[KEY_DIGITS..], key);
    name
}

/// Writes the last digits of a number over all of `out`, which has an even length.
pub fn write_digits(out: &mut [u8], mut number: u64) {
    const PAIRS: &[u8; 200] =
        b"00010203040506070809101112131415161718192021222324252627282930313233343536373839\
        40414243444546474849505152535455565758596061626364656667686970717273747576777879\
        8081828384858687888990919293949596979899";
    for pair in out.rchunks_exact_mut(2) {
        let at = (number % 100) as usize * 2;
        pair.copy_from_slice(&PAIRS[at..at + 2]);
        number /= 100;
    }
}

/// Appends a request with these words.
pub fn append_command(out: &mut Vec<u8>, words: &[&[u8]]) {
    append_number(out, b'*', words.len());
    for word in words {
        append_number(out, b'$', word.len());
        out.extend_from_slice(word);
        out.extend_from_slice(b"\r\n");
    }
}

/// Appends a GET of a key.
pub fn append_get(out: &mut Vec<u8>, key: u64) {
    append_command(out, &[b"GET", &key_name(key)]);
}

/// Appends a SET of a key to its value.
pub fn append_set(out: &mut Vec<u8>, key: u64, values: &Values) {
    append_command(out, &[b"SET", &key_name(key)]);
    // The header counts one word more than was appended: the value follows, which avoids a second copy.
    let at = out.len() - (GET_BYTES - 1);
    out[at] = b'3';
    append_number(out, b'$', values.value_bytes());
    values.append(out, key);
    out.extend_from_slice(b"\r\n");
}

fn append_number(out: &mut Vec<u8>, kind: u8, number: usize) {
    out.push(kind);
    write!(out, "{number}\r\n").expect("writing to a vector cannot fail");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_arrays_of_bulk_strings() {
        let values = Values::new(1, 3);
        let mut value = Vec::new();
        values.append(&mut value, 1_234_567);
        let (mut get, mut set, mut setup) = (Vec::new(), b"x".to_vec(), Vec::new());
        append_get(&mut get, 1_234_567);
        append_set(&mut set, 1_234_567, &values);
        append_command(&mut setup, &[b"GET", SETUP_KEY]);
        assert_eq!(setup, GET_SETUP);
        assert_eq!(get, b"*2\r\n$3\r\nGET\r\n$16\r\nkey:000001234567\r\n");
        assert_eq!(get.len(), GET_BYTES);
        let wanted = [b"x*3\r\n$3\r\nSET\r\n$16\r\nkey:000001234567\r\n$3\r\n".as_slice(), &value, b"\r\n"];
        assert_eq!(set, wanted.concat());
    }

    #[test]
    fn keys_have_twelve_digits() {
        for (key, wanted) in
            [(0, "key:000000000000"), (9_999_999, "key:000009999999"), (10, "key:000000000010")]
        {
            assert_eq!(key_name(key), wanted.as_bytes());
        }
    }
}
