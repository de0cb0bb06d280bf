use dimpl::crypto::HashAlgorithm;
use proptest::prelude::*;

use super::super::record::split;
use super::super::schedule::TrafficSecret;
use super::*;
use crate::dtls::protection::Cipher;
use crate::dtls::record::content;

const CIPHERS: [(Cipher, HashAlgorithm, usize); 3] = [
    (Cipher::Aes128Gcm, HashAlgorithm::SHA256, 32),
    (Cipher::Aes256Gcm, HashAlgorithm::SHA384, 48),
    (Cipher::ChaCha20Poly1305, HashAlgorithm::SHA256, 32),
];

/// The key derived from a secret of identical bytes.
fn key(which: usize, byte: u8) -> EpochKey {
    let (cipher, hash, bytes) = CIPHERS[which];
    TrafficSecret::new(hash, &vec![byte; bytes]).unwrap().key(cipher).unwrap()
}

/// Both sides.
fn pair(which: usize) -> [Protection; 2] {
    [(1, 2), (2, 1)].map(|(write, read)| Protection::new(key(which, write), key(which, read)))
}

fn opened(to: &mut Protection, mut record: Vec<u8>) -> Option<(u8, u64, u64, Vec<u8>)> {
    let (header, record, _) = split(&mut record)?;
    let Opened { content, epoch, sequence, text } = to.open(header, record)?;
    Some((content, epoch, sequence, text.to_vec()))
}

#[test]
fn records_round_trip() {
    for which in 0..CIPHERS.len() {
        let [mut client, mut server] = pair(which);
        for (number, text) in
            [&b""[..], b"x", &[7; 15], &[0; 40], &[7; PLAINTEXT_BYTES_MAX]].into_iter().enumerate()
        {
            let record = client.write.sealed(content::APPLICATION_DATA, text);
            assert_eq!(record.len(), HEADER_BYTES + text.len() + 17);
            let expected = (content::APPLICATION_DATA, 3, number as u64, text.to_vec());
            assert_eq!(opened(&mut server, record.clone()), Some(expected));
            assert_eq!(opened(&mut server, record.clone()), None, "again");
            assert_eq!(opened(&mut client, record), None, "its own");
        }
        let mut buffer = vec![0; PLAINTEXT_BYTES_MAX + 100];
        assert_eq!(client.seal(23, &mut buffer, PLAINTEXT_BYTES_MAX + 1), None);
        assert_eq!(client.seal(23, &mut buffer[..21], 0), None);
        assert_eq!(client.seal(23, &mut buffer[..22], 0), Some(22));
    }
}

/// Headers that we do not send: a short number, no length; and padding.
#[test]
fn other_forms_of_the_header() {
    for which in 0..CIPHERS.len() {
        let key_of_client = key(which, 1);
        let [_, mut server] = pair(which);
        for (sequence, (flags, padding)) in
            [(0x20, 0), (0x28, 0), (0x24, 0), (0x2C, 9), (0x20, 300)].into_iter().enumerate()
        {
            let sequence = sequence as u64;
            let mut header = vec![flags | 3];
            header.extend(&sequence.to_be_bytes()[if flags & 8 != 0 { 6 } else { 7 }..]);
            let number_bytes = header.len() - 1;
            let mut text = [b"hello", &[content::ACK][..]].concat();
            text.resize(text.len() + padding, 0);
            if flags & 4 != 0 {
                header.extend(((text.len() + 16) as u16).to_be_bytes());
            }
            let aead = &key_of_client.aead;
            aead.seal_in_place_append_tag(key_of_client.nonce(sequence), Aad::from(&header[..]), &mut text)
                .unwrap();
            let mut record = [&header[..], &text].concat();
            key_of_client.mask(&mut record, header.len(), number_bytes).unwrap();
            assert_eq!(
                opened(&mut server, record),
                Some((content::ACK, 3, sequence, b"hello".to_vec())),
                "{flags:x}"
            );
        }
    }
}

#[test]
fn forgeries_change_nothing_and_are_counted() {
    for which in 0..CIPHERS.len() {
        let [mut client, mut server] = pair(which);
        let record = client.write.sealed(23, b"a little secret");
        for bit in 0..record.len() * 8 {
            let mut forged = record.clone();
            forged[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(opened(&mut server, forged), None, "bit {bit}");
        }
        for length in 0..record.len() {
            assert_eq!(opened(&mut server, record[..length].to_vec()), None, "length {length}");
        }
        assert!(server.read.forgeries > 100 && !server.is_besieged());
        assert!(opened(&mut server, record).is_some());
        server.read.forgeries = FORGERIES_MAX;
        assert!(server.is_besieged());
    }
}

#[test]
fn padding_without_content_is_rejected() {
    let [mut client, mut server] = pair(0);
    let record = client.write.sealed(0, &[0; 20]);
    assert_eq!(opened(&mut server, record), None);
}

#[test]
fn numbers_end_at_48_bits_and_are_found_around_16() {
    for which in 0..CIPHERS.len() {
        let [mut client, mut server] = pair(which);
        for sequence in [0, 0x7FFF, 0xFFFE, 0xFFFF, 0x1_0000, 0x1_7FFF, 0x1_F000] {
            client.write.next_sequence = sequence;
            let record = client.write.sealed(23, b"x");
            assert_eq!(opened(&mut server, record).map(|opened| opened.2), Some(sequence));
        }
        server.read.window.mark(SEQUENCE_MAX - 5);
        client.write.next_sequence = SEQUENCE_MAX;
        let last = client.write.sealed(23, b"last");
        assert_eq!(opened(&mut server, last).map(|opened| opened.2), Some(SEQUENCE_MAX));
        assert!(client.write.is_exhausted());
        assert_eq!(client.write.sealed(23, b"one more"), b"");
    }
}

/// Epoch after epoch, with records overtaken by one update, never by two, and epochs with equal bits.
#[test]
fn epochs_go_round() {
    let [mut client, mut server] = pair(0);
    let mut late = Vec::new();
    for epoch in 3..20 {
        let record = client.write.sealed(23, b"x");
        assert_eq!(record[0] & 3, (epoch % 4) as u8);
        assert_eq!(opened(&mut server, record), Some((23, epoch, 0, b"x".to_vec())));
        let [before, after] = [1, 2].map(|_| client.write.sealed(23, b"late"));
        client.next_write(key(0, epoch as u8 + 10));
        assert_eq!(opened(&mut server, client.write.sealed(23, b"too early")), None);
        client.write.next_sequence = 0;
        server.next_read(key(0, epoch as u8 + 10));
        assert_eq!(opened(&mut server, before).map(|opened| (opened.1, opened.2)), Some((epoch, 1)));
        late.push(after);
        if let Some(old) = late.len().checked_sub(2) {
            assert_eq!(opened(&mut server, late[old].clone()), None, "of epoch {}", epoch - 1);
        }
        if let Some(old) = late.len().checked_sub(4) {
            assert_eq!(opened(&mut server, late[old].clone()), None, "of epoch {}, equal bits", epoch - 3);
        }
    }
}

proptest! {
    #[test]
    fn any_bytes(records in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..80), 0..20)) {
        let [mut client, mut server] = pair(0);
        for mut record in records {
            if let Some(first) = record.first_mut() {
                *first = *first & 0x1F | 0x20;
            }
            prop_assert_eq!(opened(&mut server, record), None);
        }
        let record = client.write.sealed(23, b"still there");
        prop_assert!(opened(&mut server, record).is_some());
    }
}
