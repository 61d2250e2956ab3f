//! Time zones: offsets from UTC, and the zones of the IANA, whose rules are in the library.
//!
//! The rules of the machine are not read, so a query gives the same everywhere.

use jiff::{
    Timestamp,
    civil::DateTime,
    tz::{AmbiguousOffset, TimeZone},
};

use super::{Civil, text::digits};

/// Where a wall clock hangs.
#[derive(Clone, Debug)]
pub enum Zone {
    /// A fixed number of seconds before UTC.
    Fixed(i32),
    /// By the rules of a place.
    Place(TimeZone),
}

impl Zone {
    /// Universal time.
    pub const UTC: Self = Self::Fixed(0);

    /// The zone of a name, as `Europe/Berlin`, `UTC` or `+05:30`.
    ///
    /// # Errors
    /// No such name.
    pub fn find(name: &str) -> Result<Self, String> {
        if name.eq_ignore_ascii_case("UTC") || name.eq_ignore_ascii_case("Z") {
            return Ok(Self::UTC);
        }
        if let Some((offset, "")) = offset_of(name) {
            return Ok(Self::Fixed(offset));
        }
        let unknown =
            || format!("there is no time zone {name:?}; write Europe/Berlin, UTC or +05:30");
        if name.starts_with(['+', '-', '/', '.']) || name.len() > 64 {
            return Err(unknown());
        }
        TimeZone::get(name).map(Self::Place).map_err(|_| unknown())
    }

    /// How many seconds its clock is before UTC at a moment.
    pub fn offset_at(&self, seconds: i64) -> i32 {
        match self {
            Self::Fixed(offset) => *offset,
            Self::Place(zone) => zone.to_offset(timestamp(seconds)).seconds(),
        }
    }

    /// The moment, in seconds, at which its clock shows a wall time. What the clock skips is as
    /// late after the gap; of what it shows twice it is the first time, or the one with the
    /// offset that is `preferred`.
    ///
    /// # Errors
    /// The rules do not reach that far.
    pub fn moment_of(&self, wall: i64, preferred: Option<i32>) -> Result<i64, String> {
        let zone = match self {
            Self::Fixed(offset) => return Ok(wall - i64::from(*offset)),
            Self::Place(zone) => zone,
        };
        let Civil { year, month, day, hour, minute, second } = Civil::of(wall);
        let small = |number: i64| i8::try_from(number).map_err(|_| too_far());
        let date = DateTime::new(
            i16::try_from(year).map_err(|_| too_far())?,
            small(month)?,
            small(day)?,
            small(hour)?,
            small(minute)?,
            small(second)?,
            0,
        )
        .map_err(|_| too_far())?;
        let offset = match zone.to_ambiguous_timestamp(date).offset() {
            AmbiguousOffset::Unambiguous { offset } => offset,
            AmbiguousOffset::Fold { after, .. } if preferred == Some(after.seconds()) => after,
            AmbiguousOffset::Gap { before, .. } | AmbiguousOffset::Fold { before, .. } => before,
        };
        Ok(wall - i64::from(offset.seconds()))
    }

    /// What the zone is called at a moment, as `CEST`.
    pub fn abbreviation(&self, seconds: i64) -> String {
        match self {
            Self::Fixed(0) => "UTC".to_owned(),
            Self::Fixed(offset) => offset_text(*offset, true),
            Self::Place(zone) => zone.to_offset_info(timestamp(seconds)).abbreviation().to_owned(),
        }
    }
}

/// A moment as the rules take it; they end a day before the year 9999 does.
fn timestamp(seconds: i64) -> Timestamp {
    let (first, last) = (Timestamp::MIN.as_second(), Timestamp::MAX.as_second());
    Timestamp::new(seconds.clamp(first, last), 0).unwrap_or(Timestamp::MAX)
}

fn too_far() -> String {
    "the rules of the time zone do not reach to this time".to_owned()
}

/// The offset at the beginning of a text, in seconds, and what follows: `Z`, `+05`, `+0530`,
/// `+05:30`, `+05:30:15`.
pub(super) fn offset_of(text: &str) -> Option<(i32, &str)> {
    if let Some(rest) = text.strip_prefix(['Z', 'z']) {
        return Some((0, rest));
    }
    let sign = match text.as_bytes().first()? {
        b'+' => 1,
        b'-' => -1,
        _ => return None,
    };
    let (hours, mut rest) = two_digits(text.get(1..)?)?;
    let colon = rest.starts_with(':');
    let mut offset = hours * 3600;
    for seconds in [60, 1] {
        let part =
            if colon { rest.strip_prefix(':').and_then(two_digits) } else { two_digits(rest) };
        let Some((number, behind)) = part else { break };
        if number > 59 {
            return None;
        }
        offset += number * seconds;
        rest = behind;
    }
    (hours < 24).then_some((sign * offset, rest))
}

fn two_digits(text: &str) -> Option<(i32, &str)> {
    let (number, rest) = digits(text, 2)?;
    Some((i32::try_from(number).ok()?, rest))
}

/// An offset as text, with colons or without.
pub(super) fn offset_text(offset: i32, colons: bool) -> String {
    let sign = if offset < 0 { '-' } else { '+' };
    let colon = if colons { ":" } else { "" };
    let all = offset.abs();
    let seconds = if all % 60 == 0 { String::new() } else { format!("{colon}{:02}", all % 60) };
    format!("{sign}{:02}{colon}{:02}{seconds}", all / 3600, all / 60 % 60)
}
