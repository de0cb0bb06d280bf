//! A moving test picture, encoded on demand: colour bars, a grey ramp, a moving box, the picture's number and the time of day (UTC).
//!
//! | does | does not |
//! |---|---|
//! | draw row by row for the encoder, without an uncompressed picture in memory | pace: the sender does |
//! | show latency by its clock | resemble camera pictures: it compresses better |

mod digits;

use std::time::{SystemTime, UNIX_EPOCH};

use jpeg_encoder::{Encoder, ImageBuffer, JpegColorType, SamplingFactor, rgb_to_ycbcr};
use netdyno_mjpeg_core::Sampling;

use super::{Next, Source, SourceError, Timing};

/// Settings of the test picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PatternSettings {
    /// Width in pixels, at least 1.
    pub width: u16,
    /// Height in pixels, at least 1.
    pub height: u16,
    /// Quality on libjpeg's scale, 1 to 100.
    pub quality: u8,
    /// Chroma subsampling.
    pub sampling: Sampling,
}

impl Default for PatternSettings {
    /// 1920 by 1080, quality 85, 4:2:0.
    fn default() -> Self {
        Self { width: 1920, height: 1080, quality: 85, sampling: Sampling::Yuv420 }
    }
}

/// A source of test pictures.
#[derive(Debug)]
pub struct Pattern {
    settings: PatternSettings,
    /// Background row of the upper part: Y, Cb and Cr.
    bars: Row,
    /// Background row of the lower part.
    ramp: Row,
    number: u32,
}

type Row = [Vec<u8>; 3];
type Colour = [u8; 3];

const WHITE: Colour = [255, 128, 128];
const BLACK: Colour = [0, 128, 128];
/// Colours of the bars at 75 % brightness.
const BARS: [[u8; 3]; 8] = [
    [191, 191, 191],
    [191, 191, 0],
    [0, 191, 191],
    [0, 191, 0],
    [191, 0, 191],
    [191, 0, 0],
    [0, 0, 191],
    [0, 0, 0],
];
/// Length of the longer line of text, the clock.
const TEXT_CHARACTERS: usize = 12;
/// Width of a character with its gap in dots.
const CHARACTER_DOTS: usize = digits::COLUMNS + 1;
/// Height of a line with its gap in dots.
const LINE_DOTS: usize = digits::ROWS + 2;
const DAY_MS: u128 = 86_400_000;

impl Pattern {
    /// Creates a source that starts with picture number 0.
    ///
    /// # Errors
    /// The size or the quality is out of range.
    pub fn new(settings: PatternSettings) -> Result<Self, SourceError> {
        let PatternSettings { width, height, quality, .. } = settings;
        if width == 0 || height == 0 {
            let reason = format!("invalid size {width}x{height}; use 1 to 65535 pixels each");
            return Err(SourceError::unusable("pattern", reason));
        }
        if !(1..=100).contains(&quality) {
            return Err(SourceError::unusable("pattern", format!("invalid quality {quality}; use 1 to 100")));
        }
        let columns = usize::from(width);
        let colours = BARS.map(|[red, green, blue]| rgb_to_ycbcr(red, green, blue).into());
        let bars = row(columns, |column| colours[column * colours.len() / columns]);
        let ramp = row(columns, |column| [(column * 256 / columns) as u8, 128, 128]);
        Ok(Self { settings, bars, ramp, number: 0 })
    }

    /// Encodes the next picture with a time of day in milliseconds.
    fn picture(&mut self, day_ms: u32, into: &mut Vec<u8>) -> Result<(), SourceError> {
        let PatternSettings { quality, sampling, .. } = self.settings;
        let mut encoder = Encoder::new(into, quality);
        encoder.set_sampling_factor(match sampling {
            Sampling::Yuv422 => SamplingFactor::R_4_2_2,
            Sampling::Yuv420 => SamplingFactor::R_4_2_0,
        });
        let failed = |error: jpeg_encoder::EncodingError| SourceError::unusable("pattern", error.to_string());
        encoder.encode_image(Picture::new(self, day_ms)).map_err(failed)?;
        self.number = self.number.wrapping_add(1);
        Ok(())
    }
}

impl Source for Pattern {
    fn next(&mut self, into: &mut Vec<u8>) -> Result<Next, SourceError> {
        into.clear();
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        self.picture((now.as_millis() % DAY_MS) as u32, into)?;
        Ok(Next::Picture)
    }

    fn timing(&self) -> Timing {
        Timing::OnDemand
    }
}

/// A picture that is drawn row by row.
struct Picture<'a> {
    pattern: &'a Pattern,
    /// The box: left, top and edge length in pixels.
    square: (usize, usize, usize),
    lines: [Vec<u8>; 2],
    /// Size of a dot of the text in pixels.
    dot: usize,
}

impl<'a> Picture<'a> {
    fn new(pattern: &'a Pattern, day_ms: u32) -> Self {
        let PatternSettings { width, height, .. } = pattern.settings;
        let (width, height) = (usize::from(width), usize::from(height));
        let edge = (height.min(width) / 6).max(1);
        let number = pattern.number;
        // At 30 frames/s, the box crosses the picture in 4 s horizontally and in 5 s vertically.
        let position = |length: usize, pictures: usize| {
            bounce(u64::from(number) * length.div_ceil(pictures) as u64, length - edge)
        };
        let (seconds, ms) = (day_ms / 1000, day_ms % 1000);
        let (hours, minutes) = (seconds / 3600, seconds / 60 % 60);
        Self {
            pattern,
            square: (position(width, 120), position(height, 150), edge),
            lines: [
                format!("{number:08}").into_bytes(),
                format!("{hours:02}:{minutes:02}:{:02}.{ms:03}", seconds % 60).into_bytes(),
            ],
            dot: (width / ((TEXT_CHARACTERS + 2) * CHARACTER_DOTS)).min(height / (4 * LINE_DOTS)).max(1),
        }
    }

    /// Draws the part of the text in a row, on black.
    fn draw_text(&self, y: usize, mut fill: impl FnMut(usize, usize, Colour)) {
        let (line, row) = (y / self.dot / LINE_DOTS, y / self.dot % LINE_DOTS);
        let Some(line) = self.lines.get(line) else { return };
        fill(0, (line.len() * CHARACTER_DOTS + 1) * self.dot, BLACK);
        // Each line has an empty row above and below.
        let Some(row) = row.checked_sub(1).filter(|row| *row < digits::ROWS) else { return };
        for (place, character) in line.iter().enumerate() {
            let dots = digits::rows(*character)[row];
            for column in
                (0..digits::COLUMNS).filter(|column| dots >> (digits::COLUMNS - 1 - column) & 1 == 1)
            {
                fill((place * CHARACTER_DOTS + 1 + column) * self.dot, self.dot, WHITE);
            }
        }
    }
}

impl ImageBuffer for Picture<'_> {
    fn get_jpeg_color_type(&self) -> JpegColorType {
        JpegColorType::Ycbcr
    }

    fn width(&self) -> u16 {
        self.pattern.settings.width
    }

    fn height(&self) -> u16 {
        self.pattern.settings.height
    }

    fn fill_buffers(&self, y: u16, buffers: &mut [Vec<u8>; 4]) {
        let (y, height) = (usize::from(y), usize::from(self.height()));
        let ground = if y < height - height / 5 { &self.pattern.bars } else { &self.pattern.ramp };
        let starts = [0, 1, 2].map(|component| buffers[component].len());
        for (buffer, row) in buffers.iter_mut().zip(ground) {
            buffer.extend_from_slice(row);
        }
        let mut fill = |left: usize, count: usize, colour: Colour| {
            for ((buffer, start), value) in buffers.iter_mut().zip(starts).zip(colour) {
                let row = &mut buffer[start..];
                let end = (left + count).min(row.len());
                row[left.min(end)..end].fill(value);
            }
        };
        let (left, top, edge) = self.square;
        if (top..top + edge).contains(&y) {
            fill(left, edge, WHITE);
        }
        self.draw_text(y, &mut fill);
    }
}

fn row(columns: usize, colour: impl Fn(usize) -> Colour) -> Row {
    [0, 1, 2].map(|component| (0..columns).map(|column| colour(column)[component]).collect())
}

/// Position after a number of steps of a movement back and forth between 0 and `max`.
fn bounce(steps: u64, max: usize) -> usize {
    let at = if max == 0 { 0 } else { (steps % (2 * max as u64)) as usize };
    at.min(2 * max - at)
}

#[cfg(test)]
mod tests {
    use netdyno_mjpeg_core::Jpeg;

    use super::*;

    #[test]
    fn all_sizes_and_qualities_are_supported_by_rfc_2435() {
        for (width, height) in
            [(1, 1), (7, 3), (16, 16), (17, 33), (320, 240), (640, 16), (16, 640), (2041, 9)]
        {
            for quality in [1, 50, 85, 100] {
                for sampling in [Sampling::Yuv420, Sampling::Yuv422] {
                    let settings = PatternSettings { width, height, quality, sampling };
                    let (mut pattern, mut file) = (Pattern::new(settings).unwrap(), Vec::new());
                    for _ in 0..3 {
                        assert_eq!(pattern.next(&mut file).unwrap(), Next::Picture);
                        let jpeg = Jpeg::parse(&file).unwrap();
                        assert_eq!((jpeg.width(), jpeg.height()), (width, height));
                        assert_eq!(jpeg.sampling(), sampling);
                    }
                }
            }
        }
        for (width, height, quality) in [(0, 1, 85), (1, 0, 85), (1, 1, 0), (1, 1, 101)] {
            let settings = PatternSettings { width, height, quality, ..PatternSettings::default() };
            assert!(Pattern::new(settings).is_err());
        }
    }

    #[test]
    fn pictures_depend_only_on_number_and_time() {
        let settings = PatternSettings { width: 320, height: 240, ..PatternSettings::default() };
        let picture = |number, day_ms| {
            let mut pattern = Pattern::new(settings).unwrap();
            pattern.number = number;
            let mut file = Vec::new();
            pattern.picture(day_ms, &mut file).unwrap();
            file
        };
        assert_eq!(picture(7, 86_399_999), picture(7, 86_399_999));
        assert_ne!(picture(7, 86_399_999), picture(7, 86_399_998));
        assert_ne!(picture(7, 86_399_999), picture(8, 86_399_999));
        assert!(!picture(u32::MAX, 0).is_empty());
    }

    #[test]
    fn text_is_drawn_at_the_expected_dots() {
        let settings = PatternSettings { width: 84, height: 72, ..PatternSettings::default() };
        let pattern = Pattern::new(settings).unwrap();
        let picture = Picture::new(&pattern, 0);
        assert_eq!((picture.dot, &picture.lines[1][..]), (1, &b"00:00:00.000"[..]));
        let drawn = |y| {
            let mut dots = String::from(" ").repeat(84);
            picture.draw_text(y, |left, count, colour| {
                let sign = if colour == WHITE { "#" } else { "." };
                dots.replace_range(left..left + count, &sign.repeat(count));
            });
            dots
        };
        // The first digit of each line, and the colon.
        assert_eq!(drawn(0)[..50], format!("{}{}", ".".repeat(49), " "));
        assert_eq!(
            [1, 2, 3, 7].map(|y| drawn(y)[..7].to_owned()),
            ["..###..", ".#...#.", ".#..##.", "..###.."]
        );
        assert_eq!(drawn(9 + 2)[..24], *".#...#.#...#...#...#...#");
        assert_eq!(drawn(18), " ".repeat(84));
    }

    #[test]
    fn the_box_stays_inside() {
        for most in [0, 1, 5] {
            let way: Vec<_> = (0..12).map(|steps| bounce(steps, most)).collect();
            assert!(way.iter().all(|at| *at <= most) && way.contains(&most), "{way:?}");
            assert!(way.windows(2).all(|pair| pair[0].abs_diff(pair[1]) <= 1), "{way:?}");
        }
    }
}
