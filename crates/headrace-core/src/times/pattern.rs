//! Patterns of times, as `strptime` and `strftime` take them.

use super::{
    Civil, Moment, Zone,
    text::{MONTHS, Said, WEEKDAYS, digits, fraction},
    zone::{offset_of, offset_text},
};

/// A pattern of times.
#[derive(Clone, Debug)]
pub struct Pattern(Vec<Item>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Item {
    /// A character as it is.
    Literal(char),
    /// White space, at least one character when it is read.
    Space(char),
    /// A directive; whether zeros in front are left out.
    Part(Part, bool),
    /// A fraction of this many digits.
    Fraction(usize),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Year,
    YearOfCentury,
    Month,
    Day,
    DayAfterSpace,
    DayOfYear,
    Hour,
    HourOfHalf,
    Minute,
    Second,
    Half,
    MonthName,
    ShortMonth,
    WeekdayName,
    ShortWeekday,
    Weekday,
    Week,
    WeekYear,
    Offset,
    OffsetWithColons,
    ZoneName,
    Epoch,
}

/// Every directive.
const PARTS: [(char, Part); 21] = [
    ('Y', Part::Year),
    ('y', Part::YearOfCentury),
    ('m', Part::Month),
    ('d', Part::Day),
    ('e', Part::DayAfterSpace),
    ('j', Part::DayOfYear),
    ('H', Part::Hour),
    ('I', Part::HourOfHalf),
    ('M', Part::Minute),
    ('S', Part::Second),
    ('p', Part::Half),
    ('B', Part::MonthName),
    ('b', Part::ShortMonth),
    ('A', Part::WeekdayName),
    ('a', Part::ShortWeekday),
    ('u', Part::Weekday),
    ('V', Part::Week),
    ('G', Part::WeekYear),
    ('z', Part::Offset),
    ('Z', Part::ZoneName),
    ('s', Part::Epoch),
];

/// Directives that stand for several.
const SHORT: [(char, &str); 5] =
    [('F', "%Y-%m-%d"), ('T', "%H:%M:%S"), ('R', "%H:%M"), ('D', "%m/%d/%y"), ('h', "%b")];

/// More characters than any pattern needs.
const MAX_LENGTH: usize = 1000;

impl Pattern {
    /// A pattern to write times with.
    ///
    /// # Errors
    /// The error message.
    pub fn to_write(text: &str) -> Result<Self, String> {
        let mut items = Vec::new();
        if text.len() > MAX_LENGTH {
            return Err(format!("the pattern is longer than {MAX_LENGTH} bytes"));
        }
        read_items(text, &mut items)?;
        if items.iter().all(|item| matches!(item, Item::Literal(_) | Item::Space(_))) {
            return Err("the pattern has no directive, as %Y or %F".to_owned());
        }
        Ok(Self(items))
    }

    /// A pattern to read times with: it has a year, or the seconds since 1970.
    ///
    /// # Errors
    /// The error message.
    pub fn to_read(text: &str) -> Result<Self, String> {
        let pattern = Self::to_write(text)?;
        let has =
            |part| pattern.0.iter().any(|item| matches!(item, Item::Part(p, _) if *p == part));
        if has(Part::Week) || has(Part::WeekYear) {
            return Err("%V and %G can be written, but not read".to_owned());
        }
        if !has(Part::Year) && !has(Part::YearOfCentury) && !has(Part::Epoch) {
            return Err("the pattern has no year, as %Y".to_owned());
        }
        if has(Part::HourOfHalf) != has(Part::Half) {
            return Err(
                "%I, the hour of 12, goes with %p, AM or PM; %H is the hour of 24".to_owned()
            );
        }
        Ok(pattern)
    }

    /// The text of a moment by the clock of a zone.
    ///
    /// # Errors
    /// It is not in the years 1 to 9999 there.
    pub fn write(&self, moment: Moment, zone: &Zone) -> Result<String, String> {
        let date = Civil::of(moment.wall(zone)?.seconds);
        let offset = zone.offset_at(moment.seconds);
        let mut text = String::new();
        for item in &self.0 {
            match item {
                Item::Literal(character) | Item::Space(character) => text.push(*character),
                Item::Fraction(digits) => text.push_str(&format!("{:09}", moment.nanos)[..*digits]),
                Item::Part(Part::ZoneName, _) => {
                    text.push_str(&zone.abbreviation(moment.seconds));
                }
                Item::Part(part, bare) => text.push_str(&shown(*part, *bare, date, offset, moment)),
            }
        }
        Ok(text)
    }

    /// The moment that a text is about; without an offset, by the clock of a zone.
    ///
    /// # Errors
    /// Where the text does not fit the pattern.
    pub fn read(&self, text: &str, zone: &Zone) -> Result<Moment, String> {
        let mut found = Found::default();
        let mut rest = text;
        for item in &self.0 {
            rest = found.read(*item, rest).ok_or_else(|| {
                let place = text.chars().count() - rest.chars().count() + 1;
                let shown: String = text.chars().take(40).collect();
                format!("{shown:?} does not fit the pattern at character {place}")
            })?;
        }
        if !rest.is_empty() {
            let shown: String = rest.chars().take(40).collect();
            return Err(format!("{shown:?} is left over behind what the pattern takes"));
        }
        found.moment(zone)
    }
}

fn read_items(text: &str, items: &mut Vec<Item>) -> Result<(), String> {
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        if character.is_whitespace() {
            items.push(Item::Space(character));
            continue;
        }
        if character != '%' {
            items.push(Item::Literal(character));
            continue;
        }
        let flag = characters.next_if(|next| matches!(next, '-' | ':' | '3' | '6' | '9'));
        let Some(name) = characters.next() else {
            return Err("% ends the pattern; write %% for itself".to_owned());
        };
        let part = PARTS.iter().find(|(known, _)| *known == name).map(|(_, part)| *part);
        let short = SHORT.iter().find(|(known, _)| *known == name);
        match (flag, name, part, short) {
            (None, '%', ..) => items.push(Item::Literal('%')),
            (None, 'n', ..) => items.push(Item::Space('\n')),
            (None, 't', ..) => items.push(Item::Space('\t')),
            (None, 'f', ..) => items.push(Item::Fraction(6)),
            (Some(digit), 'f', ..) if digit.is_ascii_digit() => {
                items.push(Item::Fraction(digit as usize - '0' as usize));
            }
            (Some(':'), 'z', ..) => items.push(Item::Part(Part::OffsetWithColons, false)),
            (None, _, Some(part), _) => items.push(Item::Part(part, false)),
            (Some('-'), _, Some(part), _) => items.push(Item::Part(part, true)),
            (None, _, _, Some((_, longer))) => read_items(longer, items)?,
            _ => {
                let flag = flag.map_or(String::new(), String::from);
                return Err(format!(
                    "there is no %{flag}{name}; there are %Y %m %d %H %M %S %f %z and others, \
                     %% for a % itself"
                ));
            }
        }
    }
    Ok(())
}

fn name_at(names: &[&'static str], number: i64) -> &'static str {
    usize::try_from(number - 1).ok().and_then(|at| names.get(at)).copied().unwrap_or_default()
}

fn shown(part: Part, bare: bool, date: Civil, offset: i32, moment: Moment) -> String {
    let number = |number: i64, width: usize| {
        let width = if bare { 1 } else { width };
        format!("{number:0width$}")
    };
    match part {
        Part::Year => number(date.year, 4),
        Part::YearOfCentury => number(date.year % 100, 2),
        Part::Month => number(date.month, 2),
        Part::Day => number(date.day, 2),
        Part::DayAfterSpace if bare => number(date.day, 1),
        Part::DayAfterSpace => format!("{:2}", date.day),
        Part::DayOfYear => number(date.day_of_year(), 3),
        Part::Hour => number(date.hour, 2),
        Part::HourOfHalf => number((date.hour + 11) % 12 + 1, 2),
        Part::Minute => number(date.minute, 2),
        Part::Second => number(date.second, 2),
        Part::Half => if date.hour < 12 { "AM" } else { "PM" }.to_owned(),
        Part::MonthName => name_at(&MONTHS, date.month).to_owned(),
        Part::ShortMonth => name_at(&MONTHS, date.month)[..3].to_owned(),
        Part::WeekdayName => name_at(&WEEKDAYS, date.weekday()).to_owned(),
        Part::ShortWeekday => name_at(&WEEKDAYS, date.weekday())[..3].to_owned(),
        Part::Weekday => date.weekday().to_string(),
        Part::Week => number(date.iso_week().1, 2),
        Part::WeekYear => number(date.iso_week().0, 4),
        Part::Offset => offset_text(offset, false),
        Part::OffsetWithColons => offset_text(offset, true),
        Part::ZoneName => String::new(),
        Part::Epoch => moment.seconds.to_string(),
    }
}

/// What was read of a time so far.
#[derive(Default)]
struct Found {
    year: Option<i64>,
    month: Option<i64>,
    day: Option<i64>,
    day_of_year: Option<i64>,
    hour: Option<i64>,
    half: Option<i64>,
    minute: i64,
    second: i64,
    nanos: u32,
    weekday: Option<i64>,
    offset: Option<i32>,
    epoch: Option<i64>,
}

impl Found {
    /// Read an item at the beginning of a text; what follows it.
    fn read<'t>(&mut self, item: Item, text: &'t str) -> Option<&'t str> {
        let part = match item {
            Item::Literal(character) => {
                let next = text.chars().next()?;
                return next.eq_ignore_ascii_case(&character).then(|| &text[next.len_utf8()..]);
            }
            Item::Space(_) => {
                let rest = text.trim_start();
                // Several in a row are one.
                return (rest.len() < text.len() || text.is_empty()).then_some(rest);
            }
            Item::Fraction(_) => {
                let (nanos, rest) = fraction(text)?;
                self.nanos = nanos;
                return Some(rest);
            }
            Item::Part(part, _) => part,
        };
        let (number, rest) = match part {
            Part::Year => digits(text, 4)?,
            Part::YearOfCentury => digits(text, 2)?,
            Part::Month | Part::HourOfHalf => in_range(text, 1, 12)?,
            Part::Day | Part::DayAfterSpace => in_range(text.trim_start_matches(' '), 1, 31)?,
            Part::DayOfYear => in_range(text, 1, 366)?,
            Part::Hour => in_range(text, 0, 23)?,
            Part::Minute => in_range(text, 0, 59)?,
            Part::Second => in_range(text, 0, 60)?,
            Part::Weekday => in_range(text, 1, 7)?,
            Part::Half => named(text, &["AM", "PM"], 2)?,
            Part::MonthName => named(text, &MONTHS, 9)?,
            Part::ShortMonth => named(text, &MONTHS, 3)?,
            Part::WeekdayName => named(text, &WEEKDAYS, 9)?,
            Part::ShortWeekday => named(text, &WEEKDAYS, 3)?,
            Part::Offset | Part::OffsetWithColons => {
                let (offset, rest) = offset_of(text)?;
                self.offset = Some(offset);
                return Some(rest);
            }
            Part::ZoneName => {
                self.offset = Some(0);
                return ["UTC", "GMT", "Z"].iter().find_map(|name| {
                    let there = text.get(..name.len())?;
                    there.eq_ignore_ascii_case(name).then(|| &text[name.len()..])
                });
            }
            Part::Epoch => {
                let sign = usize::from(text.starts_with('-'));
                let length = text[sign..].bytes().take_while(u8::is_ascii_digit).count();
                (text[..sign + length].parse().ok()?, &text[sign + length..])
            }
            Part::Week | Part::WeekYear => return None,
        };
        match part {
            Part::Year => self.year = Some(number),
            // As POSIX divides them.
            Part::YearOfCentury => {
                self.year = Some(number + if number < 69 { 2000 } else { 1900 });
            }
            Part::Month | Part::MonthName | Part::ShortMonth => self.month = Some(number),
            Part::Day | Part::DayAfterSpace => self.day = Some(number),
            Part::DayOfYear => self.day_of_year = Some(number),
            Part::Hour | Part::HourOfHalf => self.hour = Some(number),
            Part::Half => self.half = Some(number),
            Part::Minute => self.minute = number,
            Part::Second => self.second = number,
            Part::Epoch => self.epoch = Some(number),
            _ => self.weekday = Some(number),
        }
        Some(rest)
    }

    fn moment(self, zone: &Zone) -> Result<Moment, String> {
        if let Some(epoch) = self.epoch {
            return Moment::new(epoch, self.nanos);
        }
        let hour = self.hour.unwrap_or(0);
        let hour = self.half.map_or(hour, |half| hour % 12 + 12 * (half - 1));
        let (month, day) = (self.month.unwrap_or(1), self.day.unwrap_or(1));
        let year = self.year.unwrap_or(0);
        let mut civil = Civil { year, month, day, hour, minute: self.minute, second: self.second };
        if let Some(days) = self.day_of_year {
            let first = Civil { month: 1, day: 1, ..civil }.seconds();
            let there = first.map(|first| Civil::of(first + (days - 1) * super::DAY));
            let there = there.filter(|there| there.year == year);
            let there = there.ok_or("there is no such day of the year")?;
            let agrees = self.month.is_none_or(|month| month == there.month)
                && self.day.is_none_or(|day| day == there.day);
            if !agrees {
                return Err("the day of the year is not that of the date".to_owned());
            }
            (civil.month, civil.day) = (there.month, there.day);
        }
        if civil.seconds().is_some() && self.weekday.is_some_and(|day| day != civil.weekday()) {
            return Err("the weekday is not that of the date".to_owned());
        }
        Said { civil, nanos: self.nanos, offset: self.offset }.in_zone(zone)
    }
}

/// A number in a range at the beginning of a text: of as many digits as can stand for one.
fn in_range(text: &str, low: i64, high: i64) -> Option<(i64, &str)> {
    let most = high.to_string().len();
    (1..=most)
        .rev()
        .find_map(|count| digits(text, count).filter(|(number, _)| (low..=high).contains(number)))
}

/// The position, from 1 on, of the name at the beginning of a text; `letters` of it are compared.
fn named<'t>(text: &'t str, names: &[&str], letters: usize) -> Option<(i64, &'t str)> {
    names.iter().zip(1..).find_map(|(name, number)| {
        let name = &name[..letters.min(name.len())];
        let there = text.get(..name.len())?;
        there.eq_ignore_ascii_case(name).then(|| (number, &text[name.len()..]))
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn no_pattern_and_no_text_break_the_reader(
            pattern in "(%[-:369]?[a-zA-Z%]|[ :/a-z-]){0,6}",
            text in "\\PC{0,20}",
            seconds in super::super::RANGE,
        ) {
            let moment = Moment { seconds, nanos: 1 };
            if let Ok(pattern) = Pattern::to_write(&pattern) {
                let _ = pattern.write(moment, &Zone::UTC).unwrap();
            }
            if let Ok(pattern) = Pattern::to_read(&pattern) {
                let _ = pattern.read(&text, &Zone::UTC);
            }
        }

        #[test]
        fn what_is_written_can_be_read(seconds in super::super::RANGE, nanos in 0_u32..1_000_000_000) {
            let moment = Moment { seconds, nanos };
            for text in ["%Y-%m-%d %H:%M:%S.%9f", "%a %d %B %Y %I:%M:%S,%9f %p %z", "%Y %j%H%M%S%9f"] {
                let pattern = Pattern::to_read(text).unwrap();
                let written = pattern.write(moment, &Zone::UTC).unwrap();
                prop_assert_eq!(pattern.read(&written, &Zone::UTC), Ok(moment), "{}", written);
            }
        }
    }
}
