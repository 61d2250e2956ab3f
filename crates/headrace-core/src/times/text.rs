//! Times as texts of ISO 8601, RFC 3339 and RFC 2822.

use super::{Civil, DAY, Moment, Zone, zone::offset_of};

pub(super) const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
pub(super) const WEEKDAYS: [&str; 7] =
    ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];

/// What a text says: a wall time, and how far its clock is before UTC if it says so.
pub(super) struct Said {
    pub(super) civil: Civil,
    pub(super) nanos: u32,
    pub(super) offset: Option<i32>,
}

impl Said {
    /// The moment, with the clock of a zone if the text has no offset.
    pub(super) fn in_zone(&self, zone: &Zone) -> Result<Moment, String> {
        let wall = self.civil.seconds().ok_or("there is no such date or time of day")?;
        let seconds = match self.offset {
            Some(offset) => wall - i64::from(offset),
            None => zone.moment_of(wall, None)?,
        };
        if self.civil.second == 60 && seconds.rem_euclid(DAY) != 0 {
            return Err("a second 60 is only there at the end of a day in UTC".to_owned());
        }
        Moment::new(seconds, self.nanos)
    }
}

pub(super) fn parse(text: &str) -> Result<Said, String> {
    let read = if text.bytes().take(4).all(|byte| byte.is_ascii_digit()) && text.len() > 4 {
        iso(text)
    } else {
        mail(text)
    };
    read.ok_or_else(|| {
        let shown: String = text.chars().take(40).collect();
        format!(
            "{shown:?} is no time of ISO 8601 or RFC 2822, as 2026-11-18T21:09:41Z; \
             parse_time(pattern) reads others"
        )
    })
}

/// A number of `count` digits at the beginning of a text, and the rest of the text.
pub(super) fn digits(text: &str, count: usize) -> Option<(i64, &str)> {
    let number = text.get(..count)?;
    let all = number.bytes().all(|byte| byte.is_ascii_digit());
    Some((number.parse().ok().filter(|_| all)?, text.get(count..)?))
}

/// A fraction of a second of 1 to 9 digits, and what follows.
pub(super) fn fraction(text: &str) -> Option<(u32, &str)> {
    let length = text.bytes().take_while(u8::is_ascii_digit).count();
    if !(1..=9).contains(&length) {
        return None;
    }
    let number: u32 = text.get(..length)?.parse().ok()?;
    let scale = 10_u32.pow(u32::try_from(9 - length).ok()?);
    Some((number * scale, text.get(length..)?))
}

fn iso(text: &str) -> Option<Said> {
    let (year, rest) = digits(text, 4)?;
    let extended = rest.starts_with('-');
    let sign = if extended { "-" } else { "" };
    let (month, rest) = digits(rest.strip_prefix(sign)?, 2)?;
    let (day, rest) = digits(rest.strip_prefix(sign)?, 2)?;
    let mut civil = Civil { year, month, day, hour: 0, minute: 0, second: 0 };
    if rest.is_empty() {
        return Some(Said { civil, nanos: 0, offset: None });
    }
    let colon = if extended { ":" } else { "" };
    let rest = rest.strip_prefix(['T', 't', ' '])?;
    let (hour, rest) = digits(rest, 2)?;
    let (minute, mut rest) = digits(rest.strip_prefix(colon)?, 2)?;
    (civil.hour, civil.minute) = (hour, minute);
    let mut nanos = 0;
    if let Some((second, behind)) = rest.strip_prefix(colon).and_then(|rest| digits(rest, 2)) {
        (civil.second, rest) = (second, behind);
        if let Some(behind) = rest.strip_prefix(['.', ',']) {
            (nanos, rest) = fraction(behind)?;
        }
    }
    let offset = match rest {
        "" => None,
        // Some write a space before it.
        rest => match offset_of(rest.strip_prefix(' ').unwrap_or(rest))? {
            (offset, "") => Some(offset),
            _ => return None,
        },
    };
    Some(Said { civil, nanos, offset })
}

fn mail(text: &str) -> Option<Said> {
    let (weekday, text) = match text.split_once(',') {
        Some((weekday, rest)) => (Some(named(weekday, &WEEKDAYS)?), rest.strip_prefix(' ')?),
        None => (None, text),
    };
    let mut words = text.split(' ').filter(|word| !word.is_empty());
    let day = words.next()?;
    let (day, "") = digits(day, day.len().min(2))? else { return None };
    let month = named(words.next()?, &MONTHS)? + 1;
    let (year, "") = digits(words.next()?, 4)? else { return None };
    let time = words.next()?;
    let (hour, rest) = digits(time, 2)?;
    let (minute, rest) = digits(rest.strip_prefix(':')?, 2)?;
    let second = match rest {
        "" => 0,
        rest => match digits(rest.strip_prefix(':')?, 2)? {
            (second, "") => second,
            _ => return None,
        },
    };
    let zone = words.next()?;
    let offset = match zone.to_ascii_uppercase().as_str() {
        "GMT" | "UT" | "UTC" | "Z" => 0,
        "EDT" => -4 * 3600,
        "EST" | "CDT" => -5 * 3600,
        "CST" | "MDT" => -6 * 3600,
        "MST" | "PDT" => -7 * 3600,
        "PST" => -8 * 3600,
        _ => match offset_of(zone)? {
            (offset, "") => offset,
            _ => return None,
        },
    };
    let civil = Civil { year, month, day, hour, minute, second };
    civil.seconds()?;
    let fits = weekday.is_none_or(|weekday| weekday + 1 == civil.weekday());
    (fits && words.next().is_none()).then_some(Said { civil, nanos: 0, offset: Some(offset) })
}

/// The place of a name that is shortened to three letters.
fn named(word: &str, names: &[&str]) -> Option<i64> {
    let found = names.iter().position(|name| name[..3].eq_ignore_ascii_case(word))?;
    i64::try_from(found).ok()
}
