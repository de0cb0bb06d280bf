//! Templates of text: Markdown, and output for terminals.

use minijinja::syntax::SyntaxConfig;
use minijinja::{Environment, UndefinedBehavior, Value};

use crate::layout::wrapped;
use netdyno_lab_analysis::report::plain;

/// Renders a template. Its filters remove control characters: `md` also escapes Markdown, `wrap(width, first, rest)` wraps between
/// words.
pub(crate) fn rendered(template: &str, values: Value) -> String {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    let mut syntax = SyntaxConfig::builder();
    let syntax = syntax.trim_blocks(true).lstrip_blocks(true).keep_trailing_newline(true).build();
    environment.set_syntax(syntax.expect("the default delimiters are valid"));
    environment.add_filter("md", |text: String| escape(&plain(&text)));
    environment.add_filter("wrap", |text: String, width: usize, first: String, rest: String| {
        wrapped(&plain(&text), width, &first, &rest)
    });
    let text = environment.render_str(template, values);
    text.expect("the template is compiled in and gets every value it names")
}

/// Escapes text so that it is not interpreted as Markdown or HTML.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '|' | '*' | '_' | '`' | '[' | ']' | '\\' => out.extend(['\\', c]),
            '<' => out.push_str("&lt;"),
            '\n' | '\r' => out.push(' '),
            _ => out.push(c),
        }
    }
    out
}
