//! Going through rows in order: taking their keys, and accounting for those without one.

use std::collections::HashMap;

use super::{KeyFields, KeyReader, NoKey, Read, Request};
use crate::{json::Limits, rows::Row, sealed::Lines, value::Kind};

/// How many rows without a key are remembered unless all are, and in any case the first for each
/// cause.
pub(crate) const FIRST_SKIPPED: usize = 10;

/// A row that is in no index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skipped {
    /// The row, counted from 0.
    pub number: u64,
    /// Where it begins, or goes wrong.
    pub offset: u64,
    /// `bad`, `missing`, `null`, `nested` or `too_long`.
    pub cause: &'static str,
    /// The error message.
    pub reason: String,
}

/// Takes the keys of rows.
pub struct KeyScan {
    reader: KeyReader,
    unterminated: u64,
    lines: Lines,
    records: u64,
    first: Vec<Skipped>,
    last: Option<&'static str>,
    remembered: usize,
}

impl KeyScan {
    /// `unterminated` is where a last row without a newline begins, if there is one.
    pub fn new(fields: KeyFields, limits: Limits, unterminated: Option<u64>) -> Self {
        Self {
            reader: KeyReader::new(fields, limits),
            unterminated: unterminated.unwrap_or(u64::MAX),
            lines: Lines::default(),
            records: 0,
            first: Vec::new(),
            last: None,
            remembered: FIRST_SKIPPED,
        }
    }

    /// The same of texts that are kept apart; see [`KeyReader::apart`].
    pub fn apart(fields: KeyFields, limits: Limits, unterminated: Option<u64>) -> Self {
        let reader = KeyReader::apart(fields.clone(), limits);
        Self { reader, ..Self::new(fields, limits, unterminated) }
    }

    /// The same, which remembers all rows without a key.
    #[must_use]
    pub fn remembering_all(self) -> Self {
        Self { remembered: usize::MAX, ..self }
    }

    /// All lines so far.
    pub fn lines(&self) -> Lines {
        self.lines
    }

    /// Rows with keys so far.
    pub fn records(&self) -> u64 {
        self.records
    }

    /// Whether numbers that are the same double had the same key so far.
    pub fn plain_numbers(&self) -> bool {
        self.reader.plain_numbers()
    }

    /// The first rows without a key.
    pub fn first_skipped(&self) -> &[Skipped] {
        &self.first
    }

    /// What a last row without a newline is, if it was seen: `key`, or the field of [`Lines`] that
    /// counts it.
    pub fn last(&self) -> Option<&'static str> {
        self.last
    }

    /// The key of one more row.
    pub fn key(&mut self, row: &Row<'_>) -> Option<&[u8]> {
        self.lines.lines += 1;
        let is_last = row.offset >= self.unterminated;
        let start = row.content_offset();
        let (count, cause, offset, reason) = if let Some(length) = row.too_long {
            let reason = format!("{length} bytes long, over the limit");
            (&mut self.lines.too_long, "too_long", start, reason)
        } else {
            match self.reader.read(row.content) {
                Read::Key(_) => {
                    self.records += 1;
                    self.last = is_last.then_some("key");
                    return Some(self.reader.key());
                }
                Read::Blank => {
                    self.lines.blank += 1;
                    self.last = is_last.then_some("blank");
                    return None;
                }
                Read::Bad(_) if is_last => {
                    self.lines.pending += 1;
                    self.last = Some("pending");
                    return None;
                }
                Read::Bad(error) => {
                    let at = start + error.offset as u64;
                    (&mut self.lines.bad, "bad", at, error.reason.to_string())
                }
                Read::None(NoKey::Missing) => {
                    (&mut self.lines.missing, "missing", start, "without the field".into())
                }
                Read::None(NoKey::Null) => {
                    (&mut self.lines.null, "null", start, "the field is null".into())
                }
                Read::None(NoKey::Nested) => {
                    let reason = "the field is an array or an object".into();
                    (&mut self.lines.nested, "nested", start, reason)
                }
            }
        };
        self.last = is_last.then_some(cause);
        *count += 1;
        if self.first.len() < self.remembered || *count == 1 {
            self.first.push(Skipped { number: row.number, offset, cause, reason });
        }
        None
    }

    /// The texts of the key that was taken last, if they are kept apart.
    pub fn parts(&self) -> impl Iterator<Item = &[u8]> {
        self.reader.parts()
    }

    /// What kinds of values the key that was taken last is made of.
    pub fn kinds(&self) -> &[Kind] {
        self.reader.kinds()
    }

    /// Whether the key that was taken last is the requested one.
    pub fn is(&self, request: &Request) -> bool {
        self.reader.is(request)
    }
}

/// Keys to be found in one pass.
pub struct Wanted {
    requests: Vec<Request>,
    by_key: HashMap<Vec<u8>, Vec<usize>>,
}

impl Wanted {
    /// These keys; one may occur more than once.
    pub fn new(requests: Vec<Request>) -> Self {
        let mut by_key: HashMap<Vec<u8>, Vec<usize>> = HashMap::new();
        for (number, request) in requests.iter().enumerate() {
            by_key.entry(request.key.clone()).or_default().push(number);
        }
        Self { requests, by_key }
    }

    /// Add the numbers of the requests that a row answers to `found`, with its offset.
    pub fn look_at(&self, row: &Row<'_>, scan: &mut KeyScan, found: &mut Vec<(usize, u64)>) {
        let Some(numbers) = scan.key(row).and_then(|key| self.by_key.get(key)) else { return };
        let answered = numbers.iter().filter(|&&number| scan.is(&self.requests[number]));
        found.extend(answered.map(|&number| (number, row.offset)));
    }

    /// Whether a row answers any of them.
    pub fn has(&self, row: &Row<'_>, scan: &mut KeyScan) -> bool {
        let numbers = scan.key(row).and_then(|key| self.by_key.get(key));
        numbers.is_some_and(|all| all.iter().any(|&number| scan.is(&self.requests[number])))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::RowStream;

    const DATA: &[u8] = b"{\"k\":1}\n\n{\"k\":null}\n{}\n{\"k\":[]}\n[}\n{\"k\":\"1\"}\n\
        {\"k\":\"much too long\"}\n{\"k\":1.0}\n{\"k\"";

    fn scanned(unterminated: Option<u64>) -> (KeyScan, Vec<(usize, u64)>) {
        let fields = KeyFields::new(vec!["k".into()]);
        let mut scan = KeyScan::new(fields, Limits::default(), unterminated);
        let request = |json, typed| Request::parse(json, 1, typed).unwrap();
        let wanted =
            Wanted::new(vec![request("1", false), request("7", false), request("1", true)]);
        let mut stream = RowStream::new(DATA, 0, 0, u64::MAX, 12);
        let mut found = Vec::new();
        while let Some(row) = stream.next_row().unwrap() {
            wanted.look_at(&row, &mut scan, &mut found);
        }
        (scan, found)
    }

    #[test]
    fn every_line_is_accounted_for() {
        let (scan, found) = scanned(None);
        let lines = Lines {
            lines: 10,
            blank: 1,
            bad: 2,
            missing: 1,
            null: 1,
            nested: 1,
            too_long: 1,
            pending: 0,
        };
        assert_eq!((scan.lines(), scan.records()), (lines, 3));
        let causes: Vec<_> =
            scan.first_skipped().iter().map(|row| (row.number, row.cause)).collect();
        assert_eq!(
            causes,
            [(2, "null"), (3, "missing"), (4, "nested"), (5, "bad"), (7, "too_long"), (9, "bad")]
        );
        assert_eq!(found, [(0, 0), (2, 0), (0, 35), (0, 67), (2, 67)]);
    }

    #[test]
    fn half_a_line_at_the_end_is_not_bad_yet() {
        let (scan, _) = scanned(Some(77));
        assert_eq!((scan.lines().bad, scan.lines().pending), (1, 1));
        assert_eq!((scan.last(), scanned(None).0.last()), (Some("pending"), None));
    }
}
