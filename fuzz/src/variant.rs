//! Any bytes as a variant.

use headrace_core::{
    arrow::write::{Column, Kind, Lines, Style},
    json::{Limits, check},
};

/// What comes out is refused, or JSON.
pub fn variant(bytes: &[u8]) {
    let Some((&length, rest)) = bytes.split_first() else { return };
    let (metadata, value) = rest.split_at(usize::from(length).min(rest.len()));
    let children = vec![binary(value), binary(metadata)];
    let variant = column(Kind::Variant, None, None, children);
    let batch = column(Kind::Struct(vec!["v".to_owned().into()]), None, None, vec![variant]);
    let style = Style { skip_nulls: length % 2 == 0, null_for_nan: length % 3 == 0 };
    let mut out = Vec::new();
    match Lines::objects(batch, style).next(1, &mut out) {
        Ok(_) => check(out.trim_ascii_end(), &Limits { max_depth: 300 }).expect("it is JSON"),
        Err(fault) => assert_eq!((fault.row, out.len()), (0, 0)),
    }
}

fn binary(bytes: &[u8]) -> Column<Vec<u8>> {
    let end = i32::try_from(bytes.len()).expect("inputs are short");
    let offsets = [0_i32.to_le_bytes(), end.to_le_bytes()].concat();
    column(Kind::Binary(4), Some(offsets), Some(bytes.to_vec()), Vec::new())
}

fn column(
    kind: Kind,
    buffer: Option<Vec<u8>>,
    data: Option<Vec<u8>>,
    children: Vec<Column<Vec<u8>>>,
) -> Column<Vec<u8>> {
    Column { kind, length: 1, offset: 0, validity: None, buffer, data, children }
}
