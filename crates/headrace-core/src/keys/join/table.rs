//! Rows in memory by their keys.

/// Bytes of a piece of memory; a longer text gets a piece for itself.
const PIECE: usize = 1 << 20;
const NONE: u32 = u32::MAX;

/// Texts one behind the other, in pieces, so that growing moves nothing.
#[derive(Debug, Default)]
struct Texts {
    pieces: Vec<Vec<u8>>,
    bytes: usize,
}

/// Where a text is.
#[derive(Clone, Copy, Debug)]
struct Place {
    piece: u32,
    start: u32,
    length: u32,
}

impl Texts {
    fn push(&mut self, text: &[u8]) -> Place {
        let has_room = |piece: &Vec<u8>| piece.capacity() - piece.len() >= text.len();
        if !self.pieces.last().is_some_and(has_room) {
            let piece = Vec::with_capacity(text.len().max(PIECE));
            self.bytes += piece.capacity();
            self.pieces.push(piece);
        }
        let number = self.pieces.len() - 1;
        let piece = &mut self.pieces[number];
        let start = piece.len();
        piece.extend_from_slice(text);
        // In range: no line is longer than 4 GiB, and what is longer than a piece has its own.
        let narrow = |number| u32::try_from(number).unwrap_or(NONE);
        Place { piece: narrow(number), start: narrow(start), length: narrow(text.len()) }
    }

    fn get(&self, place: Place) -> &[u8] {
        let start = place.start as usize;
        &self.pieces[place.piece as usize][start..start + place.length as usize]
    }

    /// Forget all texts, and keep one piece.
    fn clear(&mut self) {
        self.pieces.truncate(1);
        self.pieces.iter_mut().for_each(Vec::clear);
        self.bytes = self.pieces.iter().map(Vec::capacity).sum();
    }
}

/// A key of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct KeyId(u32);

impl KeyId {
    pub(super) fn number(self) -> usize {
        self.0 as usize
    }
}

/// A row of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RowId(u32);

#[derive(Clone, Copy, Debug)]
struct Key {
    hash: u64,
    text: Place,
    /// Its first and last row.
    first: u32,
    last: u32,
}

#[derive(Clone, Copy, Debug)]
struct Row {
    text: Place,
    /// The next one of the same key.
    next: u32,
}

/// A key of a row: its hash, and where its text is among the texts of a batch.
#[derive(Clone, Copy, Debug)]
pub(super) struct KeySpan {
    pub(super) hash: u64,
    pub(super) start: usize,
    pub(super) end: usize,
}

/// The number of a key, and the upper half of its hash.
#[derive(Clone, Copy, Debug)]
struct Slot {
    number: u32,
    tag: u32,
}

const FREE: Slot = Slot { number: NONE, tag: 0 };

/// Texts by keys; those of one key in the order they came.
#[derive(Debug, Default)]
pub(super) struct Table {
    /// Keys, each at its hash or behind it; as many places as a power of two.
    slots: Vec<Slot>,
    keys: Vec<Key>,
    key_texts: Texts,
    rows: Vec<Row>,
    row_texts: Texts,
}

impl Table {
    /// How much memory it takes.
    pub(super) fn bytes(&self) -> usize {
        self.slots.capacity() * size_of::<Slot>()
            + self.keys.capacity() * size_of::<Key>()
            + self.rows.capacity() * size_of::<Row>()
            + self.key_texts.bytes
            + self.row_texts.bytes
    }

    /// How much the texts of its rows take.
    pub(super) fn row_bytes(&self) -> usize {
        self.row_texts.bytes
    }

    /// How many rows it has.
    pub(super) fn rows(&self) -> usize {
        self.rows.len()
    }

    /// How many keys it has.
    pub(super) fn keys(&self) -> usize {
        self.keys.len()
    }

    /// The key, if it is there.
    pub(super) fn find(&self, hash: u64, key: &[u8]) -> Option<KeyId> {
        self.slot_of(hash, key).ok().map(KeyId)
    }

    /// Many keys, as [`find`](Self::find) does. Most of the time goes into waiting for memory:
    /// step by step for all of them, they are waited for together.
    pub(super) fn find_all(&self, spans: &[KeySpan], texts: &[u8], found: &mut Vec<Option<KeyId>>) {
        found.clear();
        found.extend(spans.iter().map(|span| {
            let slot = self.probe(span.hash, |_number| true);
            slot.ok().map(KeyId)
        }));
        // Prefetches: the next load does not depend on them.
        let near = found.iter().flatten();
        std::hint::black_box(near.fold(0, |sum, id| sum ^ self.keys[id.number()].hash));
        let near = found.iter().flatten();
        std::hint::black_box(near.fold(0, |sum, &id| sum ^ ends_of(self.key_text(id))));
        for (span, found) in spans.iter().zip(found.iter_mut()) {
            let text = &texts[span.start..span.end];
            if found.is_some_and(|id| !self.is(id.0, span.hash, text)) {
                *found = self.find(span.hash, text);
            }
        }
    }

    /// Have the places near at which keys with these hashes are, or will be.
    pub(super) fn near(&self, hashes: impl Iterator<Item = u64>) {
        let mask = self.slots.len().wrapping_sub(1);
        let slots = hashes.filter_map(|hash| self.slots.get(home(hash) & mask));
        std::hint::black_box(slots.fold(0, |sum, slot| sum ^ slot.number));
    }

    /// Prefetch the first rows of keys into the cache.
    pub(super) fn fetch(&self, keys: &[Option<KeyId>]) {
        let first = |id: &Option<KeyId>| id.and_then(|id| self.first(id));
        let rows = keys.iter().filter_map(first);
        std::hint::black_box(rows.fold(0, |sum, row| sum ^ self.rows[row.0 as usize].next));
        let rows = keys.iter().filter_map(first);
        std::hint::black_box(rows.fold(0, |sum, row| sum ^ ends_of(self.text(row))));
    }

    /// The key, which is added if it is not there.
    pub(super) fn key(&mut self, hash: u64, key: &[u8]) -> KeyId {
        if (self.keys.len() + 1) * 2 > self.slots.len() {
            self.grow();
        }
        match self.slot_of(hash, key) {
            Ok(number) => KeyId(number),
            Err(slot) => {
                let number = u32::try_from(self.keys.len()).unwrap_or(NONE);
                let text = self.key_texts.push(key);
                self.keys.push(Key { hash, text, first: NONE, last: NONE });
                self.slots[slot] = Slot { number, tag: tag_of(hash) };
                KeyId(number)
            }
        }
    }

    /// The number of a key, or the slot it would be in.
    fn slot_of(&self, hash: u64, key: &[u8]) -> Result<u32, usize> {
        self.probe(hash, |number| self.is(number, hash, key))
    }

    fn is(&self, number: u32, hash: u64, key: &[u8]) -> bool {
        let there = &self.keys[number as usize];
        there.hash == hash && self.key_texts.get(there.text) == key
    }

    /// The first key that may have a hash and that `is` the one, or a free slot for it.
    fn probe(&self, hash: u64, is: impl Fn(u32) -> bool) -> Result<u32, usize> {
        let mask = self.slots.len().wrapping_sub(1);
        let mut slot = home(hash) & mask;
        while let Some(&Slot { number, tag }) = self.slots.get(slot) {
            if number == NONE {
                return Err(slot);
            }
            if tag == tag_of(hash) && is(number) {
                return Ok(number);
            }
            slot = (slot + 1) & mask;
        }
        Err(slot)
    }

    fn grow(&mut self) {
        let size = (self.slots.len() * 2).max(1024);
        self.slots.clear();
        self.slots.resize(size, FREE);
        for number in 0..self.keys.len() {
            let hash = self.keys[number].hash;
            let mut slot = home(hash);
            while self.slots[slot & (size - 1)].number != NONE {
                slot += 1;
            }
            let number = u32::try_from(number).unwrap_or(NONE);
            self.slots[slot & (size - 1)] = Slot { number, tag: tag_of(hash) };
        }
    }

    /// Add a row to those of a key.
    pub(super) fn push(&mut self, key: KeyId, text: &[u8]) {
        let number = u32::try_from(self.rows.len()).unwrap_or(NONE);
        let text = self.row_texts.push(text);
        self.rows.push(Row { text, next: NONE });
        let key = &mut self.keys[key.number()];
        match self.rows.get_mut(key.last as usize) {
            Some(last) => last.next = number,
            None => key.first = number,
        }
        key.last = number;
    }

    /// The hash of a key.
    pub(super) fn hash(&self, key: KeyId) -> u64 {
        self.keys[key.number()].hash
    }

    /// The text of a key.
    pub(super) fn key_text(&self, key: KeyId) -> &[u8] {
        self.key_texts.get(self.keys[key.number()].text)
    }

    /// The first row of a key.
    pub(super) fn first(&self, key: KeyId) -> Option<RowId> {
        row_id(self.keys[key.number()].first)
    }

    /// The row behind another that has the same key.
    pub(super) fn next(&self, row: RowId) -> Option<RowId> {
        row_id(self.rows[row.0 as usize].next)
    }

    /// The text of a row.
    pub(super) fn text(&self, row: RowId) -> &[u8] {
        self.row_texts.get(self.rows[row.0 as usize].text)
    }

    /// Forget the rows of one key.
    pub(super) fn drop_rows(&mut self, key: KeyId) {
        let key = &mut self.keys[key.number()];
        (key.first, key.last) = (NONE, NONE);
    }

    /// Forget the rows of all keys, not the keys.
    pub(super) fn clear_rows(&mut self) {
        self.rows.clear();
        self.row_texts.clear();
        for key in &mut self.keys {
            (key.first, key.last) = (NONE, NONE);
        }
    }

    /// Remove all keys and rows.
    pub(super) fn clear(&mut self) {
        self.slots.fill(FREE);
        self.keys.clear();
        self.key_texts.clear();
        self.clear_rows();
    }
}

/// The slot of a key, if it is free; only the low bits count.
fn home(hash: u64) -> usize {
    usize::try_from(hash & u64::from(u32::MAX)).unwrap_or_default()
}

/// Both ends of a text, mixed.
fn ends_of(text: &[u8]) -> u8 {
    text.first().zip(text.last()).map_or(0, |(first, last)| first ^ last)
}

fn tag_of(hash: u64) -> u32 {
    u32::try_from(hash >> u32::BITS).unwrap_or_default()
}

fn row_id(number: u32) -> Option<RowId> {
    (number != NONE).then_some(RowId(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(table: &Table, hash: u64, key: &[u8]) -> Vec<String> {
        let first = table.find(hash, key).and_then(|key| table.first(key));
        let all = std::iter::successors(first, |&row| table.next(row));
        all.map(|row| String::from_utf8(table.text(row).to_vec()).unwrap()).collect()
    }

    #[test]
    fn rows_come_back_by_key_in_order() {
        let mut table = Table::default();
        assert_eq!(rows(&table, 7, b"a"), [""; 0]);
        // All hashes are one, or their low bits are.
        for (number, hash) in [1, 1, 1 << 40, 1].into_iter().enumerate() {
            let id = table.key(hash, if number == 1 { b"b" } else { b"a" });
            table.push(id, number.to_string().as_bytes());
        }
        assert_eq!(rows(&table, 1, b"a"), ["0", "3"]);
        assert_eq!(rows(&table, 1, b"b"), ["1"]);
        assert_eq!(rows(&table, 1 << 40, b"a"), ["2"]);
        assert_eq!((table.keys(), table.rows()), (3, 4));
        table.clear_rows();
        assert_eq!((table.find(1, b"b").is_some(), rows(&table, 1, b"a").len()), (true, 0));
        table.clear();
        assert!(table.find(1, b"b").is_none() && table.bytes() > 0);
    }

    /// Hashes that are sometimes equal, and more often near each other.
    fn spread(number: u64) -> u64 {
        (number / 2).wrapping_mul(0x9E37_79B9_7F4A_7C15) & !7
    }

    #[test]
    fn any_number_of_keys_and_any_length_of_rows() {
        let mut table = Table::default();
        let long = vec![b'x'; 3 * PIECE];
        for number in 0..5000_u64 {
            let id = table.key(spread(number), &number.to_le_bytes());
            table.push(id, number.to_string().as_bytes());
            if number % 1000 == 0 {
                table.push(id, &long);
            }
        }
        for number in 0..5000_u64 {
            let found = rows(&table, spread(number), &number.to_le_bytes());
            assert_eq!(found[0], number.to_string());
            assert_eq!(found.len(), if number % 1000 == 0 { 2 } else { 1 });
        }
        let texts: Vec<u8> = (0..6000_u64).flat_map(u64::to_le_bytes).collect();
        let span = |number: u64| {
            let start = 8 * usize::try_from(number).unwrap();
            KeySpan { hash: spread(number), start, end: start + 8 }
        };
        let spans: Vec<_> = (0..6000).map(span).collect();
        let mut found = Vec::new();
        table.find_all(&spans, &texts, &mut found);
        table.fetch(&found);
        for (span, found) in spans.iter().zip(&found) {
            assert_eq!(*found, table.find(span.hash, &texts[span.start..span.end]));
        }
        assert_eq!(found.iter().flatten().count(), 5000);
        assert!(table.bytes() > 15 * PIECE);
    }
}
