//! Times: moments, as text, in zones, and what is computed with them.
//!
//! A moment is counted in seconds and nanoseconds from the beginning of 1970 in UTC, without
//! leap seconds, and lies in the years 1 to 9999. A *wall* time is what a clock shows somewhere,
//! counted in the same way.

mod civil;
mod pattern;
mod text;
mod units;
mod zone;

pub use civil::Civil;
pub use pattern::Pattern;
pub use units::{Bucket, Span, Unit};
pub use zone::Zone;

/// The first second of the year 1, and the last one of the year 9999.
const RANGE: std::ops::RangeInclusive<i64> = -62_135_596_800..=253_402_300_799;

pub(crate) const DAY: i64 = 86_400;
pub(crate) const SECOND: i128 = 1_000_000_000;

/// A moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment {
    /// Since the beginning of 1970, rounded down.
    pub seconds: i64,
    /// Of the second, below 10^9.
    pub nanos: u32,
}

impl Moment {
    /// A moment of the years that have four digits.
    ///
    /// # Errors
    /// It is not in them.
    pub fn new(seconds: i64, nanos: u32) -> Result<Self, String> {
        if RANGE.contains(&seconds) { Ok(Self { seconds, nanos }) } else { Err(beyond()) }
    }

    /// The moment `nanos` nanoseconds after the beginning of 1970.
    ///
    /// # Errors
    /// It is not in the years 1 to 9999.
    pub fn of_nanos(nanos: i128) -> Result<Self, String> {
        let seconds = i64::try_from(nanos.div_euclid(SECOND)).map_err(|_| beyond())?;
        let part = u32::try_from(nanos.rem_euclid(SECOND)).map_err(|_| beyond())?;
        Self::new(seconds, part)
    }

    /// Nanoseconds since the beginning of 1970.
    pub fn nanos(self) -> i128 {
        i128::from(self.seconds) * SECOND + i128::from(self.nanos)
    }

    /// The moment that a text is about: ISO 8601, RFC 3339 or RFC 2822. Without an offset, it is
    /// the wall time of `zone`.
    ///
    /// # Errors
    /// An error in the text.
    pub fn parse(text: &str, zone: &Zone) -> Result<Self, String> {
        text::parse(text)?.in_zone(zone)
    }

    /// What a clock shows in a zone.
    ///
    /// # Errors
    /// It is not in the years 1 to 9999 there.
    pub fn wall(self, zone: &Zone) -> Result<Self, String> {
        Self::new(self.seconds + i64::from(zone.offset_at(self.seconds)), self.nanos)
    }

    /// The text of the moment in UTC. The order of these texts is that of the moments: `+` is
    /// before `.`, and both are before digits.
    pub fn text(self) -> String {
        let Civil { year, month, day, hour, minute, second } = Civil::of(self.seconds);
        let mut text = format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}");
        if self.nanos > 0 {
            let fraction = format!(".{:09}", self.nanos);
            text.push_str(fraction.trim_end_matches('0'));
        }
        text + "+00:00"
    }
}

fn beyond() -> String {
    "the time is not in the years 1 to 9999".to_owned()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parsed(text: &str) -> Result<String, String> {
        Moment::parse(text, &Zone::UTC).map(Moment::text)
    }

    #[test]
    fn times_are_read_as_they_are_written() {
        let cases = [
            ("2026-11-18", "2026-11-18T00:00:00+00:00"),
            ("2026-11-18T21:09", "2026-11-18T21:09:00+00:00"),
            ("2026-11-18 21:09:41.250000", "2026-11-18T21:09:41.25+00:00"),
            ("20261118T210941Z", "2026-11-18T21:09:41+00:00"),
            ("2026-11-18t21:09:41,5+01:30", "2026-11-18T19:39:41.5+00:00"),
            ("2026-11-18T21:09:41.123456789-0800", "2026-11-19T05:09:41.123456789+00:00"),
            ("Wed, 18 Nov 2026 21:09:41 GMT", "2026-11-18T21:09:41+00:00"),
            ("18 nov 2026 21:09 -0500", "2026-11-19T02:09:00+00:00"),
            ("2016-12-31T23:59:60Z", "2017-01-01T00:00:00+00:00"),
            ("2017-01-01T00:59:60+01:00", "2017-01-01T00:00:00+00:00"),
            ("9999-12-31T23:59:59.999999999Z", "9999-12-31T23:59:59.999999999+00:00"),
            ("0001-01-01T00:00:00Z", "0001-01-01T00:00:00+00:00"),
            ("2024-02-29", "2024-02-29T00:00:00+00:00"),
        ];
        for (text, expected) in cases {
            assert_eq!(parsed(text).as_deref(), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_is_no_time_is_refused() {
        for text in [
            "",
            "2026",
            "2026-11",
            "2026-13-01",
            "2026-02-29",
            "2026-11-18T",
            "2026-11-18T24:00:00Z",
            "2026-11-18T21:60Z",
            "2026-11-18T12:00:60Z",
            "2026-11-18T21:09:41.Z",
            "2026-11-18T21:09:41+25:00",
            "2026-11-18T21:09:41.1234567891Z",
            "2026-11-18T21:09:41Z ",
            " 2026-11-18",
            "26-11-18",
            "0000-01-01",
            "0001-01-01T00:00:00+01:00",
            "9999-12-31T23:59:59-01:00",
            "+12026-01-01",
            "Thu, 18 Nov 2026 21:09:41 GMT",
            "18 Nov 26 21:09:41 GMT",
            "2026-11-18T21:09:41[UTC]",
            "é",
            "99999999999999999999",
            "2026-11-18T2109:41Z",
        ] {
            assert!(parsed(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_wall_time_that_a_zone_skips_or_repeats_has_a_rule() {
        let zone = Zone::find("Europe/Berlin").unwrap();
        let at = |text| Moment::parse(text, &zone).map(Moment::text).unwrap();
        // Skipped: as late after the gap as it stands after its beginning.
        assert_eq!(at("2026-03-29T02:30:00"), "2026-03-29T01:30:00+00:00");
        // Repeated: the first time.
        assert_eq!(at("2026-10-25T02:30:00"), "2026-10-25T00:30:00+00:00");
        assert_eq!(at("2026-10-25T02:30:00+01:00"), "2026-10-25T01:30:00+00:00");
        assert!(Zone::find("Europe/Nowhere").is_err());
    }

    proptest! {
        #[test]
        fn texts_are_in_the_order_of_their_moments(
            left in (RANGE, 0_u32..1_000_000_000),
            right in (RANGE, 0_u32..1_000_000_000),
            near in any::<bool>(),
            coarse in prop::sample::select(vec![1_u32, 1000, 1_000_000, 100_000_000]),
        ) {
            let seconds = if near { left.0 } else { right.0 };
            let left = Moment { seconds: left.0, nanos: left.1 / coarse * coarse };
            let right = Moment { seconds, nanos: right.1 / coarse * coarse };
            prop_assert_eq!(left.text().cmp(&right.text()), left.cmp(&right));
            prop_assert_eq!(Moment::parse(&left.text(), &Zone::UTC), Ok(left));
        }

        #[test]
        fn no_text_breaks_the_reader(text in "\\PC{0,30}") {
            let _ = Moment::parse(&text, &Zone::UTC);
        }
    }
}
