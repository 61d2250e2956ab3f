//! Dates and times as ISO 8601 writes them.

use jiff::{
    Timestamp,
    tz::{Offset, TimeZone, TimeZoneDatabase},
};
use serde::{Deserialize, Serialize};

const SECOND: i64 = 1_000_000;
const DAY: i64 = 86_400 * SECOND;

/// Days since 1970-01-01 of `YYYY-MM-DD`.
pub(super) fn date(text: &str) -> Option<i32> {
    let mut reader = Reader(text.as_bytes());
    let day = reader.date()?;
    reader.0.is_empty().then_some(day)
}

/// Where a time without an offset is.
#[derive(Clone, Copy, Debug)]
pub(super) enum Place<'z> {
    /// In UTC.
    Utc,
    /// In a zone.
    In(&'z Zone),
    /// Nowhere: times have no offset.
    Nowhere,
}

/// A time zone by its name, such as `Europe/Berlin` or `+02:00`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(try_from = "String", into = "String")]
pub struct Zone {
    name: String,
    rules: TimeZone,
}

impl TryFrom<String> for Zone {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        let rules = fixed_offset(&name)
            .or_else(|| TimeZoneDatabase::bundled().get(&name).ok())
            .ok_or_else(|| format!("there is no time zone {name}"))?;
        Ok(Self { name, rules })
    }
}

impl From<Zone> for String {
    fn from(zone: Zone) -> Self {
        zone.name
    }
}

/// The zone that `+HH:MM` names.
fn fixed_offset(name: &str) -> Option<TimeZone> {
    let mut reader = Reader(name.as_bytes());
    let seconds = reader.offset()? / SECOND;
    let offset = Offset::from_seconds(i32::try_from(seconds).ok()?).ok()?;
    reader.0.is_empty().then(|| TimeZone::fixed(offset))
}

impl Zone {
    /// The instant at which clocks of the zone show a time, in microseconds. A time that they
    /// skip is as much later as they skip; of one that they show twice the first one counts.
    fn instant(&self, local: i64) -> Option<i64> {
        let shown = Timestamp::from_microsecond(local).ok()?;
        let shown = TimeZone::UTC.to_datetime(shown);
        let instant = self.rules.to_ambiguous_timestamp(shown).compatible().ok()?;
        Some(instant.as_microsecond())
    }
}

/// Microseconds since 1970-01-01T00:00 of a date, alone or with a time of day behind `T` or a space.
///
/// Of the digits of a second, those behind the sixth are left out, as Spark does.
pub(super) fn timestamp(text: &str, place: Place<'_>) -> Option<i64> {
    let without_offset = |micros| match place {
        Place::In(zone) => zone.instant(micros),
        Place::Utc | Place::Nowhere => Some(micros),
    };
    let mut reader = Reader(text.as_bytes());
    let day = i64::from(reader.date()?) * DAY;
    if reader.0.is_empty() {
        return without_offset(day);
    }
    if !(reader.skip(b'T') || reader.skip(b't') || reader.skip(b' ')) {
        return None;
    }
    let time = reader.time()?;
    if reader.0.is_empty() {
        return without_offset(day + time);
    }
    let offset = reader.offset()?;
    let may_be = reader.0.is_empty() && !matches!(place, Place::Nowhere);
    may_be.then_some(day + time - offset)
}

struct Reader<'t>(&'t [u8]);

impl Reader<'_> {
    fn skip(&mut self, byte: u8) -> bool {
        match self.0.split_first() {
            Some((first, rest)) if *first == byte => {
                self.0 = rest;
                true
            }
            _ => false,
        }
    }

    fn expect(&mut self, byte: u8) -> Option<()> {
        self.skip(byte).then_some(())
    }

    fn digits(&mut self, count: usize) -> Option<i64> {
        let (digits, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        digits.iter().try_fold(0, |value, digit| {
            digit.is_ascii_digit().then(|| value * 10 + i64::from(digit - b'0'))
        })
    }

    fn up_to(&mut self, most: i64) -> Option<i64> {
        self.digits(2).filter(|value| *value <= most)
    }

    fn date(&mut self) -> Option<i32> {
        let year = self.digits(4).filter(|year| *year > 0)?;
        self.expect(b'-')?;
        let month = self.up_to(12)?;
        self.expect(b'-')?;
        let day = self.up_to(31)?;
        let fits = day > 0 && day <= days_of_month(year, month)?;
        fits.then(|| days_since_1970(year, month, day))
    }

    fn time(&mut self) -> Option<i64> {
        let hours = self.up_to(23)?;
        self.expect(b':')?;
        let minutes = self.up_to(59)?;
        let mut micros = (hours * 60 + minutes) * 60 * SECOND;
        if self.skip(b':') {
            micros += self.up_to(59)? * SECOND;
            if self.skip(b'.') {
                micros += self.fraction()?;
            }
        }
        Some(micros)
    }

    fn fraction(&mut self) -> Option<i64> {
        let (mut micros, mut unit, mut any) = (0, SECOND, false);
        while let Some((&digit @ b'0'..=b'9', rest)) = self.0.split_first() {
            (self.0, any) = (rest, true);
            unit /= 10;
            micros += unit * i64::from(digit - b'0');
        }
        any.then_some(micros)
    }

    /// `Z`, `+HH`, `+HHMM` or `+HH:MM`.
    fn offset(&mut self) -> Option<i64> {
        if self.skip(b'Z') || self.skip(b'z') {
            return Some(0);
        }
        let sign = if self.skip(b'+') {
            1
        } else {
            self.expect(b'-')?;
            -1
        };
        let hours = self.up_to(18)?;
        let minutes = if self.skip(b':') || !self.0.is_empty() { self.up_to(59)? } else { 0 };
        Some(sign * (hours * 60 + minutes) * 60 * SECOND)
    }
}

fn days_of_month(year: i64, month: i64) -> Option<i64> {
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    match month {
        2 => Some(if is_leap { 29 } else { 28 }),
        4 | 6 | 9 | 11 => Some(30),
        1..=12 => Some(31),
        _ => None,
    }
}

/// In the calendar of today, whenever it was introduced.
fn days_since_1970(year: i64, month: i64, day: i64) -> i32 {
    // Years that begin in March end with the day that only some of them have.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let leap_days = year / 4 - year / 100 + year / 400;
    let days = year * 365 + leap_days + (153 * month + 2) / 5 + day - 1;
    // 0000-03-01 is 719,468 days before 1970; four digits of a year are few days.
    i32::try_from(days - 719_468).unwrap_or(i32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates() {
        for (text, expected) in [
            ("1970-01-01", Some(0)),
            ("1969-12-31", Some(-1)),
            ("2000-02-29", Some(11_016)),
            ("2024-03-01", Some(19_783)),
            ("0001-01-01", Some(-719_162)),
            ("9999-12-31", Some(2_932_896)),
            ("1900-02-29", None),
            ("2023-02-29", None),
            ("2023-13-01", None),
            ("2023-00-01", None),
            ("2023-04-31", None),
            ("2023-04-00", None),
            ("0000-01-01", None),
            ("2023-4-1", None),
            ("2023-04-01 ", None),
            ("", None),
        ] {
            assert_eq!(date(text), expected, "{text}");
        }
    }

    #[test]
    fn timestamps() {
        for (text, expected) in [
            ("1970-01-01", Some(0)),
            ("1970-01-01T00:00:01Z", Some(SECOND)),
            ("1970-01-01 00:00:01", Some(SECOND)),
            ("1970-01-02T01:00+01:00", Some(DAY)),
            ("1970-01-01T00:00:00-0130", Some(5400 * SECOND)),
            ("1970-01-01T00:00:00.5+00", Some(SECOND / 2)),
            ("1970-01-01T00:00:00.000001000Z", Some(1)),
            ("1969-12-31T23:59:59.999999Z", Some(-1)),
            ("1970-01-01T00:00:00.0000001Z", Some(0)),
            ("1970-01-01T00:00:00.123456789Z", Some(123_456)),
            ("1969-12-31T23:59:59.9999999Z", Some(-1)),
            ("1970-01-01T00:00:00.", None),
            ("1970-01-01T24:00:00Z", None),
            ("1970-01-01T00:00:60Z", None),
            ("1970-01-01T00", None),
            ("1970-01-01T", None),
            ("1970-01-01T00:00:00+01:0", None),
            ("1970-01-01T00:00:00+01:", None),
            ("1970-01-01T00:00:00Z ", None),
            ("1970-01-01X00:00:00Z", None),
        ] {
            assert_eq!(timestamp(text, Place::Utc), expected, "{text}");
        }
        assert_eq!(timestamp("1970-01-01T00:00:01", Place::Nowhere), Some(SECOND));
        assert_eq!(timestamp("1970-01-01T00:00:01Z", Place::Nowhere), None);
    }

    #[test]
    fn times_in_a_zone() {
        let hours = |zone: &str, text: &str| {
            let zone = Zone::try_from(zone.to_owned()).unwrap();
            let shown = timestamp(text, Place::Utc).unwrap();
            (shown - timestamp(text, Place::In(&zone)).unwrap()) / (3600 * SECOND)
        };
        for (zone, text, ahead) in [
            ("America/New_York", "2024-07-01T12:00:00", -4),
            ("America/New_York", "2024-01-01", -5),
            ("America/New_York", "2024-07-01T12:00:00Z", 0),
            ("+02:00", "2024-07-01T12:00:00", 2),
            ("UTC", "2024-07-01T12:00:00", 0),
            // Skipped, and shown twice.
            ("Europe/Berlin", "2024-03-31T02:30:00", 1),
            ("Europe/Berlin", "2024-10-27T02:30:00", 2),
        ] {
            assert_eq!(hours(zone, text), ahead, "{zone} {text}");
        }
        assert!(Zone::try_from("Nowhere/Else".to_owned()).is_err());
    }
}
