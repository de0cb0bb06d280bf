//! A picture as PNG, for what knows no SVG. It brings its font along: the same picture on every machine, one without fonts too.

use std::sync::Arc;

use resvg::{tiny_skia, usvg};

use super::canvas::Picture;

/// Dots a px: as sharp as paper and fine screens want.
const DOTS: f32 = 2.0;
/// Of the font that is put in.
const FAMILY: &str = "DejaVu Sans";

/// The picture in the light, with two dots a px.
///
/// # Errors
/// In words: when it is larger than memory has room for.
pub fn png(picture: &Picture) -> Result<Vec<u8>, String> {
    let mut options = usvg::Options { font_family: FAMILY.to_owned(), ..usvg::Options::default() };
    let fonts = Arc::make_mut(&mut options.fontdb);
    fonts.load_font_data(dejavu::sans::regular().to_vec());
    fonts.load_font_data(dejavu::sans::bold().to_vec());
    fonts.set_sans_serif_family(FAMILY);
    let tree = usvg::Tree::from_str(&picture.file(), &options).map_err(|e| e.to_string())?;
    let size = tree.size().to_int_size().scale_by(DOTS).ok_or("a picture of no size")?;
    let mut dots =
        tiny_skia::Pixmap::new(size.width(), size.height()).ok_or("a picture too large for memory")?;
    resvg::render(&tree, tiny_skia::Transform::from_scale(DOTS, DOTS), &mut dots.as_mut());
    dots.encode_png().map_err(|e| e.to_string())
}
