//! One text for each number, whatever it is written like.
//!
//! The digits are moved as text, never through a double: no two numbers become one.

/// Digits that a number is written out with; longer ones have an exponent.
const MOST_DIGITS: usize = 400;
/// 2^63.
const BEYOND_I64: f64 = 9_223_372_036_854_775_808.0;
/// 2^53: a double from here on is an integer.
const INTEGERS: f64 = 9_007_199_254_740_992.0;

/// Append the text of a number: without an exponent, without zeros that say nothing.
///
/// A number too long for that is `1.25e500`. An exponent of more than 64 bits stays as it is.
pub(super) fn write_number(text: &str, is_integer: bool, out: &mut Vec<u8>) {
    if is_integer && text != "-0" && text.len() <= MOST_DIGITS {
        out.extend_from_slice(text.as_bytes());
        return;
    }
    let (sign, rest) = text.strip_prefix('-').map_or(("", text), |rest| ("-", rest));
    let (mantissa, exponent) = rest.split_once(['e', 'E']).unwrap_or((rest, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let mut digits = [whole, fraction].concat();
    let length = digits.trim_end_matches('0').len();
    let zeros = digits.len() - length;
    digits.truncate(length);
    let digits = digits.trim_start_matches('0').as_bytes();
    if digits.is_empty() {
        out.push(b'0');
        return;
    }
    out.extend_from_slice(sign.as_bytes());
    let exponent = exponent.strip_prefix('+').unwrap_or(exponent);
    // A line is shorter than 4 GiB, so that nothing but the exponent itself is large.
    let moved = exponent.parse::<i64>().ok().and_then(|exponent| {
        exponent
            .checked_sub(i64::try_from(fraction.len()).ok()?)?
            .checked_add(i64::try_from(zeros).ok()?)
    });
    if let Some(power) = moved {
        write_scaled(digits, power, out);
    } else {
        out.extend_from_slice(digits);
        out.push(b'e');
        out.extend_from_slice(exponent.as_bytes());
    }
}

/// Whether a decimal is the shortest text of its double, so that no other text is the same number
/// to who computes with doubles; of one that is an integer beyond those that all are doubles, the
/// text with all digits, as integers have it. What is no i64 in size is compared by its digits
/// anyway.
pub(super) fn is_plain(text: &str) -> bool {
    // So few digits survive a double.
    if text.len() <= 16 && !text.contains(['e', 'E']) {
        return true;
    }
    let double = text.parse::<f64>().unwrap_or(f64::INFINITY);
    if double.abs() >= BEYOND_I64 {
        return true;
    }
    let (mut own, mut its) = (Vec::new(), Vec::new());
    write_number(text, false, &mut own);
    let exact = double.abs() >= INTEGERS;
    let text = if exact { format!("{double:.0}") } else { format!("{double:e}") };
    write_number(&text, false, &mut its);
    own == its
}

/// `digits`, times ten to the `power`; neither the first nor the last digit is a zero.
fn write_scaled(digits: &[u8], power: i64, out: &mut Vec<u8>) {
    let behind = usize::try_from(power.unsigned_abs()).unwrap_or(usize::MAX);
    let plain = digits.len() <= MOST_DIGITS && behind <= MOST_DIGITS;
    if plain && power < 0 {
        match digits.split_at_checked(digits.len().wrapping_sub(behind)) {
            Some((whole, fraction)) if !whole.is_empty() => {
                out.extend_from_slice(whole);
                out.push(b'.');
                out.extend_from_slice(fraction);
            }
            _ => {
                out.extend_from_slice(b"0.");
                out.resize(out.len() + behind - digits.len(), b'0');
                out.extend_from_slice(digits);
            }
        }
    } else if plain && digits.len() + behind <= MOST_DIGITS {
        out.extend_from_slice(digits);
        out.resize(out.len() + behind, b'0');
    } else {
        out.push(digits[0]);
        if digits.len() > 1 {
            out.push(b'.');
            out.extend_from_slice(&digits[1..]);
        }
        let exponent = i128::from(power) + digits.len() as i128 - 1;
        out.extend_from_slice(format!("e{exponent}").as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn text_of(number: &str) -> String {
        let mut out = Vec::new();
        let is_integer = !number.contains(['.', 'e', 'E']);
        write_number(number, is_integer, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn every_spelling_of_a_number_has_one_text() {
        for (text, spellings) in [
            ("0", &["0", "-0", "0.0", "-0.00e7", "0e99999999999999999999999"][..]),
            ("1", &["1", "1.0", "1e0", "10E-1", "0.01e+2", "1.000e-0"]),
            ("-1.5", &["-1.5", "-15e-1", "-0.15E1", "-1.50"]),
            ("9007199254740993", &["9007199254740993", "9007199254740993.0"]),
            ("0.001", &["0.001", "1e-3", "0.1e-2", "10.0e-4"]),
            ("1200", &["1200", "1.2e3", "12e2", "1200.00"]),
            ("1e500", &["1e500", "10e499", "0.1e501"]),
            ("1.25e-500", &["1.25e-500", "125e-502"]),
            ("1e99999999999999999999", &["1e99999999999999999999", "1.0E+99999999999999999999"]),
        ] {
            for spelling in spellings {
                assert_eq!(text_of(spelling), text, "{spelling}");
            }
        }
        let long = format!("1{}", "0".repeat(450));
        assert_eq!(text_of(&long), "1e450");
        assert_eq!(text_of(&format!("{long}.0")), "1e450");
    }

    #[test]
    fn a_text_that_a_double_rounds_is_not_plain() {
        for text in
            ["0.1", "-1.50", "1e0", "5e-324", "1e18", "0.30000000000000004", "1e400", "-0.0"]
        {
            assert!(is_plain(text), "{text}");
        }
        for text in [
            "1.00000000000000000001",
            "9007199254740993.0",
            "123456789012345e4",
            "1e-400",
            "3e-324",
            "0.1000000000000000055511151231257827",
        ] {
            assert!(!is_plain(text), "{text}");
        }
    }

    proptest! {
        #[test]
        fn two_plain_texts_of_one_double_are_one_key(
            digits in "[1-9][0-9]{0,19}", power in -340_i32..20, more in "[0-9]{0,3}"
        ) {
            let near = format!("{digits}{more}e{}", power - i32::try_from(more.len()).unwrap());
            let text = format!("{digits}e{power}");
            let double = |text: &str| text.parse::<f64>().unwrap();
            let same = double(&text).to_bits() == double(&near).to_bits();
            if same && double(&text) < BEYOND_I64 {
                let both = is_plain(&text) && is_plain(&near);
                prop_assert!(!both || text_of(&text) == text_of(&near));
            }
        }

        #[test]
        fn a_plain_text_is_that_of_the_integer_it_is(digits in "[1-9][0-9]{0,18}", power in 0_i32..19) {
            let text = format!("{digits}e{power}");
            let double = text.parse::<f64>().unwrap();
            if double < BEYOND_I64 && is_plain(&text) {
                prop_assert_eq!(text_of(&text), format!("{double:.0}"));
            }
        }

        #[test]
        fn moving_the_point_changes_nothing(
            digits in "[1-9][0-9]{0,30}", shift in 0_i32..40, power in -900_i32..900
        ) {
            let plain = format!("{digits}e{power}");
            let zeros = "0".repeat(usize::try_from(shift).unwrap());
            let shifted = format!("{digits}{zeros}e{}", power - shift);
            prop_assert_eq!(text_of(&plain), text_of(&shifted));
            let below = format!("0.{digits}e{}", power + i32::try_from(digits.len()).unwrap());
            prop_assert_eq!(text_of(&plain), text_of(&below));
        }

        #[test]
        fn the_text_is_the_number(mantissa in -100_000_i64..100_000, power in -20_i32..20) {
            let written = format!("{mantissa}e{power}");
            let (text, value) = (text_of(&written).parse::<f64>(), written.parse::<f64>());
            prop_assert_eq!(text.unwrap().to_bits(), (value.unwrap() + 0.0).to_bits());
            // The text of the text is itself.
            prop_assert_eq!(text_of(&text_of(&written)), text_of(&written));
        }
    }
}
