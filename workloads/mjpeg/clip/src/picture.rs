//! The pictures. Integer arithmetic makes them identical on every machine.

/// The content of a picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Content {
    /// Colour bars with a corner of noise, a moving box, and the frame number in binary.
    Pattern,
    /// A photograph-like image: shapes and texture of all sizes with sensor noise, over which the view pans.
    Photo,
}

type Rgb = [u8; 3];

/// The 75 % colour bars, and those below them.
const BARS: [Rgb; 7] =
    [[191, 191, 191], [191, 191, 0], [0, 191, 191], [0, 191, 0], [191, 0, 191], [191, 0, 0], [0, 0, 191]];
const LOWER: [Rgb; 7] =
    [[0, 0, 191], [19, 19, 19], [191, 0, 191], [19, 19, 19], [0, 191, 191], [19, 19, 19], [191, 191, 191]];
const DARK: [Rgb; 5] = [[0, 33, 76], [255, 255, 255], [50, 0, 106], [19, 19, 19], [9, 9, 9]];

/// The pan distance over a photograph, in pixels.
const PAN: usize = 64;
/// Sizes of the shapes on a photograph in pixels, with their weights, which are highest for large shapes.
const OCTAVES: [(usize, i32); 7] = [(512, 90), (192, 60), (64, 40), (24, 26), (9, 16), (4, 10), (2, 6)];
const TINTS: [(usize, i32); 3] = [(700, 70), (160, 40), (40, 14)];
/// Maximum amplitude of the noise.
const GRAIN: i32 = 2;

/// Draws frames.
pub(crate) struct Painter {
    content: Content,
    width: usize,
    height: usize,
    rgb: Vec<u8>,
    /// The scene of a photograph, which exceeds a picture by PAN on each side.
    scene: Vec<Rgb>,
}

impl Painter {
    pub(crate) fn new(content: Content, width: usize, height: usize) -> Self {
        let scene = match content {
            Content::Pattern => Vec::new(),
            Content::Photo => scene(width + PAN, height + PAN),
        };
        Self { content, width, height, rgb: vec![0; width * height * 3], scene }
    }

    /// Draws the picture of this number, as rows of RGB.
    pub(crate) fn paint(&mut self, frame: u32) -> &[u8] {
        let Self { content, width, height, ref mut rgb, ref scene } = *self;
        // The pan reverses at each end.
        let step = frame as usize % (2 * PAN);
        let pan = step.min(2 * PAN - step);
        for (y, row) in rgb.chunks_exact_mut(width * 3).enumerate() {
            for (x, pixel) in row.chunks_exact_mut(3).enumerate() {
                let colour = match content {
                    Content::Pattern => pattern(x, y, width, height, frame),
                    Content::Photo => {
                        let at = (y + PAN - pan) * (width + PAN) + x + pan;
                        let grain = (hash(frame, x as u32, y as u32) % (2 * GRAIN as u32 + 1)) as i32 - GRAIN;
                        scene[at].map(|value| (i32::from(value) + grain).clamp(0, 255) as u8)
                    }
                };
                pixel.copy_from_slice(&colour);
            }
        }
        rgb
    }
}

fn pattern(x: usize, y: usize, width: usize, height: usize, frame: u32) -> Rgb {
    let column = x * 7 / width;
    let box_side = (height / 8).max(8);
    let travel = (width.saturating_sub(box_side)).max(1);
    let left = frame as usize * 8 % travel;
    let top = height / 3;
    if (left..left + box_side).contains(&x) && (top..top + box_side).contains(&y) {
        // A box with a diagonal, which crosses the bars.
        return if (x - left + y - top).is_multiple_of(box_side) { [0, 0, 0] } else { [255, 255, 255] };
    }
    match y * 12 / height {
        0..8 => BARS[column],
        8 => LOWER[column],
        _ if x * 7 >= width * 5 => {
            let snow = hash(frame, x as u32, y as u32) as u8;
            [snow, snow, snow]
        }
        // The frame number, one bit per field, from the right.
        11 if x * 7 >= width * 3 => {
            let field = (x * 7 - width * 3) * 16 / (width * 2);
            if frame >> (15 - field.min(15)) & 1 == 1 { [235, 235, 235] } else { [16, 16, 16] }
        }
        _ => DARK[x * 7 / width],
    }
}

/// Smooth noise of all sizes: brightness, and two tints that change more slowly.
fn scene(width: usize, height: usize) -> Vec<Rgb> {
    let mut scene = Vec::with_capacity(width * height);
    for y in 0..height {
        for x in 0..width {
            let light = 128 + sum(&OCTAVES, 0, x, y);
            let (red, blue) = (sum(&TINTS, 100, x, y), sum(&TINTS, 200, x, y));
            let green = -(red + blue) / 3;
            scene.push([red, green, blue].map(|tint| (light + tint).clamp(0, 255) as u8));
        }
    }
    scene
}

fn sum(octaves: &[(usize, i32)], seed: u32, x: usize, y: usize) -> i32 {
    let noise =
        |(i, &(size, weight)): (usize, &(usize, i32))| weight * smooth(seed + i as u32, x, y, size) / 256;
    octaves.iter().enumerate().map(noise).sum()
}

/// Noise from -256 to 256, interpolated between points at distance `size`.
fn smooth(seed: u32, x: usize, y: usize, size: usize) -> i32 {
    let (column, row) = ((x / size) as u32, (y / size) as u32);
    let at = |dx, dy| (hash(seed, column + dx, row + dy) % 513) as i32 - 256;
    // From 0 to 256, flat at both ends.
    let eased = |offset: usize| {
        let t = (offset % size * 256 / size) as i32;
        t * t * (768 - 2 * t) / 65536
    };
    let between = |a: i32, b: i32, t: i32| a + (b - a) * t / 256;
    let (tx, ty) = (eased(x), eased(y));
    between(between(at(0, 0), at(1, 0), tx), between(at(0, 1), at(1, 1), tx), ty)
}

/// Hashes three numbers with the finaliser of MurmurHash3 (A. Appleby, public domain).
fn hash(a: u32, b: u32, c: u32) -> u32 {
    let mix = |mut h: u32| {
        h = (h ^ (h >> 16)).wrapping_mul(0x85eb_ca6b);
        h = (h ^ (h >> 13)).wrapping_mul(0xc2b2_ae35);
        h ^ (h >> 16)
    };
    mix(mix(mix(a.wrapping_add(0x9e37_79b9)) ^ b) ^ c)
}
