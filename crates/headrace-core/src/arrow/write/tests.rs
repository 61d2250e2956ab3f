use super::*;

const STYLE: Style = Style { skip_nulls: true, null_for_nan: false };

fn column(kind: Kind, length: usize, buffer: Vec<u8>) -> Column<Vec<u8>> {
    Column {
        kind,
        length,
        offset: 0,
        validity: None,
        buffer: Some(buffer),
        data: None,
        children: Vec::new(),
    }
}

fn ints(values: &[i32]) -> Column<Vec<u8>> {
    let bytes = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    column(Kind::Int(4), values.len(), bytes)
}

fn doubles(values: &[f64]) -> Column<Vec<u8>> {
    let bytes = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    column(Kind::Double, values.len(), bytes)
}

fn texts(kind: Kind, values: &[&[u8]]) -> Column<Vec<u8>> {
    let mut ends = vec![0];
    let mut data = Vec::new();
    for value in values {
        data.extend_from_slice(value);
        ends.push(i32::try_from(data.len()).unwrap());
    }
    let offsets = ends.iter().flat_map(|end| end.to_le_bytes()).collect();
    Column { data: Some(data), ..column(kind, values.len(), offsets) }
}

fn batch(names: &[&str], children: Vec<Column<Vec<u8>>>) -> Column<Vec<u8>> {
    let length = children[0].length;
    let names = names.iter().map(|name| Key::from(name.to_string())).collect();
    Column { children, ..column(Kind::Struct(names), length, Vec::new()) }
}

fn all(mut lines: Lines<Vec<u8>>) -> Result<String, Fault> {
    let mut out = Vec::new();
    while lines.next(out.len() + 1, &mut out)? {}
    Ok(String::from_utf8(out).unwrap())
}

#[test]
fn a_row_is_an_object_without_its_nulls() {
    let first = Column { validity: Some(vec![0b01]), ..ints(&[1, 2]) };
    let rows = || batch(&["a", "b\n"], vec![Column { ..first_of(&first) }, ints(&[3, 4])]);
    let shown = all(Lines::objects(rows(), STYLE)).unwrap();
    assert_eq!(shown, "{\"a\":1,\"b\\n\":3}\n{\"b\\n\":4}\n");
    let style = Style { skip_nulls: false, ..STYLE };
    let shown = all(Lines::objects(rows(), style)).unwrap();
    assert_eq!(shown, "{\"a\":1,\"b\\n\":3}\n{\"a\":null,\"b\\n\":4}\n");
}

fn first_of(column: &Column<Vec<u8>>) -> Column<Vec<u8>> {
    Column {
        kind: column.kind.clone(),
        validity: column.validity.clone(),
        buffer: column.buffer.clone(),
        data: None,
        children: Vec::new(),
        ..*column
    }
}

#[test]
fn what_has_no_json_is_named() {
    let list = Column { children: vec![doubles(&[1.0, f64::NAN])], ..ints(&[0, 2]) };
    let list = Column { kind: Kind::List(4), length: 1, ..list };
    let rows = batch(&["a"], vec![batch(&["b"], vec![list])]);
    let fault = all(Lines::objects(rows, STYLE)).unwrap_err();
    assert_eq!((fault.row, fault.path.as_str()), (0, "a.b[1]"));
    assert_eq!(fault.reason, "NaN has no JSON");

    let rows = batch(&["x"], vec![doubles(&[f64::INFINITY, 0.5])]);
    let style = Style { null_for_nan: true, ..STYLE };
    assert_eq!(all(Lines::objects(rows, style)).unwrap(), "{}\n{\"x\":0.5}\n");

    let rows = batch(&["t"], vec![texts(Kind::Text(4), &[b"ok", b"a\xff"])]);
    let fault = all(Lines::objects(rows, STYLE)).unwrap_err();
    assert_eq!((fault.row, fault.reason.as_str()), (1, "byte 1 is not UTF-8"));
}

#[test]
fn decimals_have_all_their_digits() {
    let shown = |unscaled, scale| {
        let mut out = Vec::new();
        json_text::write_decimal(unscaled, scale, &mut out);
        String::from_utf8(out).unwrap()
    };
    assert_eq!(shown(-5, 2), "-0.05");
    assert_eq!(shown(0, 18), "0.000000000000000000");
    assert_eq!(shown(12345, 0), "12345");
    assert_eq!(shown(12, -3), "12000");
    assert_eq!(shown(i128::MIN, 38), "-1.70141183460469231731687303715884105728");
}

#[test]
fn lines_are_written_as_they_are() {
    let lines = |values: &[&[u8]]| all(Lines::as_they_are(texts(Kind::Binary(4), values)));
    assert_eq!(lines(&[b" [1 ]", b"x"]).unwrap(), " [1 ]\nx\n");
    for (bad, reason) in [(&b" \r"[..], "blank"), (b"1\n2", "newline")] {
        let fault = lines(&[b"1", bad]).unwrap_err();
        assert_eq!(fault.row, 1);
        assert!(fault.reason.contains(reason), "{}", fault.reason);
    }
    let null = Column { validity: Some(vec![0]), ..texts(Kind::Text(4), &[b"1"]) };
    assert!(all(Lines::as_they_are(null)).unwrap_err().reason.contains("null"));
}

#[test]
fn buffers_that_end_early_are_refused() {
    let whole = texts(Kind::Text(4), &[b"abc", b"def"]);
    let (offsets, data) = (whole.buffer.unwrap(), whole.data.unwrap());
    for cut in 0..offsets.len() {
        let short = Column {
            data: Some(data.clone()),
            ..column(Kind::Text(4), 2, offsets[..cut].to_vec())
        };
        assert!(all(Lines::objects(batch(&["a"], vec![short]), STYLE)).is_err(), "{cut}");
    }
    for kind in
        [Kind::Bool, Kind::Int(8), Kind::Decimal(2), Kind::Map, Kind::List(4), Kind::Variant]
    {
        let short = column(kind, 1, Vec::new());
        assert!(all(Lines::objects(batch(&["a"], vec![short]), STYLE)).is_err());
    }
}

/// `{"k": [1, "x"]}` with its key in the metadata.
const VARIANT: &[u8] = &[
    2, 1, 0, 0, 9, // an object of one field, the value 9 bytes long
    3, 2, 0, 2, 4, // an array of two values
    12, 1, 5, b'x', // an integer of one byte; a text of one
];
const METADATA: &[u8] = &[1, 1, 0, 1, b'k'];

fn shown(value: &[u8], metadata: &[u8]) -> Result<String, Fault> {
    let children = vec![texts(Kind::Binary(4), &[value]), texts(Kind::Binary(4), &[metadata])];
    let variant = Column { children, ..column(Kind::Variant, 1, Vec::new()) };
    all(Lines::objects(batch(&["v"], vec![variant]), STYLE))
}

#[test]
fn a_variant_is_what_it_holds() {
    assert_eq!(shown(VARIANT, METADATA).unwrap(), "{\"v\":{\"k\":[1,\"x\"]}}\n");
}

#[test]
fn values_in_several_places_do_not_multiply() {
    // Arrays of two, both elements of which are the next array.
    let mut bomb = vec![0];
    for _ in 0..60 {
        let length = u8::try_from(bomb.len()).unwrap();
        bomb.splice(0..0, [3, 2, 0, 0, length]);
        bomb.truncate(250);
    }
    assert_eq!(shown(&bomb, METADATA).unwrap_err().reason, "the variant is damaged");
}

#[test]
fn damaged_variants_are_refused_or_are_json() {
    for cut in 0..VARIANT.len() {
        assert!(shown(&VARIANT[..cut], METADATA).is_err(), "{cut}");
    }
    for cut in 0..METADATA.len() {
        assert!(shown(VARIANT, &METADATA[..cut]).is_err(), "{cut}");
    }
    for at in 0..VARIANT.len() {
        for byte in 0..=255 {
            let mut value = VARIANT.to_vec();
            value[at] = byte;
            if let Ok(line) = shown(&value, METADATA) {
                json::check(line.trim_end().as_bytes(), &json::Limits::default()).unwrap();
            }
        }
    }
}
