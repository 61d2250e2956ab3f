//! The buffers of columns, as Arrow lays them out.
//!
//! A value is appended when it is complete, and what is behind the last complete value can be
//! taken back at any time ([`Table::truncate`]): that is how a bad row leaves no trace, and
//! how the last one of equal keys wins.

use std::collections::HashMap;

use super::{Shape, variant::Variants};

/// Where a column is in its [`Table`].
pub(super) type ColumnId = usize;

/// The column of the rows themselves.
pub(super) const ROOT: ColumnId = 0;

/// Columns, each in front of those inside it.
#[derive(Debug)]
pub(super) struct Table {
    pub(super) columns: Vec<Column>,
}

/// One column.
#[derive(Debug)]
pub(super) struct Column {
    pub(super) shape: Shape,
    /// How messages call it.
    pub(super) path: Box<str>,
    pub(super) inside: Inside,
    /// Of a field: where its key stands in the row.
    pub(super) key_at: usize,
    valid: Bits,
    /// Values of one width, or bytes.
    pub(super) data: Vec<u8>,
    /// Where values end in `data`, or in the column inside; the first is 0.
    ends: Vec<i32>,
    bits: Bits,
    pub(super) variants: Variants,
}

/// The columns inside a column.
#[derive(Debug)]
pub(super) enum Inside {
    Nothing,
    Fields(Fields),
    Elements(ColumnId),
    Entries(ColumnId, ColumnId),
}

/// The columns of the fields of an object.
#[derive(Debug)]
pub(super) struct Fields {
    columns: Vec<(Box<str>, ColumnId)>,
    /// The field that probably comes next.
    next: usize,
    places: HashMap<Box<str>, usize>,
}

/// Of no more fields than this, looking at each is faster than a hash table.
const FEW_FIELDS: usize = 8;

impl Fields {
    fn new(columns: Vec<(Box<str>, ColumnId)>) -> Self {
        let few = columns.len() <= FEW_FIELDS;
        let named = columns.iter().enumerate().map(|(at, field)| (field.0.clone(), at));
        let places = if few { HashMap::new() } else { named.collect() };
        Self { columns, next: 0, places }
    }

    pub(super) fn find(&mut self, name: &str) -> Option<ColumnId> {
        let at = match self.columns.get(self.next) {
            Some(field) if *field.0 == *name => self.next,
            _ if self.places.is_empty() => {
                self.columns.iter().position(|field| *field.0 == *name)?
            }
            _ => *self.places.get(name)?,
        };
        self.next = at + 1;
        self.columns.get(at).map(|field| field.1)
    }
}

/// The buffers of one column; no validity if nothing is null.
#[derive(Debug, PartialEq, Eq)]
pub struct Buffers {
    /// How many values there are.
    pub length: usize,
    /// A bit for each value that is not null.
    pub validity: Option<Vec<u8>>,
    /// What Arrow has behind it.
    pub others: Vec<Vec<u8>>,
}

impl Table {
    pub(super) fn new(shape: &Shape) -> Self {
        let mut table = Self { columns: Vec::new() };
        table.add(shape, "");
        table
    }

    fn add(&mut self, shape: &Shape, path: &str) -> ColumnId {
        let id = self.columns.len();
        self.columns.push(Column::new(shape.clone(), path));
        let inside = match shape {
            Shape::Struct(fields) => {
                let below = |name: &str| {
                    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
                };
                let fields = fields
                    .iter()
                    .map(|(name, shape)| (name.as_str().into(), self.add(shape, &below(name))));
                Inside::Fields(Fields::new(fields.collect()))
            }
            Shape::Array(element) => Inside::Elements(self.add(element, &format!("{path}[]"))),
            Shape::Map(value) => {
                let keys = self.add(&Shape::String, path);
                Inside::Entries(keys, self.add(value, &format!("{path}{{}}")))
            }
            _ => Inside::Nothing,
        };
        self.columns[id].inside = inside;
        id
    }

    pub(super) fn len(&self, id: ColumnId) -> usize {
        self.columns[id].valid.len
    }

    pub(super) fn push_null(&mut self, id: ColumnId) {
        match self.columns[id].inside {
            Inside::Fields(ref fields) => {
                for at in 0..fields.columns.len() {
                    if let Some(field) = self.field(id, at) {
                        self.push_null(field);
                    }
                }
            }
            Inside::Elements(inside) | Inside::Entries(inside, _) => {
                let end = self.len(inside);
                self.columns[id].push_end(end);
            }
            Inside::Nothing => self.columns[id].push_nothing(),
        }
        self.columns[id].valid.push(false);
    }

    fn field(&self, id: ColumnId, at: usize) -> Option<ColumnId> {
        match &self.columns[id].inside {
            Inside::Fields(fields) => fields.columns.get(at).map(|field| field.1),
            _ => None,
        }
    }

    /// The column of a field.
    pub(super) fn field_of(&mut self, id: ColumnId, name: &str) -> Option<ColumnId> {
        match &mut self.columns[id].inside {
            Inside::Fields(fields) => fields.find(name),
            _ => None,
        }
    }

    /// End a value whose fields or elements have been pushed; fields that were not are null.
    pub(super) fn push_container(&mut self, id: ColumnId) {
        match self.columns[id].inside {
            Inside::Fields(ref fields) => {
                let length = self.len(id);
                for at in 0..fields.columns.len() {
                    if let Some(field) = self.field(id, at)
                        && self.len(field) == length
                    {
                        self.push_null(field);
                    }
                }
            }
            Inside::Elements(inside) | Inside::Entries(inside, _) => {
                let end = self.len(inside);
                self.columns[id].push_end(end);
            }
            Inside::Nothing => {}
        }
        self.columns[id].valid.push(true);
    }

    /// Keep the first `length` values of a column and its children.
    pub(super) fn truncate(&mut self, id: ColumnId, length: usize) {
        let column = &mut self.columns[id];
        column.valid.truncate(length);
        match column.inside {
            Inside::Fields(ref fields) => {
                for at in 0..fields.columns.len() {
                    if let Some(field) = self.field(id, at) {
                        self.truncate(field, length);
                    }
                }
            }
            Inside::Elements(inside) => {
                let end = column.truncate_ends(length);
                self.truncate(inside, end);
            }
            Inside::Entries(keys, values) => {
                let end = column.truncate_ends(length);
                self.truncate(keys, end);
                self.truncate(values, end);
            }
            Inside::Nothing => column.truncate_values(length),
        }
    }

    /// Where the value begins that is being made.
    pub(super) fn begin(&self, id: ColumnId) -> usize {
        self.columns[id].last_end()
    }

    /// All buffers, in the order of the columns; nothing is left.
    pub(super) fn take(&mut self) -> Vec<Buffers> {
        self.columns.iter_mut().map(Column::take).collect()
    }
}

impl Column {
    fn new(shape: Shape, path: &str) -> Self {
        let ends = if Self::has_ends(&shape) { vec![0] } else { Vec::new() };
        Self {
            shape,
            path: path.into(),
            inside: Inside::Nothing,
            key_at: 0,
            valid: Bits::default(),
            data: Vec::new(),
            ends,
            bits: Bits::default(),
            variants: Variants::default(),
        }
    }

    fn has_ends(shape: &Shape) -> bool {
        Self::is_bytes(shape) || matches!(shape, Shape::Array(_) | Shape::Map(_))
    }

    fn is_bytes(shape: &Shape) -> bool {
        matches!(shape, Shape::String | Shape::Json | Shape::Binary)
    }

    fn width(&self) -> usize {
        match self.shape {
            Shape::Integer(bytes) => bytes.into(),
            Shape::Float | Shape::Date => 4,
            Shape::Exact
            | Shape::Double
            | Shape::Timestamp
            | Shape::TimestampIn(_)
            | Shape::TimestampNtz => 8,
            Shape::Decimal(..) => 16,
            _ => 0,
        }
    }

    /// Append a value of one width.
    #[inline]
    pub(super) fn push_fixed(&mut self, value: &[u8]) {
        self.data.extend_from_slice(value);
        self.valid.push(true);
    }

    pub(super) fn push_bool(&mut self, value: bool) {
        self.bits.push(value);
        self.valid.push(true);
    }

    /// End the value whose bytes are the last ones of `data`; false if Arrow cannot count them.
    #[inline]
    pub(super) fn push_bytes(&mut self) -> bool {
        let end = self.data.len();
        let fits = i32::try_from(end).is_ok();
        if fits {
            self.push_end(end);
            self.valid.push(true);
        }
        fits
    }

    pub(super) fn push_variant(&mut self) -> bool {
        let fits = self.variants.push();
        if fits {
            self.valid.push(true);
        }
        fits
    }

    /// The bytes of a value.
    pub(super) fn bytes(&self, at: usize) -> &[u8] {
        let end = |at: usize| usize::try_from(self.ends[at]).unwrap_or(0);
        &self.data[end(at)..end(at + 1)]
    }

    fn push_end(&mut self, end: usize) {
        self.ends.push(i32::try_from(end).unwrap_or(i32::MAX));
    }

    fn push_nothing(&mut self) {
        match self.shape {
            Shape::Boolean => self.bits.push(false),
            ref shape if Self::is_bytes(shape) => {
                let end = self.last_end();
                self.data.truncate(end);
                self.push_end(end);
            }
            Shape::Variant => self.variants.push_null(),
            _ => self.data.resize(self.data.len() + self.width(), 0),
        }
    }

    fn last_end(&self) -> usize {
        self.ends.last().map_or(0, |&end| usize::try_from(end).unwrap_or(0))
    }

    fn truncate_ends(&mut self, length: usize) -> usize {
        self.ends.truncate(length + 1);
        self.last_end()
    }

    fn truncate_values(&mut self, length: usize) {
        match self.shape {
            Shape::Boolean => self.bits.truncate(length),
            ref shape if Self::is_bytes(shape) => {
                let end = self.truncate_ends(length);
                self.data.truncate(end);
            }
            Shape::Variant => self.variants.truncate(length),
            _ => self.data.truncate(length * self.width()),
        }
    }

    fn take(&mut self) -> Buffers {
        let length = self.valid.len;
        let ends = std::mem::take(&mut self.ends);
        let data = std::mem::take(&mut self.data);
        let others = match self.shape {
            Shape::Boolean => vec![std::mem::take(&mut self.bits).bytes],
            ref shape if Self::is_bytes(shape) => vec![bytes_of(&ends), data],
            Shape::Array(_) | Shape::Map(_) => vec![bytes_of(&ends)],
            Shape::Struct(_) | Shape::Null => vec![],
            Shape::Variant => self.variants.take().into(),
            _ => vec![data],
        };
        if Self::has_ends(&self.shape) {
            self.ends.push(0);
        }
        let valid = std::mem::take(&mut self.valid);
        Buffers { length, validity: (!valid.all()).then_some(valid.bytes), others }
    }
}

pub(super) fn bytes_of(ends: &[i32]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(size_of_val(ends));
    for end in ends {
        bytes.extend_from_slice(&end.to_le_bytes());
    }
    bytes
}

/// Bits, the first one the lowest of its byte.
#[derive(Debug, Default)]
struct Bits {
    bytes: Vec<u8>,
    len: usize,
}

impl Bits {
    #[inline]
    fn push(&mut self, bit: bool) {
        let within = self.len % 8;
        match self.bytes.last_mut() {
            Some(last) if within > 0 => *last |= u8::from(bit) << within,
            _ => self.bytes.push(u8::from(bit)),
        }
        self.len += 1;
    }

    fn truncate(&mut self, len: usize) {
        if len >= self.len {
            return;
        }
        self.len = len;
        self.bytes.truncate(len.div_ceil(8));
        if let Some(last) = self.bytes.last_mut()
            && !len.is_multiple_of(8)
        {
            *last &= (1 << (len % 8)) - 1;
        }
    }

    fn all(&self) -> bool {
        let ones: usize = self.bytes.iter().map(|byte| byte.count_ones() as usize).sum();
        ones == self.len
    }
}
