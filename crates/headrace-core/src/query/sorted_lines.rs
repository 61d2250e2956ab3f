//! Lines in the order of their keys, in limited memory.
//!
//! What does not fit is written as a sorted *run* to a file without a name; the runs are merged
//! when the lines are read. A run is for the process that writes it alone: the lengths of a key
//! and of its line (u32 each, little-endian), the key, the line. Of equal keys, the line that came
//! first is first.

use std::{cmp::Ordering, fs::File, ops::Range, os::unix::fs::FileExt, path::PathBuf, thread};

use super::{Keyed, keyed::Texts};
use crate::{Result, rows::nameless_file, sealed::chunk};

/// The lengths before a key.
const LENGTHS: usize = 8;
const WRITE_BYTES: usize = 1 << 20;
const LEAST_READ: u64 = 16 << 10;
const MOST_READ: u64 = 1 << 20;
/// Fewer lines are not worth a second thread.
const LEAST_FOR_THREADS: usize = 1 << 15;

/// Where a line is, and the first bytes of its key, as a number that compares as they do.
#[derive(Clone, Copy)]
struct Place {
    prefix: u64,
    batch: u32,
    element: u32,
}

/// Lines in no order yet, then in order.
pub struct SortedLines {
    directory: PathBuf,
    budget: u64,
    threads: usize,
    batches: Vec<Keyed>,
    places: Vec<Place>,
    held_bytes: u64,
    file: Option<File>,
    written: u64,
    /// Where each run begins and ends in the file.
    stored: Vec<Range<u64>>,
    merge: Merge,
}

impl SortedLines {
    /// No lines yet. They take about `budget` bytes of memory, and more room in `directory`;
    /// several threads sort them.
    pub fn new(directory: PathBuf, budget: u64, threads: usize) -> Self {
        Self {
            directory,
            budget,
            threads: threads.max(1),
            batches: Vec::new(),
            places: Vec::new(),
            held_bytes: 0,
            file: None,
            written: 0,
            stored: Vec::new(),
            merge: Merge::default(),
        }
    }

    /// How many bytes of lines, keys and places are in memory.
    pub fn held_bytes(&self) -> u64 {
        self.held_bytes
    }

    /// Add the lines of another, none of which were written to a file, behind those that are here.
    ///
    /// # Errors
    /// Errors of writing.
    pub fn append(&mut self, other: Self) -> Result<()> {
        let before = u32::try_from(self.batches.len()).unwrap_or(u32::MAX);
        let places = other.places.iter();
        self.places.extend(places.map(|place| Place { batch: place.batch + before, ..*place }));
        self.batches.extend(other.batches);
        self.held_bytes += other.held_bytes;
        self.limit()
    }

    /// Add the elements of a batch.
    ///
    /// # Errors
    /// Errors of writing.
    pub fn add(&mut self, mut keyed: Keyed) -> Result<()> {
        keyed.positions = Vec::new();
        keyed.offsets = Vec::new();
        for texts in [&mut keyed.keys, &mut keyed.lines] {
            texts.data.shrink_to_fit();
            texts.ends.shrink_to_fit();
        }
        let elements = u32::try_from(keyed.keys.len()).unwrap_or(u32::MAX);
        let batch = u32::try_from(self.batches.len()).unwrap_or(u32::MAX);
        self.places.extend((0..elements).map(|element| {
            let prefix = prefix(keyed.keys.text(element as usize));
            Place { prefix, batch, element }
        }));
        let texts = keyed.keys.data.len() + keyed.lines.data.len();
        let each = size_of::<Place>() + 2 * size_of::<i32>();
        self.held_bytes += (texts + elements as usize * each) as u64;
        self.batches.push(keyed);
        self.limit()
    }

    /// Write what is held to a file if it is more than the memory it may take.
    fn limit(&mut self) -> Result<()> {
        if self.held_bytes > self.budget { self.spill() } else { Ok(()) }
    }

    /// Sort what was added; nothing can be added afterwards.
    ///
    /// # Errors
    /// Errors of writing and reading.
    pub fn sort(&mut self) -> Result<()> {
        if !self.stored.is_empty() && !self.places.is_empty() {
            self.spill()?;
        }
        let held = self.sorted_places();
        let buffer = self.budget / (2 * self.stored.len().max(1) as u64);
        let buffer = usize::try_from(buffer.clamp(LEAST_READ, MOST_READ)).unwrap_or_default();
        let stored = self.stored.iter().map(|run| Run::Stored {
            rest: run.clone(),
            ahead: Vec::new(),
            begin: 0,
            buffer,
        });
        let mut runs: Vec<Run> = stored.collect();
        runs.extend(held.into_iter().map(|places| Run::Held { rest: places }));
        self.merge = Merge::default();
        for (number, mut run) in runs.into_iter().enumerate() {
            if run.load(self.file.as_ref())? {
                self.merge.runs.push((number, run));
            }
        }
        let mut merge = std::mem::take(&mut self.merge);
        for at in (0..merge.runs.len()).rev() {
            merge.sift_down(self, at);
        }
        self.merge = merge;
        Ok(())
    }

    /// Append the next lines to `out` until it has `most` bytes or `left` lines were written;
    /// without `nulls`, lines of null are left out. Returns how many were written; nothing is
    /// appended at the end.
    ///
    /// # Errors
    /// Errors of reading.
    pub fn lines(&mut self, out: &mut Vec<u8>, most: usize, nulls: bool, left: u64) -> Result<u64> {
        let mut merge = std::mem::take(&mut self.merge);
        let mut written = 0;
        while written < left && out.len() < most {
            let Some((_, first)) = merge.runs.first_mut() else { break };
            let line = first.line(&self.batches);
            if nulls || line != b"null" {
                out.extend_from_slice(line);
                out.push(b'\n');
                written += 1;
            }
            if !first.advance(self.file.as_ref())? {
                merge.runs.swap_remove(0);
            }
            merge.sift_down(self, 0);
        }
        self.merge = merge;
        Ok(written)
    }

    /// Sort the places of what is held, in a run for each thread.
    fn sorted_places(&mut self) -> Vec<Vec<Place>> {
        let places = std::mem::take(&mut self.places);
        let threads = if places.len() < LEAST_FOR_THREADS { 1 } else { self.threads };
        let mut runs: Vec<Vec<Place>> = match threads {
            1 => vec![places],
            _ => places.chunks(places.len().div_ceil(threads)).map(<[Place]>::to_vec).collect(),
        };
        let batches = &self.batches;
        let order = |left: &Place, right: &Place| order(batches, left, right);
        thread::scope(|scope| {
            let mut others = runs.iter_mut();
            let first = others.next();
            for run in others {
                scope.spawn(move || run.sort_unstable_by(order));
            }
            if let Some(first) = first {
                first.sort_unstable_by(order);
            }
        });
        // They are read from the end, so that their memory is given back by the way.
        for run in &mut runs {
            run.reverse();
        }
        runs
    }

    /// Write what is held as a run.
    fn spill(&mut self) -> Result<()> {
        let mut runs = self.sorted_places();
        let start = self.written;
        let file = match self.file.take() {
            Some(file) => file,
            None => nameless_file(&self.directory)?,
        };
        let mut buffer = Vec::with_capacity(WRITE_BYTES);
        let mut at = start;
        let batches = &self.batches;
        while let Some(place) = least(&mut runs, batches) {
            let batch = &batches[place.batch as usize];
            let (key, line) =
                (batch.keys.text(place.element as usize), batch.lines.text(place.element as usize));
            for text in [key, line] {
                let length = u32::try_from(text.len()).unwrap_or(u32::MAX);
                buffer.extend_from_slice(&length.to_le_bytes());
            }
            buffer.extend_from_slice(key);
            buffer.extend_from_slice(line);
            if buffer.len() >= WRITE_BYTES {
                file.write_all_at(&buffer, at)?;
                at += buffer.len() as u64;
                buffer.clear();
            }
        }
        file.write_all_at(&buffer, at)?;
        self.written = at + buffer.len() as u64;
        self.file = Some(file);
        self.stored.push(start..self.written);
        self.batches = Vec::new();
        self.held_bytes = 0;
        Ok(())
    }
}

/// The first bytes of a key as a number that compares as they do.
fn prefix(key: &[u8]) -> u64 {
    let mut bytes = [0; size_of::<u64>()];
    let length = key.len().min(bytes.len());
    bytes[..length].copy_from_slice(&key[..length]);
    u64::from_be_bytes(bytes)
}

fn order(batches: &[Keyed], left: &Place, right: &Place) -> Ordering {
    left.prefix.cmp(&right.prefix).then_with(|| {
        let [left_key, right_key] = [left, right]
            .map(|place| batches[place.batch as usize].keys.text(place.element as usize));
        let places = (left.batch, left.element).cmp(&(right.batch, right.element));
        left_key.cmp(right_key).then(places)
    })
}

/// Take the least place off the ends of few runs.
fn least(runs: &mut [Vec<Place>], batches: &[Keyed]) -> Option<Place> {
    let ends = runs.iter().enumerate().filter_map(|(at, run)| Some((at, run.last()?)));
    let (at, _) = ends.min_by(|left, right| order(batches, left.1, right.1))?;
    runs[at].pop()
}

/// A sorted run; its first line is there to be looked at.
enum Run {
    /// Of what is held, the last line first.
    Held {
        rest: Vec<Place>,
    },
    Stored {
        rest: Range<u64>,
        ahead: Vec<u8>,
        begin: usize,
        buffer: usize,
    },
}

impl Run {
    /// Make the first line ready; false if there is none.
    fn load(&mut self, file: Option<&File>) -> Result<bool> {
        let Self::Stored { rest, ahead, begin, buffer } = self else {
            let Self::Held { rest } = self else { return Ok(false) };
            return Ok(!rest.is_empty());
        };
        let wanted = |ahead: &[u8]| match ahead.first_chunk::<LENGTHS>() {
            Some(_) => LENGTHS + lengths(ahead).0 + lengths(ahead).1,
            None => LENGTHS,
        };
        while ahead.len() - *begin < wanted(&ahead[*begin..]) && !rest.is_empty() {
            ahead.drain(..*begin);
            *begin = 0;
            let missing = wanted(ahead).saturating_sub(ahead.len()).max(*buffer);
            let left = usize::try_from(rest.end - rest.start).unwrap_or(usize::MAX);
            let held = ahead.len();
            ahead.resize(held + missing.min(left), 0);
            if let Some(file) = file {
                file.read_exact_at(&mut ahead[held..], rest.start)?;
            }
            rest.start += (ahead.len() - held) as u64;
        }
        Ok(ahead.len() > *begin)
    }

    /// Leave the first line; false if there is no other.
    fn advance(&mut self, file: Option<&File>) -> Result<bool> {
        match self {
            Self::Held { rest } => {
                rest.pop();
            }
            Self::Stored { ahead, begin, .. } => {
                let (key, line) = lengths(&ahead[*begin..]);
                *begin += LENGTHS + key + line;
            }
        }
        self.load(file)
    }

    fn key<'a>(&'a self, batches: &'a [Keyed]) -> &'a [u8] {
        self.texts(batches).0
    }

    fn line<'a>(&'a self, batches: &'a [Keyed]) -> &'a [u8] {
        self.texts(batches).1
    }

    /// The key and the line that come first.
    fn texts<'a>(&'a self, batches: &'a [Keyed]) -> (&'a [u8], &'a [u8]) {
        match self {
            Self::Held { rest } => match rest.last() {
                Some(place) => {
                    let (batch, at) = (&batches[place.batch as usize], place.element as usize);
                    (batch.keys.text(at), batch.lines.text(at))
                }
                None => (&[], &[]),
            },
            Self::Stored { ahead, begin, .. } => {
                let (key, line) = lengths(&ahead[*begin..]);
                ahead[*begin + LENGTHS..][..key + line].split_at(key)
            }
        }
    }
}

/// The lengths of the key and the line that a record begins with.
fn lengths(record: &[u8]) -> (usize, usize) {
    let [key, line] = [0, 4].map(|at| u32::from_le_bytes(chunk(record, at)) as usize);
    (key, line)
}

/// A heap of runs by their first keys, and by their numbers where these are equal.
#[derive(Default)]
struct Merge {
    runs: Vec<(usize, Run)>,
}

impl Merge {
    fn sift_down(&mut self, lines: &SortedLines, mut at: usize) {
        let batches = &lines.batches;
        let order = |left: &(usize, Run), right: &(usize, Run)| {
            left.1.key(batches).cmp(right.1.key(batches)).then(left.0.cmp(&right.0))
        };
        loop {
            let children = (2 * at + 1)..(2 * at + 3).min(self.runs.len());
            let least = children.min_by(|one, other| order(&self.runs[*one], &self.runs[*other]));
            let Some(child) = least else { return };
            if order(&self.runs[at], &self.runs[child]) == Ordering::Less {
                return;
            }
            self.runs.swap(at, child);
            at = child;
        }
    }
}

impl Texts {
    fn len(&self) -> usize {
        self.ends.len() - 1
    }

    fn text(&self, at: usize) -> &[u8] {
        let [start, end] =
            [at, at + 1].map(|at| usize::try_from(self.ends[at]).unwrap_or_default());
        &self.data[start..end]
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    /// A key and its line.
    type Element = (Vec<u8>, Vec<u8>);

    fn keyed(elements: &[Element]) -> Keyed {
        let texts = |of: fn(&Element) -> &Vec<u8>| {
            let mut texts = Texts { ends: vec![0], ..Texts::default() };
            for element in elements {
                texts.data.extend_from_slice(of(element));
                texts.ends.push(i32::try_from(texts.data.len()).unwrap());
            }
            texts
        };
        Keyed {
            keys: texts(|element| &element.0),
            lines: texts(|element| &element.1),
            ..Keyed::default()
        }
    }

    proptest! {
        #[test]
        fn lines_come_as_a_stable_sort_has_them(
            batches in vec(vec((vec(prop_oneof![Just(1_u8), Just(2), Just(255)], 1..12), prop_oneof![Just(b"null".to_vec()), vec(b'a'..b'f', 0..40)]), 0..30), 0..12),
            budget in 0_u64..4000,
            threads in 1_usize..4,
            apart in 1_usize..4,
            most in 1_usize..200,
            nulls: bool,
            limit in prop_oneof![Just(u64::MAX), 0_u64..40],
        ) {
            // As keys are: none is the beginning of another.
            let ended = |(mut key, line): (Vec<u8>, Vec<u8>)| { key.push(0); (key, line) };
            let batches: Vec<Vec<_>> = batches.into_iter().map(|batch| batch.into_iter().map(ended).collect()).collect();
            let mut sorted = SortedLines::new(std::env::temp_dir(), budget, threads);
            for some in batches.chunks(apart) {
                let mut share = SortedLines::new(std::env::temp_dir(), u64::MAX, 1);
                for batch in some {
                    let lines = if apart == 1 { &mut sorted } else { &mut share };
                    lines.add(keyed(batch)).unwrap();
                }
                sorted.append(share).unwrap();
            }
            sorted.sort().unwrap();
            let (mut found, mut left) = (Vec::new(), limit);
            loop {
                let mut out = Vec::new();
                left -= sorted.lines(&mut out, most, nulls, left).unwrap();
                if out.is_empty() {
                    break;
                }
                found.extend(out);
            }
            let mut all = batches.concat();
            all.sort_by(|left, right| left.0.cmp(&right.0));
            let lines = all.iter().map(|element| &element.1).filter(|line| nulls || *line != b"null");
            let limit = usize::try_from(limit).unwrap_or(usize::MAX);
            let expected: Vec<u8> = lines.take(limit).flat_map(|line| [line.as_slice(), b"\n"].concat()).collect();
            prop_assert_eq!(found, expected);
        }
    }
}
