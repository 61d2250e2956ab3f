//! Writing an index again that is right, but whose source looks different now.

use std::{fs::File, os::unix::fs::FileExt};

use super::{
    KeyIndex, Segments,
    layout::{HEADER_BYTES, Header, Tables},
    trailer::{self, Meta, SourceMark},
    unusable,
};
use crate::Result;

const COPY_BYTES: usize = 256 * 1024;

impl Segments {
    /// Write the file that knows the source as it was last, the delta or a base without one, to an
    /// empty file, as if it had been made of a source that looks like this. False if `go_on`
    /// says no.
    ///
    /// # Errors
    /// What writing says; [`crate::Error::Sidecar`] where it is damaged.
    pub fn restamp(
        &self,
        out: &File,
        source: SourceMark,
        go_on: &dyn Fn() -> bool,
    ) -> Result<bool> {
        let newest = self.newest();
        let source_mtime = u64::try_from(source.mtime_ns).unwrap_or_default();
        let header = Header { source_size: source.size, source_mtime, ..newest.header };
        let end = match header.tables {
            Tables::Texts(texts) => Some(texts.end()),
            Tables::Compact(compact) => compact.end(),
        };
        let end = end.ok_or_else(|| unusable(0, "too many postings"))?;
        out.write_all_at(&header.encode(), 0)?;
        if !newest.copy(HEADER_BYTES as u64, end, out, go_on)? {
            return Ok(false);
        }
        let blocks = newest.hashes.blocks();
        let hashes = newest.hashes.read(&newest.file, blocks.start..blocks.end + 1)?;
        let meta = Meta { source, ..newest.meta().clone() };
        trailer::write(out, end, &meta, &hashes)?;
        Ok(true)
    }
}

impl KeyIndex {
    fn copy(&self, start: u64, end: u64, out: &File, go_on: &dyn Fn() -> bool) -> Result<bool> {
        let mut buffer = vec![0; COPY_BYTES];
        let mut at = start;
        while at < end {
            let left = usize::try_from(end - at).unwrap_or(usize::MAX);
            let part = &mut buffer[..left.min(COPY_BYTES)];
            self.file.read(part, at)?;
            out.write_all_at(part, at)?;
            at += part.len() as u64;
            if !go_on() {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
