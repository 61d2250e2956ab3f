//! Regular expressions of a bounded size, matched in linear time.

use regex::{Regex, RegexBuilder};

/// The most memory a compiled pattern may take.
const MAX_BYTES: usize = 10 << 20;

/// The longest pattern: of a longer one, it would take seconds to find that it is too large.
const MAX_LENGTH: usize = 100_000;

/// Compile a pattern.
///
/// # Errors
/// The error in the pattern, on one line.
pub(super) fn compile(pattern: &str) -> Result<Regex, String> {
    if pattern.len() > MAX_LENGTH {
        return Err(format!("the pattern is longer than {MAX_LENGTH} bytes"));
    }
    RegexBuilder::new(pattern).size_limit(MAX_BYTES).build().map_err(|error| match error {
        regex::Error::CompiledTooBig(limit) => {
            format!("the pattern is too large: it takes more than {limit} bytes")
        }
        error => {
            // The last line of the library's message says what; those before draw a picture.
            let text = error.to_string();
            let reason = text.lines().last().unwrap_or_default().trim();
            format!("bad pattern: {}", reason.trim_start_matches("error: "))
        }
    })
}
