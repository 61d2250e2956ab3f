//! One column of a batch, as Arrow lays it out.

use crate::value::write_string;

/// The type of the values of a column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// All of them null.
    Null,
    /// A bit each.
    Bool,
    /// Integers; their width in bytes: 1, 2, 4 or 8.
    Int(usize),
    /// Numbers of four bytes.
    Float,
    /// Numbers of eight bytes.
    Double,
    /// Integers of sixteen bytes; their scale.
    Decimal(i32),
    /// UTF-8; the width of its offsets: 4 or 8.
    Text(usize),
    /// Bytes; the width of their offsets.
    Binary(usize),
    /// Days since 1970, four bytes.
    Date,
    /// Microseconds since 1970, eight bytes; true in UTC, false without a zone.
    Timestamp(bool),
    /// A child for each of these keys.
    Struct(Vec<Key>),
    /// Arrays of values of the only child; the width of the offsets.
    List(usize),
    /// Keys and values in two children, with offsets of four bytes.
    Map,
    /// Any JSON value and more, in Spark's encoding: value and metadata in two children.
    Variant,
}

/// A key of a struct.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    /// Its name.
    pub name: String,
    /// As it stands in a line, with its quotes and its colon.
    pub(super) written: Vec<u8>,
}

impl From<String> for Key {
    fn from(name: String) -> Self {
        let mut written = Vec::with_capacity(name.len() + 3);
        write_string(&name, &mut written);
        written.push(b':');
        Self { name, written }
    }
}

/// Values of one kind.
///
/// `offset` is where they begin in `validity` and `buffer`, in values.
#[derive(Debug)]
pub struct Column<B> {
    /// The type of the values.
    pub kind: Kind,
    /// The number of values.
    pub length: usize,
    /// How many stand before them.
    pub offset: usize,
    /// A bit for each that is not null; none if all are not.
    pub validity: Option<B>,
    /// The values, or where each of them begins in `data` or the child, and the end.
    pub buffer: Option<B>,
    /// The bytes of text.
    pub data: Option<B>,
    /// What the values are made of.
    pub children: Vec<Column<B>>,
}

impl<B: AsRef<[u8]>> Column<B> {
    /// Whether there is no value; also where the bits end too early.
    pub fn is_null(&self, at: usize) -> bool {
        let Some(bits) = &self.validity else { return self.kind == Kind::Null };
        !bit(bits.as_ref(), self.offset + at).unwrap_or(false)
    }

    /// The value at a position, `N` bytes wide.
    pub(super) fn fixed<const N: usize>(&self, at: usize) -> Option<[u8; N]> {
        let start = self.offset.checked_add(at)?.checked_mul(N)?;
        let bytes = self.buffer.as_ref()?.as_ref().get(start..start.checked_add(N)?)?;
        bytes.try_into().ok()
    }

    pub(super) fn bool_at(&self, at: usize) -> Option<bool> {
        bit(self.buffer.as_ref()?.as_ref(), self.offset + at)
    }

    pub(super) fn int_at(&self, at: usize, width: usize) -> Option<i64> {
        Some(match width {
            1 => i64::from(i8::from_le_bytes(self.fixed(at)?)),
            2 => i64::from(i16::from_le_bytes(self.fixed(at)?)),
            4 => i64::from(i32::from_le_bytes(self.fixed(at)?)),
            8 => i64::from_le_bytes(self.fixed(at)?),
            _ => return None,
        })
    }

    /// Text or bytes.
    pub(super) fn bytes_at(&self, at: usize) -> Option<&[u8]> {
        let (Kind::Text(width) | Kind::Binary(width)) = self.kind else { return None };
        let range = self.range(at, width)?;
        match &self.data {
            Some(data) => data.as_ref().get(range),
            // Arrow may leave out a buffer of no bytes.
            None => range.is_empty().then_some(&[]),
        }
    }

    /// Where the elements of a value are in the data or the child.
    pub(super) fn range(&self, at: usize, width: usize) -> Option<std::ops::Range<usize>> {
        let begin = usize::try_from(self.int_at(at, width)?).ok()?;
        let end = usize::try_from(self.int_at(at.checked_add(1)?, width)?).ok()?;
        (begin <= end).then_some(begin..end)
    }
}

fn bit(bits: &[u8], at: usize) -> Option<bool> {
    Some(bits.get(at / 8)? >> (at % 8) & 1 == 1)
}
