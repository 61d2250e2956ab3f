//! Any bytes as a compressed file that says where its blocks are.

use std::{
    io::{Cursor, Read},
    sync::Arc,
};

use headrace_core::{
    blocks::{Ahead, BlockFile, BlockTable, Coding},
    codec,
    decode::{self, DecodeLimits},
    input::{DataFile, ReadAt},
    rows::{ReadLimits, RowIndex, read_at_row},
};

const MOST: u64 = 1 << 22;

/// Read by its blocks, a file is what it is in order, or there is an error.
pub fn blocks(bytes: &[u8]) {
    for (name, coding) in [("gzip", Coding::Gzip), ("zstd", Coding::Zstd)] {
        let size = bytes.len() as u64;
        let file = Arc::new(DataFile::new(bytes.to_vec()));
        let Ok(Some(table)) = BlockTable::find(&file, coding, size) else { continue };
        if table.logical_size() > MOST || table.check_end(&file, size).is_err() {
            continue;
        }
        let file = Arc::new(BlockFile::new(file, Arc::clone(&table)));
        look_up(&table);
        if let Some(content) = by_blocks(&file) {
            assert_eq!(content.len() as u64, table.logical_size());
            assert_eq!(Some(&content), in_order(name, bytes).as_ref());
            by_rows(file, &table, &content);
        }
    }
}

fn look_up(table: &BlockTable) {
    for offset in [0, 1, table.logical_size() / 2, table.logical_size(), u64::MAX] {
        if let Some(at) = table.at_offset(offset) {
            let block = &table.blocks()[at];
            assert!((0..u64::from(block.raw_len)).contains(&(offset - block.logical)));
        }
        let _ = (table.at_row(offset), table.at_physical(offset));
    }
}

fn by_blocks(file: &Arc<BlockFile>) -> Option<Vec<u8>> {
    let mut content = Vec::new();
    let whole = Ahead::new(Arc::clone(file), 0, u64::MAX, 1).read_to_end(&mut content);
    if whole.is_ok() {
        let middle = content.len() / 2;
        let mut rest = vec![0; content.len() - middle];
        let count = file.read_at(&mut rest, middle as u64).expect("it was read before");
        assert_eq!(rest[..count], content[middle..middle + count]);
    }
    whole.ok().map(|_| content)
}

fn in_order(name: &str, bytes: &[u8]) -> Option<Vec<u8>> {
    let codec = codec::by_name(name)?;
    let limits = DecodeLimits { max_decoded: MOST, ..DecodeLimits::default() };
    let input = Box::new(Cursor::new(bytes.to_vec()));
    let mut content = Vec::new();
    decode::decode(codec, input, limits).ok()?.read_to_end(&mut content).ok()?;
    Some(content)
}

fn by_rows(file: Arc<BlockFile>, table: &Arc<BlockTable>, content: &[u8]) {
    if !table.counted() {
        return;
    }
    let unended = content.last().is_some_and(|byte| *byte != b'\n');
    let lines = content.split(|byte| *byte == b'\n').count() as u64 - u64::from(!unended);
    assert_eq!(table.total_rows(), lines);
    let (file, index) = (Arc::new(DataFile::new(file)), RowIndex::of_blocks(Arc::clone(table)));
    let limits = ReadLimits { max_line: usize::MAX, max_rows: 1, max_bytes: usize::MAX };
    let size = content.len() as u64;
    for row in [0, 1, lines / 2, lines.saturating_sub(1)] {
        let batch = read_at_row(&file, &index, size, row, &limits).expect("it was read before");
        assert_eq!(batch.len() as u64, u64::from(row < lines));
    }
}
