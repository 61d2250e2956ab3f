//! The times of lines: that of the record, or that at which it was written.
//!
//! A time that is extracted must not be earlier than the latest one before it, but for what
//! [`Late`] allows; otherwise it is not believed and the time of writing is taken, which itself
//! never goes back.

use super::{Entry, flag};

/// The beginning of the year 1 and the end of the year 9999.
const POSSIBLE: std::ops::RangeInclusive<i64> = -62_135_596_800_000..=253_402_300_799_999;

/// How much earlier than the latest one before it an extracted time may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Late {
    /// As it pleases; times of writing may go back as well.
    Any,
    /// At most this many milliseconds.
    Milliseconds(u64),
}

/// The time that a log extracts from a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventTime {
    /// The log extracts no times.
    NotExtracted,
    /// The record has no time that is a whole number.
    Missing,
    /// Milliseconds.
    Time(i64),
}

/// The times of a log and of its current file so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clock {
    /// How order is kept.
    pub late: Late,
    /// Of the last line of the log.
    pub last: Option<i64>,
    /// The latest that was extracted, of all lines of the log.
    pub latest_extracted: Option<i64>,
    /// The earliest and the latest of the file.
    pub span: Option<(i64, i64)>,
    /// How many times could not be extracted, or were not believed.
    pub fallbacks: u64,
}

impl Clock {
    /// A clock that has seen nothing.
    pub fn new(late: Late) -> Self {
        Self { late, last: None, latest_extracted: None, span: None, fallbacks: 0 }
    }

    /// The time of the next line, which was written at `created`, and whether it is extracted.
    ///
    /// ```
    /// # use headrace_core::log::{Clock, Late, EventTime};
    /// let mut clock = Clock::new(Late::Milliseconds(10));
    /// assert_eq!(clock.time(EventTime::Time(500), 900), (500, true));
    /// assert_eq!(clock.time(EventTime::Time(100), 901), (901, false)); // too late
    /// ```
    pub fn time(&mut self, extracted: EventTime, created: i64) -> (i64, bool) {
        let believed = match extracted {
            EventTime::Time(time) if self.believes(time) => Some(time),
            _ => None,
        };
        self.fallbacks += u64::from(extracted != EventTime::NotExtracted && believed.is_none());
        let time = believed.unwrap_or(match self.late {
            Late::Any => created,
            Late::Milliseconds(_) => self.last.map_or(created, |last| created.max(last)),
        });
        self.note(time, believed.is_some());
        (time, believed.is_some())
    }

    fn believes(&self, time: i64) -> bool {
        let in_order = match (self.late, self.latest_extracted) {
            (Late::Any, _) | (_, None) => true,
            (Late::Milliseconds(most), Some(latest)) => {
                // Both are possible times, so that their difference is small.
                latest.saturating_sub(time) <= i64::try_from(most).unwrap_or(i64::MAX)
            }
        };
        POSSIBLE.contains(&time) && in_order
    }

    /// Take note of a line that has its entry.
    pub fn see(&mut self, entry: &Entry) {
        self.note(entry.time, entry.extracted);
    }

    fn note(&mut self, time: i64, extracted: bool) {
        self.last = Some(time);
        if extracted {
            self.latest_extracted = self.latest_extracted.max(Some(time));
        }
        let (earliest, latest) = self.span.unwrap_or((time, time));
        self.span = Some((earliest.min(time), latest.max(time)));
    }

    /// The flags of a line whose time is this, if the time of writing was lost.
    pub(super) fn flags(extracted: bool, reconstructed: bool) -> u8 {
        if reconstructed && !extracted { flag::TIME_RECONSTRUCTED } else { 0 }
    }
}
