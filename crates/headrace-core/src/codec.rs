//! Compressed input, recognised by its first bytes and never by its name.
//!
//! Every decoder reads a file of several members, frames or streams to its last
//! one. One-shot APIs that stop after the first are the usual way to lose rows.

use std::{
    fmt,
    io::{self, BufRead, BufReader, Read},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use bzip2::read::MultiBzDecoder;
use flate2::bufread::GzDecoder;
use liblzma::read::XzDecoder;

use crate::Error;

/// Bytes in order, from anywhere.
pub type Input = Box<dyn Read + Send>;

/// A way of compressing, and how it is recognised and decoded.
pub struct Codec {
    /// As users write it.
    pub name: &'static str,
    recognises: fn(&[u8]) -> bool,
    decode: fn(Input) -> io::Result<Input>,
}

/// Every codec; the last one takes whatever the others do not recognise.
pub static CODECS: &[Codec] = &[
    Codec {
        name: "gzip",
        recognises: |head| head.starts_with(b"\x1f\x8b\x08"),
        decode: |input| {
            Ok(Box::new(GzipMembers::new(BufReader::with_capacity(INPUT_BUFFER, input))))
        },
    },
    Codec {
        name: "zstd",
        recognises: |head| match head {
            [0x28, 0xb5, 0x2f, 0xfd, ..] => true,
            // A skippable frame: metadata that some writers put first.
            [first, 0x2a, 0x4d, 0x18, ..] => (0x50..=0x5f).contains(first),
            _ => false,
        },
        decode: |input| Ok(Box::new(zstd::stream::read::Decoder::new(input)?)),
    },
    Codec {
        name: "bzip2",
        // "BZh9" alone could be text; the block or end marker behind it cannot.
        recognises: |head| match head {
            [b'B', b'Z', b'h', b'1'..=b'9', rest @ ..] => {
                rest.starts_with(b"\x31\x41\x59\x26\x53\x59")
                    || rest.starts_with(b"\x17\x72\x45\x38\x50\x90")
            }
            _ => false,
        },
        decode: |input| Ok(Box::new(MultiBzDecoder::new(input))),
    },
    Codec {
        name: "xz",
        recognises: |head| head.starts_with(b"\xfd7zXZ\0"),
        decode: |input| Ok(Box::new(XzDecoder::new_multi_decoder(input))),
    },
    Codec { name: "none", recognises: |_| true, decode: Ok },
];

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

/// Turns a decoder's complaint into [`Error::Damaged`] with its position.
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
                Error::Damaged { offset: self.taken.load(Ordering::Relaxed), reason }.into()
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

/// Pass over zero bytes; whether another member follows them.
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
    use std::io::Write;

    use flate2::{Compression, write::GzEncoder};

    use super::*;

    fn gzip(data: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(data).unwrap();
        encoder.finish().unwrap()
    }

    fn zstd(data: &[u8]) -> Vec<u8> {
        zstd::encode_all(data, 3).unwrap()
    }

    fn bzip2(data: &[u8]) -> Vec<u8> {
        let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::best());
        encoder.write_all(data).unwrap();
        encoder.finish().unwrap()
    }

    fn xz(data: &[u8]) -> Vec<u8> {
        let mut encoder = liblzma::write::XzEncoder::new(Vec::new(), 6);
        encoder.write_all(data).unwrap();
        encoder.finish().unwrap()
    }

    type Encode = fn(&[u8]) -> Vec<u8>;
    const ENCODERS: [(&str, Encode); 4] =
        [("gzip", gzip), ("zstd", zstd), ("bzip2", bzip2), ("xz", xz)];

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
    fn every_codec_reads_all_of_several_members() {
        for (name, encode) in ENCODERS {
            let encoded = [encode(b"{\"a\":1}\n"), encode(b""), encode(b"[2]\n")].concat();
            assert_eq!(sniff(&encoded).name, name);
            let (output, result) = decoded(&encoded);
            assert!(result.is_ok(), "{name}: {result:?}");
            assert_eq!(output, b"{\"a\":1}\n[2]\n", "{name}");
        }
    }

    #[test]
    fn every_truncation_is_damage() {
        for (name, encode) in ENCODERS {
            let encoded = encode(b"{\"a\":1}\n");
            for length in SNIFF_BYTES..encoded.len() {
                let (_, result) = decoded(&encoded[..length]);
                let error = Error::from(result.unwrap_err());
                assert!(matches!(error, Error::Damaged { .. }), "{name}, first {length}: {error}");
            }
        }
    }

    #[test]
    fn zero_padding_behind_gzip_is_ignored_and_rubbish_is_damage() {
        let padded = [gzip(b"1\n"), vec![0; 100_000]].concat();
        assert_eq!(decoded(&padded).0, b"1\n");
        let (output, result) = decoded(&[gzip(b"1\n"), b"rubbish".to_vec()].concat());
        assert_eq!(output, b"1\n");
        assert!(matches!(Error::from(result.unwrap_err()), Error::Damaged { .. }));
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
