//! Numbers that fit a type exactly, or not at all.

/// A number as the unscaled integer of a decimal; `None` if it would lose a digit.
///
/// The text is a number as JSON has it, which may end in anything: then it is none.
pub(super) fn decimal(text: &str, precision: u8, scale: u8) -> Option<i128> {
    let (negative, text) = match text.strip_prefix('-') {
        Some(text) => (true, text),
        None => (false, text),
    };
    let (digits, exponent) = match text.split_once(['e', 'E']) {
        Some((digits, exponent)) => (digits, Some(exponent)),
        None => (text, None),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    if whole.is_empty() || (fraction.is_empty() && digits.len() > whole.len()) {
        return None;
    }
    let (value, zeros) = significant(whole.bytes().chain(fraction.bytes()))?;
    if value == 0 {
        return exponent.is_none_or(is_exponent).then_some(0);
    }
    // An exponent with more digits fits no decimal.
    let exponent: i64 = exponent.map_or(Some(0), |exponent| exponent.parse().ok())?;
    let behind = i64::try_from(fraction.len()).ok()?;
    let shift = exponent.checked_sub(behind)?.checked_add(i64::from(zeros))? + i64::from(scale);
    let power = 10_i128.checked_pow(u32::try_from(shift).ok()?)?;
    let scaled = value.checked_mul(power)?;
    let fits = scaled < 10_i128.checked_pow(u32::from(precision))?;
    fits.then_some(if negative { -scaled } else { scaled })
}

fn is_exponent(text: &str) -> bool {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit())
}

/// The digits without the zeros at their end, and how many those are.
fn significant(digits: impl Iterator<Item = u8>) -> Option<(i128, u32)> {
    let (mut value, mut zeros) = (0_i128, 0_u32);
    for digit in digits {
        match digit {
            b'0' => zeros += 1,
            b'1'..=b'9' => {
                if value != 0 {
                    value = value.checked_mul(10_i128.checked_pow(zeros)?)?;
                }
                value = value.checked_mul(10)?.checked_add(i128::from(digit - b'0'))?;
                zeros = 0;
            }
            _ => return None,
        }
    }
    Some((value, zeros))
}

/// The double that Spark writes as text.
pub(super) fn not_finite(text: &str) -> Option<f64> {
    match text {
        "NaN" => Some(f64::NAN),
        "Infinity" => Some(f64::INFINITY),
        "-Infinity" => Some(f64::NEG_INFINITY),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_decimal_keeps_every_digit_or_is_none() {
        for (text, precision, scale, expected) in [
            ("1.50", 3, 1, Some(15)),
            ("1.55", 3, 1, None),
            ("-0.0", 1, 0, Some(0)),
            ("0e999999999999999999999", 1, 0, Some(0)),
            ("1e999999999999999999999", 38, 0, None),
            ("1e-999999999999999999999", 38, 38, None),
            ("100", 2, 0, None),
            ("99", 2, 0, Some(99)),
            ("1.2e3", 4, 0, Some(1200)),
            ("1200e-2", 4, 1, Some(120)),
            ("0.001", 38, 3, Some(1)),
            ("10.010", 5, 3, Some(10010)),
            ("-99999999999999999999999999999999999999", 38, 0, Some(1 - 10_i128.pow(38))),
            ("100000000000000000000000000000000000000", 38, 0, None),
            ("", 1, 0, None),
            (".5", 2, 1, None),
            ("5.", 2, 1, None),
            ("1e", 2, 1, None),
            ("0e", 2, 1, None),
            ("+1", 2, 1, None),
            ("1x", 2, 1, None),
        ] {
            assert_eq!(decimal(text, precision, scale), expected, "{text}");
        }
    }
}
