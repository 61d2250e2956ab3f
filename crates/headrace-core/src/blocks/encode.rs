//! One block to its bytes, for each codec that has blocks.

use std::{io, ops::RangeInclusive};

use libdeflater::{CompressionLvl, Compressor as Deflate, Crc};
use zstd::{bulk::Compressor, stream::raw::CParameter};

use crate::blocks::{Block, member, seek_table};

/// A setting of a codec besides the level.
pub struct Choice {
    /// As users write it.
    pub name: &'static str,
    /// The value used if the writer chooses none.
    pub default: u32,
    /// The largest value; the smallest is 0.
    pub most: u32,
}

/// What was chosen: the level, and a value for each of [`BlockFormat::choices`] in their order.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Within [`BlockFormat::levels`].
    pub level: i32,
    /// One for each choice.
    pub values: Vec<u32>,
}

/// Turns blocks into bytes, one after the other.
pub(crate) trait BlockEncoder: Send {
    /// Add the bytes of a block of `rows` rows to `output`, which is empty.
    ///
    /// # Errors
    /// When the compressor fails.
    fn encode(&mut self, raw: &[u8], rows: u32, output: &mut Vec<u8>) -> io::Result<()>;
}

/// How a codec writes blocks, and files of them.
pub struct BlockFormat {
    /// From fast to small.
    pub levels: RangeInclusive<i32>,
    /// The value used if the writer chooses none.
    pub default_level: i32,
    /// Further options of the format.
    pub choices: &'static [Choice],
    pub(super) encoder: fn(&Settings) -> io::Result<Box<dyn BlockEncoder>>,
    /// The most bytes that a block of a given size can compress to.
    pub(super) bound: fn(usize) -> usize,
    /// Tell a finished block the number of its first row.
    pub(super) set_first_row: fn(&mut [u8], u64),
    /// The length of the tail behind a given number of blocks.
    pub(super) tail_len: fn(u64) -> u64,
    pub(super) tail: fn(&[Block]) -> Vec<u8>,
}

impl BlockFormat {
    /// The default settings.
    pub fn defaults(&self) -> Settings {
        Settings {
            level: self.default_level,
            values: self.choices.iter().map(|choice| choice.default).collect(),
        }
    }
}

/// Lines as they are.
pub(crate) static PLAIN: BlockFormat = BlockFormat {
    levels: 0..=0,
    default_level: 0,
    choices: &[],
    encoder: |_| Ok(Box::new(Plain)),
    bound: |length| length,
    set_first_row: |_, _| (),
    tail_len: |_| 0,
    tail: |_| Vec::new(),
};

/// A gzip member for each block.
pub(crate) static GZIP: BlockFormat = BlockFormat {
    levels: 0..=9,
    default_level: 6,
    choices: &[
        Choice { name: "mtime", default: 0, most: u32::MAX },
        Choice { name: "os", default: 255, most: 255 },
    ],
    encoder: |settings| Ok(Box::new(Gzip::new(settings)?)),
    bound: gzip_bound,
    set_first_row: member::set_first_row,
    tail_len: |_| 0,
    tail: |_| Vec::new(),
};

/// A zstd frame for each block, and a seek table.
pub(crate) static ZSTD: BlockFormat = BlockFormat {
    levels: -7..=22,
    default_level: 3,
    choices: &[
        Choice { name: "checksum", default: 1, most: 1 },
        Choice { name: "content_size", default: 1, most: 1 },
    ],
    encoder: |settings| Ok(Box::new(Zstd::new(settings)?)),
    bound: zstd::zstd_safe::compress_bound,
    set_first_row: |_, _| (),
    tail_len: seek_table::encoded_len,
    tail: |blocks| {
        let frame =
            |block: &Block| seek_table::Frame { comp_len: block.comp_len, raw_len: block.raw_len };
        seek_table::encode(blocks.iter().map(frame))
    },
};

struct Plain;

impl BlockEncoder for Plain {
    fn encode(&mut self, raw: &[u8], _rows: u32, output: &mut Vec<u8>) -> io::Result<()> {
        output.extend_from_slice(raw);
        Ok(())
    }
}

struct Gzip {
    deflate: Deflate,
    header: member::Header,
}

impl Gzip {
    fn new(settings: &Settings) -> io::Result<Self> {
        let level = CompressionLvl::new(settings.level)
            .map_err(|_| io::Error::other(format!("gzip has no level {}", settings.level)))?;
        let effort = match settings.level {
            9 => 2,
            1 => 4,
            _ => 0,
        };
        let header = member::Header {
            mtime: settings.values[0],
            effort,
            system: u8::try_from(settings.values[1]).unwrap_or(u8::MAX),
            ..member::Header::default()
        };
        Ok(Self { deflate: Deflate::new(level), header })
    }
}

impl BlockEncoder for Gzip {
    fn encode(&mut self, raw: &[u8], rows: u32, output: &mut Vec<u8>) -> io::Result<()> {
        output.resize(gzip_bound(raw.len()), 0);
        let data = self
            .deflate
            .deflate_compress(raw, &mut output[member::HEADER_BYTES..])
            .map_err(|_| io::Error::other("a block is longer than its bound"))?;
        output.truncate(member::HEADER_BYTES + data);
        let mut crc = Crc::new();
        crc.update(raw);
        output.extend_from_slice(&crc.sum().to_le_bytes());
        let raw_len = length(raw.len())?;
        output.extend_from_slice(&raw_len.to_le_bytes());
        let comp_len = length(output.len())?;
        let header = member::Header { comp_len, raw_len, rows, ..self.header };
        output[..member::HEADER_BYTES].copy_from_slice(&header.encode());
        Ok(())
    }
}

/// What cannot be compressed is stored, with five bytes for every five thousand or more.
fn gzip_bound(length: usize) -> usize {
    length + (length / 5000 + 1) * 5 + 8 + member::HEADER_BYTES + member::TRAILER_BYTES
}

struct Zstd {
    compressor: Compressor<'static>,
}

impl Zstd {
    fn new(settings: &Settings) -> io::Result<Self> {
        let mut compressor = Compressor::new(settings.level)?;
        compressor.set_parameter(CParameter::ChecksumFlag(settings.values[0] != 0))?;
        compressor.set_parameter(CParameter::ContentSizeFlag(settings.values[1] != 0))?;
        Ok(Self { compressor })
    }
}

impl BlockEncoder for Zstd {
    fn encode(&mut self, raw: &[u8], _rows: u32, output: &mut Vec<u8>) -> io::Result<()> {
        length(raw.len())?;
        output.reserve(zstd::zstd_safe::compress_bound(raw.len()));
        self.compressor.compress_to_buffer(raw, output)?;
        Ok(())
    }
}

fn length(bytes: usize) -> io::Result<u32> {
    u32::try_from(bytes).map_err(|_| io::Error::other("a block is longer than 4 GiB"))
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;
    use crate::codec::{self, CODECS};

    fn sample() -> Vec<u8> {
        (0..5_000)
            .flat_map(|id| format!("{{\"id\":{id},\"n\":\"{}\"}}\n", id * 7919).into_bytes())
            .collect()
    }

    fn encoded(format: &BlockFormat, settings: &Settings, raw: &[u8]) -> Vec<u8> {
        let mut output = Vec::new();
        let mut encoder = (format.encoder)(settings).unwrap();
        encoder.encode(b"something before\n", 1, &mut output).unwrap();
        output.clear();
        encoder.encode(raw, 5_000, &mut output).unwrap();
        output
    }

    #[test]
    fn every_format_is_decoded_by_its_codec_at_every_level() {
        let raw = sample();
        for codec in CODECS {
            let Some(format) = codec.blocks else { continue };
            for level in format.levels.clone() {
                let settings = Settings { level, ..format.defaults() };
                let bytes = encoded(format, &settings, &raw);
                assert!(bytes.len() <= (format.bound)(raw.len()), "{} {level}", codec.name);
                let mut output = Vec::new();
                let input = Box::new(io::Cursor::new(bytes));
                codec::decode(codec, input).unwrap().read_to_end(&mut output).unwrap();
                assert_eq!(output, raw, "{} {level}", codec.name);
            }
        }
    }

    #[test]
    fn noise_stays_within_the_bound() {
        let mut state = 1_u64;
        let noise: Vec<u8> = (0..300_000)
            .map(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (state >> 56) as u8
            })
            .collect();
        for (format, level) in [(&GZIP, 0), (&GZIP, 1), (&GZIP, 9), (&ZSTD, -7), (&ZSTD, 19)] {
            let settings = Settings { level, ..format.defaults() };
            for length in [0, 1, 100, 65_536, 300_000] {
                let bytes = encoded(format, &settings, &noise[..length]);
                assert!(bytes.len() <= (format.bound)(length), "level {level}, {length} bytes");
            }
        }
    }

    #[test]
    fn gzip_has_no_time_and_no_system_by_default() {
        let raw = sample();
        let plain = encoded(&GZIP, &GZIP.defaults(), &raw);
        assert_eq!(plain[..10], [0x1f, 0x8b, 8, 4, 0, 0, 0, 0, 0, 255]);
        let configured = encoded(&GZIP, &Settings { level: 9, values: vec![0x0102_0304, 3] }, &raw);
        assert_eq!(configured[..10], [0x1f, 0x8b, 8, 4, 4, 3, 2, 1, 2, 3]);
        let header = member::Header::decode(configured.first_chunk().unwrap()).unwrap();
        assert_eq!(header.comp_len as usize, configured.len());
        assert_eq!((header.raw_len as usize, header.rows), (raw.len(), 5_000));
    }

    #[test]
    fn zstd_says_size_and_checksum_unless_told_not_to() {
        // Byte 4 of a frame: bits 7 and 6 size of the content size, bit 5 single segment, bit 2 checksum.
        let raw = sample();
        let both = encoded(&ZSTD, &ZSTD.defaults(), &raw);
        assert_eq!(both[4] & 0b0000_0100, 4);
        assert_ne!(both[4] & 0b1110_0000, 0);
        let neither = encoded(&ZSTD, &Settings { level: 3, values: vec![0, 0] }, &raw);
        assert_eq!(neither[4] & 0b1110_0100, 0);
    }
}
