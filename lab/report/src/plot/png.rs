//! Pictures as PNG. The font is compiled in, so that the result is the same on every machine.

use std::sync::Arc;

use resvg::{tiny_skia, usvg};

use super::canvas::Picture;

/// Resolution: dots per px.
const SCALE: f32 = 2.0;
/// Family of the compiled-in font.
const FAMILY: &str = "DejaVu Sans";

/// Renders a picture in light mode, with two dots per px.
pub fn png(picture: &Picture) -> Result<Vec<u8>, String> {
    let mut options = usvg::Options { font_family: FAMILY.to_owned(), ..usvg::Options::default() };
    let fonts = Arc::make_mut(&mut options.fontdb);
    fonts.load_font_data(dejavu::sans::regular().to_vec());
    fonts.load_font_data(dejavu::sans::bold().to_vec());
    fonts.set_sans_serif_family(FAMILY);
    let tree = usvg::Tree::from_str(&picture.file(), &options).map_err(|e| e.to_string())?;
    let size = tree.size().to_int_size().scale_by(SCALE).ok_or("the picture is empty")?;
    let mut pixmap = tiny_skia::Pixmap::new(size.width(), size.height()).ok_or("the picture is too large")?;
    resvg::render(&tree, tiny_skia::Transform::from_scale(SCALE, SCALE), &mut pixmap.as_mut());
    pixmap.encode_png().map_err(|e| e.to_string())
}
