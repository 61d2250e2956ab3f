//! Decompression within limits: a few bytes can stand for a disk full of them.

use std::{
    io::{self, Read},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use crate::{
    Error, ErrorKind,
    codec::{self, Codec, Input},
    foreign,
};

/// What compressed bytes may stand for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DecodeLimits {
    /// Decoded bytes for each compressed one; looked at from [`RATIO_FROM`] on.
    pub max_ratio: u64,
    /// Decoded bytes.
    pub max_decoded: u64,
}

impl Default for DecodeLimits {
    fn default() -> Self {
        Self { max_ratio: 10_000, max_decoded: u64::MAX }
    }
}

/// Up to this many decoded bytes, the ratio is not checked.
pub const RATIO_FROM: u64 = 256 << 20;

impl DecodeLimits {
    /// Check the ratio of decoded and compressed bytes.
    ///
    /// # Errors
    /// [`crate::ErrorKind::TooLarge`] if not.
    pub fn check(&self, decoded: u64, compressed: u64) -> Result<(), Error> {
        let reason = if decoded > self.max_decoded {
            format!("it decodes to more than {} bytes", self.max_decoded)
        } else if decoded > RATIO_FROM && decoded / compressed.max(1) >= self.max_ratio {
            format!("it decodes to more than {} times its size", self.max_ratio)
        } else {
            return Ok(());
        };
        Err(Error::at(ErrorKind::TooLarge, compressed, reason))
    }
}

/// A reader of the decoded bytes of `input`, which fails where they are too many.
///
/// # Errors
/// When the decoder cannot be set up.
pub fn decode(codec: &'static Codec, input: Input, limits: DecodeLimits) -> io::Result<Input> {
    if codec.name == "none" {
        return Ok(input);
    }
    let taken = Arc::new(AtomicU64::new(0));
    let input = Box::new(Counted { input, taken: Arc::clone(&taken) });
    let decoder = codec::decode(codec, input)?;
    Ok(Box::new(Limited { decoder, codec: codec.name, decoded: 0, taken, limits }))
}

/// Look whether the first decoded bytes show that they are no text.
fn refuse_no_text(codec: &str, head: &[u8]) -> Result<(), Error> {
    let reason = match (codec::sniff(head).name, foreign::recognise(head)) {
        ("none", None) => return Ok(()),
        ("none", Some(what)) => format!("behind {codec}, {what}"),
        (inner, _) => format!("behind {codec}, it is {inner} again; decompress it once"),
    };
    Err(Error::NoText { reason })
}

struct Counted {
    input: Input,
    taken: Arc<AtomicU64>,
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.input.read(buffer)?;
        self.taken.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}

struct Limited {
    decoder: Input,
    codec: &'static str,
    decoded: u64,
    taken: Arc<AtomicU64>,
    limits: DecodeLimits,
}

impl Read for Limited {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        // Checked before reading as well, so that a second read fails again.
        self.limits.check(self.decoded, self.taken.load(Ordering::Relaxed))?;
        let count = self.decoder.read(buffer)?;
        if self.decoded == 0 {
            refuse_no_text(self.codec, &buffer[..count])?;
        }
        self.decoded += count as u64;
        self.limits.check(self.decoded, self.taken.load(Ordering::Relaxed))?;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn zeros(length: usize) -> Vec<u8> {
        let mut encoder = codec::encoder(codec::by_name("zstd").unwrap()).unwrap();
        let piece = vec![0; 1 << 20];
        for _ in 0..length >> 20 {
            encoder.write_all(&piece).unwrap();
        }
        encoder.finish().unwrap()
    }

    fn decoded(bytes: Vec<u8>, limits: DecodeLimits) -> Result<u64, Error> {
        let input = Box::new(io::Cursor::new(bytes));
        let mut reader = decode(codec::by_name("zstd").unwrap(), input, limits)?;
        Ok(io::copy(&mut reader, &mut io::sink())?)
    }

    #[test]
    fn a_size_is_a_limit() {
        let limits = DecodeLimits { max_decoded: 5 << 20, ..DecodeLimits::default() };
        assert_eq!(decoded(zeros(5 << 20), limits).unwrap(), 5 << 20);
        let error = decoded(zeros(6 << 20), limits).unwrap_err();
        assert!(
            matches!(error, Error::At { kind: ErrorKind::TooLarge, offset: 1.., .. }),
            "{error}"
        );
    }

    #[test]
    fn a_ratio_is_a_limit_for_much_only() {
        assert_eq!(decoded(zeros(200 << 20), DecodeLimits::default()).unwrap(), 200 << 20);
        let error = decoded(zeros(300 << 20), DecodeLimits::default()).unwrap_err();
        assert!(error.to_string().contains("10000 times"), "{error}");
        let more = DecodeLimits { max_ratio: 1 << 20, ..DecodeLimits::default() };
        assert_eq!(decoded(zeros(300 << 20), more).unwrap(), 300 << 20);
    }
}
