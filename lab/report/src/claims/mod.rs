//! Replications of published claims as a table, Markdown and a picture.

mod markdown;
mod picture;
mod terminal;
#[cfg(test)]
mod tests;

pub use markdown::{into_block, markdown};
pub use picture::picture;
pub use terminal::terminal;
