//! Sixteen bytes at a time: which of them end a run of plain text or of digits.
//!
//! A mask has one bit for each byte, the first byte in the lowest bit.

use wide::u8x16;

/// How many bytes a block has.
pub(super) const WIDTH: usize = 16;

/// The block at `at`, if the line is long enough.
#[inline]
pub(super) fn at(line: &[u8], at: usize) -> Option<&[u8; WIDTH]> {
    line.get(at..)?.first_chunk()
}

/// The bytes that end plain text in a string: quotes, backslashes and control characters.
#[inline]
pub(super) fn not_plain(block: &[u8; WIDTH]) -> u32 {
    let bytes = u8x16::new(*block);
    let quotes = bytes.cmp_eq(u8x16::splat(b'"'));
    let backslashes = bytes.cmp_eq(u8x16::splat(b'\\'));
    mask(quotes | backslashes | up_to(b' ' - 1, bytes))
}

/// The bytes that are digits.
#[inline]
pub(super) fn digits(block: &[u8; WIDTH]) -> u32 {
    mask(up_to(9, u8x16::new(*block) - u8x16::splat(b'0')))
}

/// The bytes that are at most `most`.
#[inline]
fn up_to(most: u8, bytes: u8x16) -> u8x16 {
    bytes.min(u8x16::splat(most)).cmp_eq(bytes)
}

#[inline]
fn mask(bytes: u8x16) -> u32 {
    bytes.move_mask().cast_unsigned()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn slow(block: &[u8; WIDTH], is: impl Fn(u8) -> bool) -> u32 {
        block.iter().enumerate().map(|(at, &byte)| u32::from(is(byte)) << at).sum()
    }

    proptest! {
        #[test]
        fn masks_are_those_of_single_bytes(block in any::<[u8; WIDTH]>()) {
            let not_plain = slow(&block, |byte| byte == b'"' || byte == b'\\' || byte < b' ');
            let digits = slow(&block, |byte| byte.is_ascii_digit());
            prop_assert_eq!(super::not_plain(&block), not_plain);
            prop_assert_eq!(super::digits(&block), digits);
        }
    }

    #[test]
    fn every_byte_at_every_place() {
        for byte in 0..=u8::MAX {
            for at in 0..WIDTH {
                let mut block = [b'a'; WIDTH];
                block[at] = byte;
                let stops = byte == b'"' || byte == b'\\' || byte < b' ';
                assert_eq!(not_plain(&block), u32::from(stops) << at, "{byte}");
                assert_eq!(digits(&block), u32::from(byte.is_ascii_digit()) << at, "{byte}");
            }
        }
    }
}
