//! Dates and times as ISO 8601.
//!
//! Years beyond 9999 have a sign in front, as those before 0 have.

use std::io::Write;

const DAY: i64 = 86_400_000_000;
/// Days of 400 years, after which the calendar repeats.
const CYCLE: i64 = 146_097;
/// From the first of March of the year 0 to 1970.
const EPOCH: i64 = 719_468;

/// Append the date that is `days` after the first of January 1970.
pub(super) fn write_date(days: i64, out: &mut Vec<u8>) {
    let (year, month, day) = date(days);
    let sign = if year > 9999 { "+" } else { "" };
    let width = if year < 0 { 5 } else { 4 };
    // A vector takes everything.
    let _ = write!(out, "{sign}{year:0width$}-{month:02}-{day:02}");
}

/// Append date and time; three digits behind the second, six if three do not do.
pub(super) fn write_timestamp(micros: i64, utc: bool, out: &mut Vec<u8>) {
    write_date(micros.div_euclid(DAY), out);
    let rest = micros.rem_euclid(DAY);
    let seconds = rest / 1_000_000;
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    let _ = write!(out, "T{hour:02}:{minute:02}:{second:02}");
    let micros = rest % 1_000_000;
    let _ = match micros % 1000 {
        0 => write!(out, ".{:03}", micros / 1000),
        _ => write!(out, ".{micros:06}"),
    };
    if utc {
        out.push(b'Z');
    }
}

/// Year, month and day in the Gregorian calendar, which is taken to have held always.
fn date(days: i64) -> (i64, i64, i64) {
    // A year that begins in March has its leap day at the end.
    let days = days + EPOCH;
    let (cycles, day) = (days.div_euclid(CYCLE), days.rem_euclid(CYCLE));
    // The last day of four centuries, and of four years, belongs to the year before it.
    let century = (day / 36_524).min(3);
    let day = day - century * 36_524;
    let fours = day / 1461;
    let day = day - fours * 1461;
    let year = (day / 365).min(3);
    let day = day - year * 365;
    let year = cycles * 400 + century * 100 + fours * 4 + year;
    // March to July have 153 days, and so have August to December.
    let month = (day * 5 + 2) / 153;
    let day = day - (month * 153 + 2) / 5 + 1;
    if month < 10 { (year, month + 3, day) } else { (year + 1, month - 9, day) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spelled(micros: i64, utc: bool) -> String {
        let mut out = Vec::new();
        write_timestamp(micros, utc, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn every_day_follows_the_one_before() {
        let leap = |year: i64| year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
        let mut last = date(-800_000);
        for day in -799_999..3_000_000 {
            let next = date(day);
            let length = match last.1 {
                2 if leap(last.0) => 29,
                2 => 28,
                4 | 6 | 9 | 11 => 30,
                _ => 31,
            };
            let wanted = match last {
                (year, 12, 31) => (year + 1, 1, 1),
                (year, month, day) if day == length => (year, month + 1, 1),
                (year, month, day) => (year, month, day + 1),
            };
            assert_eq!(next, wanted);
            last = next;
        }
        assert_eq!(date(0), (1970, 1, 1));
        assert_eq!(date(-719_528), (0, 1, 1));
    }

    #[test]
    fn times_have_the_digits_they_need() {
        assert_eq!(spelled(0, true), "1970-01-01T00:00:00.000Z");
        assert_eq!(spelled(-1, false), "1969-12-31T23:59:59.999999");
        assert_eq!(spelled(1_700_000_000_120_000, true), "2023-11-14T22:13:20.120Z");
        assert_eq!(spelled(253_402_300_800_000_000, false), "+10000-01-01T00:00:00.000");
        assert_eq!(spelled(-62_167_219_200_000_001, false), "-0001-12-31T23:59:59.999999");
        assert!(spelled(i64::MIN, true).starts_with("-290308-12-21T19:59:05.224192"));
    }
}
