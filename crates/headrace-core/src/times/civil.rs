//! Dates of the calendar, and days counted from the beginning of 1970.

use super::DAY;

/// A date and a time of day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Civil {
    #[allow(missing_docs, reason = "they say what they are")]
    pub year: i64,
    #[allow(missing_docs, reason = "they say what they are")]
    pub month: i64,
    #[allow(missing_docs, reason = "they say what they are")]
    pub day: i64,
    #[allow(missing_docs, reason = "they say what they are")]
    pub hour: i64,
    #[allow(missing_docs, reason = "they say what they are")]
    pub minute: i64,
    #[allow(missing_docs, reason = "they say what they are")]
    pub second: i64,
}

impl Civil {
    /// The date and time of a wall time in seconds.
    pub fn of(seconds: i64) -> Self {
        let (year, month, day) = date_of(seconds.div_euclid(DAY));
        let rest = seconds.rem_euclid(DAY);
        Self { year, month, day, hour: rest / 3600, minute: rest / 60 % 60, second: rest % 60 }
    }

    /// The wall time in seconds; None if there is no such date. A second 60 is the next one.
    pub fn seconds(self) -> Option<i64> {
        let Self { year, month, day, hour, minute, second } = self;
        let good = (1..=9999).contains(&year)
            && (1..=12).contains(&month)
            && (1..=days_in(year, month)).contains(&day)
            && (0..24).contains(&hour)
            && (0..60).contains(&minute)
            && (0..=60).contains(&second);
        good.then(|| days_to(year, month, day) * DAY + hour * 3600 + minute * 60 + second)
    }

    /// From 1 for Monday to 7 for Sunday.
    pub fn weekday(self) -> i64 {
        (days_to(self.year, self.month, self.day) + 3).rem_euclid(7) + 1
    }

    /// From 1 on.
    pub fn day_of_year(self) -> i64 {
        days_to(self.year, self.month, self.day) - days_to(self.year, 1, 1) + 1
    }

    /// The year and the week of ISO 8601: week 1 has the first Thursday.
    pub fn iso_week(self) -> (i64, i64) {
        let days = days_to(self.year, self.month, self.day);
        let thursday = days - self.weekday() + 4;
        let (year, _, _) = date_of(thursday);
        (year, (thursday - days_to(year, 1, 1)) / 7 + 1)
    }

    /// The same time of day `months` later, or on the last day of a month that is too short.
    pub fn plus_months(self, months: i64) -> Option<Self> {
        let all = (self.year * 12 + self.month - 1).checked_add(months)?;
        let (year, month) = (all.div_euclid(12), all.rem_euclid(12) + 1);
        if !(1..=9999).contains(&year) {
            return None;
        }
        Some(Self { year, month, day: self.day.min(days_in(year, month)), ..self })
    }
}

/// How many days a month has.
fn days_in(year: i64, month: i64) -> i64 {
    match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days from 1970-01-01 to a date. The year is counted from March, so that a leap day ends it.
pub(super) fn days_to(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

fn date_of(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let of_era = days.rem_euclid(146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (year + era * 400 + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_day_has_a_date_and_every_date_a_day() {
        let mut before = Civil::of(-62_135_596_800);
        assert_eq!((before.year, before.month, before.day, before.weekday()), (1, 1, 1, 1));
        for days in -719_162..=2_932_896 {
            let date = Civil::of(days * DAY);
            assert_eq!(date.seconds(), Some(days * DAY));
            if days > -719_162 {
                let next = (before.year, before.month, before.day + 1);
                let follows = (date.year, date.month, date.day) == next
                    || (date.day == 1 && before.day == days_in(before.year, before.month));
                assert!(follows, "{date:?}");
                assert_eq!(date.weekday(), before.weekday() % 7 + 1);
            }
            before = date;
        }
        assert_eq!((before.year, before.month, before.day), (9999, 12, 31));
    }
}
