//! A moving test picture, encoded as it is asked for: colour bars, a ramp of grey, a box that runs about, the picture's number and
//! the time of day (UTC) in large digits.
//!
//! | does | does not |
//! |---|---|
//! | draw row by row while the encoder takes them: no picture without compression is ever held | pace: that is the sender's part |
//! | show delay: the clock in it beside a clock on the wall | look like what a camera sees: it compresses better |

mod digits;

use std::time::{SystemTime, UNIX_EPOCH};

use jpeg_encoder::{Encoder, ImageBuffer, JpegColorType, SamplingFactor, rgb_to_ycbcr};
use netdyno_mjpeg_core::Sampling;

use super::{Next, Source, SourceError, Timing};

/// What a test picture is like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PatternSettings {
    /// Pixels, at least 1.
    pub width: u16,
    /// Pixels, at least 1.
    pub height: u16,
    /// 1 to 100, as libjpeg counts it.
    pub quality: u8,
    /// Subsampling.
    pub sampling: Sampling,
}

impl Default for PatternSettings {
    /// 1920 by 1080, quality 85, 4:2:0.
    fn default() -> Self {
        Self { width: 1920, height: 1080, quality: 85, sampling: Sampling::Yuv420 }
    }
}

/// A picture whenever one is asked for.
#[derive(Debug)]
pub struct Pattern {
    settings: PatternSettings,
    /// The rows that pictures are made of before anything is drawn on them: Y, Cb and Cr.
    bars: Row,
    ramp: Row,
    number: u32,
}

type Row = [Vec<u8>; 3];
type Colour = [u8; 3];

const WHITE: Colour = [255, 128, 128];
const BLACK: Colour = [0, 128, 128];
/// Of the bars, at three quarters of their brightness.
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
/// Columns that a line of text is made for: eight digits, or a clock of twelve characters.
const TEXT_CHARACTERS: usize = 12;
/// Dots from one character to the next, and from one line to the next.
const CHARACTER_DOTS: usize = digits::COLUMNS + 1;
const LINE_DOTS: usize = digits::ROWS + 2;
const DAY_MS: u128 = 86_400_000;

impl Pattern {
    /// Pictures of that kind, beginning with number 0.
    ///
    /// # Errors
    /// A size or quality that cannot be.
    pub fn new(settings: PatternSettings) -> Result<Self, SourceError> {
        let PatternSettings { width, height, quality, .. } = settings;
        if width == 0 || height == 0 {
            let reason = format!("{width} x {height} pixels: both must be 1 to 65535");
            return Err(SourceError::unusable("pattern", reason));
        }
        if !(1..=100).contains(&quality) {
            return Err(SourceError::unusable("pattern", format!("quality {quality}: it must be 1 to 100")));
        }
        let columns = usize::from(width);
        let colours = BARS.map(|[red, green, blue]| rgb_to_ycbcr(red, green, blue).into());
        let bars = row(columns, |column| colours[column * colours.len() / columns]);
        let ramp = row(columns, |column| [(column * 256 / columns) as u8, 128, 128]);
        Ok(Self { settings, bars, ramp, number: 0 })
    }

    /// The next picture, which shows this time of day, ms.
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

/// One picture, drawn row by row.
struct Picture<'a> {
    pattern: &'a Pattern,
    /// The box: left, top, edge; pixels.
    square: (usize, usize, usize),
    lines: [Vec<u8>; 2],
    /// Pixels of a dot of the text.
    dot: usize,
}

impl<'a> Picture<'a> {
    fn new(pattern: &'a Pattern, day_ms: u32) -> Self {
        let PatternSettings { width, height, .. } = pattern.settings;
        let (width, height) = (usize::from(width), usize::from(height));
        let edge = (height.min(width) / 6).max(1);
        let number = pattern.number;
        // It crosses the picture in four seconds at 30 a second, and goes up and down a little slower.
        let along = |length: usize, pictures: usize| {
            bounce(u64::from(number) * length.div_ceil(pictures) as u64, length - edge)
        };
        let (seconds, ms) = (day_ms / 1000, day_ms % 1000);
        let (hours, minutes) = (seconds / 3600, seconds / 60 % 60);
        Self {
            pattern,
            square: (along(width, 120), along(height, 150), edge),
            lines: [
                format!("{number:08}").into_bytes(),
                format!("{hours:02}:{minutes:02}:{:02}.{ms:03}", seconds % 60).into_bytes(),
            ],
            dot: (width / ((TEXT_CHARACTERS + 2) * CHARACTER_DOTS)).min(height / (4 * LINE_DOTS)).max(1),
        }
    }

    /// The dots of the text that this row goes through, on black.
    fn draw_text(&self, y: usize, mut fill: impl FnMut(usize, usize, Colour)) {
        let (line, row) = (y / self.dot / LINE_DOTS, y / self.dot % LINE_DOTS);
        let Some(line) = self.lines.get(line) else { return };
        fill(0, (line.len() * CHARACTER_DOTS + 1) * self.dot, BLACK);
        // A row of nothing is above each line, and one below it.
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

/// Where one is after so many steps between 0 and `most`, there and back again.
fn bounce(steps: u64, most: usize) -> usize {
    let at = if most == 0 { 0 } else { (steps % (2 * most as u64)) as usize };
    at.min(2 * most - at)
}

#[cfg(test)]
mod tests {
    use netdyno_mjpeg_core::Jpeg;

    use super::*;

    #[test]
    fn every_size_and_quality_can_be_carried() {
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
    fn the_time_decides_the_picture_and_each_differs() {
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
    fn text_is_where_it_must_be() {
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
