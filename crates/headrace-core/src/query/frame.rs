//! Framed lines: a key, a separator, and the JSON behind it.

/// The meaning of a payload of `null`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NullPayload {
    /// There is no record: the line is skipped.
    Skip,
    /// The record is null.
    Keep,
    /// The line is bad.
    Refuse,
}

/// How lines are framed.
#[derive(Clone, Debug)]
pub struct Frame {
    /// What stands between key and payload; what is behind the first one is the payload.
    pub separator: Vec<u8>,
    /// The meaning of a payload of `null`.
    pub null_payload: NullPayload,
}

/// What is behind the separator of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Payload<'l> {
    /// JSON, and where it begins in the line.
    Record(&'l [u8], usize),
    /// The end of what the key stood for.
    Deleted,
    /// What is wrong with the line, and at which byte of it.
    Refused(&'static str, usize),
}

impl Frame {
    pub(super) fn payload<'l>(&self, line: &'l [u8]) -> Payload<'l> {
        let Some(at) = memchr::memmem::find(line, &self.separator) else {
            return Payload::Refused("the line has no separator", 0);
        };
        let start = at + self.separator.len();
        let payload = &line[start..];
        match payload.trim_ascii() {
            b"" => Payload::Refused("there is no JSON behind the separator", start),
            b"null" => match self.null_payload {
                NullPayload::Skip => Payload::Deleted,
                NullPayload::Keep => Payload::Record(payload, start),
                NullPayload::Refuse => Payload::Refused("the payload is null", start),
            },
            _ => Payload::Record(payload, start),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_payload_is_what_stands_behind_the_first_separator() {
        let frame = Frame { separator: b"|".to_vec(), null_payload: NullPayload::Skip };
        assert_eq!(frame.payload(b"k|{\"a\": \"|\"}"), Payload::Record(b"{\"a\": \"|\"}", 2));
        for (line, byte) in [(&b"no separator"[..], 0), (b"k|", 2), (b"k| ", 2)] {
            let payload = frame.payload(line);
            assert!(matches!(payload, Payload::Refused(_, at) if at == byte), "{payload:?}");
        }
        for line in [&b"k|null"[..], b"k| null "] {
            assert_eq!(frame.payload(line), Payload::Deleted, "{line:?}");
        }
        let strict = Frame { null_payload: NullPayload::Refuse, ..frame.clone() };
        assert!(matches!(strict.payload(b"k|null"), Payload::Refused(_, 2)));
        let kept = Frame { null_payload: NullPayload::Keep, ..frame };
        assert_eq!(kept.payload(b"k|null"), Payload::Record(b"null", 2));
    }
}
