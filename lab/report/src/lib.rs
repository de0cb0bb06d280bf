//! Reports: a run, an explanation, a comparison or published claims as a terminal table, Markdown, HTML or a
//! picture.
//!
//! | does | does not |
//! |---|---|
//! | render the values of `netdyno-lab-analysis` | compute a figure or a verdict |
//! | draw plots as SVG and PNG | run anything |
//! | serve stored runs over HTTP, or write them as a static site | upload pages to another host |

pub mod claims;
pub mod comparison;
mod effects;
pub mod explain;
pub mod history;
pub mod html;
mod layout;
pub mod listed;
mod markdown;
pub mod pages;
pub mod plot;
pub mod serve;
pub mod site;
mod table;
mod terminal;
mod text;

#[cfg(test)]
mod tests;

pub use layout::{blocks, columns, error_columns, grid, wrapped};
pub use markdown::{markdown, table as markdown_table};
pub use terminal::terminal;
pub use text::escape;
