//! Index files whose checksums are right.

use headrace_core::sealed::{FOOTER_BYTES, tables_length, write_tables};

/// Random bytes never match a checksum, so put the right ones in.
pub(super) fn with_checksums(mut bytes: Vec<u8>) -> Option<Vec<u8>> {
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
