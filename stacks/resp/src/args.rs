//! The arguments of a command, without copying them.

use std::ops::Range;

use crate::limits::{KEPT_ARGUMENTS, KEPT_INLINE_BYTES};

/// The positions of a command's arguments in the input. Reusable, so that steady traffic allocates nothing.
#[derive(Debug, Default)]
pub struct Args {
    pub(crate) spans: Vec<Span>,
    /// The unquoted arguments of an inline command; `spans` then refers to this buffer.
    pub(crate) unquoted: Vec<u8>,
    pub(crate) inline: bool,
}

/// The position and length of an argument. A request is shorter than 4 GiB.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Span {
    pub(crate) at: u32,
    pub(crate) length: u32,
}

impl Args {
    /// Number of arguments, including the command's name. Zero for an empty line.
    pub fn len(&self) -> usize {
        self.spans.len()
    }

    /// Whether there are no arguments.
    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// An argument by index, empty if out of range. `input` must be the input of the parser.
    pub fn get<'b>(&'b self, input: &'b [u8], index: usize) -> &'b [u8] {
        self.spans.get(index).and_then(|span| self.source(input).get(span.range())).unwrap_or_default()
    }

    /// All arguments. `input` must be the input of the parser.
    pub fn iter<'b>(&'b self, input: &'b [u8]) -> impl ExactSizeIterator<Item = &'b [u8]> {
        let source = self.source(input);
        self.spans.iter().map(move |span| source.get(span.range()).unwrap_or_default())
    }

    /// All arguments, with the lifetime of the input. `None` for an inline command, whose arguments are
    /// stored here until the next one.
    pub fn in_input<'b>(&self, input: &'b [u8]) -> Option<impl ExactSizeIterator<Item = &'b [u8]>> {
        let words = self.spans.iter().map(move |span| input.get(span.range()).unwrap_or_default());
        (!self.inline).then_some(words)
    }

    pub(crate) fn clear(&mut self) {
        self.spans.clear();
        if self.inline {
            self.inline = false;
            self.unquoted.clear();
            self.unquoted.shrink_to(KEPT_INLINE_BYTES);
        }
        self.spans.shrink_to(KEPT_ARGUMENTS);
    }

    fn source<'b>(&'b self, input: &'b [u8]) -> &'b [u8] {
        if self.inline { &self.unquoted } else { input }
    }
}

impl Span {
    pub(crate) fn new(at: usize, length: usize) -> Self {
        Self { at: at as u32, length: length as u32 }
    }

    fn range(self) -> Range<usize> {
        self.at as usize..self.at as usize + self.length as usize
    }
}
