//! The members of an object as they stand in its line.

use std::collections::HashMap;

use crate::json::{self, JsonError, KeyHints, Limits, Visitor};

/// Above this many members, a hash table finds equal names faster than looking at each pair.
const FEW: usize = 32;

/// A member of the outermost object of a line: where its name is, without quotes, and its value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Member {
    name: (usize, usize),
    value: (usize, usize),
    escaped: bool,
}

impl Member {
    /// A member whose name stands in `start..end` of a text.
    pub(super) fn named(text: &[u8], start: usize, end: usize) -> Self {
        let escaped = text[start..end].contains(&b'\\');
        Self { name: (start, end), value: (end + 2, end + 2), escaped }
    }

    /// The value begins behind the quote and the colon, and ends here.
    pub(super) fn set_value(&mut self, end: usize) {
        self.value.1 = end;
    }
}

/// Finds the members of lines, using its memory again and again.
#[derive(Debug)]
pub(super) struct Members {
    list: Vec<Member>,
    hints: KeyHints,
    limits: Limits,
}

/// The members of one line.
#[derive(Clone, Copy, Debug)]
pub(super) struct Object<'l> {
    pub(super) line: &'l str,
    members: &'l [Member],
}

impl Members {
    pub(super) fn new(limits: Limits) -> Self {
        Self { list: Vec::new(), hints: KeyHints::learning(), limits }
    }

    /// The members of a line; `None` if it is no object.
    ///
    /// # Errors
    /// An error in the line.
    pub(super) fn of<'l>(&'l mut self, line: &'l [u8]) -> Result<Option<Object<'l>>, JsonError> {
        self.list.clear();
        let mut recorder =
            Recorder { base: line.as_ptr() as usize, depth: 0, list: &mut self.list };
        let line = json::walk(line, &self.limits, &mut self.hints, &mut recorder)?;
        let text = line.trim_ascii();
        if !text.starts_with('{') {
            return Ok(None);
        }
        // Each value stands between a colon and what comes before the next name.
        let mut behind = line.trim_ascii_end().len() - 1;
        for member in self.list.iter_mut().rev() {
            let value = &line[member.name.1 + 1..behind];
            let value = value.trim_ascii_end();
            let end = member.name.1 + 1 + value.len();
            let colon = value.trim_ascii_start();
            let text = colon.strip_prefix(':').unwrap_or(colon).trim_ascii_start();
            member.value = (end - text.len(), end);
            let before = line[..member.name.0 - 1].trim_ascii_end();
            behind = before.strip_suffix(',').unwrap_or(before).len();
        }
        Ok(Some(Object { line, members: &self.list }))
    }
}

impl<'l> Object<'l> {
    /// An object whose members are known; `None` if it is no text.
    pub(super) fn new(line: &'l [u8], members: &'l [Member]) -> Option<Self> {
        Some(Self { line: std::str::from_utf8(line).ok()?, members })
    }

    pub(super) fn len(&self) -> usize {
        self.members.len()
    }

    /// The name of a member as it is written.
    pub(super) fn raw_name(&self, at: usize) -> &'l str {
        let (start, end) = self.members[at].name;
        &self.line[start..end]
    }

    /// The name of a member.
    pub(super) fn name<'s>(&self, at: usize, scratch: &'s mut String) -> &'s str
    where
        'l: 's,
    {
        let raw = self.raw_name(at);
        if self.members[at].escaped { json::unescape(raw, scratch) } else { raw }
    }

    /// The text of a value.
    pub(super) fn value(&self, at: usize) -> &'l str {
        let (start, end) = self.value_range(at);
        &self.line[start..end]
    }

    /// Where the text of a value is in the line.
    pub(super) fn value_range(&self, at: usize) -> (usize, usize) {
        self.members[at].value
    }

    /// Where another member would stand: behind the last value, or behind the brace.
    pub(super) fn end(&self) -> usize {
        match self.members.last() {
            Some(member) => member.value.1,
            None => self.line.len() - self.line.trim_ascii_start().len() + 1,
        }
    }

    /// Each name once, at its first place: the number of the first and of the last member that
    /// has it.
    pub(super) fn for_each_name(&self, mut visit: impl FnMut(usize, usize)) {
        if self.members.len() > FEW {
            self.for_each_of_many(visit);
            return;
        }
        for first in 0..self.members.len() {
            if (0..first).any(|before| self.same_name(before, first)) {
                continue;
            }
            let last = (first..self.members.len()).rev().find(|&at| self.same_name(first, at));
            visit(first, last.unwrap_or(first));
        }
    }

    fn for_each_of_many(&self, mut visit: impl FnMut(usize, usize)) {
        let mut last: HashMap<String, usize> = HashMap::new();
        let name = |at| self.name(at, &mut String::new()).to_owned();
        let firsts: Vec<bool> =
            (0..self.members.len()).map(|at| last.insert(name(at), at).is_none()).collect();
        for first in (0..firsts.len()).filter(|&at| firsts[at]) {
            visit(first, last.get(&name(first)).copied().unwrap_or(first));
        }
    }

    fn same_name(&self, one: usize, other: usize) -> bool {
        if !self.members[one].escaped && !self.members[other].escaped {
            return self.raw_name(one) == self.raw_name(other);
        }
        self.name(one, &mut String::new()) == self.name(other, &mut String::new())
    }
}

struct Recorder<'m> {
    base: usize,
    depth: u32,
    list: &'m mut Vec<Member>,
}

impl Visitor for Recorder<'_> {
    #[inline]
    fn key(&mut self, raw: &str, escaped: bool) -> bool {
        if self.depth == 1 {
            let start = raw.as_ptr() as usize - self.base;
            self.list.push(Member {
                name: (start, start + raw.len()),
                escaped,
                ..Member::default()
            });
        }
        true
    }

    #[inline]
    fn begin_object(&mut self) {
        self.depth += 1;
    }

    #[inline]
    fn end_object(&mut self) {
        self.depth -= 1;
    }

    #[inline]
    fn begin_array(&mut self) {
        // The objects in it are no members of the line.
        self.depth += 2;
    }

    #[inline]
    fn end_array(&mut self) {
        self.depth -= 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn members(line: &str) -> Option<Vec<(String, String)>> {
        let mut members = Members::new(Limits::default());
        members.of(br#"{"before":{"a":1}}"#).unwrap();
        let object = members.of(line.as_bytes()).unwrap()?;
        let mut found = Vec::new();
        for at in 0..object.len() {
            let mut scratch = String::new();
            found.push((object.name(at, &mut scratch).to_owned(), object.value(at).to_owned()));
        }
        Some(found)
    }

    #[test]
    fn values_are_found_whatever_stands_around_them() {
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(
            members(
                "  {\"a\" : 1.50 ,\t\"b\":\"x, \\\"y\\\": }\"  , \"\\u0063\":{ \"a\": [ {\"d\":2} ] } }  "
            ),
            Some(vec![
                pair("a", "1.50"),
                pair("b", r#""x, \"y\": }""#),
                pair("c", r#"{ "a": [ {"d":2} ] }"#)
            ])
        );
        assert_eq!(members("{ }"), Some(vec![]));
        assert_eq!(members("[{\"a\":1}]"), None);
        assert_eq!(members("7"), None);
        assert!(Members::new(Limits::default()).of(b"{\"a\":}").is_err());
    }

    #[test]
    fn a_new_member_stands_behind_the_last() {
        let mut members = Members::new(Limits::default());
        for (line, end) in [("{}", 1), (" { } ", 2), (r#"{"a":[1] }"#, 8)] {
            assert_eq!(members.of(line.as_bytes()).unwrap().unwrap().end(), end, "{line}");
        }
    }

    #[test]
    fn equal_names_are_one_however_they_are_written_and_however_many() {
        for others in [0, 50] {
            let others: Vec<_> = (0..others).map(|at| format!(r#""o{at}":0,"#)).collect();
            let others = others.concat();
            let line = format!(r#"{{"a":1,{others}"b":2,"\u0061":3,"b":4}}"#);
            let mut members = Members::new(Limits::default());
            let object = members.of(line.as_bytes()).unwrap().unwrap();
            let mut found = Vec::new();
            object.for_each_name(|first, last| {
                if !object.raw_name(first).starts_with('o') {
                    found.push((object.raw_name(first), object.value(last)));
                }
            });
            assert_eq!(found, [("a", "3"), ("b", "4")]);
        }
    }
}
