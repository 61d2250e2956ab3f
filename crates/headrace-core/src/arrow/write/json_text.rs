//! One value as JSON.

use std::io::Write;

use base64::{Engine, engine::general_purpose::STANDARD};

use super::{
    Style, Wrong,
    column::{Column, Kind},
    time::{write_date, write_timestamp},
    variant::Variant,
};
use crate::value::{write_int, write_string};

/// Appends values to `out`.
pub(super) struct Writer<'a> {
    pub(super) style: Style,
    pub(super) out: &'a mut Vec<u8>,
}

impl Writer<'_> {
    /// A value of a column of kind [`Kind::Struct`].
    pub(super) fn object<B: AsRef<[u8]>>(
        &mut self,
        column: &Column<B>,
        at: usize,
    ) -> Result<(), Wrong> {
        let Kind::Struct(keys) = &column.kind else { return Err(Wrong::damaged()) };
        let mut separator = b'{';
        for (key, child) in keys.iter().zip(&column.children) {
            let below = |wrong: Wrong| wrong.below(&key.name);
            let null = self.is_null(child, at).map_err(below)?;
            if null && self.style.skip_nulls {
                continue;
            }
            self.out.push(separator);
            separator = b',';
            self.out.extend_from_slice(&key.written);
            self.value_or_null(child, at, null).map_err(below)?;
        }
        if separator == b'{' {
            self.out.push(b'{');
        }
        self.out.push(b'}');
        Ok(())
    }

    /// Whether it is null, or to be written as such.
    fn is_null<B: AsRef<[u8]>>(&self, column: &Column<B>, at: usize) -> Result<bool, Wrong> {
        if column.is_null(at) {
            return Ok(true);
        }
        let number = match column.kind {
            Kind::Float => f32::from_le_bytes(fixed(column, at)?).into(),
            Kind::Double => f64::from_le_bytes(fixed(column, at)?),
            _ => return Ok(false),
        };
        match number {
            _ if number.is_finite() => Ok(false),
            _ if self.style.null_for_nan => Ok(true),
            _ => Err(Wrong::new(format!("{} has no JSON", spelled(number)))),
        }
    }

    fn value_or_null<B: AsRef<[u8]>>(
        &mut self,
        column: &Column<B>,
        at: usize,
        null: bool,
    ) -> Result<(), Wrong> {
        if null {
            self.out.extend_from_slice(b"null");
            return Ok(());
        }
        match &column.kind {
            Kind::Struct(_) => self.object(column, at),
            Kind::List(width) => self.array(column, at, *width),
            Kind::Map => self.map(column, at),
            Kind::Variant => self.variant(column, at),
            _ => self.scalar(column, at),
        }
    }

    fn array<B: AsRef<[u8]>>(
        &mut self,
        column: &Column<B>,
        at: usize,
        width: usize,
    ) -> Result<(), Wrong> {
        let [child] = column.children.as_slice() else { return Err(Wrong::damaged()) };
        let range = within(column.range(at, width), child)?;
        self.out.push(b'[');
        for element in range.clone() {
            if element > range.start {
                self.out.push(b',');
            }
            let below = |wrong: Wrong| wrong.below(&format!("[{}]", element - range.start));
            let null = self.is_null(child, element).map_err(below)?;
            self.value_or_null(child, element, null).map_err(below)?;
        }
        self.out.push(b']');
        Ok(())
    }

    fn map<B: AsRef<[u8]>>(&mut self, column: &Column<B>, at: usize) -> Result<(), Wrong> {
        let [keys, values] = column.children.as_slice() else { return Err(Wrong::damaged()) };
        let range = within(within(column.range(at, 4), keys).ok(), values)?;
        self.out.push(b'{');
        for element in range.clone() {
            if element > range.start {
                self.out.push(b',');
            }
            let start = self.out.len();
            self.key(keys, element)?;
            let key = String::from_utf8_lossy(&self.out[start..]).into_owned();
            self.out.push(b':');
            let below = |wrong: Wrong| wrong.below(&format!("[{key}]"));
            let null = self.is_null(values, element).map_err(below)?;
            self.value_or_null(values, element, null).map_err(below)?;
        }
        self.out.push(b'}');
        Ok(())
    }

    /// Whatever is a string in JSON is the key as it is, the text of anything else gets quotes.
    fn key<B: AsRef<[u8]>>(&mut self, keys: &Column<B>, at: usize) -> Result<(), Wrong> {
        let finite = Style { null_for_nan: false, ..self.style };
        if (Writer { style: finite, out: self.out }).is_null(keys, at)? {
            return Err(Wrong::new("a key is null"));
        }
        let quoted =
            matches!(keys.kind, Kind::Text(_) | Kind::Binary(_) | Kind::Date | Kind::Timestamp(_));
        if quoted {
            return self.scalar(keys, at);
        }
        self.out.push(b'"');
        self.scalar(keys, at)?;
        self.out.push(b'"');
        Ok(())
    }

    fn scalar<B: AsRef<[u8]>>(&mut self, column: &Column<B>, at: usize) -> Result<(), Wrong> {
        let out = &mut *self.out;
        let whole = |width| column.int_at(at, width).ok_or_else(Wrong::damaged);
        let bytes = || column.bytes_at(at).ok_or_else(Wrong::damaged);
        match column.kind {
            Kind::Bool => {
                let value = column.bool_at(at).ok_or_else(Wrong::damaged)?;
                out.extend_from_slice(if value { b"true" } else { b"false" });
            }
            Kind::Int(width) => write_int(whole(width)?, out),
            Kind::Float => float(f32::from_le_bytes(fixed(column, at)?), out),
            Kind::Double => float(f64::from_le_bytes(fixed(column, at)?), out),
            Kind::Decimal(scale) => {
                write_decimal(i128::from_le_bytes(fixed(column, at)?), scale, out);
            }
            Kind::Date => {
                let days = whole(4)?;
                quoted(out, |out| write_date(days, out));
            }
            Kind::Timestamp(utc) => {
                let micros = whole(8)?;
                quoted(out, |out| write_timestamp(micros, utc, out));
            }
            Kind::Text(_) => write_text(bytes()?, out)?,
            Kind::Binary(_) => write_base64(bytes()?, out),
            _ => return Err(Wrong::damaged()),
        }
        Ok(())
    }

    fn variant<B: AsRef<[u8]>>(&mut self, column: &Column<B>, at: usize) -> Result<(), Wrong> {
        let [value, metadata] = column.children.as_slice() else { return Err(Wrong::damaged()) };
        let (Some(value), Some(metadata)) = (value.bytes_at(at), metadata.bytes_at(at)) else {
            return Err(Wrong::damaged());
        };
        Variant::new(metadata, self.style.null_for_nan)?.write(value, self.out)
    }
}

fn fixed<const N: usize, B: AsRef<[u8]>>(column: &Column<B>, at: usize) -> Result<[u8; N], Wrong> {
    column.fixed(at).ok_or_else(Wrong::damaged)
}

/// A range, if all of it is in `child`.
fn within<B>(
    range: Option<std::ops::Range<usize>>,
    child: &Column<B>,
) -> Result<std::ops::Range<usize>, Wrong> {
    range.filter(|range| range.end <= child.length).ok_or_else(Wrong::damaged)
}

pub(super) fn spelled(number: f64) -> &'static str {
    match number {
        _ if number.is_nan() => "NaN",
        _ if number > 0.0 => "Infinity",
        _ => "-Infinity",
    }
}

/// The shortest text that is read back as the same number; it is finite.
pub(super) fn float(number: impl ryu::Float, out: &mut Vec<u8>) {
    out.extend_from_slice(ryu::Buffer::new().format_finite(number).as_bytes());
}

pub(super) fn write_text(bytes: &[u8], out: &mut Vec<u8>) -> Result<(), Wrong> {
    let text = simdutf8::compat::from_utf8(bytes)
        .map_err(|error| Wrong::new(format!("byte {} is not UTF-8", error.valid_up_to())))?;
    write_string(text, out);
    Ok(())
}

pub(super) fn quoted(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    out.push(b'"');
    write(out);
    out.push(b'"');
}

pub(super) fn write_base64(bytes: &[u8], out: &mut Vec<u8>) {
    quoted(out, |out| out.extend_from_slice(STANDARD.encode(bytes).as_bytes()));
}

/// All digits, never an exponent.
pub(super) fn write_decimal(unscaled: i128, scale: i32, out: &mut Vec<u8>) {
    if unscaled < 0 {
        out.push(b'-');
    }
    let digits = unscaled.unsigned_abs().to_string();
    let behind = usize::try_from(scale).unwrap_or(0);
    if behind == 0 {
        out.extend_from_slice(digits.as_bytes());
        let zeros = if unscaled == 0 { 0 } else { scale.unsigned_abs() as usize };
        out.resize(out.len() + zeros, b'0');
        return;
    }
    let width = behind + 1;
    let digits = format!("{digits:0>width$}");
    let (whole, fraction) = digits.split_at(digits.len() - behind);
    // A vector takes everything.
    let _ = write!(out, "{whole}.{fraction}");
}
