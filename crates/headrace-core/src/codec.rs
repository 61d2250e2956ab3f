//! Compression: input, recognised by its first bytes and never by its name, and output.
//!
//! Every decoder reads a file of several members, frames or streams to its last
//! one. One-shot APIs that stop after the first are the usual way to lose rows.
//! Encoders write no time and no name, so the same content gives the same bytes.

use std::{
    fmt,
    io::{self, BufRead, BufReader, Read, Write},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use bzip2::{read::MultiBzDecoder, write::BzEncoder};
use flate2::{bufread::GzDecoder, write::GzEncoder};
use liblzma::{read::XzDecoder, write::XzEncoder};
use zstd::stream::write::Encoder as ZstdEncoder;

use crate::{
    Error, ErrorKind,
    blocks::encode::{self, BlockFormat},
};

/// Bytes in order, from anywhere.
pub type Input = Box<dyn Read + Send>;

/// Compresses what is written to it.
pub trait Encoder: Write + Send {
    /// The compressed bytes that are ready.
    fn ready(&mut self) -> Vec<u8>;

    /// The last of them.
    ///
    /// # Errors
    /// When the compressor fails.
    fn finish(self: Box<Self>) -> io::Result<Vec<u8>>;
}

macro_rules! encoders {
    ($($encoder:ty),*) => {$(
        impl Encoder for $encoder {
            fn ready(&mut self) -> Vec<u8> {
                std::mem::take(self.get_mut())
            }

            fn finish(self: Box<Self>) -> io::Result<Vec<u8>> {
                (*self).finish()
            }
        }
    )*};
}

encoders!(
    GzEncoder<Vec<u8>>,
    ZstdEncoder<'static, Vec<u8>>,
    BzEncoder<Vec<u8>>,
    XzEncoder<Vec<u8>>
);

impl Encoder for Vec<u8> {
    fn ready(&mut self) -> Vec<u8> {
        std::mem::take(self)
    }

    fn finish(self: Box<Self>) -> io::Result<Vec<u8>> {
        Ok(*self)
    }
}

/// A way of compressing, and how it is recognised, decoded and encoded.
pub struct Codec {
    /// As users write it.
    pub name: &'static str,
    /// The endings of the names of such files.
    pub suffix: &'static str,
    /// How it writes files that can be entered in the middle, if it can.
    pub blocks: Option<&'static BlockFormat>,
    recognises: fn(&[u8]) -> bool,
    decode: fn(Input) -> io::Result<Input>,
    encode: fn() -> io::Result<Box<dyn Encoder>>,
}

/// Every codec; the last one takes whatever the others do not recognise.
pub static CODECS: &[Codec] = &[
    Codec {
        name: "gzip",
        suffix: ".gz",
        blocks: Some(&encode::GZIP),
        recognises: |head| head.starts_with(b"\x1f\x8b\x08"),
        decode: |input| {
            Ok(Box::new(GzipMembers::new(BufReader::with_capacity(INPUT_BUFFER, input))))
        },
        encode: || Ok(Box::new(GzEncoder::new(Vec::new(), flate2::Compression::default()))),
    },
    Codec {
        name: "zstd",
        suffix: ".zst",
        blocks: Some(&encode::ZSTD),
        recognises: |head| match head {
            [0x28, 0xb5, 0x2f, 0xfd, ..] => true,
            // A skippable frame: metadata that some writers put first.
            [first, 0x2a, 0x4d, 0x18, ..] => (0x50..=0x5f).contains(first),
            _ => false,
        },
        decode: |input| Ok(Box::new(zstd::stream::read::Decoder::new(input)?)),
        encode: || {
            let mut encoder = ZstdEncoder::new(Vec::new(), zstd::DEFAULT_COMPRESSION_LEVEL)?;
            encoder.include_checksum(true)?;
            Ok(Box::new(encoder))
        },
    },
    Codec {
        name: "bzip2",
        suffix: ".bz2",
        blocks: None,
        // "BZh9" alone could be text; the block or end marker behind it cannot.
        recognises: |head| match head {
            [b'B', b'Z', b'h', b'1'..=b'9', rest @ ..] => {
                rest.starts_with(b"\x31\x41\x59\x26\x53\x59")
                    || rest.starts_with(b"\x17\x72\x45\x38\x50\x90")
            }
            _ => false,
        },
        decode: |input| Ok(Box::new(MultiBzDecoder::new(input))),
        encode: || Ok(Box::new(BzEncoder::new(Vec::new(), bzip2::Compression::best()))),
    },
    Codec {
        name: "xz",
        suffix: ".xz",
        blocks: None,
        recognises: |head| head.starts_with(b"\xfd7zXZ\0"),
        decode: |input| Ok(Box::new(XzDecoder::new_multi_decoder(input))),
        encode: || Ok(Box::new(XzEncoder::new(Vec::new(), XZ_LEVEL))),
    },
    Codec {
        name: "none",
        suffix: "",
        blocks: Some(&encode::PLAIN),
        recognises: |_| true,
        decode: Ok,
        encode: || Ok(Box::new(Vec::new())),
    },
];

const XZ_LEVEL: u32 = 6;

/// How many bytes [`sniff`] needs to see to be sure.
pub const SNIFF_BYTES: usize = 10;

const INPUT_BUFFER: usize = 64 * 1024;

/// The codec of a file that begins with `head`.
///
/// ```
/// # use headrace_core::codec::sniff;
/// assert_eq!(sniff(b"\x1f\x8b\x08\x00").name, "gzip");
/// assert_eq!(sniff(b"{\"a\": 1}\n").name, "none");
/// ```
pub fn sniff(head: &[u8]) -> &'static Codec {
    let last = &CODECS[CODECS.len() - 1];
    CODECS.iter().find(|codec| (codec.recognises)(head)).unwrap_or(last)
}

/// The codec called `name`.
pub fn by_name(name: &str) -> Option<&'static Codec> {
    CODECS.iter().find(|codec| codec.name == name)
}

/// An encoder to write to.
///
/// # Errors
/// When it cannot be set up.
pub fn encoder(codec: &'static Codec) -> io::Result<Box<dyn Encoder>> {
    (codec.encode)()
}

/// A reader of the decoded bytes of `input`.
///
/// # Errors
/// When the decoder cannot be set up.
pub fn decode(codec: &'static Codec, input: Input) -> io::Result<Input> {
    if codec.name == "none" {
        return Ok(input);
    }
    let taken = Arc::new(AtomicU64::new(0));
    let counted = Box::new(Counted { input, taken: Arc::clone(&taken) });
    Ok(Box::new(Decoded { decoder: (codec.decode)(counted)?, taken, codec }))
}

/// Counts what the decoder takes, and marks errors of the input as not the decoder's.
struct Counted {
    input: Input,
    taken: Arc<AtomicU64>,
}

#[derive(Debug)]
struct FromBelow(io::Error);

impl fmt::Display for FromBelow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for FromBelow {}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.input.read(buffer).map_err(|error| io::Error::other(FromBelow(error)))?;
        self.taken.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}

/// Turns a decoder's complaint into [`crate::ErrorKind::Damaged`] with its position.
struct Decoded {
    decoder: Input,
    taken: Arc<AtomicU64>,
    codec: &'static Codec,
}

impl Read for Decoded {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.decoder.read(buffer).map_err(|error| match error.downcast::<FromBelow>() {
            Ok(FromBelow(error)) => error,
            Err(complaint) => {
                let name = self.codec.name;
                let reason = match complaint.kind() {
                    io::ErrorKind::UnexpectedEof => format!("the {name} data ends too early"),
                    _ => format!("the {name} data is damaged: {complaint}"),
                };
                Error::at(ErrorKind::Damaged, self.taken.load(Ordering::Relaxed), reason).into()
            }
        })
    }
}

/// Decodes gzip member after member. Zero bytes behind the last one are padding,
/// as every other reader of gzip takes them; anything else there is damage.
struct GzipMembers<R> {
    /// `None` once the last member has ended.
    member: Option<GzDecoder<R>>,
}

impl<R: BufRead> GzipMembers<R> {
    fn new(input: R) -> Self {
        Self { member: Some(GzDecoder::new(input)) }
    }
}

impl<R: BufRead> Read for GzipMembers<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while let Some(mut member) = self.member.take() {
            let result = member.read(buffer);
            // A member that failed stays, so that a second read fails as well.
            if buffer.is_empty() || !matches!(result, Ok(0)) {
                self.member = Some(member);
                return result;
            }
            let mut input = member.into_inner();
            if skip_padding(&mut input)? {
                self.member = Some(GzDecoder::new(input));
            }
        }
        Ok(0)
    }
}

/// Skip zero bytes; whether another member follows them.
fn skip_padding(input: &mut impl BufRead) -> io::Result<bool> {
    loop {
        let ahead = input.fill_buf()?;
        let padding = ahead.iter().take_while(|&&byte| byte == 0).count();
        match ahead.first() {
            None => return Ok(false),
            Some(0) => {}
            Some(0x1f) => return Ok(true),
            Some(_) => {
                let reason = "bytes that are not gzip stand behind it";
                return Err(io::Error::new(io::ErrorKind::InvalidData, reason));
            }
        }
        input.consume(padding);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encoded(codec: &'static Codec, data: &[u8]) -> Vec<u8> {
        let mut encoder = encoder(codec).unwrap();
        let mut output = Vec::new();
        for piece in data.chunks(3) {
            encoder.write_all(piece).unwrap();
            output.append(&mut encoder.ready());
        }
        output.append(&mut encoder.finish().unwrap());
        output
    }

    fn gzip(data: &[u8]) -> Vec<u8> {
        encoded(by_name("gzip").unwrap(), data)
    }

    fn zstd(data: &[u8]) -> Vec<u8> {
        encoded(by_name("zstd").unwrap(), data)
    }

    fn compressing() -> impl Iterator<Item = &'static Codec> {
        CODECS.iter().filter(|codec| codec.name != "none")
    }

    fn decoded(encoded: &[u8]) -> (Vec<u8>, io::Result<usize>) {
        let input = Box::new(io::Cursor::new(encoded.to_vec()));
        let mut output = Vec::new();
        let result =
            decode(sniff(encoded), input).and_then(|mut reader| reader.read_to_end(&mut output));
        (output, result)
    }

    #[test]
    fn the_last_codec_takes_everything() {
        assert_eq!(CODECS.last().unwrap().name, "none");
        assert!((CODECS.last().unwrap().recognises)(b""));
    }

    #[test]
    fn what_is_encoded_is_decoded_and_the_same_each_time() {
        let data: Vec<u8> = (0..200_000_u32).flat_map(u32::to_le_bytes).collect();
        for codec in CODECS {
            let once = encoded(codec, &data);
            assert_eq!(decoded(&once).0, data, "{}", codec.name);
            assert_eq!(encoded(codec, &data), once, "{}", codec.name);
        }
    }

    #[test]
    fn every_codec_reads_all_of_several_members() {
        for codec in compressing() {
            let name = codec.name;
            let members: [&[u8]; 3] = [b"{\"a\":1}\n", b"", b"[2]\n"];
            let encoded = members.map(|member| encoded(codec, member)).concat();
            assert_eq!(sniff(&encoded).name, name);
            let (output, result) = decoded(&encoded);
            assert!(result.is_ok(), "{name}: {result:?}");
            assert_eq!(output, b"{\"a\":1}\n[2]\n", "{name}");
        }
    }

    #[test]
    fn every_truncation_is_damage() {
        for codec in compressing() {
            let name = codec.name;
            let encoded = encoded(codec, b"{\"a\":1}\n");
            for length in SNIFF_BYTES..encoded.len() {
                let (_, result) = decoded(&encoded[..length]);
                let error = Error::from(result.unwrap_err());
                assert!(
                    matches!(error, Error::At { kind: ErrorKind::Damaged, .. }),
                    "{name}, first {length}: {error}"
                );
            }
        }
    }

    #[test]
    fn zero_padding_behind_gzip_is_ignored_and_rubbish_is_damage() {
        let padded = [gzip(b"1\n"), vec![0; 100_000]].concat();
        assert_eq!(decoded(&padded).0, b"1\n");
        let (output, result) = decoded(&[gzip(b"1\n"), b"rubbish".to_vec()].concat());
        assert_eq!(output, b"1\n");
        assert!(matches!(
            Error::from(result.unwrap_err()),
            Error::At { kind: ErrorKind::Damaged, .. }
        ));
    }

    #[test]
    fn a_leading_skippable_frame_is_zstd() {
        let skippable = b"\x50\x2a\x4d\x18\x04\0\0\0meta".to_vec();
        assert_eq!(decoded(&[skippable, zstd(b"1\n")].concat()).0, b"1\n");
    }

    #[test]
    fn text_that_begins_like_bzip2_is_text() {
        assert_eq!(sniff(b"BZh9 is a magic number").name, "none");
    }
}
