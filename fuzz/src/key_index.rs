//! Any bytes as a key index.

use headrace_core::{
    input::DataFile,
    json::Limits,
    keys::{KeyFields, KeyIndex, KeyReader, Lookup, Request, SetSegments},
    rows::RowBatch,
    sealed::{AnyBaseDelta, BaseDelta},
};

use super::sealed::with_checksums;

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
    let Ok(index) = BaseDelta::new(SetSegments::one(index), None) else { return };
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
    let requests = KEYS.map(|(key, _)| Request::parse(key, 1, false).expect("a key"));
    if let Ok(Some(candidates)) = index.candidates(&requests, 1 << 10) {
        let (all, mut batch) = (0..candidates.offsets().len(), RowBatch::default());
        let found = lookup.candidates(&index, &candidates, all, &mut reader, 1 << 10, &mut batch);
        if found.is_ok() {
            assert!(batch.offsets.iter().all(|offset| [0, 10, 18].contains(offset)));
        }
    }
}
