//! One row into the columns, while it is being checked.

use base64::{
    Engine,
    alphabet::STANDARD,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};

use super::{
    Filling, Shape,
    buffers::{Column, ColumnId, Inside, ROOT, Table},
    infer::EXACT,
    number,
    time::{self, Place},
};
use crate::json::{self, Visitor};

/// With padding or without.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// As many bytes of a value are shown in a message.
const SHOWN: usize = 40;

/// Memory that is used again for each row.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    open: Vec<Open>,
    text: String,
    /// Where the keys of open maps stand in the line.
    places: Vec<usize>,
    order: Vec<usize>,
    /// Where the keys stand that come again later in the same object.
    repeated: Vec<usize>,
    /// Whether one of them is a key of a map.
    in_map: bool,
}

/// A value that is not of the type of its column.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Mismatch {
    /// The byte of the line where its field is named; 0 for the row itself.
    pub(super) offset: usize,
    pub(super) reason: String,
}

/// A container of the row that has not ended.
#[derive(Clone, Copy, Debug)]
struct Open {
    column: ColumnId,
    /// Of a map: where its keys begin in the column of keys, and among the places.
    first: (usize, usize),
}

/// Where the next values go.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// Each goes to its column.
    Values,
    /// Into no column: they are in an unread container, at this depth.
    Unwanted(u32),
    /// They are written to a column of strings, so deep in a container.
    Json(u32),
    /// They are part of a variant.
    Variant,
}

/// Puts the parts of a row into the columns.
pub(super) struct Filler<'t> {
    table: &'t mut Table,
    scratch: &'t mut Scratch,
    /// Where the line is in memory.
    base: usize,
    /// The column of the value that comes next.
    target: ColumnId,
    mode: Mode,
    key_at: usize,
    is_strict: bool,
    leave_out: bool,
    pub(super) mismatch: Option<Mismatch>,
}

impl<'t> Filler<'t> {
    pub(super) fn new(
        table: &'t mut Table,
        scratch: &'t mut Scratch,
        line: &[u8],
        filling: Filling,
    ) -> Self {
        let Filling { target, is_strict, leave_out } = filling;
        scratch.open.clear();
        scratch.places.clear();
        if leave_out {
            scratch.repeated.sort_unstable();
        } else {
            scratch.repeated.clear();
            scratch.in_map = false;
        }
        Self {
            table,
            scratch,
            base: line.as_ptr() as usize,
            target,
            mode: Mode::Values,
            key_at: 0,
            is_strict,
            leave_out,
            mismatch: None,
        }
    }

    /// Whether the row must be walked again, without the keys that are repeated: what a map has
    /// cannot be replaced, and whether a mismatch was replaced is not known.
    pub(super) fn must_leave_out(&self) -> bool {
        self.scratch.in_map || (self.mismatch.is_some() && !self.scratch.repeated.is_empty())
    }

    fn is_left_out(&self) -> bool {
        self.leave_out && self.scratch.repeated.binary_search(&self.key_at).is_ok()
    }

    fn column(&mut self) -> &mut Column {
        &mut self.table.columns[self.target]
    }

    /// The value that came has no place in its column.
    #[cold]
    fn refuse(&mut self, what: &str) {
        self.table.push_null(self.target);
        self.note(self.target, what);
    }

    /// Only the first mismatch of a row is reported.
    fn note(&mut self, column: ColumnId, what: &str) {
        let Column { path, shape, .. } = &self.table.columns[column];
        let reason = match (&**path, shape) {
            ("", Shape::Struct(_)) => format!("the row is {what}, not an object"),
            ("", _) => format!("the row is {what}, which does not fit {shape}"),
            (path, _) => format!("{path} is {what}, which does not fit {shape}"),
        };
        self.mismatch.get_or_insert(Mismatch { offset: self.key_at, reason });
    }

    #[cold]
    fn refuse_number(&mut self, text: &str) {
        self.refuse(&shown(text));
    }

    #[cold]
    fn refuse_string(&mut self, text: &str) {
        self.refuse(&format!("\"{}\"", shown(text)));
    }

    fn container(&mut self, is_object: bool) {
        match self.mode {
            Mode::Values => self.begin_value(is_object),
            Mode::Unwanted(depth) => self.mode = Mode::Unwanted(depth + 1),
            Mode::Json(depth) => {
                self.write_json(if is_object { b"{" } else { b"[" });
                self.mode = Mode::Json(depth + 1);
            }
            Mode::Variant => self.column().variants.begin(is_object),
        }
    }

    fn begin_value(&mut self, is_object: bool) {
        let column = self.target;
        match (&self.table.columns[column].shape, is_object) {
            (Shape::Struct(_), true) => {
                self.scratch.open.push(Open { column, first: (0, 0) });
            }
            (Shape::Map(_), true) => {
                let keys = self.table.begin(column);
                let first = (keys, self.scratch.places.len());
                self.scratch.open.push(Open { column, first });
            }
            (Shape::Array(_), false) => {
                self.scratch.open.push(Open { column, first: (0, 0) });
                self.next_element();
            }
            (shape, _) if takes_json(shape, self.is_strict) => {
                self.mode = Mode::Json(1);
                self.column().data.push(if is_object { b'{' } else { b'[' });
            }
            (Shape::Variant, _) => {
                self.mode = Mode::Variant;
                self.column().variants.begin(is_object);
            }
            _ => {
                self.refuse(if is_object { "an object" } else { "an array" });
                self.mode = Mode::Unwanted(1);
            }
        }
    }

    /// If the innermost container is an array, what comes next is an element of it.
    fn next_element(&mut self) {
        if let Some(open) = self.scratch.open.last()
            && let Inside::Elements(element) = self.table.columns[open.column].inside
        {
            self.target = element;
        }
    }

    fn end(&mut self, end: u8) {
        match self.mode {
            Mode::Values => self.end_value(),
            Mode::Unwanted(1) => self.mode = Mode::Values,
            Mode::Unwanted(depth) => self.mode = Mode::Unwanted(depth - 1),
            Mode::Json(depth) => {
                self.column().data.push(end);
                self.mode = Mode::Json(depth - 1);
                if depth == 1 {
                    self.mode = Mode::Values;
                    self.end_bytes();
                }
            }
            Mode::Variant => {
                self.column().variants.end();
                if !self.column().variants.is_open() {
                    self.mode = Mode::Values;
                    self.end_variant();
                }
            }
        }
    }

    fn end_value(&mut self) {
        let Some(open) = self.scratch.open.pop() else { return };
        if let Inside::Entries(keys, _) = self.table.columns[open.column].inside {
            self.find_repeated(keys, open);
        }
        self.table.push_container(open.column);
        self.next_element();
    }

    fn end_bytes(&mut self) {
        if !self.column().push_bytes() {
            self.refuse("too long for one batch");
        }
    }

    fn end_variant(&mut self) {
        if !self.column().push_variant() {
            self.refuse("too long for one batch");
        }
    }

    /// Look for keys of a map that come again in it.
    fn find_repeated(&mut self, keys: ColumnId, open: Open) {
        let Scratch { places, order, repeated, in_map, .. } = &mut *self.scratch;
        let (first_key, first_place) = open.first;
        let count = places.len() - first_place;
        if count > 1 && !self.leave_out {
            let key = |at: usize| self.table.columns[keys].bytes(first_key + at);
            order.clear();
            order.extend(0..count);
            order.sort_unstable_by(|&a, &b| key(a).cmp(key(b)).then(a.cmp(&b)));
            for pair in order.windows(2) {
                if key(pair[0]) == key(pair[1]) {
                    repeated.push(places[first_place + pair[0]]);
                    *in_map = true;
                }
            }
        }
        places.truncate(first_place);
    }

    fn field(&mut self, object: ColumnId, raw: &str, has_escapes: bool) -> bool {
        if self.is_left_out() {
            return false;
        }
        let length = self.table.len(object);
        let Inside::Fields(fields) = &mut self.table.columns[object].inside else {
            return false;
        };
        let name = if has_escapes { json::unescape(raw, &mut self.scratch.text) } else { raw };
        let Some(found) = fields.find(name) else {
            if self.is_strict {
                let dot = if object == ROOT { "" } else { "." };
                let path = &self.table.columns[object].path;
                let reason = format!("no column has the field {path}{dot}{}", shown(raw));
                self.mismatch.get_or_insert(Mismatch { offset: self.key_at, reason });
            }
            return false;
        };
        self.target = found;
        if self.table.len(self.target) > length {
            self.table.truncate(self.target, length);
            self.scratch.repeated.push(self.table.columns[self.target].key_at);
        }
        self.table.columns[self.target].key_at = self.key_at;
        true
    }

    fn entry(&mut self, keys: ColumnId, values: ColumnId, raw: &str, has_escapes: bool) -> bool {
        if self.is_left_out() {
            return false;
        }
        let name = if has_escapes { json::unescape(raw, &mut self.scratch.text) } else { raw };
        self.scratch.places.push(self.key_at);
        let column = &mut self.table.columns[keys];
        column.data.extend_from_slice(name.as_bytes());
        if !column.push_bytes() {
            self.table.truncate(keys, self.table.len(values));
            self.scratch.places.pop();
            self.note(values, "too long for one batch");
            return false;
        }
        self.target = values;
        true
    }

    /// Write a part of a value that is kept as JSON, with the comma in front of it.
    fn write_json(&mut self, part: &[u8]) {
        let data = &mut self.column().data;
        if !matches!(data.last(), Some(b'{' | b'[' | b':')) {
            data.push(b',');
        }
        data.extend_from_slice(part);
    }

    fn write_json_string(&mut self, raw: &str) {
        self.write_json(b"\"");
        let data = &mut self.column().data;
        data.extend_from_slice(raw.as_bytes());
        data.push(b'"');
    }

    /// A string, in a column that has it as JSON.
    fn push_json_string(&mut self, raw: &str) {
        let data = &mut self.column().data;
        data.push(b'"');
        data.extend_from_slice(raw.as_bytes());
        data.push(b'"');
        self.end_bytes();
    }

    fn push_text(&mut self, text: &[u8]) {
        self.column().data.extend_from_slice(text);
        self.end_bytes();
    }

    fn push_number(&mut self, text: &str, is_integer: bool) -> bool {
        let column = &mut self.table.columns[self.target];
        match column.shape {
            Shape::Integer(8) if is_integer => {
                fixed(column, text.parse().ok().map(i64::to_le_bytes))
            }
            Shape::Integer(4) if is_integer => {
                fixed(column, text.parse().ok().map(i32::to_le_bytes))
            }
            Shape::Integer(2) if is_integer => {
                fixed(column, text.parse().ok().map(i16::to_le_bytes))
            }
            Shape::Integer(_) if is_integer => {
                fixed(column, text.parse().ok().map(i8::to_le_bytes))
            }
            Shape::Exact if is_integer => {
                let value = text.parse().ok().filter(|value: &i64| value.unsigned_abs() <= EXACT);
                fixed(column, value.map(i64::to_le_bytes))
            }
            Shape::Double => {
                let value = text.parse().ok().filter(|value: &f64| value.is_finite());
                fixed(column, value.map(f64::to_le_bytes))
            }
            Shape::Float => {
                let value = text.parse().ok().filter(|value: &f32| value.is_finite());
                fixed(column, value.map(f32::to_le_bytes))
            }
            Shape::Decimal(precision, scale) => {
                fixed(column, number::decimal(text, precision, scale).map(i128::to_le_bytes))
            }
            Shape::Timestamp | Shape::TimestampIn(_) if is_integer => {
                let seconds = text.parse::<i64>().ok();
                let micros = seconds.and_then(|seconds| seconds.checked_mul(1_000_000));
                fixed(column, micros.map(i64::to_le_bytes))
            }
            ref shape if takes_json(shape, self.is_strict) => {
                self.push_text(text.as_bytes());
                true
            }
            Shape::Variant => {
                let fits = column.variants.number(text, is_integer);
                if fits {
                    self.end_variant();
                }
                fits
            }
            _ => false,
        }
    }

    fn push_string(&mut self, text: &str) -> bool {
        let column = &mut self.table.columns[self.target];
        match column.shape {
            Shape::String => {
                self.push_text(text.as_bytes());
                true
            }
            Shape::Variant => {
                column.variants.string(text);
                self.end_variant();
                true
            }
            Shape::Date => fixed(column, time::date(text).map(i32::to_le_bytes)),
            Shape::Timestamp => {
                fixed(column, time::timestamp(text, Place::Utc).map(i64::to_le_bytes))
            }
            Shape::TimestampIn(ref zone) => {
                let micros = time::timestamp(text, Place::In(zone));
                fixed(column, micros.map(i64::to_le_bytes))
            }
            Shape::TimestampNtz => {
                fixed(column, time::timestamp(text, Place::Nowhere).map(i64::to_le_bytes))
            }
            Shape::Decimal(precision, scale) if !self.is_strict => {
                fixed(column, number::decimal(text, precision, scale).map(i128::to_le_bytes))
            }
            Shape::Double if !self.is_strict => {
                fixed(column, number::not_finite(text).map(f64::to_le_bytes))
            }
            #[allow(clippy::cast_possible_truncation, reason = "what is not finite stays so")]
            Shape::Float if !self.is_strict => {
                fixed(column, number::not_finite(text).map(|value| (value as f32).to_le_bytes()))
            }
            Shape::Binary => {
                let decoded = BASE64.decode_vec(text, &mut column.data).is_ok();
                if decoded {
                    self.end_bytes();
                }
                decoded
            }
            _ => false,
        }
    }
}

/// Whether values that are no strings go into a column as JSON.
fn takes_json(shape: &Shape, is_strict: bool) -> bool {
    *shape == Shape::Json || (*shape == Shape::String && !is_strict)
}

/// Append a value of one width, if there is one.
#[inline]
fn fixed<const N: usize>(column: &mut Column, value: Option<[u8; N]>) -> bool {
    if let Some(value) = value {
        column.push_fixed(&value);
    }
    value.is_some()
}

fn shown(text: &str) -> String {
    let mut end = SHOWN.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    if end < text.len() { format!("{}…", &text[..end]) } else { text.to_owned() }
}

impl Visitor for Filler<'_> {
    fn null(&mut self) {
        match self.mode {
            Mode::Values if self.table.columns[self.target].shape == Shape::Variant => {
                self.column().variants.null();
                self.end_variant();
            }
            Mode::Values if self.target == ROOT => self.refuse("null"),
            Mode::Values => self.table.push_null(self.target),
            Mode::Unwanted(_) => {}
            Mode::Json(_) => self.write_json(b"null"),
            Mode::Variant => self.column().variants.null(),
        }
    }

    fn boolean(&mut self, value: bool) {
        let text = if value { "true" } else { "false" };
        match self.mode {
            Mode::Values => {
                let column = &mut self.table.columns[self.target];
                match column.shape {
                    Shape::Boolean => column.push_bool(value),
                    ref shape if takes_json(shape, self.is_strict) => {
                        self.push_text(text.as_bytes());
                    }
                    Shape::Variant => {
                        column.variants.boolean(value);
                        self.end_variant();
                    }
                    _ => self.refuse(text),
                }
            }
            Mode::Unwanted(_) => {}
            Mode::Json(_) => self.write_json(text.as_bytes()),
            Mode::Variant => self.column().variants.boolean(value),
        }
    }

    fn number(&mut self, text: &str, is_integer: bool) {
        match self.mode {
            Mode::Values => {
                if !self.push_number(text, is_integer) {
                    self.refuse_number(text);
                }
            }
            Mode::Unwanted(_) => {}
            Mode::Json(_) => self.write_json(text.as_bytes()),
            Mode::Variant => {
                if !self.column().variants.number(text, is_integer) {
                    let what = format!("a container of {}", shown(text));
                    self.note(self.target, &what);
                }
            }
        }
    }

    fn string(&mut self, raw: &str, has_escapes: bool) {
        if let Mode::Unwanted(_) = self.mode {
            return;
        }
        if let Mode::Json(_) = self.mode {
            self.write_json_string(raw);
            return;
        }
        if self.mode == Mode::Values && self.table.columns[self.target].shape == Shape::Json {
            self.push_json_string(raw);
            return;
        }
        // Taken out, since `self` is used while it is borrowed.
        let mut scratch = std::mem::take(&mut self.scratch.text);
        let text = if has_escapes { json::unescape(raw, &mut scratch) } else { raw };
        if self.mode == Mode::Variant {
            self.column().variants.string(text);
        } else if !self.push_string(text) {
            self.refuse_string(text);
        }
        self.scratch.text = scratch;
    }

    fn key(&mut self, raw: &str, has_escapes: bool) -> bool {
        match self.mode {
            Mode::Values => {
                self.key_at = raw.as_ptr() as usize - self.base;
                let Some(&Open { column, .. }) = self.scratch.open.last() else { return false };
                match self.table.columns[column].inside {
                    Inside::Entries(keys, values) => self.entry(keys, values, raw, has_escapes),
                    _ => self.field(column, raw, has_escapes),
                }
            }
            Mode::Unwanted(_) => false,
            Mode::Json(_) => {
                self.write_json_string(raw);
                self.column().data.push(b':');
                true
            }
            Mode::Variant => {
                let mut scratch = std::mem::take(&mut self.scratch.text);
                let name = if has_escapes { json::unescape(raw, &mut scratch) } else { raw };
                self.column().variants.key(name);
                self.scratch.text = scratch;
                true
            }
        }
    }

    #[inline]
    fn object_kind(&self) -> u32 {
        let wanted = u32::MAX;
        match self.mode {
            Mode::Values => match self.scratch.open.last() {
                Some(open) => u32::try_from(open.column).unwrap_or(wanted),
                None => wanted,
            },
            Mode::Unwanted(_) => u32::MAX - 1,
            Mode::Json(_) | Mode::Variant => wanted,
        }
    }

    fn begin_object(&mut self) {
        self.container(true);
    }

    fn end_object(&mut self) {
        self.end(b'}');
    }

    fn begin_array(&mut self) {
        self.container(false);
    }

    fn end_array(&mut self) {
        self.end(b']');
    }
}
