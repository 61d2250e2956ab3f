//! Lines of several logs in one order.
//!
//! A log is an *input*; inputs are numbered. Lines come in the order of (key, input, line), where the key
//! of a line is the latest time of its input up to it. So each input keeps the order of its lines,
//! whatever their times are, and only the next line of each input is ever looked at.

use std::{cmp::Reverse, collections::BinaryHeap, io::Write};

use super::{ENTRY_BYTES, Entry};

/// Bytes of the origin of a line: the input (u32), its number (u64), its time (i64), and its end in
/// the output (u64), little endian.
pub const PICK_BYTES: usize = 28;

/// The form of the output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Form {
    /// The line unchanged.
    AsItIs,
    /// The line unchanged, with its origin beside it ([`Merged::picks`]).
    Picked,
    /// An object of these names of the inputs, as JSON, its number, its time and the record.
    Tagged(Vec<Vec<u8>>),
}

/// When enough is merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// Lines with a later key are left.
    pub key: i64,
    /// Lines at a time.
    pub rows: usize,
    /// Bytes at a time, unless one line has more.
    pub bytes: usize,
}

/// Why lines come no further.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pause {
    /// This input has to be given more, or ended.
    Wants(usize),
    /// The limit of rows or bytes is reached.
    Full,
    /// The next line has this key, which is behind the limit.
    Later(i64),
    /// There are no more.
    End,
}

/// Lines that were merged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Merged {
    /// The lines, in the form of the merge.
    pub data: Vec<u8>,
    /// The number of lines.
    pub rows: usize,
    /// [`PICK_BYTES`] for each line, with [`Form::Picked`].
    pub picks: Vec<u8>,
    /// The key of the last, if there is one.
    pub key: Option<i64>,
    /// Why there are no more.
    pub pause: Pause,
}

struct Input<B> {
    block: Option<(B, B)>,
    ended: bool,
    /// Entries that are done.
    row: usize,
    /// Bytes of their lines.
    at: usize,
    /// Of those and of the next.
    key: i64,
}

impl<B: AsRef<[u8]>> Input<B> {
    /// The entry of the next line, if there is one in the block.
    fn head(&self) -> Option<Entry> {
        let (entries, _) = self.block.as_ref()?;
        entries.as_ref().as_chunks::<ENTRY_BYTES>().0.get(self.row).map(Entry::believed)
    }

    fn wants(&self) -> bool {
        !self.ended && self.block.is_none()
    }
}

/// Merges lines, which it is given some of each input at a time.
pub struct Merge<B> {
    inputs: Vec<Input<B>>,
    /// The next line of each input that has one.
    heads: BinaryHeap<Reverse<(i64, usize)>>,
    /// Inputs that have to be given lines.
    wanting: Vec<usize>,
    form: Form,
}

impl<B: AsRef<[u8]>> Merge<B> {
    /// A merge of `inputs` inputs, all still empty.
    pub fn new(inputs: usize, form: Form) -> Self {
        let input = |_| Input { block: None, ended: false, row: 0, at: 0, key: i64::MIN };
        Self {
            inputs: (0..inputs).map(input).collect(),
            heads: BinaryHeap::with_capacity(inputs),
            wanting: (0..inputs).rev().collect(),
            form,
        }
    }

    /// Give an input that wants it its next lines, whose entries were compared with them. False if it has lines.
    pub fn give(&mut self, input: usize, entries: B, lines: B) -> bool {
        let Some(to) = self.inputs.get_mut(input).filter(|input| input.wants()) else {
            return false;
        };
        (to.block, to.row, to.at) = (Some((entries, lines)), 0, 0);
        self.advance(input);
        true
    }

    /// Say that an input that wants lines has no more.
    pub fn end(&mut self, input: usize) {
        if let Some(to) = self.inputs.get_mut(input) {
            to.ended = true;
        }
    }

    /// Put the next line of an input among the heads, or find that it wants more.
    fn advance(&mut self, number: usize) {
        let input = &mut self.inputs[number];
        if let Some(head) = input.head() {
            input.key = input.key.max(head.time);
            self.heads.push(Reverse((input.key, number)));
        } else {
            input.block = None;
            self.wanting.push(number);
        }
    }

    /// The next lines.
    pub fn next(&mut self, limit: Limit) -> Merged {
        let (data, picks) = (Vec::new(), Vec::new());
        let mut merged = Merged { data, rows: 0, picks, key: None, pause: Pause::End };
        merged.pause = loop {
            while let Some(&number) = self.wanting.last() {
                if self.inputs[number].wants() {
                    break;
                }
                self.wanting.pop();
            }
            if let Some(&number) = self.wanting.last() {
                break Pause::Wants(number);
            }
            let Some(&Reverse((key, number))) = self.heads.peek() else { break Pause::End };
            if key > limit.key {
                break Pause::Later(key);
            }
            if merged.rows >= limit.rows || merged.data.len() >= limit.bytes {
                break Pause::Full;
            }
            self.heads.pop();
            self.take(number, limit, &mut merged);
            self.advance(number);
        };
        merged
    }

    /// Take lines of one input up to where that of another is next.
    fn take(&mut self, number: usize, limit: Limit, merged: &mut Merged) {
        let other = self.heads.peek().map(|head| head.0);
        let input = &mut self.inputs[number];
        let Some((entries, lines)) = &input.block else { return };
        let lines = lines.as_ref();
        for bytes in &entries.as_ref().as_chunks::<ENTRY_BYTES>().0[input.row..] {
            let entry = Entry::believed(bytes);
            let key = input.key.max(entry.time);
            let full = merged.rows >= limit.rows || merged.data.len() >= limit.bytes;
            if key > limit.key || full || other.is_some_and(|other| (key, number) > other) {
                break;
            }
            let line = &lines[input.at..][..entry.length(lines.len() - input.at)];
            input.key = key;
            input.row += 1;
            input.at += line.len();
            merged.rows += 1;
            merged.key = Some(key);
            match &self.form {
                Form::AsItIs => merged.data.extend_from_slice(line),
                Form::Picked => {
                    merged.data.extend_from_slice(line);
                    pick(number, &entry, merged);
                }
                Form::Tagged(names) => tag(&names[number], &entry, line, &mut merged.data),
            }
        }
    }
}

fn pick(input: usize, entry: &Entry, merged: &mut Merged) {
    let input = u32::try_from(input).unwrap_or(u32::MAX);
    merged.picks.extend_from_slice(&input.to_le_bytes());
    merged.picks.extend_from_slice(&entry.line.to_le_bytes());
    merged.picks.extend_from_slice(&entry.time.to_le_bytes());
    merged.picks.extend_from_slice(&(merged.data.len() as u64).to_le_bytes());
}

fn tag(name: &[u8], entry: &Entry, line: &[u8], data: &mut Vec<u8>) {
    data.extend_from_slice(b"{\"partition\":");
    data.extend_from_slice(name);
    // Writing to memory does not fail.
    let _ = write!(data, ",\"line\":{},\"time\":{},\"record\":", entry.line, entry.time);
    let record = line.trim_ascii();
    data.extend_from_slice(if record.is_empty() { b"null" } else { record });
    data.extend_from_slice(b"}\n");
}
