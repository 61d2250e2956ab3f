//! Text written otherwise: in another case, or encoded for another place.

use base64::{
    Engine,
    alphabet::STANDARD,
    engine::{
        DecodePaddingMode,
        general_purpose::{GeneralPurpose, GeneralPurposeConfig},
    },
};

use super::{
    Builtin, Size, in_group, limited,
    text_builder::{TextBuilder, rewritten},
};
use crate::{
    query::{Fault, Machine},
    value::Value,
};

pub(super) static BUILTINS: &[Builtin] = &in_group(
    "Text",
    [
        Builtin::value("upper", |machine, receiver, _| {
            rewritten(machine, receiver, |text, draft| draft.push_str(&text.to_uppercase()))
        })
        .doc("The text in upper case.")
        .examples(&[
            [r#""straße".upper()"#, "null", r#""STRASSE""#],
            ["$.upper()", "10", "10"],
            ["$.upper()", "null", "null"],
        ]),
        Builtin::value("lower", |machine, receiver, _| {
            rewritten(machine, receiver, |text, draft| draft.push_str(&text.to_lowercase()))
        })
        .doc("The text in lower case.")
        .examples(&[[r#""ÉTÉ".lower()"#, "null", r#""été""#]]),
        Builtin::value("capitalize", |machine, receiver, _| {
            rewritten(machine, receiver, capitalize)
        })
        .doc("The text with its first character in upper case and all others in lower case.")
        .examples(&[[r#""hELLO wORLD".capitalize()"#, "null", r#""Hello world""#]]),
        Builtin::value("title_case", |machine, receiver, _| {
            rewritten(machine, receiver, title_case)
        })
        .doc("The text with the first character of each word in upper case and all others in lower case.")
        .examples(&[[r#""hello wORLD".title_case()"#, "null", r#""Hello World""#]]),
        Builtin::value("snake_case", |machine, receiver, _| {
            rewritten(machine, receiver, |text, draft| joined(text, "_", draft))
        })
        .doc(
            "The words of a name in lower case with `_` between them. A word ends at white \
              space, `_` or `-`, and where an upper case letter follows a lower case one or a \
              digit.",
        )
        .examples(&[
            [r#""fooBarBaz".snake_case()"#, "null", r#""foo_bar_baz""#],
            [r#""user2Name".snake_case()"#, "null", r#""user2_name""#],
            [r#""HTTPServer".snake_case()"#, "null", r#""httpserver""#],
        ]),
        Builtin::value("kebab_case", |machine, receiver, _| {
            rewritten(machine, receiver, |text, draft| joined(text, "-", draft))
        })
        .doc("The words of a name in lower case with `-` between them; see snake_case.")
        .examples(&[[r#""fooBar".kebab_case()"#, "null", r#""foo-bar""#]]),
        Builtin::value("camel_case", |machine, receiver, _| {
            rewritten(machine, receiver, |text, draft| humped(text, draft, true))
        })
        .doc(
            "The words of a name without anything between them, each but the first \
              capitalized; see snake_case.",
        )
        .examples(&[[r#""foo_bar baz".camel_case()"#, "null", r#""fooBarBaz""#]]),
        Builtin::value("pascal_case", |machine, receiver, _| {
            rewritten(machine, receiver, |text, draft| humped(text, draft, false))
        })
        .doc(
            "The words of a name without anything between them, each capitalized; see \
              snake_case.",
        )
        .examples(&[[r#""foo_bar".pascal_case()"#, "null", r#""FooBar""#]]),
        Builtin::value("reverse_str", |machine, receiver, _| {
            rewritten(machine, receiver, |text, draft| {
                text.chars().rev().try_for_each(|character| draft.push(character))
            })
        })
        .doc("The characters of the text from the last to the first.")
        .examples(&[[r#""abc".reverse_str()"#, "null", r#""cba""#]]),
        Builtin::value("to_base64", |machine, receiver, _| rewritten(machine, receiver, to_base64))
            .doc("The bytes of the text in base64, with padding.")
            .examples(&[[r#""hi".to_base64()"#, "null", r#""aGk=""#]]),
        Builtin::value("from_base64", |machine, receiver, _| {
            Ok(decoded(machine, receiver, from_base64))
        })
        .doc(
            "The text that is written in base64, with or without padding; null if it is not \
              base64 or what comes out is not UTF-8.",
        )
        .examples(&[
            [r#""aGk=".from_base64()"#, "null", r#""hi""#],
            [r#""!!!!".from_base64()"#, "null", "null"],
        ]),
        Builtin::value("url_encode", |machine, receiver, _| {
            rewritten(machine, receiver, url_encode)
        })
        .doc("The text with everything but letters, digits and `-._~` percent-encoded.")
        .examples(&[[r#""a b&c/d".url_encode()"#, "null", r#""a%20b%26c%2Fd""#]]),
        Builtin::value("url_decode", |machine, receiver, _| {
            Ok(decoded(machine, receiver, |text| Some(url_decode(text))))
        })
        .doc(
            "The text with `+` as a space and percent-encoded bytes decoded; null if what \
              comes out is not UTF-8.",
        )
        .examples(&[
            [r#""a%20b+c".url_decode()"#, "null", r#""a b c""#],
            [r#""100%".url_decode()"#, "null", r#""100%""#],
            [r#""%FF".url_decode()"#, "null", "null"],
        ]),
        Builtin::value("html_escape", |machine, receiver, _| {
            rewritten(machine, receiver, html_escape)
        })
        .doc("The text with `&`, `<`, `>` and both quotes as HTML references.")
        .examples(&[[r#""<a>&".html_escape()"#, "null", r#""&lt;a&gt;&amp;""#]]),
        Builtin::value("html_unescape", |machine, receiver, _| {
            rewritten(machine, receiver, html_unescape)
        })
        .doc("The text with HTML references replaced by characters: numeric ones and those to `&`, `<`, `>`, quotes and the no-break space. Others are unchanged.")
        .examples(&[
            [r#""&lt;b&gt; &amp;lt; &#39;".html_unescape()"#, "null", r#""<b> &lt; '""#],
            [r#""&#x41; &unknown;".html_unescape()"#, "null", r#""A &unknown;""#],
        ]),
    ],
);

// Case

fn capitalize(word: &str, draft: &mut TextBuilder<'_>) -> Result<(), Fault> {
    let mut rest = word.chars();
    for upper in rest.next().into_iter().flat_map(char::to_uppercase) {
        draft.push(upper)?;
    }
    draft.push_str(&rest.as_str().to_lowercase())
}

fn title_case(text: &str, draft: &mut TextBuilder<'_>) -> Result<(), Fault> {
    // Each piece is a word and the white space that ends it, or a further one.
    text.split_inclusive(char::is_whitespace).try_for_each(|word| capitalize(word, draft))
}

/// The words of a name, as it is written in code or in prose.
fn words(name: &str) -> impl Iterator<Item = &str> {
    let is_gap = |character: char| character.is_whitespace() || matches!(character, '_' | '-');
    name.split(is_gap).flat_map(humps).filter(|word| !word.is_empty())
}

/// What begins with the upper case letters that follow lower case ones or digits.
fn humps(word: &str) -> impl Iterator<Item = &str> {
    let mut rest = word;
    std::iter::from_fn(move || {
        let follows = rest.char_indices().skip(1).zip(rest.chars());
        let next = follows
            .filter(|((_, here), before)| {
                (before.is_lowercase() || before.is_numeric()) && here.is_uppercase()
            })
            .map(|((at, _), _)| at)
            .next();
        let (word, others) = rest.split_at(next.unwrap_or(rest.len()));
        rest = others;
        (!word.is_empty()).then_some(word)
    })
}

fn joined(name: &str, separator: &str, draft: &mut TextBuilder<'_>) -> Result<(), Fault> {
    for (at, word) in words(name).enumerate() {
        if at > 0 {
            draft.push_str(separator)?;
        }
        draft.push_str(&word.to_lowercase())?;
    }
    Ok(())
}

fn humped(name: &str, draft: &mut TextBuilder<'_>, first_lower: bool) -> Result<(), Fault> {
    for (at, word) in words(name).enumerate() {
        if at == 0 && first_lower {
            draft.push_str(&word.to_lowercase())?;
        } else {
            capitalize(word, draft)?;
        }
    }
    Ok(())
}

// Encodings

/// The receiver's text decoded; null where that gives no text.
fn decoded<'r>(
    machine: &Machine<'_, 'r>,
    receiver: Value<'r>,
    decode: impl FnOnce(&str) -> Option<Vec<u8>>,
) -> Value<'r> {
    let arena = machine.arena;
    let Some(text) = receiver.as_str(arena) else { return receiver };
    let decoded = decode(text).and_then(|bytes| String::from_utf8(bytes).ok());
    decoded.map_or(Value::Null, |text| Value::Str(arena.alloc_str(&text)))
}

const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

fn to_base64(text: &str, draft: &mut TextBuilder<'_>) -> Result<(), Fault> {
    limited(Size::Bytes(text.len().saturating_mul(4) / 3))?;
    draft.push_str(&BASE64.encode(text))
}

fn from_base64(text: &str) -> Option<Vec<u8>> {
    BASE64.decode(text).ok()
}

fn url_encode(text: &str, draft: &mut TextBuilder<'_>) -> Result<(), Fault> {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            draft.push(char::from(byte))?;
        } else {
            draft.push('%')?;
            draft.push(char::from(DIGITS[usize::from(byte >> 4)]))?;
            draft.push(char::from(DIGITS[usize::from(byte & 15)]))?;
        }
    }
    Ok(())
}

/// A `%` without two hexadecimal digits behind it stays.
fn url_decode(text: &str) -> Vec<u8> {
    let mut decoded = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, behind)) = rest.split_first() {
        rest = behind;
        if let (b'%', Some((&[high, low], behind))) = (byte, behind.split_first_chunk())
            && let (Some(high), Some(low)) = (hex_digit(high), hex_digit(low))
        {
            decoded.push(high << 4 | low);
            rest = behind;
        } else {
            decoded.push(if byte == b'+' { b' ' } else { byte });
        }
    }
    decoded
}

fn hex_digit(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}

fn html_escape(text: &str, draft: &mut TextBuilder<'_>) -> Result<(), Fault> {
    const SPECIAL: [char; 5] = ['&', '<', '>', '"', '\''];
    for piece in text.split_inclusive(SPECIAL) {
        draft.push_str(piece.strip_suffix(SPECIAL).unwrap_or(piece))?;
        draft.push_str(match piece.chars().next_back() {
            Some('&') => "&amp;",
            Some('<') => "&lt;",
            Some('>') => "&gt;",
            Some('"') => "&quot;",
            Some('\'') => "&#39;",
            _ => "",
        })?;
    }
    Ok(())
}

fn html_unescape(text: &str, draft: &mut TextBuilder<'_>) -> Result<(), Fault> {
    // Longer than the longest name and the largest number.
    const LONGEST: usize = 10;
    let mut rest = text;
    while let Some((before, reference)) = rest.split_once('&') {
        draft.push_str(before)?;
        let end = reference.bytes().take(LONGEST).position(|byte| byte == b';');
        let (name, behind) =
            end.and_then(|end| reference.get(..end).zip(reference.get(end + 1..))).unzip();
        let character = name.and_then(referred);
        draft.push(character.unwrap_or('&'))?;
        rest = behind.filter(|_| character.is_some()).unwrap_or(reference);
    }
    draft.push_str(rest)
}

/// The character that a reference without its `&` and `;` stands for.
fn referred(name: &str) -> Option<char> {
    let Some(number) = name.strip_prefix('#') else {
        return match name {
            "amp" => Some('&'),
            "lt" => Some('<'),
            "gt" => Some('>'),
            "quot" => Some('"'),
            "apos" => Some('\''),
            "nbsp" => Some('\u{a0}'),
            _ => None,
        };
    };
    let (digits, radix) = match number.strip_prefix(['x', 'X']) {
        Some(digits) => (digits, 16),
        None => (number, 10),
    };
    // Rust would take a sign as well.
    let numeric = digits.starts_with(|first: char| first.is_digit(radix));
    let code = numeric.then(|| u32::from_str_radix(digits, radix).ok()).flatten()?;
    // A reference to NUL would put a character into the text that JSON tools refuse.
    char::from_u32(code).filter(|character| *character != '\0')
}

#[cfg(test)]
mod tests {
    use bumpalo::Bump;
    use proptest::prelude::*;

    use super::*;

    fn draft(
        text: &str,
        write: impl FnOnce(&str, &mut TextBuilder<'_>) -> Result<(), Fault>,
    ) -> String {
        let arena = Bump::new();
        let mut draft = TextBuilder::new(&arena);
        write(text, &mut draft).unwrap();
        draft.finish().as_str(&arena).unwrap().to_owned()
    }

    #[test]
    fn words_of_names() {
        let cases: [(&str, &[&str]); 7] = [
            ("", &[]),
            ("--", &[]),
            ("fooBar", &["foo", "Bar"]),
            ("Foo Bar-baz", &["Foo", "Bar", "baz"]),
            ("HTTPServer", &["HTTPServer"]),
            ("_éÉ_", &["é", "É"]),
            ("a1B", &["a1", "B"]),
        ];
        for (name, expected) in cases {
            assert_eq!(words(name).collect::<Vec<_>>(), expected, "{name:?}");
        }
    }

    #[test]
    fn white_space_stays_in_titles() {
        assert_eq!(draft(" hello\t wORLD\n", title_case), " Hello\t World\n");
        // A sigma at the end of a word has another form.
        assert_eq!(draft("ΟΔΟΣ ΟΔΟΣ", title_case), "Οδος Οδος");
    }

    #[test]
    fn references_that_say_nothing_stay() {
        for text in
            ["&", "&;", "&amp", "&#;", "&#x;", "&#+65;", "&#55296;", "&#0;", "&#9999999;", "a && b"]
        {
            assert_eq!(draft(text, html_unescape), text);
        }
        assert_eq!(draft("&&amp;", html_unescape), "&&");
        assert_eq!(draft("&#128512;", html_unescape), "😀");
    }

    proptest! {
        #[test]
        fn what_is_encoded_can_be_decoded(text in any::<String>()) {
            prop_assert_eq!(draft(&draft(&text, html_escape), html_unescape), text.clone());
            prop_assert_eq!(url_decode(&draft(&text, url_encode)), text.as_bytes());
            prop_assert_eq!(from_base64(&draft(&text, to_base64)).unwrap(), text.as_bytes());
        }
    }
}
