//! Any bytes as a file of rows, read in any pieces.

use std::io::Read;

use headrace_core::rows::RowStream;

/// However the bytes come, the rows are the same, and none of the bytes are lost.
pub fn rows(bytes: &[u8]) {
    let Some(([max_line, piece], data)) = bytes.split_first_chunk() else { return };
    let max_line = usize::from(*max_line);
    let whole = read(data, max_line);
    let pieces = read(Pieces { data, piece: usize::from(*piece % 16) + 1 }, max_line);
    assert_eq!(whole, pieces);

    let newlines = data.split_inclusive(|&byte| byte == b'\n');
    let mut offset = 0;
    let mut found = whole.iter();
    for line in newlines {
        let row = found.next().expect("a row for each line");
        assert_eq!(row.0, offset);
        let content =
            line.strip_suffix(b"\n").map_or(line, |line| line.strip_suffix(b"\r").unwrap_or(line));
        let marked = offset == 0 && content.starts_with(b"\xef\xbb\xbf");
        let content = if marked { &content[3..] } else { content };
        match row.2 {
            Some(length) => assert!(length > max_line as u64 && length == content.len() as u64),
            None => assert!(row.1 == content && content.len() <= max_line),
        }
        offset += line.len() as u64;
    }
    assert!(found.next().is_none());
}

/// Where it begins, what is in it, how long it is if that is too long.
type Found = (u64, Vec<u8>, Option<u64>);

fn read(reader: impl Read, max_line: usize) -> Vec<Found> {
    let mut stream = RowStream::new(reader, 0, 0, u64::MAX, max_line);
    let mut rows = Vec::new();
    while let Some(row) = stream.next_row().expect("memory can be read") {
        assert_eq!(row.number, rows.len() as u64);
        rows.push((row.offset, row.content.to_vec(), row.too_long));
    }
    rows
}

/// Gives a few bytes at a time.
struct Pieces<'d> {
    data: &'d [u8],
    piece: usize,
}

impl Read for Pieces<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let count = self.piece.min(buffer.len());
        self.data.read(&mut buffer[..count])
    }
}
