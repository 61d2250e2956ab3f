//! The request of a key lookup.

use bumpalo::Bump;

use super::{fields::KeyWriter, hash};
use crate::value::{Kind, Value, parse_text};

/// A key to be looked up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The text of the key.
    pub key: Vec<u8>,
    /// The hash of that.
    pub hash: u64,
    /// What kinds of values it must be made of, if that counts.
    pub kinds: Option<Vec<Kind>>,
}

impl Request {
    /// The key that is this text, or whose text it is.
    pub fn of_text(text: &str) -> Self {
        Self { key: text.into(), hash: hash(text.as_bytes()), kinds: None }
    }

    /// The key of a JSON text: a value, or for a composite key an array of `parts` values. If
    /// `typed`, `1` is not `"1"`.
    ///
    /// ```
    /// # use headrace_core::keys::Request;
    /// assert_eq!(Request::parse("1.0", 1, false)?.key, b"1");
    /// assert_eq!(Request::parse("\"1\"", 1, false), Request::parse("1", 1, false));
    /// # Ok::<(), String>(())
    /// ```
    ///
    /// # Errors
    /// The reason why it is not a key.
    pub fn parse(json: &str, parts: usize, typed: bool) -> Result<Self, String> {
        let arena = Bump::new();
        let value = parse_text(json, &arena).map_err(|error| error.to_string())?;
        let values: &[Value<'_>] = if parts > 1 {
            let wanted = || format!("a key of {parts} fields is an array of {parts} values");
            value.as_array(&arena).filter(|values| values.len() == parts).ok_or_else(wanted)?
        } else {
            &[value]
        };
        let mut key = Vec::new();
        let mut kinds = Vec::new();
        let mut writer = KeyWriter::new(&mut key, parts > 1);
        for value in values {
            kinds.push(value.kind());
            match value {
                Value::Node(node) if is_scalar(value.kind()) => writer.push(*node, &arena),
                _ => return Err(format!("{} is never a key", value.kind().name())),
            }
        }
        writer.end();
        Ok(Self { hash: hash(&key), key, kinds: typed.then_some(kinds) })
    }

    /// Whether a key that was read is this one.
    pub fn is(&self, key: &[u8], kinds: &[Kind]) -> bool {
        self.key == key && self.kinds.as_ref().is_none_or(|wanted| wanted == kinds)
    }
}

fn is_scalar(kind: Kind) -> bool {
    !matches!(kind, Kind::Null | Kind::Array | Kind::Object)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_has_the_text_of_the_rows_it_means() {
        let text = |json: &str, parts| {
            Request::parse(json, parts, false)
                .map(|request| String::from_utf8(request.key).unwrap())
        };
        assert_eq!(text("1.0", 1), Ok("1".into()));
        assert_eq!(Request::of_text("A"), Request::parse(r#""\u0041""#, 1, false).unwrap());
        assert_eq!(text(r#""\u0041""#, 1), Ok("A".into()));
        assert_eq!(text(r#"[1e0,"x"]"#, 2), Ok(r#"["1","x"]"#.into()));
        for (json, parts) in
            [("null", 1), ("[1]", 1), ("[1]", 2), ("1", 2), ("[1,{}]", 2), ("x", 1)]
        {
            assert!(text(json, parts).is_err(), "{json}");
        }
    }

    #[test]
    fn kinds_count_only_in_a_typed_request() {
        let coarse = Request::parse("1", 1, false).unwrap();
        assert!(coarse.is(b"1", &[Kind::String]) && coarse.is(b"1", &[Kind::Number]));
        let typed = Request::parse("1", 1, true).unwrap();
        assert!(!typed.is(b"1", &[Kind::String]) && typed.is(b"1", &[Kind::Number]));
    }
}
