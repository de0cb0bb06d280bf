//! Reads one value in any encoding, one string at a time.

use std::borrow::Cow;

use super::error::{RdbFault, StepError};
use super::packed::{Element, Elements};
use super::text::Cursor;
use super::{Part, Sink, ValueKind};
use crate::number;

/// The encoding of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    String,
    List,
    Set,
    Hash,
    /// Scores as text.
    ZsetText,
    Zset,
    /// A single string with all elements.
    Packed(Packed),
    /// Ziplists.
    Quicklist,
    /// Listpacks, and plain nodes for long elements.
    Quicklist2,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Packed {
    Zipmap,
    Ziplist,
    Listpack,
    Intset,
}

/// Reads a value.
#[derive(Debug)]
pub(crate) struct ValueReader {
    kind: ValueKind,
    form: Form,
    /// Remaining elements or nodes, once known.
    left: Option<u64>,
    /// The first half of a pair.
    held: Option<Vec<u8>>,
    /// The next node is a plain element rather than a listpack.
    plain: Option<bool>,
}

impl ValueReader {
    /// A reader for this type.
    pub(crate) fn new(code: u8) -> Result<Self, RdbFault> {
        let (kind, form) = match code {
            0 => (ValueKind::String, Form::String),
            1 => (ValueKind::List, Form::List),
            2 => (ValueKind::Set, Form::Set),
            3 => (ValueKind::Zset, Form::ZsetText),
            4 => (ValueKind::Hash, Form::Hash),
            5 => (ValueKind::Zset, Form::Zset),
            6 | 7 => return Err(RdbFault::Unsupported("a module's value", code)),
            9 => (ValueKind::Hash, Form::Packed(Packed::Zipmap)),
            10 => (ValueKind::List, Form::Packed(Packed::Ziplist)),
            11 => (ValueKind::Set, Form::Packed(Packed::Intset)),
            12 => (ValueKind::Zset, Form::Packed(Packed::Ziplist)),
            13 => (ValueKind::Hash, Form::Packed(Packed::Ziplist)),
            14 => (ValueKind::List, Form::Quicklist),
            15 | 19 | 21 => return Err(RdbFault::Unsupported("a stream", code)),
            16 => (ValueKind::Hash, Form::Packed(Packed::Listpack)),
            17 => (ValueKind::Zset, Form::Packed(Packed::Listpack)),
            18 => (ValueKind::List, Form::Quicklist2),
            20 => (ValueKind::Set, Form::Packed(Packed::Listpack)),
            _ => return Err(RdbFault::UnknownType(code)),
        };
        Ok(Self { kind, form, left: None, held: None, plain: None })
    }

    pub(crate) fn kind(&self) -> ValueKind {
        self.kind
    }

    /// Reads the next string; `true` after the last one. Without enough bytes the cursor position is
    /// undefined, and the step must be repeated.
    pub(super) fn step(&mut self, cursor: &mut Cursor<'_>, sink: &mut impl Sink) -> Result<bool, StepError> {
        match self.form {
            Form::String => {
                sink.part(Part::Element(&cursor.string()?))?;
                return Ok(true);
            }
            Form::Packed(packed) => {
                let blob = cursor.string()?;
                self.unpack(packed, &blob, sink)?;
                return Ok(true);
            }
            _ => {}
        }
        let Some(left) = self.left else {
            let count = cursor.length()?;
            self.left = Some(count);
            return Ok(count == 0);
        };
        let whole = match self.form {
            Form::Hash => self.field(cursor, sink)?,
            Form::Zset | Form::ZsetText => self.scored(cursor, sink)?,
            Form::Quicklist => {
                let blob = cursor.string()?;
                self.unpack(Packed::Ziplist, &blob, sink)?;
                true
            }
            Form::Quicklist2 => self.node(cursor, sink)?,
            Form::List | Form::Set | Form::String | Form::Packed(_) => {
                sink.part(Part::Element(&cursor.string()?))?;
                true
            }
        };
        let left = left - u64::from(whole);
        self.left = Some(left);
        Ok(left == 0)
    }

    fn field(&mut self, cursor: &mut Cursor<'_>, sink: &mut impl Sink) -> Result<bool, StepError> {
        let text = cursor.string()?;
        match self.held.take() {
            Some(field) => sink.part(Part::Field(&field, &text))?,
            None => self.held = Some(text.into_owned()),
        }
        Ok(self.held.is_none())
    }

    fn scored(&mut self, cursor: &mut Cursor<'_>, sink: &mut impl Sink) -> Result<bool, StepError> {
        let Some(member) = &self.held else {
            self.held = Some(cursor.string()?.into_owned());
            return Ok(false);
        };
        let score = if self.form == Form::Zset {
            f64::from_le_bytes(cursor.array()?)
        } else {
            match cursor.byte()? {
                255 => f64::NEG_INFINITY,
                254 => f64::INFINITY,
                253 => f64::NAN,
                length => number::float(cursor.take(usize::from(length))?).unwrap_or(f64::NAN),
            }
        };
        push_scored(member, score, sink)?;
        self.held = None;
        Ok(true)
    }

    fn node(&mut self, cursor: &mut Cursor<'_>, sink: &mut impl Sink) -> Result<bool, StepError> {
        let Some(plain) = self.plain else {
            self.plain = Some(match cursor.length()? {
                1 => true,
                2 => false,
                _ => {
                    return Err(RdbFault::Damaged("an invalid type of list node").into());
                }
            });
            return Ok(false);
        };
        let blob: Cow<'_, [u8]> = cursor.string()?;
        if plain {
            sink.part(Part::Element(&blob))?;
        } else {
            self.unpack(Packed::Listpack, &blob, sink)?;
        }
        self.plain = None;
        Ok(true)
    }

    fn unpack(&self, packed: Packed, blob: &[u8], sink: &mut impl Sink) -> Result<(), RdbFault> {
        let mut elements = match packed {
            Packed::Zipmap => Elements::zipmap(blob)?,
            Packed::Ziplist => Elements::ziplist(blob)?,
            Packed::Listpack => Elements::listpack(blob)?,
            Packed::Intset => Elements::intset(blob)?,
        };
        match self.kind {
            ValueKind::Hash => elements.pairs().try_for_each(|pair| {
                let (field, value) = pair?;
                field.text(|field| value.text(|value| sink.part(Part::Field(field, value))))
            }),
            ValueKind::Zset => elements.pairs().try_for_each(|pair| {
                let (member, score) = pair?;
                let score = match score {
                    Element::Integer(value) => value as f64,
                    Element::Text(text) => number::float(text).unwrap_or(f64::NAN),
                };
                member.text(|member| push_scored(member, score, sink))
            }),
            ValueKind::String | ValueKind::List | ValueKind::Set => {
                elements.try_for_each(|element| element?.text(|text| sink.part(Part::Element(text))))
            }
        }
    }
}

fn push_scored(member: &[u8], score: f64, sink: &mut impl Sink) -> Result<(), RdbFault> {
    if score.is_nan() {
        return Err(RdbFault::Damaged("an invalid score"));
    }
    sink.part(Part::Scored(member, score))
}
