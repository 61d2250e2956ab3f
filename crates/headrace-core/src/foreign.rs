//! Data that is no text, recognised by its first bytes.
//!
//! Nothing here can begin a row: JSON is text, and no text begins with these bytes.

/// How a format is recognised, and what helps.
struct Format {
    at: usize,
    magic: &'static [u8],
    what: &'static str,
}

const fn format(magic: &'static [u8], what: &'static str) -> Format {
    Format { at: 0, magic, what }
}

/// What is recognised, by no more than the first 262 bytes.
const FORMATS: &[Format] = &[
    format(b"PK\x03\x04", "it is a ZIP archive; unpack it: unzip FILE"),
    format(b"PK\x05\x06", "it is an empty ZIP archive"),
    format(b"PAR1", "it is Parquet, not NDJSON; convert it, for example with DuckDB or pandas"),
    format(b"\x04\x22\x4d\x18", "it is compressed by LZ4; decompress it: lz4 -d FILE"),
    format(b"\xff\x06\x00\x00sNaPpY", "it is compressed by Snappy; decompress it first"),
    format(b"7z\xbc\xaf\x27\x1c", "it is a 7z archive; unpack it: 7z x FILE"),
    format(b"Rar!\x1a\x07", "it is a RAR archive; unpack it first"),
    format(b"\x1f\x9d", "it is compressed by compress; decompress it: uncompress FILE"),
    format(b"LZIP", "it is compressed by lzip; decompress it: lzip -d FILE"),
    format(b"ORC\x0a", "it is ORC, not NDJSON; convert it first"),
    format(b"Obj\x01", "it is Avro, not NDJSON; convert it first"),
    format(b"ARROW1\0\0", "it is Arrow, not NDJSON; convert it first"),
    format(b"SQLite format 3\0", "it is a SQLite database, not NDJSON; export it first"),
    Format { at: 257, magic: b"ustar", what: "it is a tar archive; unpack it: tar -xf FILE" },
];

/// What data is that begins with `head`, and what helps, if it is no text.
///
/// ```
/// # use headrace_core::foreign::recognise;
/// assert!(recognise(b"PK\x03\x04\x14").unwrap().starts_with("it is a ZIP archive"));
/// assert_eq!(recognise(b"{\"a\": 1}"), None);
/// ```
pub fn recognise(head: &[u8]) -> Option<&'static str> {
    let found = FORMATS
        .iter()
        .find(|format| head.get(format.at..).is_some_and(|rest| rest.starts_with(format.magic)))?;
    Some(found.what)
}
