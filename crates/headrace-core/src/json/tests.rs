//! Tables of lines and what is said about them.

use super::{Inside, JsonError, Limits, MAX_DEPTH, MAX_NUMBER_BYTES, Reason, Visitor};
use super::{KeyHints, check, is_blank, walk};

const DEFAULT: Limits = Limits { max_depth: 256 };

/// A row with every kind of token in it, and characters of every UTF-8 length.
const RICH: &str = r#" {"id": -12, "é": [1.5e+10, true, false, null, "\"\\\/\b\f\n\r\t"],
    "nested": {"": {}, "a": [], "b": [[], {"c": 0}]}, "tail": "€ 😀 \u00e9\ud83d\ude00"} "#;

/// A reason, the offset it is given for, and a line that earns it.
#[rustfmt::skip]
const REFUSED: &[(Reason, usize, &[u8])] = &[
    (Reason::Blank, 0, b""),
    (Reason::Blank, 4, b" \t\r\n"),
    (Reason::UnexpectedEnd(Inside::Array), 1, b"["),
    (Reason::UnexpectedEnd(Inside::Array), 2, b"[1"),
    (Reason::UnexpectedEnd(Inside::Array), 4, b"[1, "),
    (Reason::UnexpectedEnd(Inside::Array), 5, b"[{}  "),
    (Reason::UnexpectedEnd(Inside::Object), 1, b"{"),
    (Reason::UnexpectedEnd(Inside::Object), 4, br#"{"a""#),
    (Reason::UnexpectedEnd(Inside::Object), 5, br#"{"a":"#),
    (Reason::UnexpectedEnd(Inside::Object), 6, br#"{"a":1"#),
    (Reason::UnexpectedEnd(Inside::Object), 7, br#"{"a":1,"#),
    (Reason::UnexpectedEnd(Inside::String), 1, br#"""#),
    (Reason::UnexpectedEnd(Inside::String), 10, br#""123456789"#),
    (Reason::UnexpectedEnd(Inside::String), 2, br#""\"#),
    (Reason::UnexpectedEnd(Inside::String), 3, br#""\""#),
    (Reason::UnexpectedEnd(Inside::String), 6, br#""\u00e"#),
    (Reason::UnexpectedEnd(Inside::String), 12, br#""\ud83d\ude0"#),
    (Reason::UnexpectedEnd(Inside::String), 4, br#"{"ab"#),
    (Reason::UnexpectedEnd(Inside::Number), 1, b"-"),
    (Reason::UnexpectedEnd(Inside::Number), 2, b"1."),
    (Reason::UnexpectedEnd(Inside::Number), 2, b"1e"),
    (Reason::UnexpectedEnd(Inside::Number), 3, b"1e+"),
    (Reason::UnexpectedEnd(Inside::Literal), 2, b"tr"),
    (Reason::UnexpectedEnd(Inside::Literal), 2, b"[f"),
    (Reason::UnexpectedEnd(Inside::Literal), 2, b"nu"),
    (Reason::ExpectedValue, 0, b"hello"),
    (Reason::ExpectedValue, 0, b"True"),
    (Reason::ExpectedValue, 0, b"t0ue"),
    (Reason::ExpectedValue, 0, b"nul "),
    (Reason::ExpectedValue, 0, b"+1"),
    (Reason::ExpectedValue, 0, b".5"),
    (Reason::ExpectedValue, 0, b"]"),
    (Reason::ExpectedValue, 0, b"\0"),
    (Reason::ExpectedValue, 0, b"\x0c1"),
    (Reason::ExpectedValue, 0, "\u{a0}1".as_bytes()),
    (Reason::ExpectedValue, 0, "\u{2028}1".as_bytes()),
    (Reason::ExpectedValue, 3, b"[1,,2]"),
    (Reason::ExpectedValue, 1, b"[,1]"),
    (Reason::ExpectedValue, 1, b"[}"),
    (Reason::ExpectedValue, 5, br#"{"a":}"#),
    (Reason::ExpectedKey, 1, b"{a: 1}"),
    (Reason::ExpectedKey, 1, b"{1: 1}"),
    (Reason::ExpectedKey, 1, b"{]"),
    (Reason::ExpectedKey, 1, b"{,}"),
    (Reason::ExpectedKey, 7, br#"{"a":1,2}"#),
    (Reason::ExpectedColon, 5, br#"{"a" 1}"#),
    (Reason::ExpectedColon, 4, br#"{"a"}"#),
    (Reason::ExpectedColon, 4, br#"{"a","b"}"#),
    (Reason::ExpectedCommaOrBracket, 3, b"[1 2]"),
    (Reason::ExpectedCommaOrBracket, 2, b"[1}"),
    (Reason::ExpectedCommaOrBracket, 2, b"[1:2]"),
    (Reason::ExpectedCommaOrBracket, 2, b"[0x1]"),
    (Reason::ExpectedCommaOrBrace, 6, br#"{"a":1]"#),
    (Reason::ExpectedCommaOrBrace, 7, br#"{"a":1 "b":2}"#),
    (Reason::TrailingComma, 2, b"[1, ]"),
    (Reason::TrailingComma, 6, br#"{"a":1,}"#),
    (Reason::TrailingCharacters, 1, b"1x"),
    (Reason::TrailingCharacters, 3, b"{} {}"),
    (Reason::TrailingCharacters, 2, b"[]]"),
    (Reason::TrailingCharacters, 2, b"\"\"\0"),
    (Reason::TrailingCharacters, 4, b"null0"),
    (Reason::Comment, 2, b"1 // one"),
    (Reason::Comment, 1, b"[/* none */]"),
    (Reason::Comment, 3, b"{} # empty"),
    (Reason::SingleQuote, 0, b"'a'"),
    (Reason::SingleQuote, 1, b"{'a': 1}"),
    (Reason::NotFinite, 0, b"NaN"),
    (Reason::NotFinite, 1, b"[nan]"),
    (Reason::NotFinite, 5, br#"{"a":Infinity}"#),
    (Reason::NotFinite, 1, b"-Infinity"),
    (Reason::LeadingZero, 0, b"01"),
    (Reason::LeadingZero, 2, b"[-00.5]"),
    (Reason::MissingDigit, 1, b"- 1"),
    (Reason::MissingDigit, 3, b"[1.]"),
    (Reason::MissingDigit, 3, b"[1.e5]"),
    (Reason::MissingDigit, 3, b"1e+ "),
    (Reason::MissingDigit, 1, b"--1"),
    (Reason::ControlCharacter, 2, b"\"a\tb\""),
    (Reason::ControlCharacter, 1, b"\"\0\""),
    (Reason::ControlCharacter, 9, b"\"12345678\x1f12345678\""),
    (Reason::ControlCharacter, 2, b"{\"\n\":1}"),
    (Reason::UnknownEscape, 1, br#""\x41""#),
    (Reason::UnknownEscape, 2, br#"["\'"]"#),
    (Reason::UnknownEscape, 1, br#""\U0041""#),
    (Reason::UnknownEscape, 1, "\"\\é\"".as_bytes()),
    (Reason::BadUnicodeEscape, 1, br#""\u00g0""#),
    (Reason::BadUnicodeEscape, 1, br#""\u+123""#),
    (Reason::BadUnicodeEscape, 7, br#""\ud83d\uzzzz""#),
    (Reason::LoneSurrogate, 2, br#""a\ud800""#),
    (Reason::LoneSurrogate, 1, br#""\ud800abc""#),
    (Reason::LoneSurrogate, 1, br#""\ud800\n""#),
    (Reason::LoneSurrogate, 1, br#""\ud800\u0041""#),
    (Reason::LoneSurrogate, 1, br#""\ud800\ud800""#),
    (Reason::LoneSurrogate, 1, br#""\udc00\ud800""#),
    (Reason::LoneSurrogate, 2, br#"{"\udfff":0}"#),
    (Reason::InvalidUtf8, 1, b"\"\xff\""),
    (Reason::InvalidUtf8, 2, b"\"a\x80\""),
    (Reason::InvalidUtf8, 1, b"\"\xe2\x82"),
    (Reason::InvalidUtf8, 1, b"\"\xe9\""),
    (Reason::InvalidUtf8, 1, b"\"\xc0\xaf\""),
    (Reason::InvalidUtf8, 1, b"\"\xe0\x80\xaf\""),
    (Reason::InvalidUtf8, 1, b"\"\xed\xa0\x80\""),
    (Reason::InvalidUtf8, 1, b"\"\xf4\x90\x80\x80\""),
    (Reason::InvalidUtf8, 3, b"[1]\xfe"),
    (Reason::InvalidUtf8, 70, b"[\"a line of more than one vector, with the fault beyond the first 64: \xc3(\"]"),
    (Reason::Utf16, 0, b"\xff\xfe[\0]\0"),
    (Reason::Utf16, 0, b"\xfe\xff\0[\0]"),
    (Reason::Utf16, 0, b"{\0}\0\r\0"),
    (Reason::Utf16, 0, b"\0[\0\"\0\xe9\0\"\0]"),
    (Reason::ByteOrderMark, 0, b"\xef\xbb\xbf{}"),
    (Reason::ByteOrderMark, 3, b"[1 \xef\xbb\xbf]"),
];

#[test]
fn what_is_refused_and_where() {
    for &(reason, offset, line) in REFUSED {
        let shown = String::from_utf8_lossy(line);
        assert_eq!(check(line, &DEFAULT), Err(JsonError { offset, reason }), "{shown:?}");
    }
}

#[test]
fn what_is_accepted() {
    #[rustfmt::skip]
    let accepted = [
        "0", "-0", "-0.0", "1.0", "1E2", "1e-2", "9.5E+07", "[0e1]",
        "12345678901234567890123", "-12345678901234567890123", "1e400", "-1e400", "1e-999",
        "1e999999999999999999999", "[0.00000000000000000000000000000000000000000000000001]",
        "null", "true", "false", "\"\"", "\"a\"", "[]", "{}", " [ ] ", "\t{\r\n}\n",
        "[[], {}, [{}]]", r#"{"":{"":[]}}"#, r#"{"a":1,"a":2}"#, r#" { "a" : [ 1 , 2 ] } "#,
        r#""\"\\\/\b\f\n\r\t""#, r#""\u0000\u001f\u007F\uABCD\ufffe\uffff""#,
        r#""\ud800\udc00\uDBFF\uDFFF""#, r#""\\u""#, r#""\\ud800""#, "\"/ ' # \u{7f}\"",
        "\"\u{2028}\u{2029}\u{feff}\u{fffe}\u{10ffff}\u{e000}\"", "\"é€😀\"", RICH,
    ];
    for line in accepted {
        assert_eq!(check(line.as_bytes(), &DEFAULT), Ok(()), "{line:?}");
    }
}

#[test]
fn a_reason_reads_as_a_sentence() {
    let message = |line: &[u8]| check(line, &DEFAULT).unwrap_err().to_string();
    assert_eq!(message(b"\"ab"), "unexpected end of the line inside a string (byte 3)");
    assert_eq!(message(b"[tr"), "unexpected end of the line inside true, false or null (byte 3)");
    assert_eq!(message(&b"[".repeat(300)), "nested deeper than 256 levels (byte 256)");
    assert_eq!(message(&b"9".repeat(2000)), "a number of more than 1100 bytes (byte 0)");
    assert_eq!(message(b"{} x"), "trailing characters after the value (byte 3)");
    assert_eq!(message(b"\"\t\""), "control character in a string (escape it) (byte 1)");
}

#[test]
fn every_truncation_is_refused() {
    let row = RICH.trim_end().as_bytes();
    for len in 0..row.len() {
        assert!(check(&row[..len], &DEFAULT).is_err(), "first {len} bytes");
    }
    assert_eq!(check(row, &DEFAULT), Ok(()));
}

/// Every position within a chunk of the fast loop, and the bytes after the last chunk.
#[test]
fn a_string_may_end_anywhere() {
    for len in 0..40 {
        let row = format!("\"{}\"", "x".repeat(len));
        assert_eq!(check(row.as_bytes(), &DEFAULT), Ok(()), "{len} bytes");
        for bad in 0..=0x1F {
            for at in 1..=len {
                let mut row = row.clone().into_bytes();
                row[at] = bad;
                let expected = JsonError { offset: at, reason: Reason::ControlCharacter };
                assert_eq!(check(&row, &DEFAULT), Err(expected), "{bad} at {at} of {len}");
            }
        }
    }
}

#[test]
fn only_bytes_below_0x20_are_control_characters() {
    for byte in 0x20..=0x7F {
        if byte != b'"' && byte != b'\\' {
            let row = [b"\"".as_slice(), &[byte; 20], b"\""].concat();
            assert_eq!(check(&row, &DEFAULT), Ok(()), "{byte}");
        }
    }
}

#[test]
fn depth_is_limited_to_the_level() {
    let opened: [(&[u8], &[u8]); 3] = [(b"[", b"]"), (b"{\"a\":", b"}"), (b"[{\"a\":", b"}]")];
    for (open, close) in opened {
        let levels = if open.len() == 6 { 2 } else { 1 };
        for limit in [0, 1, 63, 64, 65, 128, 256, 999, MAX_DEPTH] {
            let nested = |depth: u32| {
                let times = (depth / levels) as usize;
                [&open.repeat(times), b"0".as_slice(), &close.repeat(times)].concat()
            };
            let limits = Limits { max_depth: limit };
            let fitting = limit / levels * levels;
            assert_eq!(check(&nested(fitting), &limits), Ok(()), "{fitting} of {limit}");
            let error = check(&nested(fitting + levels), &limits).unwrap_err();
            assert_eq!(error.reason, Reason::TooDeep(limit));
        }
    }
    assert_eq!(check(&b"[".repeat(257), &DEFAULT).unwrap_err().offset, 256);
}

#[test]
fn no_limit_exceeds_the_greatest_depth() {
    let error = check(&b"[".repeat(5000), &Limits { max_depth: u32::MAX }).unwrap_err();
    assert_eq!(error, JsonError { offset: 1000, reason: Reason::TooDeep(MAX_DEPTH) });
}

/// A wrong bracket is noticed at every level, so no level's bit is lost.
#[test]
fn containers_close_in_order() {
    let limits = Limits { max_depth: MAX_DEPTH };
    // Neither period divides 64, the width of a word.
    let is_object = |level: usize| level.is_multiple_of(3) || level.is_multiple_of(7);
    let open: String =
        (0..1000).map(|level| if is_object(level) { "{\"\":" } else { "[" }).collect();
    let close: Vec<u8> =
        (0..1000).rev().map(|level| if is_object(level) { b'}' } else { b']' }).collect();
    let row = [open.as_bytes(), b"0", &close].concat();
    assert_eq!(check(&row, &limits), Ok(()));
    for at in open.len() + 1..row.len() {
        let mut wrong = row.clone();
        wrong[at] = if wrong[at] == b'}' { b']' } else { b'}' };
        assert_eq!(check(&wrong, &limits).unwrap_err().offset, at);
    }
}

#[test]
fn a_hundred_megabytes_of_brackets_need_no_stack() {
    let bombs = [b"[".repeat(100_000_000), b"{\"a\":".repeat(20_000_000)];
    let verdicts = std::thread::Builder::new().stack_size(256 << 10).spawn(move || {
        bombs.map(|bomb| check(&bomb, &Limits { max_depth: MAX_DEPTH }).unwrap_err().offset)
    });
    assert_eq!(verdicts.unwrap().join().unwrap(), [1000, 5000]);
}

#[test]
fn number_text_is_limited_to_the_byte() {
    let shapes: [(&str, &str); 4] = [("", ""), ("-", ""), ("0.", ""), ("", "e-10")];
    for (before, after) in shapes {
        let digits = MAX_NUMBER_BYTES - before.len() - after.len();
        let fits = format!("[{before}{}{after}]", "7".repeat(digits));
        assert_eq!(check(fits.as_bytes(), &DEFAULT), Ok(()));
        let longer = format!("[{before}{}{after}]", "7".repeat(digits + 1));
        let expected = JsonError { offset: 1, reason: Reason::NumberTooLong };
        assert_eq!(check(longer.as_bytes(), &DEFAULT), Err(expected));
    }
}

#[test]
fn checking_allocates_nothing_but_the_error() {
    let lines = [RICH.as_bytes(), b"[1, \xff]", b"[1, 2", &[b'['; 2000]];
    for line in lines {
        let mut verdict = Ok(());
        let counted = allocation_counter::measure(|| verdict = check(line, &DEFAULT));
        assert!(counted.count_total <= u64::from(verdict.is_err()), "{line:?}");
        assert_eq!(counted.count_current, 0);
    }
}

#[test]
fn only_json_whitespace_is_blank() {
    for line in ["", " ", "\t", "\r", "\n", " \t\r\n "] {
        assert!(is_blank(line.as_bytes()), "{line:?}");
    }
    for line in ["0", " x", "\u{b}", "\u{c}", "\0", "\u{a0}", "\u{feff}"] {
        assert!(!is_blank(line.as_bytes()), "{line:?}");
    }
}

#[derive(Default)]
struct Transcript(Vec<String>);

impl Visitor for Transcript {
    fn null(&mut self) {
        self.0.push("null".into());
    }
    fn boolean(&mut self, value: bool) {
        self.0.push(value.to_string());
    }
    fn number(&mut self, text: &str, is_integer: bool) {
        self.0.push(format!("{} {text}", if is_integer { "integer" } else { "decimal" }));
    }
    fn string(&mut self, raw: &str, has_escapes: bool) {
        self.0.push(format!("{} {raw}", if has_escapes { "escaped" } else { "plain" }));
    }
    fn key(&mut self, raw: &str, has_escapes: bool) -> bool {
        self.0.push(format!("{} key {raw}", if has_escapes { "escaped" } else { "plain" }));
        raw != "unwanted"
    }
    fn begin_object(&mut self) {
        self.0.push("{".into());
    }
    fn end_object(&mut self) {
        self.0.push("}".into());
    }
    fn begin_array(&mut self) {
        self.0.push("[".into());
    }
    fn end_array(&mut self) {
        self.0.push("]".into());
    }
}

#[test]
fn events_come_in_the_order_of_the_text() {
    let line = r#"{"a\n": [null, true, -0, 1.0, 2E3, {}], "é": "\"", "": "x"}"#;
    let mut transcript = Transcript::default();
    walk(line.as_bytes(), &DEFAULT, &mut KeyHints::none(), &mut transcript).unwrap();
    #[rustfmt::skip]
    let expected = [
        "{",
        r"escaped key a\n", "[", "null", "true", "integer -0", "decimal 1.0", "decimal 2E3", "{", "}", "]",
        "plain key é", r#"escaped \""#,
        "plain key ", "plain x",
        "}",
    ];
    assert_eq!(transcript.0, expected);
}
