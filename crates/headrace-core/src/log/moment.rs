//! A time as a record has it, in milliseconds since the beginning of 1970.
//!
//! A whole number in any notation of JSON (`1700000000000`, `1.7e12`, `1700000000000.0`), or a text in
//! ISO 8601 as RFC 3339 has it: a date, or a date and a time of day with up to nine digits of a second,
//! in UTC unless an offset is given. A leap second is the second after it. Digits behind the
//! milliseconds are cut off.

const SECOND: i64 = 1000;
const MINUTE: i64 = 60 * SECOND;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

/// The time that `answer` is, which is JSON; None if it is none.
pub(super) fn milliseconds(answer: &[u8]) -> Option<i64> {
    let text = std::str::from_utf8(answer).ok()?.trim();
    match text.strip_prefix('"') {
        Some(rest) => iso_8601(rest.strip_suffix('"')?),
        None => whole_number(text),
    }
}

/// The number that a JSON number is, if it is whole.
fn whole_number(text: &str) -> Option<i64> {
    if let Ok(number) = text.parse() {
        return Some(number);
    }
    let (sign, text) = text.strip_prefix('-').map_or((1, text), |rest| (-1, rest));
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
        None => (text, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let fraction = fraction.trim_end_matches('0');
    let digits = format!("{whole}{fraction}");
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let significant = digits.trim_start_matches('0');
    if significant.is_empty() {
        return Some(0);
    }
    let shift = exponent.checked_sub(i32::try_from(fraction.len()).ok()?)?;
    let number = if shift >= 0 {
        let factor = 10_i64.checked_pow(u32::try_from(shift).ok()?)?;
        significant.parse::<i64>().ok()?.checked_mul(factor)?
    } else {
        let cut = usize::try_from(shift.unsigned_abs()).ok()?;
        let kept = significant.len().checked_sub(cut)?;
        let (kept, zeros) = significant.split_at(kept);
        if kept.is_empty() || zeros.bytes().any(|byte| byte != b'0') {
            return None;
        }
        kept.parse().ok()?
    };
    Some(sign * number)
}

/// The time that a text is in ISO 8601.
fn iso_8601(text: &str) -> Option<i64> {
    let mut rest = text.as_bytes();
    let year = number(&mut rest, 4)?;
    literal(&mut rest, b"-")?;
    let month = number(&mut rest, 2)?;
    literal(&mut rest, b"-")?;
    let day = number(&mut rest, 2)?;
    if year == 0 || !(1..=12).contains(&month) || !(1..=days_of(year, month)).contains(&day) {
        return None;
    }
    let date = days(year, month, day) * DAY;
    if rest.is_empty() {
        return Some(date);
    }
    literal(&mut rest, b"Tt ")?;
    let hour = number(&mut rest, 2)?;
    literal(&mut rest, b":")?;
    let minute = number(&mut rest, 2)?;
    let (mut second, mut fraction) = (0, 0);
    if literal(&mut rest, b":").is_some() {
        second = number(&mut rest, 2)?;
        if literal(&mut rest, b".,").is_some() {
            fraction = thousandths(&mut rest)?;
        }
    }
    if hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let offset = offset(&mut rest)?;
    rest.is_empty()
        .then_some(date + hour * HOUR + minute * MINUTE + second * SECOND + fraction - offset)
}

/// By how much the clock of a zone is ahead: `Z`, `+05:30`, `-0800`, `+01`; nothing is UTC.
fn offset(rest: &mut &[u8]) -> Option<i64> {
    if rest.is_empty() || literal(rest, b"Zz").is_some() {
        return Some(0);
    }
    let sign = if literal(rest, b"+").is_some() {
        1
    } else {
        literal(rest, b"-")?;
        -1
    };
    let hours = number(rest, 2)?;
    let colon = literal(rest, b":").is_some();
    let minutes = if colon || !rest.is_empty() { number(rest, 2)? } else { 0 };
    (hours <= 23 && minutes <= 59).then_some(sign * (hours * HOUR + minutes * MINUTE))
}

fn literal(rest: &mut &[u8], any: &[u8]) -> Option<()> {
    let (first, behind) = rest.split_first()?;
    any.contains(first).then(|| *rest = behind)
}

/// The number that the next `count` digits are.
fn number(rest: &mut &[u8], count: usize) -> Option<i64> {
    let (digits, behind) = rest.split_at_checked(count)?;
    *rest = behind;
    digits.iter().try_fold(0, |number, digit| {
        digit.is_ascii_digit().then(|| number * 10 + i64::from(digit - b'0'))
    })
}

/// The thousandths that the next digits of a fraction are: one to nine.
fn thousandths(rest: &mut &[u8]) -> Option<i64> {
    let count = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    if !(1..=9).contains(&count) {
        return None;
    }
    let nanoseconds = number(rest, count)? * 10_i64.pow(u32::try_from(9 - count).ok()?);
    Some(nanoseconds / 1_000_000)
}

fn days_of(year: i64, month: i64) -> i64 {
    match month {
        4 | 6 | 9 | 11 => 30,
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        _ => 31,
    }
}

/// Days from the beginning of 1970 to a date of the Gregorian calendar.
fn days(year: i64, month: i64, day: i64) -> i64 {
    // Years that begin in March have the odd day at their end.
    let year = if month <= 2 { year - 1 } else { year };
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    year * 365 + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400) + day_of_year
        - 719_468
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn whole_numbers_in_any_notation() {
        let whole = [
            ("0", 0),
            ("-0.0", 0),
            ("0e9", 0),
            ("1700000000000", 1_700_000_000_000),
            ("1700000000000.0", 1_700_000_000_000),
            ("1700000000000.000", 1_700_000_000_000),
            ("1.7e12", 1_700_000_000_000),
            ("1.7E+12", 1_700_000_000_000),
            ("17000000000000e-1", 1_700_000_000_000),
            ("-2.50e1", -25),
            ("0.000001e9", 1000),
        ];
        for (text, expected) in whole {
            assert_eq!(milliseconds(text.as_bytes()), Some(expected), "{text}");
        }
        let others =
            ["1.5", "1e-1", "1e99", "99999999999999999999", "1e2147483647", "0.1e-2147483648"];
        for text in others.into_iter().chain(["null", "true", "[1]", "{}", ""]) {
            assert_eq!(milliseconds(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn texts_in_iso_8601() {
        let moments = [
            ("1970-01-01", 0),
            ("1970-01-01T00:00Z", 0),
            ("2026-01-01T03:42:13+00:00", 1_767_238_933_000),
            ("2026-01-01T03:42:13Z", 1_767_238_933_000),
            ("2026-01-01 03:42:13", 1_767_238_933_000),
            ("2026-01-01t03:42:13.5z", 1_767_238_933_500),
            ("2026-01-01T03:42:13,123999999", 1_767_238_933_123),
            ("2026-01-01T09:12:13+05:30", 1_767_238_933_000),
            ("2025-12-31T19:42:13-0800", 1_767_238_933_000),
            ("2026-01-01T04:42:13+01", 1_767_238_933_000),
            ("2016-12-31T23:59:60Z", 1_483_228_800_000),
            ("2000-02-29", 951_782_400_000),
            ("0001-01-01", -62_135_596_800_000),
            ("9999-12-31T23:59:59.999Z", 253_402_300_799_999),
        ];
        for (text, expected) in moments {
            assert_eq!(milliseconds(format!("\"{text}\"").as_bytes()), Some(expected), "{text}");
        }
        let others = [
            "",
            "now",
            "2026",
            "2026-1-1",
            "2026-13-01",
            "2026-00-01",
            "2026-02-29",
            "1900-02-29",
            "2026-04-31",
            "0000-01-01",
            "2026-01-01T",
            "2026-01-01T24:00",
            "2026-01-01T12",
            "2026-01-01T12:60",
            "2026-01-01T12:00:61",
            "2026-01-01T12:00:00.",
            "20260101",
            "2026-01-01T12:00:00.1234567890",
            "2026-01-01T12:00 Z",
            "2026-01-01T12:00+24:00",
            "2026-01-01T12:00+01:",
            "2026-01-01T12:00Zz",
            "\u{661}970-01-01",
        ];
        for text in others {
            assert_eq!(milliseconds(format!("\"{text}\"").as_bytes()), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn each_day_is_one_after_the_one_before(year in 1_i64..9999, month in 1_i64..=12, day in 1_i64..=31) {
            prop_assume!(day <= days_of(year, month));
            let next = if day < days_of(year, month) {
                days(year, month, day + 1)
            } else if month < 12 {
                days(year, month + 1, 1)
            } else {
                days(year + 1, 1, 1)
            };
            prop_assert_eq!(next, days(year, month, day) + 1);
        }

        #[test]
        fn any_bytes_are_a_time_or_none(bytes: Vec<u8>, text in "[0-9eE.+-]{0,40}|\"[0-9T:Z.+-]{0,40}\"") {
            milliseconds(&bytes);
            milliseconds(text.as_bytes());
        }
    }
}
