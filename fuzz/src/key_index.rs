//! Any bytes as a key index.

use headrace_core::{
    input::DataFile,
    json::Limits,
    keys::{
        KeyFields, KeyIndex, KeyReader, Lookup, Request, Segments,
        checked::{tables_length, write_tables},
        trailer::FOOTER_BYTES,
    },
    rows::RowBatch,
};

const SOURCE: &[u8] = b"{\"k\":\"a\"}\n{\"k\":1}\n{\"k\":\"a\",\"n\":2}\n";
const KEYS: [(&str, &[u64]); 3] = [("\"a\"", &[0, 18]), ("1", &[10]), ("\"none\"", &[])];

/// Bytes are refused, or give no row that a scan would not give.
pub fn key_index(bytes: &[u8]) {
    use_it(bytes.to_vec());
    if let Some(bytes) = with_checksums(bytes.to_vec()) {
        use_it(bytes);
    }
}

fn use_it(bytes: Vec<u8>) {
    let Ok(index) = KeyIndex::open(DataFile::new(bytes)) else { return };
    let Ok(index) = Segments::new(index, None) else { return };
    let source = DataFile::new(SOURCE.to_vec());
    let size = SOURCE.len() as u64;
    let _ = index.verify(&|| true);
    let _ = index.fit(&source, size, &|| true);
    let lookup = Lookup { file: &source, size, below: size, max_line: 1 << 20 };
    let fields = KeyFields::new(vec!["k".into()]);
    let mut reader = KeyReader::new(fields, Limits::default());
    for (key, rows) in KEYS {
        let request = Request::parse(key, 1, false).expect("a key");
        let Ok(mut found) = index.find(&request) else { continue };
        let mut batch = RowBatch::default();
        let read = index.rows(&lookup, &mut found, &request, &mut reader, 1 << 10, &mut batch);
        if read.is_ok() {
            assert!(batch.offsets.iter().all(|offset| rows.contains(offset)));
        }
    }
    let asked = KEYS.map(|(key, _)| Request::parse(key, 1, false).expect("a key"));
    if let Ok(Some(candidates)) = index.candidates(&asked, 1 << 10) {
        let (all, mut batch) = (0..candidates.offsets().len(), RowBatch::default());
        let found = lookup.candidates(&index, &candidates, all, &mut reader, 1 << 10, &mut batch);
        if found.is_ok() {
            assert!(batch.offsets.iter().all(|offset| [0, 10, 18].contains(offset)));
        }
    }
}

/// Nobody guesses a checksum: put the right ones in.
fn with_checksums(mut bytes: Vec<u8>) -> Option<Vec<u8>> {
    let begins = bytes.len().checked_sub(FOOTER_BYTES)?;
    let directory = u64::from_le_bytes(bytes[begins..].first_chunk().copied()?);
    let sections = u32::from_le_bytes(bytes[begins + 8..].first_chunk().copied()?);
    let body = directory.checked_add(u64::from(sections) * 24)?;
    if body.checked_add(tables_length(body)?)? != begins as u64 {
        return None;
    }
    let size = bytes.len() as u64;
    let sealed = std::cell::RefCell::new(&mut bytes);
    let place = |offset: u64| usize::try_from(offset).expect("it is in memory");
    let read = |buffer: &mut [u8], offset: u64| {
        let from = place(offset);
        buffer.copy_from_slice(&sealed.borrow()[from..from + buffer.len()]);
        Ok(())
    };
    let write = |part: &[u8], offset: u64| {
        let from = place(offset);
        sealed.borrow_mut()[from..from + part.len()].copy_from_slice(part);
        Ok(())
    };
    let root = write_tables(body, read, write).ok()?;
    let footer = &mut bytes[begins..];
    footer[12..16].copy_from_slice(&root.to_le_bytes());
    footer[16..24].copy_from_slice(&size.to_le_bytes());
    let checksum = crc32c::crc32c(&footer[..36]);
    footer[36..40].copy_from_slice(&checksum.to_le_bytes());
    footer[40..].copy_from_slice(b"JNXTRAIL");
    Some(bytes)
}
