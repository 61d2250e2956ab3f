//! Generated lines, judged by us and by `serde_json`.
//!
//! The two differ by intent on numbers beyond a double and on deep nesting,
//! where `serde_json` gives up before it has seen the whole line; such lines
//! are set aside. Everything else must agree, values included.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::{Map, Value};

use super::{KeyHints, Limits, Visitor, check, unescape, walk};

const DEFAULT: Limits = Limits { max_depth: 256 };

/// Its verdict, or `None` where the two differ by intent.
///
/// It parses into values: an ignoring parse checks neither UTF-8 nor surrogates.
fn foreign(line: &[u8]) -> Option<Result<Value, String>> {
    let verdict = serde_json::from_slice(line).map_err(|error| error.to_string());
    let by_intent = verdict.as_ref().is_err_and(|text: &String| {
        text.starts_with("number out of range") || text.starts_with("recursion limit exceeded")
    });
    (!by_intent).then_some(verdict)
}

/// Builds a value from events, without recursion.
#[derive(Default)]
struct Build {
    /// The open containers, each with the key it will have in the one around it.
    open: Vec<(Option<String>, Value)>,
    key: Option<String>,
    done: Option<Value>,
    scratch: String,
}

impl Build {
    fn add(&mut self, value: Value) {
        match self.open.last_mut() {
            Some((_, Value::Array(items))) => items.push(value),
            Some((_, Value::Object(members))) => {
                members.insert(self.key.take().unwrap(), value);
            }
            _ => self.done = Some(value),
        }
    }

    fn begin(&mut self, container: Value) {
        self.open.push((self.key.take(), container));
    }

    fn end(&mut self) {
        let (key, container) = self.open.pop().unwrap();
        self.key = key;
        self.add(container);
    }

    fn text(&mut self, raw: &str, has_escapes: bool) -> String {
        assert_eq!(has_escapes, raw.contains('\\'));
        if has_escapes { unescape(raw, &mut self.scratch).to_owned() } else { raw.to_owned() }
    }
}

impl Visitor for Build {
    fn null(&mut self) {
        self.add(Value::Null);
    }
    fn boolean(&mut self, value: bool) {
        self.add(Value::Bool(value));
    }
    fn number(&mut self, text: &str, is_integer: bool) {
        assert_eq!(is_integer, !text.contains(['.', 'e', 'E']));
        self.add(serde_json::from_str(text).unwrap());
    }
    fn string(&mut self, raw: &str, has_escapes: bool) {
        let text = self.text(raw, has_escapes);
        self.add(Value::String(text));
    }
    fn key(&mut self, raw: &str, has_escapes: bool) -> bool {
        self.key = Some(self.text(raw, has_escapes));
        true
    }
    fn begin_object(&mut self) {
        self.begin(Value::Object(Map::new()));
    }
    fn end_object(&mut self) {
        self.end();
    }
    fn begin_array(&mut self) {
        self.begin(Value::Array(Vec::new()));
    }
    fn end_array(&mut self) {
        self.end();
    }
}

fn assert_agreement(line: &[u8]) -> Result<(), TestCaseError> {
    let shown = String::from_utf8_lossy(line);
    match foreign(line) {
        None => {}
        Some(Ok(value)) => {
            let mut build = Build::default();
            prop_assert!(
                walk(line, &DEFAULT, &mut KeyHints::none(), &mut build).is_ok(),
                "{:?}",
                shown
            );
            prop_assert!(build.open.is_empty());
            prop_assert_eq!(build.done, Some(value), "{:?}", shown);
        }
        Some(Err(text)) => {
            prop_assert!(check(line, &DEFAULT).is_err(), "{:?}: {}", shown, text);
        }
    }
    Ok(())
}

fn space() -> impl Strategy<Value = String> {
    prop_oneof![3 => Just(String::new()), 1 => "[ \t\r\n]{1,3}"]
}

fn string() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        3 => r"[a-z ]{0,12}",
        1 => r#"[^"\\\x00-\x1f]"#,
        1 => r#"\\["\\/bfnrt]"#,
        1 => r"\\u[0-9a-cA-C][0-9a-fA-F]{3}",
        1 => r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}",
    ];
    vec(piece, 0..5).prop_map(|pieces| format!("\"{}\"", pieces.concat()))
}

fn document() -> impl Strategy<Value = String> {
    let scalar = prop_oneof![
        1 => select(&["null", "true", "false", "{}", "[]"][..]).prop_map(String::from),
        2 => r"-?(0|[1-9][0-9]{0,25})(\.[0-9]{1,8})?([eE][+-]?[0-9]{1,2})?",
        2 => string(),
    ];
    scalar
        .prop_recursive(6, 60, 6, |value| {
            let spaced = (space(), value, space()).prop_map(|(a, b, c)| a + &b + &c).boxed();
            let member = (space(), string(), space(), spaced.clone())
                .prop_map(|(a, key, b, value)| format!("{a}{key}{b}:{value}"));
            prop_oneof![
                vec(spaced, 0..6).prop_map(|items| format!("[{}]", items.join(","))),
                vec(member, 0..6).prop_map(|members| format!("{{{}}}", members.join(","))),
            ]
        })
        .prop_flat_map(|value| (space(), Just(value), space()))
        .prop_map(|(a, b, c)| a + &b + &c)
}

/// Pieces that are likely to make or break a document.
fn fragment() -> impl Strategy<Value = Vec<u8>> {
    let pieces: &[&[u8]] = &[
        b"{",
        b"}",
        b"[",
        b"]",
        b":",
        b",",
        b"\"",
        b"\"a\"",
        b"\\",
        b"\\u",
        b"\\ud83d",
        b"\\ude00",
        b"0",
        b"1",
        b"-",
        b"+",
        b".",
        b"e",
        b"E",
        b"t",
        b"true",
        b"false",
        b"null",
        b"NaN",
        b" ",
        b"\t",
        b"\n",
        b"\r",
        b"\0",
        b"\x1f",
        b"\x7f",
        b"/",
        b"'",
        b"\x80",
        b"\xbf",
        b"\xc3",
        b"\xc3\xa9",
        b"\xe2\x82\xac",
        b"\xed\xa0\x80",
        b"\xef\xbb\xbf",
        b"\xf0\x9f\x98\x80",
        b"\xff",
    ];
    prop_oneof![
        8 => select(pieces).prop_map(<[u8]>::to_vec),
        1 => any::<u8>().prop_map(|byte| vec![byte]),
    ]
}

/// A document with a few bytes replaced, taken out or put in.
fn mutant() -> impl Strategy<Value = Vec<u8>> {
    let edit = (any::<Index>(), 0..3_usize, prop_oneof![Just(Vec::new()), fragment()]);
    (document(), vec(edit, 1..4)).prop_map(|(document, edits)| {
        let mut line = document.into_bytes();
        for (place, removed, inserted) in edits {
            let start = place.index(line.len() + 1);
            let end = line.len().min(start + removed);
            line.splice(start..end, inserted);
        }
        line
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2000) })]

    #[test]
    fn on_documents(document in document()) {
        prop_assert!(matches!(foreign(document.as_bytes()), Some(Ok(_))));
        assert_agreement(document.as_bytes())?;
    }

    #[test]
    fn on_mutants(line in mutant()) {
        assert_agreement(&line)?;
    }

    #[test]
    fn on_fragments(fragments in vec(fragment(), 0..12)) {
        assert_agreement(&fragments.concat())?;
    }

    #[test]
    fn on_fragments_between_quotes(fragments in vec(fragment(), 0..6)) {
        assert_agreement(&[b"\"", fragments.concat().as_slice(), b"\""].concat())?;
    }

    #[test]
    fn on_random_bytes(line in vec(any::<u8>(), 0..40)) {
        assert_agreement(&line)?;
    }

    #[test]
    fn on_the_meaning_of_escapes(quoted in string()) {
        let raw = &quoted[1..quoted.len() - 1];
        let expected: String = serde_json::from_str(&quoted).unwrap();
        let mut scratch = String::from("left over");
        prop_assert_eq!(unescape(raw, &mut scratch), expected);
    }

    #[test]
    fn unescape_takes_anything(raw in r#"(\\|u|d83d|ude00|[0-9a-f"é€😀]){0,20}"#) {
        let mut scratch = String::new();
        let text = unescape(&raw, &mut scratch);
        prop_assert!(raw.contains('\\') || text == raw);
    }
}

/// Each side of every edge of the surrogates, as either half of a pair.
#[test]
fn on_the_edges_of_surrogates() {
    let edges = [0xD7FF, 0xD800, 0xD801, 0xDBFF, 0xDC00, 0xDC01, 0xDFFF, 0xE000];
    for first in edges {
        for second in edges {
            let line = format!(r#"["\u{first:04x}\u{second:04X}"]"#);
            assert_agreement(line.as_bytes()).unwrap();
        }
    }
}
