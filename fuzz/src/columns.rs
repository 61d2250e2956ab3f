//! Any bytes as rows that become columns.

use headrace_core::{
    arrow::read::{Before, Buffers, Columns, FaultKind, Inferred, Rules, Shape},
    json::{Limits, check, is_blank},
    rows::{Row, RowStream},
};

/// A column of every type, each also in an array and a map.
const EACH: [&str; 12] = [
    r#""boolean""#,
    r#"{"integer": 1}"#,
    r#"{"integer": 8}"#,
    r#""float""#,
    r#""double""#,
    r#"{"decimal": [9, 3]}"#,
    r#""string""#,
    r#""binary""#,
    r#""date""#,
    r#""timestamp""#,
    r#"{"struct": [["a", "string"], ["b", "variant"]]}"#,
    r#""variant""#,
];

/// Every row that is JSON is a row, all columns have the same length, and the type that is
/// found for rows takes all that is in them.
pub fn columns(bytes: &[u8]) {
    let limits = Limits { max_depth: 32 };
    for each in EACH {
        let shape = format!(
            r#"{{"struct": [["a", {each}], ["b", {{"array": {each}}}], ["c", {{"map": {each}}}]]}}"#
        );
        let shape = Shape::parse(&shape).expect("it is a shape");
        fill(bytes, &shape, limits);
    }
    let mut inferred = Inferred::new(Rules::Rows, limits, &[]);
    each_row(bytes, |row| inferred.push(row));
    let (shape, _) = inferred.shape(false);
    let (_, mismatches) = fill(bytes, &shape, limits);
    assert_eq!(mismatches, inferred.others - bad(bytes, limits));
    answers(bytes, limits);
}

/// Answers are good rows; each fits the types that were found, also if answers may follow.
fn answers(bytes: &[u8], limits: Limits) {
    let mut lines = Vec::new();
    let mut count = 0;
    each_row(bytes, |row| {
        if row.too_long.is_none() && check(row.content, &limits).is_ok() {
            lines.extend_from_slice(row.content);
            lines.push(b'\n');
            count += 1;
        }
    });
    let mut inferred = Inferred::new(Rules::Answers, limits, &[]);
    inferred.push_lines(&lines, 0);
    for may_follow in [false, true] {
        let (shape, _) = inferred.shape(may_follow);
        let mut columns = Columns::of_answers(&shape, limits);
        columns.push_lines(&lines);
        let filled = columns.take();
        assert_eq!(filled.faults, []);
        matches(&shape, &mut filled.buffers.iter(), count);
    }
}

fn each_row(bytes: &[u8], mut visit: impl FnMut(Row<'_>)) {
    let mut stream = RowStream::new(bytes, 0, 0, u64::MAX, 1 << 10);
    while let Some(row) = stream.next_row().expect("it is in memory") {
        visit(row);
    }
}

fn bad(bytes: &[u8], limits: Limits) -> u64 {
    let mut count = 0;
    each_row(bytes, |row| {
        let blank = row.too_long.is_none() && is_blank(row.content);
        count +=
            u64::from(!blank && (row.too_long.is_some() || check(row.content, &limits).is_err()));
    });
    count
}

fn fill(bytes: &[u8], shape: &Shape, limits: Limits) -> (u64, u64) {
    let mut all = Columns::new(shape, limits, Before::default(), true);
    let mut good = Columns::new(shape, limits, Before::default(), false);
    let mut count = 0;
    each_row(bytes, |row| {
        count += usize::from(row.too_long.is_some() || !is_blank(row.content));
        all.push(row);
        good.push(row);
    });
    let (all, good) = (all.take(), good.take());
    assert_eq!(all.buffers[0].length, count);
    assert_eq!(good.buffers[0].length, count - good.faults.len());
    assert_eq!(all.faults.len(), good.faults.len());
    let faulty = |kind| all.faults.iter().filter(|fault| fault.kind == kind).count() as u64;
    assert_eq!(faulty(FaultKind::Bad), bad(bytes, limits));
    for filled in [&all, &good] {
        let Shape::Struct(fields) = shape else { panic!("rows are objects") };
        let mut rest = filled.buffers[1..].iter();
        for (_, shape) in fields {
            matches(shape, &mut rest, filled.buffers[0].length);
        }
        assert!(rest.next().is_none());
    }
    (faulty(FaultKind::Bad), faulty(FaultKind::Mismatch))
}

/// Buffers are as long as Arrow expects them to be.
fn matches<'b>(shape: &Shape, rest: &mut impl Iterator<Item = &'b Buffers>, length: usize) {
    let buffers = rest.next().expect("each column has buffers");
    assert_eq!(buffers.length, length);
    if let Some(validity) = &buffers.validity {
        assert_eq!(validity.len(), length.div_ceil(8));
    }
    let ends = |at: usize| {
        let ends: Vec<_> = buffers.others[at].chunks_exact(4).collect();
        assert_eq!(ends.len(), length + 1);
        let ends = ends.iter().map(|end| i32::from_le_bytes([end[0], end[1], end[2], end[3]]));
        let ends: Vec<_> = ends.map(|end| usize::try_from(end).expect("it counts")).collect();
        assert!(ends.is_sorted());
        *ends.last().expect("the first is 0")
    };
    match shape {
        Shape::Struct(fields) => {
            for (_, shape) in fields {
                matches(shape, &mut *rest, length);
            }
        }
        Shape::Array(of) => matches(of, rest, ends(0)),
        Shape::Map(of) => {
            matches(&Shape::String, rest, ends(0));
            matches(of, rest, ends(0));
        }
        Shape::String | Shape::Json => {
            assert_eq!(buffers.others[1].len(), ends(0));
            assert!(std::str::from_utf8(&buffers.others[1]).is_ok());
        }
        Shape::Binary => assert_eq!(buffers.others[1].len(), ends(0)),
        Shape::Variant => {
            assert_eq!(buffers.others[1].len(), ends(0));
            assert_eq!(buffers.others[3].len(), ends(2));
        }
        _ => {}
    }
}
