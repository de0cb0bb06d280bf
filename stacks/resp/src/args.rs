//! The arguments of one command, without a copy of them.

use std::ops::Range;

use crate::limits::{KEPT_ARGUMENTS, KEPT_INLINE_BYTES};

/// Where one command's arguments stand in the input. Reused from command to command: a steady flow allocates nothing.
#[derive(Debug, Default)]
pub struct Args {
    pub(crate) spans: Vec<Span>,
    /// What an inline command's arguments are without their quotes; `spans` are of this then.
    pub(crate) unquoted: Vec<u8>,
    pub(crate) inline: bool,
}

/// Where an argument begins, and its length. A request is shorter than 4 GiB.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Span {
    pub(crate) at: u32,
    pub(crate) length: u32,
}

impl Args {
    /// How many there are, the command's name included. None, if the client sent an empty line.
    pub fn len(&self) -> usize {
        self.spans.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// One of them. `input` is what was given to the parser; beyond the last all are empty.
    pub fn get<'b>(&'b self, input: &'b [u8], index: usize) -> &'b [u8] {
        self.spans.get(index).and_then(|span| self.source(input).get(span.range())).unwrap_or_default()
    }

    /// All of them. `input` is what was given to the parser.
    pub fn iter<'b>(&'b self, input: &'b [u8]) -> impl ExactSizeIterator<Item = &'b [u8]> {
        let source = self.source(input);
        self.spans.iter().map(move |span| source.get(span.range()).unwrap_or_default())
    }

    /// All of them, for as long as the input lives. None for an inline command: its arguments are kept here until the
    /// next.
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
