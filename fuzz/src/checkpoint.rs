//! Any bytes as the sidecar of a data file.

use headrace_core::{
    input::DataFile,
    rows::{
        RowIndex,
        checkpoint_file::{CheckpointFile, ENTRY_BYTES, HEADER_BYTES},
    },
};

/// Bytes are refused, or every entry is refused or lies within the data.
pub fn checkpoint(bytes: &[u8]) {
    use_it(bytes.to_vec());
    use_it(with_checksums(bytes.to_vec()));
}

fn use_it(bytes: Vec<u8>) {
    let most = bytes.len();
    let Ok(file) = CheckpointFile::open(DataFile::new(bytes)) else { return };
    let size = file.header().logical_size;
    if let Ok(all) = file.all() {
        assert!(all.len() <= most / ENTRY_BYTES);
        assert!(all.iter().all(|offset| *offset <= size));
    }
    for position in [0, 1, file.header().entries, u64::MAX / 64] {
        if let Ok(offset) = file.offset(position) {
            assert!(offset <= size);
        }
    }
    let Ok(index) = RowIndex::stored(file) else { return };
    if let Some(table) = index.blocks() {
        assert_eq!(table.logical_size(), size);
        assert!(table.blocks().iter().all(|block| block.logical < size));
    }
    for row in [0, 1, index.interval(), index.total_rows(), u64::MAX] {
        let _ = index.checkpoint(row);
    }
}

/// Random bytes never match a checksum, so put the right ones in.
fn with_checksums(mut bytes: Vec<u8>) -> Vec<u8> {
    const KEY: &[u8] = b"\"crc32c\":\"";
    let Some((header, entries)) = bytes.split_at_mut_checked(HEADER_BYTES) else { return bytes };
    let Some(at) = header.windows(KEY.len()).rposition(|window| window == KEY) else {
        return bytes;
    };
    let Some(digits) = header.get_mut(at + KEY.len()..).and_then(|rest| rest.get_mut(..8)) else {
        return bytes;
    };
    digits.fill(b'0');
    let checksum = crc32c::crc32c(header);
    header[at + KEY.len()..][..8].copy_from_slice(format!("{checksum:08x}").as_bytes());
    for entry in entries.chunks_exact_mut(ENTRY_BYTES) {
        let (content, place) = entry.split_at_mut(ENTRY_BYTES - 4);
        place.copy_from_slice(&crc32c::crc32c_append(checksum, content).to_le_bytes());
    }
    bytes
}
