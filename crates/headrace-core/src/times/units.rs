//! Units of time, spans of them, and times cut off to them.

use super::{Civil, DAY, Moment, SECOND, Zone, civil::days_to};

/// A unit of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "they say what they are")]
pub enum Unit {
    Year,
    Quarter,
    Month,
    Week,
    Day,
    Hour,
    Minute,
    Second,
    Milli,
    Micro,
    Nano,
}

/// Every unit with its names; each may have an `s` behind it if it is a word.
const UNITS: [(Unit, &[&str]); 11] = [
    (Unit::Year, &["year", "y", "yr"]),
    (Unit::Quarter, &["quarter", "q"]),
    (Unit::Month, &["month", "mo"]),
    (Unit::Week, &["week", "w"]),
    (Unit::Day, &["day", "d"]),
    (Unit::Hour, &["hour", "h", "hr"]),
    (Unit::Minute, &["minute", "m", "min"]),
    (Unit::Second, &["second", "s", "sec"]),
    (Unit::Milli, &["millisecond", "ms"]),
    (Unit::Micro, &["microsecond", "us"]),
    (Unit::Nano, &["nanosecond", "ns"]),
];

impl Unit {
    /// The unit of a name.
    ///
    /// # Errors
    /// No such name.
    pub fn find(name: &str) -> Result<Self, String> {
        let is_one = |known: &&str| {
            name == *known || (known.len() > 2 && name.strip_suffix('s') == Some(*known))
        };
        let found = UNITS.iter().find(|(_, names)| names.iter().any(is_one));
        found.map(|(unit, _)| *unit).ok_or_else(|| {
            format!(
                "there is no unit {name:?}; there are year, quarter, month, week, day, hour, \
                 minute, second, ms, us and ns"
            )
        })
    }

    /// How long it is in nanoseconds, if that is always the same; a day has 24 hours.
    pub fn nanos(self) -> Option<i128> {
        Some(match self {
            Self::Year | Self::Quarter | Self::Month => return None,
            Self::Week => 7 * i128::from(DAY) * SECOND,
            Self::Day => i128::from(DAY) * SECOND,
            Self::Hour => 3600 * SECOND,
            Self::Minute => 60 * SECOND,
            Self::Second => SECOND,
            Self::Milli => 1_000_000,
            Self::Micro => 1000,
            Self::Nano => 1,
        })
    }

    /// How many months it has, if it is made of them.
    pub fn months(self) -> Option<i64> {
        match self {
            Self::Year => Some(12),
            Self::Quarter => Some(3),
            Self::Month => Some(1),
            _ => None,
        }
    }
}

/// Months and days of the calendar, and a time that always passes alike.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    months: i64,
    days: i64,
    nanos: i128,
}

impl Span {
    /// The span of a text such as `1h30m`, `-2d` or `3 months`.
    ///
    /// # Errors
    /// The text is not one.
    pub fn parse(text: &str) -> Result<Self, String> {
        let wrong = || format!("{text:?} is no span of time; write 1h30m, -2d or 3mo");
        let (sign, mut rest) = match text.strip_prefix('-') {
            Some(rest) => (-1, rest),
            None => (1, text.strip_prefix('+').unwrap_or(text)),
        };
        let mut span = Self::default();
        if rest.is_empty() || text.len() > 100 {
            return Err(wrong());
        }
        while !rest.is_empty() {
            let length = rest.bytes().take_while(u8::is_ascii_digit).count();
            let number: i64 = rest[..length].parse().map_err(|_| wrong())?;
            rest = rest[length..].trim_start_matches(' ');
            let length = rest.bytes().take_while(u8::is_ascii_alphabetic).count();
            let unit = Unit::find(&rest[..length]).map_err(|_| wrong())?;
            rest = rest[length..].trim_start_matches(' ');
            span = span.plus(sign * number, unit)?;
        }
        Ok(span)
    }

    /// The span plus `count` units.
    ///
    /// # Errors
    /// It is longer than all times.
    pub fn plus(self, count: i64, unit: Unit) -> Result<Self, String> {
        // More than from the first year to the last, in any unit but the shortest.
        const MOST: i128 = 10_000 * 366 * 86_400 * SECOND;
        let mut span = self;
        let count = i128::from(count);
        let days = match unit {
            Unit::Week => count * 7,
            Unit::Day => count,
            _ => 0,
        };
        let months = unit.months().map_or(0, |months| count * i128::from(months));
        let nanos = match unit {
            Unit::Week | Unit::Day => 0,
            _ => unit.nanos().map_or(0, |nanos| count * nanos),
        };
        let fits = |part: i128| i64::try_from(part).ok().filter(|part| part.abs() < 10_000_000);
        let (Some(months), Some(days)) =
            (fits(i128::from(span.months) + months), fits(i128::from(span.days) + days))
        else {
            return Err("the span is longer than all times".to_owned());
        };
        span.nanos += nanos;
        if span.nanos.abs() > MOST {
            return Err("the span is longer than all times".to_owned());
        }
        Ok(Self { months, days, nanos: span.nanos })
    }

    /// The span multiplied.
    #[must_use]
    pub fn times(self, count: i64) -> Self {
        Self {
            months: self.months.saturating_mul(count),
            days: self.days.saturating_mul(count),
            nanos: self.nanos.saturating_mul(i128::from(count)),
        }
    }

    /// The moment that is a span after another: months and days by the clock and the calendar
    /// of a zone, then the rest.
    ///
    /// # Errors
    /// There is no such time.
    pub fn after(self, moment: Moment, zone: &Zone) -> Result<Moment, String> {
        let mut seconds = moment.seconds;
        if self.months != 0 || self.days != 0 {
            let offset = zone.offset_at(seconds);
            let wall = Civil::of(moment.wall(zone)?.seconds);
            let moved = wall.plus_months(self.months).and_then(Civil::seconds);
            let moved = moved.ok_or_else(super::beyond)?;
            let moved = moved.saturating_add(self.days.saturating_mul(DAY));
            Moment::new(moved, 0)?;
            seconds = zone.moment_of(moved, Some(offset))?;
        }
        Moment::of_nanos(Moment { seconds, ..moment }.nanos().saturating_add(self.nanos))
    }
}

/// What times are cut off to: a unit, or a part of a day or a year as `15m` and `3mo`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bucket {
    /// A number of months, aligned to the year.
    Months(i64),
    /// From Monday on.
    Week,
    /// A number of nanoseconds, aligned to the day.
    Nanos(i128),
}

impl Bucket {
    /// The bucket of a text.
    ///
    /// # Errors
    /// The text is not one.
    pub fn parse(text: &str) -> Result<Self, String> {
        let length = text.bytes().take_while(u8::is_ascii_digit).count();
        let unit = Unit::find(text[length..].trim_start_matches(' '))?;
        let count = match &text[..length] {
            "" => 1,
            digits => digits.parse::<i64>().unwrap_or(0),
        };
        let wrong =
            || format!("{text:?} divides neither a day nor a year evenly; write 15m, 6h or 3mo");
        if let Some(months) = unit.months() {
            let months = months.saturating_mul(count);
            return if months > 0 && 12 % months == 0 {
                Ok(Self::Months(months))
            } else {
                Err(wrong())
            };
        }
        if unit == Unit::Week {
            return if count == 1 { Ok(Self::Week) } else { Err(wrong()) };
        }
        let day = i128::from(DAY) * SECOND;
        let nanos = unit.nanos().unwrap_or(1).saturating_mul(i128::from(count));
        if nanos > 0 && day % nanos == 0 { Ok(Self::Nanos(nanos)) } else { Err(wrong()) }
    }

    /// The last beginning of a bucket by the clock of a zone.
    ///
    /// # Errors
    /// There is no such time.
    pub fn cut(self, moment: Moment, zone: &Zone) -> Result<Moment, String> {
        let offset = zone.offset_at(moment.seconds);
        let wall = moment.wall(zone)?;
        let date = Civil::of(wall.seconds);
        let day = wall.seconds.div_euclid(DAY);
        let start = match self {
            Self::Months(months) => {
                let month = (date.month - 1) / months * months + 1;
                i128::from(days_to(date.year, month, 1) * DAY) * SECOND
            }
            Self::Week => i128::from((day - date.weekday() + 1) * DAY) * SECOND,
            Self::Nanos(nanos) => {
                let midnight = i128::from(day * DAY) * SECOND;
                midnight + (wall.nanos() - midnight) / nanos * nanos
            }
        };
        let start = Moment::of_nanos(start)?;
        // With the same offset if that is still the clock's.
        let same = start.seconds - i64::from(offset);
        let seconds = if zone.offset_at(same) == offset {
            same
        } else {
            zone.moment_of(start.seconds, Some(offset))?
        };
        Moment::new(seconds, start.nanos)
    }
}
