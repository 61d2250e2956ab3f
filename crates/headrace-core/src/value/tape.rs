//! A row as a tape: its parts in the order they stand in the line.
//!
//! Reading a field walks over the parts before it without decoding them. Of equal
//! keys the last one counts, so a look-up goes to the end of the object. What lies
//! outside the [`Lanes`] that the query reads is checked, but not on the tape.

use std::collections::HashMap;

use bumpalo::{Bump, collections::Vec as BumpVec};

use super::{Entry, Kind, Lanes, Value, lanes::LaneId, number};
use crate::json::{self, JsonError, KeyHints, Limits, MAX_DEPTH, Reason, Visitor};

/// What a part of a row is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeKind {
    /// `null`
    Null,
    /// `true`
    True,
    /// `false`
    False,
    /// A number without fraction and exponent.
    Integer,
    /// Any other number.
    Decimal,
    /// A string without escapes.
    Plain,
    /// A string with escapes.
    Escaped,
    /// An array; its elements follow.
    Array,
    /// An object; its keys and values follow in turn.
    Object,
}

impl NodeKind {
    fn is_text(self) -> bool {
        matches!(self, Self::Integer | Self::Decimal | Self::Plain | Self::Escaped)
    }
}

#[derive(Clone, Copy, Debug)]
struct Cell {
    kind: NodeKind,
    /// Of a scalar's text in the line; how many elements or entries a container has.
    start: u32,
    end: u32,
    /// The cell behind this part.
    next: u32,
}

/// The longest line that can be taken apart.
const MAX_LINE: usize = (1 << 32) - 2;

/// Memory for the parts of a row, used again for the next one.
#[derive(Debug)]
pub struct Tape {
    lanes: Lanes,
    parts: Parts,
    hints: KeyHints,
}

#[derive(Debug, Default)]
struct Parts {
    cells: Vec<Cell>,
    /// The containers that have not ended, and the lanes of those around them.
    open: Vec<(u32, LaneId)>,
}

impl Tape {
    /// For row after row, of which only these lanes are read.
    pub fn learning(lanes: Lanes) -> Self {
        Self { lanes, parts: Parts::default(), hints: KeyHints::learning() }
    }

    /// For one row, of which everything is read.
    pub fn once() -> Self {
        Self { lanes: Lanes::all(), parts: Parts::default(), hints: KeyHints::none() }
    }

    /// Check a line in full and take its lanes apart.
    ///
    /// # Errors
    /// An error in the line.
    pub fn parse<'r>(
        &'r mut self,
        line: &'r [u8],
        limits: &Limits,
    ) -> Result<Document<'r>, JsonError> {
        let line = self.record(line, limits)?;
        Ok(Document { line, cells: &self.parts.cells })
    }

    /// [`parse`](Self::parse), with the document made where it stays.
    ///
    /// # Errors
    /// An error in the line.
    #[inline]
    pub fn parse_in<'r>(
        &'r mut self,
        line: &'r [u8],
        limits: &Limits,
        arena: &'r Bump,
    ) -> Result<&'r Document<'r>, JsonError> {
        let line = self.record(line, limits)?;
        Ok(arena.alloc_with(|| Document { line, cells: &self.parts.cells }))
    }

    /// [`parse_in`](Self::parse_in) for a line that is known to be UTF-8.
    ///
    /// # Errors
    /// An error in the line.
    #[inline]
    pub fn parse_text_in<'r>(
        &'r mut self,
        line: &'r str,
        limits: &Limits,
        arena: &'r Bump,
    ) -> Result<&'r Document<'r>, JsonError> {
        self.record_text(line, limits)?;
        Ok(arena.alloc_with(|| Document { line, cells: &self.parts.cells }))
    }

    fn record<'l>(&mut self, line: &'l [u8], limits: &Limits) -> Result<&'l str, JsonError> {
        match simdutf8::basic::from_utf8(line) {
            Ok(text) => self.record_text(text, limits).map(|()| text),
            Err(_) => Err(json::not_utf8(line)),
        }
    }

    fn record_text(&mut self, line: &str, limits: &Limits) -> Result<(), JsonError> {
        if line.len() > MAX_LINE {
            return Err(JsonError { offset: MAX_LINE, reason: Reason::LineTooLong });
        }
        let parts = &mut self.parts;
        parts.cells.clear();
        parts.open.clear();
        let mut recorder = Recorder {
            base: line.as_ptr() as usize,
            tape: parts,
            lanes: &self.lanes,
            object: Lanes::ALL,
            next: Lanes::ROW,
        };
        json::walk_text(line, limits, &mut self.hints, &mut recorder)
    }
}

/// Check a text in full and take it apart, for as long as the arena lives.
///
/// # Errors
/// An error in the text.
pub fn parse_text<'r>(text: &'r str, arena: &'r Bump) -> Result<Value<'r>, JsonError> {
    parsed_on(&mut Tape::once(), text, arena)
}

/// The same for a text that will be gone, on a tape that is used again.
///
/// # Errors
/// An error in the text.
pub fn parse_text_on<'r>(
    tape: &mut Tape,
    text: &str,
    arena: &'r Bump,
) -> Result<Value<'r>, JsonError> {
    parsed_on(tape, arena.alloc_str(text), arena)
}

fn parsed_on<'r>(tape: &mut Tape, text: &'r str, arena: &'r Bump) -> Result<Value<'r>, JsonError> {
    let document = tape.parse(text.as_bytes(), &Limits { max_depth: MAX_DEPTH })?;
    let cells = arena.alloc_slice_copy(document.cells);
    let document: &'r Document<'r> = arena.alloc(Document { line: text, cells });
    Ok(document.root())
}

/// A text that was taken apart once, to be looked at again and again.
#[derive(Debug)]
pub struct Kept {
    text: String,
    tape: Tape,
}

impl Kept {
    /// Check a text in full and take it apart.
    ///
    /// # Errors
    /// An error in the text.
    pub fn new(text: String, limits: &Limits) -> Result<Self, JsonError> {
        let mut tape = Tape::once();
        tape.parse(text.as_bytes(), limits)?;
        Ok(Self { text, tape })
    }

    /// The value, for as long as the arena lives.
    pub fn value<'r>(&'r self, arena: &'r Bump) -> Value<'r> {
        let document: &'r Document<'r> =
            arena.alloc(Document { line: &self.text, cells: &self.tape.parts.cells });
        document.root()
    }
}

/// The values of texts that were taken apart, for as long as the arena lives.
#[inline]
pub fn values_of<'r>(kept: &'r [Kept], arena: &'r Bump) -> &'r [Value<'r>] {
    if kept.is_empty() {
        return &[];
    }
    arena.alloc_slice_fill_iter(kept.iter().map(|text| text.value(arena)))
}

struct Recorder<'t> {
    base: usize,
    tape: &'t mut Parts,
    lanes: &'t Lanes,
    /// The lane of the innermost container.
    object: LaneId,
    /// The lane of the value that comes next, unless it is an array's element.
    next: LaneId,
}

impl Recorder<'_> {
    fn push(&mut self, kind: NodeKind, start: u32, end: u32) {
        if let Some(&(container, _)) = self.tape.open.last() {
            self.tape.cells[container as usize].start += 1;
        }
        let next = position(self.tape.cells.len() + 1);
        self.tape.cells.push(Cell { kind, start, end, next });
    }

    fn push_text(&mut self, kind: NodeKind, text: &str) {
        let start = position(text.as_ptr() as usize - self.base);
        self.push(kind, start, start + position(text.len()));
    }

    fn begin(&mut self, kind: NodeKind) {
        let at = position(self.tape.cells.len());
        self.push(kind, 0, 0);
        self.tape.open.push((at, self.object));
        self.object = self.next;
    }

    fn end(&mut self) {
        if let Some((container, around)) = self.tape.open.pop() {
            let next = position(self.tape.cells.len());
            self.tape.cells[container as usize].next = next;
            self.object = around;
            self.next = Lanes::ALL;
        }
    }
}

/// Positions are 32 bits wide: no line is longer than [`MAX_LINE`].
fn position(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

impl Visitor for Recorder<'_> {
    fn null(&mut self) {
        self.push(NodeKind::Null, 0, 0);
    }

    fn boolean(&mut self, value: bool) {
        self.push(if value { NodeKind::True } else { NodeKind::False }, 0, 0);
    }

    fn number(&mut self, text: &str, is_integer: bool) {
        self.push_text(if is_integer { NodeKind::Integer } else { NodeKind::Decimal }, text);
    }

    fn string(&mut self, raw: &str, has_escapes: bool) {
        self.push_text(if has_escapes { NodeKind::Escaped } else { NodeKind::Plain }, raw);
    }

    #[inline]
    fn key(&mut self, raw: &str, has_escapes: bool) -> bool {
        let Some(lane) = self.lanes.field(self.object, raw, has_escapes) else { return false };
        self.string(raw, has_escapes);
        self.next = lane;
        true
    }

    #[inline]
    fn object_kind(&self) -> u32 {
        self.object.number()
    }

    fn begin_object(&mut self) {
        self.begin(NodeKind::Object);
    }

    fn end_object(&mut self) {
        self.end();
    }

    fn begin_array(&mut self) {
        // A field of an array is null, so only all of it can be read.
        self.next = Lanes::ALL;
        self.begin(NodeKind::Array);
    }

    fn end_array(&mut self) {
        self.end();
    }
}

/// A row that was taken apart; by default, no row.
#[derive(Clone, Copy, Debug, Default)]
pub struct Document<'r> {
    line: &'r str,
    cells: &'r [Cell],
}

impl<'r> Document<'r> {
    /// The text it was taken from.
    pub fn line(&self) -> &'r str {
        self.line
    }

    /// The whole row; `null` for a line that was not parsed.
    pub fn root(&'r self) -> Value<'r> {
        if self.cells.is_empty() {
            Value::Null
        } else {
            Value::Node(Node { document: self, at: 0 })
        }
    }
}

/// A part of a row.
#[derive(Clone, Copy, Debug)]
pub struct Node<'r> {
    document: &'r Document<'r>,
    at: u32,
}

/// A row that is null.
static NULL: Document<'static> =
    Document { line: "null", cells: &[Cell { kind: NodeKind::Null, start: 0, end: 4, next: 1 }] };

impl<'r> Node<'r> {
    /// A part that is null.
    pub(crate) const NULL: Self = Self { document: &NULL, at: 0 };

    fn cell(self) -> Cell {
        self.document.cells[self.at as usize]
    }

    fn at(self, at: u32) -> Self {
        Self { document: self.document, at }
    }

    fn next(self) -> Self {
        self.at(self.cell().next)
    }

    /// Whether this is all of `document`.
    pub fn is_all_of(self, document: &Document<'_>) -> bool {
        self.at == 0 && std::ptr::eq(self.document.cells, document.cells)
    }

    /// Whether this is the same part of the same document as another node.
    pub fn is_same_part(self, other: Node<'_>) -> bool {
        self.at == other.at && std::ptr::eq(self.document.cells, other.document.cells)
    }

    /// The kind of the node.
    pub fn node_kind(self) -> NodeKind {
        self.cell().kind
    }

    /// The kind of the value.
    pub fn kind(self) -> Kind {
        match self.cell().kind {
            NodeKind::Null => Kind::Null,
            NodeKind::True | NodeKind::False => Kind::Bool,
            NodeKind::Integer | NodeKind::Decimal => Kind::Number,
            NodeKind::Plain | NodeKind::Escaped => Kind::String,
            NodeKind::Array => Kind::Array,
            NodeKind::Object => Kind::Object,
        }
    }

    /// The text of a number, or what stands between the quotes of a string.
    pub fn raw(self) -> &'r str {
        let cell = self.cell();
        &self.document.line[cell.start as usize..cell.end as usize]
    }

    /// How many parts it consists of, itself included.
    pub fn parts(self) -> u32 {
        self.cell().next - self.at
    }

    /// The line it is a part of.
    pub fn line(self) -> &'r str {
        self.document.line
    }

    /// About how many bytes of the line it takes; never much fewer.
    pub fn extent(self) -> usize {
        let cells = &self.document.cells[self.at as usize..self.cell().next as usize];
        // A value without text near its ends may be as long as the line.
        let texts = |cell: &&Cell| cell.kind.is_text();
        match (cells.iter().take(64).find(texts), cells.iter().rev().take(64).find(texts)) {
            (Some(first), Some(last)) => last.end as usize - first.start as usize,
            _ if cells.len() <= 64 => 0,
            _ => self.document.line.len(),
        }
    }

    /// How many elements an array, how many entries an object has, equal keys counted.
    pub fn len(self) -> usize {
        let cell = self.cell();
        match cell.kind {
            NodeKind::Array => cell.start as usize,
            NodeKind::Object => cell.start as usize / 2,
            _ => 0,
        }
    }

    /// Whether a container or a string is empty.
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// The text of a string.
    pub fn text(self, arena: &'r Bump) -> &'r str {
        let raw = self.raw();
        if self.cell().kind != NodeKind::Escaped {
            return raw;
        }
        let mut scratch = String::with_capacity(raw.len());
        arena.alloc_str(json::unescape(raw, &mut scratch))
    }

    pub(super) fn resolved(self, arena: &'r Bump) -> Value<'r> {
        match self.cell().kind {
            NodeKind::Null => Value::Null,
            NodeKind::True => Value::Bool(true),
            NodeKind::False => Value::Bool(false),
            NodeKind::Integer => number(self.raw(), true),
            NodeKind::Decimal => number(self.raw(), false),
            NodeKind::Plain | NodeKind::Escaped => Value::Str(self.text(arena)),
            NodeKind::Array | NodeKind::Object => Value::Node(self),
        }
    }

    /// The value under `key`.
    pub fn get(self, key: &str) -> Option<Self> {
        if self.cell().kind != NodeKind::Object {
            return None;
        }
        let mut found = None;
        self.for_each_entry(|name, value| {
            if name.is_key(key) {
                found = Some(value);
            }
        });
        found
    }

    fn is_key(self, key: &str) -> bool {
        let raw = self.raw();
        if self.cell().kind == NodeKind::Plain {
            return raw == key;
        }
        let mut scratch = String::new();
        json::unescape(raw, &mut scratch) == key
    }

    /// Each key with its value, equal keys as often as they stand there.
    pub fn for_each_entry(self, mut visit: impl FnMut(Self, Self)) {
        let end = self.cell().next;
        let mut key = self.at(self.at + 1);
        while key.at < end {
            let value = key.next();
            visit(key, value);
            key = value.next();
        }
    }

    /// Each element.
    pub fn for_each_element(self, mut visit: impl FnMut(Self)) {
        let end = self.cell().next;
        let mut element = self.at(self.at + 1);
        while element.at < end {
            visit(element);
            element = element.next();
        }
    }

    pub(super) fn elements(self, arena: &'r Bump) -> &'r [Value<'r>] {
        let mut values = BumpVec::with_capacity_in(self.len(), arena);
        self.for_each_element(|element| values.push(Value::Node(element)));
        values.into_bump_slice()
    }

    pub(super) fn entries(self, arena: &'r Bump) -> &'r [Entry<'r>] {
        let mut entries = BumpVec::with_capacity_in(self.len(), arena);
        self.for_each_entry(|key, value| entries.push((key.text(arena), Value::Node(value))));
        keep_last(&mut entries);
        entries.into_bump_slice()
    }

    /// Whether a key of this object stands there more than once.
    pub fn repeats_a_key(self, arena: &'r Bump) -> bool {
        self.entries(arena).len() < self.len()
    }
}

/// Above this many keys, a hash table finds equal ones faster than looking at each pair.
const FEW_KEYS: usize = 32;

/// Leave each key once: at its first place, with its last value.
fn keep_last<'r>(entries: &mut BumpVec<'r, Entry<'r>>) {
    let mut places: HashMap<&str, usize> = HashMap::new();
    let many = entries.len() > FEW_KEYS;
    let mut kept = 0;
    for at in 0..entries.len() {
        let (key, value) = entries[at];
        let earlier = if many {
            places.get(key).copied()
        } else {
            entries[..kept].iter().position(|entry| entry.0 == key)
        };
        if let Some(earlier) = earlier {
            entries[earlier].1 = value;
            continue;
        }
        if many {
            places.insert(key, kept);
        }
        entries[kept] = (key, value);
        kept += 1;
    }
    entries.truncate(kept);
}
