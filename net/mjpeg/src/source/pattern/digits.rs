//! A font of 5 by 7 dots with the characters of a clock.

/// Width of a character in dots.
pub(super) const COLUMNS: usize = 5;
/// Height of a character in dots.
pub(super) const ROWS: usize = 7;

/// The rows of a character from the top; the leftmost dot is the highest of five bits. Other characters are blank.
pub(super) fn rows(character: u8) -> [u8; ROWS] {
    match character {
        b'0' => [0b01110, 0b10001, 0b10011, 0b10101, 0b11001, 0b10001, 0b01110],
        b'1' => [0b00100, 0b01100, 0b00100, 0b00100, 0b00100, 0b00100, 0b01110],
        b'2' => [0b01110, 0b10001, 0b00001, 0b00110, 0b01000, 0b10000, 0b11111],
        b'3' => [0b11110, 0b00001, 0b00001, 0b01110, 0b00001, 0b00001, 0b11110],
        b'4' => [0b00010, 0b00110, 0b01010, 0b10010, 0b11111, 0b00010, 0b00010],
        b'5' => [0b11111, 0b10000, 0b11110, 0b00001, 0b00001, 0b10001, 0b01110],
        b'6' => [0b00110, 0b01000, 0b10000, 0b11110, 0b10001, 0b10001, 0b01110],
        b'7' => [0b11111, 0b00001, 0b00010, 0b00100, 0b01000, 0b01000, 0b01000],
        b'8' => [0b01110, 0b10001, 0b10001, 0b01110, 0b10001, 0b10001, 0b01110],
        b'9' => [0b01110, 0b10001, 0b10001, 0b01111, 0b00001, 0b00010, 0b01100],
        b':' => [0, 0b00100, 0b00100, 0, 0b00100, 0b00100, 0],
        b'.' => [0, 0, 0, 0, 0, 0b01100, 0b01100],
        _ => [0; ROWS],
    }
}
