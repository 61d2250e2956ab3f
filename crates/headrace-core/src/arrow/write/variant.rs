//! Spark's variant as JSON.
//!
//! A variant is a value in Spark's binary encoding: a header byte with its type, then its bytes,
//! little endian. The keys of all its objects are in its *metadata*. A type that JSON does not
//! have is written as a column of that type would be.

use std::cell::Cell;

use super::{
    Wrong,
    json_text::{float, quoted, spelled, write_base64, write_decimal, write_text},
    time::{write_date, write_timestamp},
};
use crate::value::{write_int, write_string};

/// The nesting depth that readers accept by default.
const DEEPEST: usize = 256;

/// One variant's keys.
pub(super) struct Variant<'a> {
    keys: Offsets<'a>,
    null_for_nan: bool,
    /// The most values that are left: each takes a byte, unless a damaged variant refers to one
    /// byte several times.
    left: Cell<usize>,
}

/// Byte offsets, stored as numbers of the same width.
struct Offsets<'a> {
    count: usize,
    width: usize,
    table: &'a [u8],
    data: &'a [u8],
}

impl<'a> Offsets<'a> {
    /// `count` numbers and the end, then what they are about.
    fn new(bytes: &'a [u8], count: usize, width: usize) -> Option<Self> {
        let (table, data) = bytes.split_at_checked(count.checked_add(1)?.checked_mul(width)?)?;
        Some(Self { count, width, table, data })
    }

    fn start(&self, index: usize) -> Option<usize> {
        number(self.table.get(index * self.width..)?, self.width)
    }

    /// What begins at this place, and whatever follows it.
    fn from(&self, index: usize) -> Option<&'a [u8]> {
        if index >= self.count {
            return None;
        }
        self.data.get(self.start(index)?..)
    }

    /// What is from this place to the next.
    fn between(&self, index: usize) -> Option<&'a [u8]> {
        if index >= self.count {
            return None;
        }
        self.data.get(self.start(index)?..self.start(index + 1)?)
    }
}

/// A number of `width` bytes, at most four.
fn number(bytes: &[u8], width: usize) -> Option<usize> {
    let bytes = bytes.get(..width)?;
    Some(bytes.iter().rev().fold(0, |sum, &byte| sum << 8 | usize::from(byte)))
}

fn fixed<const N: usize>(bytes: &[u8]) -> Option<[u8; N]> {
    bytes.first_chunk().copied()
}

/// Bytes behind their length.
fn sized(bytes: &[u8]) -> Option<&[u8]> {
    let length = number(bytes, 4)?;
    bytes.get(4..)?.get(..length)
}

impl<'a> Variant<'a> {
    pub(super) fn new(metadata: &'a [u8], null_for_nan: bool) -> Result<Self, Wrong> {
        let keys = || {
            let (&header, rest) = metadata.split_first()?;
            let width = usize::from(header >> 6) + 1;
            let count = number(rest, width)?;
            (header & 15 == 1).then(|| Offsets::new(&rest[width..], count, width))?
        };
        Ok(Self { keys: keys().ok_or_else(damaged)?, null_for_nan, left: Cell::new(0) })
    }

    pub(super) fn write(&self, value: &[u8], out: &mut Vec<u8>) -> Result<(), Wrong> {
        self.left.set(value.len());
        self.value(value, 0, out)
    }

    fn value(&self, value: &[u8], depth: usize, out: &mut Vec<u8>) -> Result<(), Wrong> {
        if depth > DEEPEST {
            return Err(Wrong::new(format!("the variant has more than {DEEPEST} levels")));
        }
        self.left.set(self.left.get().checked_sub(1).ok_or_else(damaged)?);
        let (&header, rest) = value.split_first().ok_or_else(damaged)?;
        let about = header >> 2;
        match header & 3 {
            0 => self.scalar(about, rest, out),
            1 => write_text(rest.get(..usize::from(about)).ok_or_else(damaged)?, out),
            2 => self.object(about, rest, depth, out),
            _ => self.array(about, rest, depth, out),
        }
    }

    fn object(
        &self,
        about: u8,
        bytes: &[u8],
        depth: usize,
        out: &mut Vec<u8>,
    ) -> Result<(), Wrong> {
        let offset_width = usize::from(about & 3) + 1;
        let key_width = usize::from(about >> 2 & 3) + 1;
        let parts = || {
            let (count, rest) = counted(bytes, about >> 4 & 1 == 1)?;
            let (keys, rest) = rest.split_at_checked(count.checked_mul(key_width)?)?;
            Some((keys, Offsets::new(rest, count, offset_width)?))
        };
        let (keys, values) = parts().ok_or_else(damaged)?;
        out.push(b'{');
        for (index, key) in keys.chunks_exact(key_width).enumerate() {
            if index > 0 {
                out.push(b',');
            }
            let key = number(key, key_width).and_then(|key| self.keys.between(key));
            let key = key.and_then(|key| std::str::from_utf8(key).ok()).ok_or_else(damaged)?;
            write_string(key, out);
            out.push(b':');
            let value = values.from(index).ok_or_else(damaged)?;
            self.value(value, depth + 1, out).map_err(|wrong| wrong.below(key))?;
        }
        out.push(b'}');
        Ok(())
    }

    fn array(&self, about: u8, bytes: &[u8], depth: usize, out: &mut Vec<u8>) -> Result<(), Wrong> {
        let values = counted(bytes, about >> 2 & 1 == 1)
            .and_then(|(count, rest)| Offsets::new(rest, count, usize::from(about & 3) + 1))
            .ok_or_else(damaged)?;
        out.push(b'[');
        for index in 0..values.count {
            if index > 0 {
                out.push(b',');
            }
            let value = values.from(index).ok_or_else(damaged)?;
            let below = |wrong: Wrong| wrong.below(&format!("[{index}]"));
            self.value(value, depth + 1, out).map_err(below)?;
        }
        out.push(b']');
        Ok(())
    }

    fn scalar(&self, about: u8, bytes: &[u8], out: &mut Vec<u8>) -> Result<(), Wrong> {
        let whole = |width| integer(bytes, width).ok_or_else(damaged);
        match about {
            0 => out.extend_from_slice(b"null"),
            1 => out.extend_from_slice(b"true"),
            2 => out.extend_from_slice(b"false"),
            3..=6 => write_int(whole(1 << (about - 3))?, out),
            7 => self.double(f64::from_le_bytes(fixed(bytes).ok_or_else(damaged)?), out)?,
            8..=10 => {
                let (unscaled, scale) = decimal(bytes, 4 << (about - 8)).ok_or_else(damaged)?;
                write_decimal(unscaled, scale, out);
            }
            11 => {
                let days = whole(4)?;
                quoted(out, |out| write_date(days, out));
            }
            12 | 13 => {
                let micros = whole(8)?;
                quoted(out, |out| write_timestamp(micros, about == 12, out));
            }
            14 => match f32::from_le_bytes(fixed(bytes).ok_or_else(damaged)?) {
                number if number.is_finite() => float(number, out),
                number => self.double(number.into(), out)?,
            },
            15 => write_base64(sized(bytes).ok_or_else(damaged)?, out),
            16 => write_text(sized(bytes).ok_or_else(damaged)?, out)?,
            _ => {
                return Err(Wrong::new(format!("the variant has a value of unknown type {about}")));
            }
        }
        Ok(())
    }

    fn double(&self, number: f64, out: &mut Vec<u8>) -> Result<(), Wrong> {
        match number {
            _ if number.is_finite() => float(number, out),
            _ if self.null_for_nan => out.extend_from_slice(b"null"),
            _ => return Err(Wrong::new(format!("{} has no JSON", spelled(number)))),
        }
        Ok(())
    }
}

fn integer(bytes: &[u8], width: usize) -> Option<i64> {
    Some(match width {
        1 => i64::from(i8::from_le_bytes(fixed(bytes)?)),
        2 => i64::from(i16::from_le_bytes(fixed(bytes)?)),
        4 => i64::from(i32::from_le_bytes(fixed(bytes)?)),
        _ => i64::from_le_bytes(fixed(bytes)?),
    })
}

fn decimal(bytes: &[u8], width: usize) -> Option<(i128, i32)> {
    let (&scale, rest) = bytes.split_first()?;
    let unscaled = match width {
        16 => i128::from_le_bytes(fixed(rest)?),
        _ => integer(rest, width)?.into(),
    };
    Some((unscaled, scale.into()))
}

/// A count of one byte or four, and what follows it.
fn counted(bytes: &[u8], large: bool) -> Option<(usize, &[u8])> {
    let width = if large { 4 } else { 1 };
    Some((number(bytes, width)?, &bytes[width..]))
}

fn damaged() -> Wrong {
    Wrong::new("the variant is damaged")
}
