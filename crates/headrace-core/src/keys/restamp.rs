//! Writing an index again that is right, but whose source looks different now.

use std::fs::File;

use super::{Meta, Segments, layout::Header};
use crate::{Result, sealed::SourceMark};

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
        let meta = Meta { source, ..newest.meta().clone() };
        newest.sealed.copy_with(&header.encode(), &meta, out, go_on)
    }
}
