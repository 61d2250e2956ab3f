"""Which lines are JSON: our own table, and JSONTestSuite if it exists.

RFC 8259 leaves some cases to the implementation. They are pinned here twice: in
our words, so that the project needs no other folder to know its own verdicts,
and by file name for the suite.
"""

from pathlib import Path

import pytest

from headrace.kernel.values import InvalidJsonError, parse

SUITE = Path(__file__).parents[2].parent / "shared" / "json-test-suite" / "test_parsing"
FILES = sorted(SUITE.glob("*.json"))

LONE_SURROGATE = "a lone surrogate escape"
INVALID_UTF8 = "invalid UTF-8"
UTF16 = "UTF-16"
TOO_DEEP = "nested deeper than 256 levels"
BYTE_ORDER_MARK = "a byte order mark"

ACCEPTED = [
    pytest.param(b"null", id="null"),
    pytest.param(b"-0", id="minus zero"),
    pytest.param(b"1.0", id="fraction"),
    pytest.param(b"12E+03", id="exponent with sign and zero"),
    pytest.param(b'"alone"', id="string alone"),
    pytest.param(b" \t[\r\n] ", id="whitespace around everything"),
    pytest.param(b"{}", id="empty object"),
    pytest.param(b'{"": {"": []}}', id="empty keys"),
    pytest.param(b'{"k": 1, "k": 2}', id="repeated key"),
    pytest.param(rb'"\"\\\/\b\f\n\r\t"', id="every short escape"),
    pytest.param(rb'"\u0000\uFFFF\ufdd0"', id="escaped NUL and noncharacters"),
    pytest.param(rb'"\uD83C\uDF0A"', id="surrogate pair"),
    pytest.param(rb'"\\uD83C"', id="escaped backslash before u"),
    pytest.param('"na\u00efve \u6c34 \U0001f30a"'.encode(), id="two to four bytes"),
    pytest.param('"\u2028\u2029\ufeff"'.encode(), id="separators and mark in a string"),
    pytest.param(b'"\x7f"', id="DEL"),
    pytest.param(b"[" * 256 + b"]" * 256, id="256 levels"),
    pytest.param(b"7" * 1100, id="number of 1100 bytes"),
    # Left to the implementation: numbers no double can hold.
    pytest.param(b"[7.25e-4000]", id="underflow, fraction"),
    pytest.param(b"[7e-40000000]", id="underflow, integer"),
    pytest.param(b"[1e400]", id="overflow"),
    pytest.param(b"[-1e400]", id="overflow, negative"),
    pytest.param(b"[2.5e+4000]", id="overflow, fraction"),
    pytest.param(b"[-987654e300000]", id="overflow, negative integer"),
    pytest.param(b"[0.7e00" + b"8" * 60 + b"]", id="overflow, exponent of 62 digits"),
    pytest.param(b"[18446744073709551616]", id="integer over 64 bits"),
    pytest.param(b"[-98765432109876543210987]", id="integer of 23 digits, negative"),
    pytest.param(b"[-" + b"314159265358979" * 4 + b"]", id="integer of 60 digits"),
]

REFUSED = [
    pytest.param(b"[1, 2", 5, "inside an array", id="open array"),
    pytest.param(b'{"a": 1', 7, "inside an object", id="open object"),
    pytest.param(b'{"a": "b', 8, "inside a string", id="open string"),
    pytest.param(b"[1, ]", 2, "trailing comma", id="comma before bracket"),
    pytest.param(b'{"a": 1,}', 7, "trailing comma", id="comma before brace"),
    pytest.param(b"{} {}", 3, "trailing characters", id="two values"),
    pytest.param(b"{'a': 1}", 1, "single quotes", id="single quotes"),
    pytest.param(b"{a: 1}", 1, "expected a key", id="bare key"),
    pytest.param(b'{"a" 1}', 5, "expected a colon", id="no colon"),
    pytest.param(b"[1 2]", 3, "expected a comma or ]", id="no comma in array"),
    pytest.param(
        b'{"a": 1 "b": 2}', 8, "expected a comma or }", id="no comma in object"
    ),
    pytest.param(b"[1] // one", 4, "comments", id="comment"),
    pytest.param(b"[NaN]", 1, "NaN and Infinity", id="NaN"),
    pytest.param(b"-Infinity", 1, "NaN and Infinity", id="minus infinity"),
    pytest.param(b"True", 0, "expected a value", id="capital letter"),
    pytest.param(b"[007]", 1, "leading zero", id="leading zeros"),
    pytest.param(b"[1.]", 3, "a digit is missing", id="no digit after the point"),
    pytest.param(b"[+1]", 1, "expected a value", id="plus sign"),
    pytest.param(b'"a\tb"', 2, "control character", id="raw tab"),
    pytest.param(b'"a\x00b"', 2, "control character", id="raw NUL"),
    pytest.param(b"[1]\x00", 3, "trailing characters", id="NUL after the value"),
    pytest.param(rb'"\x41"', 1, "unknown escape", id="hexadecimal escape"),
    pytest.param(rb'"\u12G4"', 1, "four hexadecimal digits", id="bad digit in escape"),
    pytest.param("\u00a0[]".encode(), 0, "expected a value", id="no-break space"),
    pytest.param(b"7" * 1101, 0, "more than 1100 bytes", id="number of 1101 bytes"),
    pytest.param(b"[" * 257 + b"]" * 257, 256, TOO_DEEP, id="257 levels"),
    # Left to the implementation: halves of surrogate pairs.
    pytest.param(rb'{"\uDF0A": 1}', 2, LONE_SURROGATE, id="second half in a key"),
    pytest.param(rb'["\uD83C"]', 2, LONE_SURROGATE, id="first half, then the end"),
    pytest.param(rb'["\uD83Cxyz"]', 2, LONE_SURROGATE, id="first half, then text"),
    pytest.param(
        rb'["\uD83C\u0041"]', 2, LONE_SURROGATE, id="first half, then a letter"
    ),
    pytest.param(rb'["\uD83C\t"]', 2, LONE_SURROGATE, id="first half, then an escape"),
    pytest.param(rb'["\uD83C\uD83C"]', 2, LONE_SURROGATE, id="two first halves"),
    pytest.param(rb'["\ud83c"]', 2, LONE_SURROGATE, id="first half, small letters"),
    pytest.param(rb'["\uDF0A"]', 2, LONE_SURROGATE, id="second half alone"),
    pytest.param(rb'["\udF0Az"]', 2, LONE_SURROGATE, id="second half, then text"),
    pytest.param(
        rb'["\uDF0A\uD83C"]', 2, LONE_SURROGATE, id="pair the wrong way round"
    ),
    # Left to the implementation: bytes that are not UTF-8.
    pytest.param(
        b'["\xe6\xb0\xb4\xfb"]', 5, INVALID_UTF8, id="bad byte after good ones"
    ),
    pytest.param(b'["\xed\xbf\xbf"]', 2, INVALID_UTF8, id="surrogate in UTF-8"),
    pytest.param(b'["\xfe"]', 2, INVALID_UTF8, id="byte UTF-8 never has"),
    pytest.param(b'["na\xefve"]', 4, INVALID_UTF8, id="Latin-1"),
    pytest.param(b'["\xbf"]', 2, INVALID_UTF8, id="continuation byte alone"),
    pytest.param(b'["\xf4\x90\x80\x80"]', 2, INVALID_UTF8, id="beyond U+10FFFF"),
    pytest.param(b'["\xc1\x81"]', 2, INVALID_UTF8, id="overlong, two bytes"),
    pytest.param(b'["\xfc\x84\x80\x80\x80\x81"]', 2, INVALID_UTF8, id="six bytes"),
    pytest.param(
        b'["\xfc\x80\x80\x80\x80\x80"]', 2, INVALID_UTF8, id="six bytes for NUL"
    ),
    pytest.param(b'["\xe6\xb0"]', 2, INVALID_UTF8, id="character cut off"),
    # Left to the implementation: other encodings, marks, depth.
    pytest.param("\ufeff[1]".encode("utf-16-le"), 0, UTF16, id="UTF-16 with mark"),
    pytest.param('["\u00fc"]'.encode("utf-16-be"), 0, UTF16, id="UTF-16BE"),
    pytest.param('["\u00fc"]'.encode("utf-16-le"), 0, UTF16, id="UTF-16LE"),
    pytest.param(b"[" * 500 + b"]" * 500, 256, TOO_DEEP, id="500 levels"),
    pytest.param(b"\xef\xbb\xbf[]", 0, BYTE_ORDER_MARK, id="UTF-8 mark"),
]

# Cases that the suite leaves open: None is accepted, a text is part of the reason for
# refusing. The reader of a file takes off a mark at its first byte; a line that
# still has one when it is parsed is refused.
PINS = {
    "i_number_double_huge_neg_exp.json": None,
    "i_number_huge_exp.json": None,
    "i_number_neg_int_huge_exp.json": None,
    "i_number_pos_double_huge_exp.json": None,
    "i_number_real_neg_overflow.json": None,
    "i_number_real_pos_overflow.json": None,
    "i_number_real_underflow.json": None,
    "i_number_too_big_neg_int.json": None,
    "i_number_too_big_pos_int.json": None,
    "i_number_very_big_negative_int.json": None,
    "i_object_key_lone_2nd_surrogate.json": LONE_SURROGATE,
    "i_string_1st_surrogate_but_2nd_missing.json": LONE_SURROGATE,
    "i_string_1st_valid_surrogate_2nd_invalid.json": LONE_SURROGATE,
    "i_string_UTF-16LE_with_BOM.json": UTF16,
    "i_string_UTF-8_invalid_sequence.json": INVALID_UTF8,
    "i_string_UTF8_surrogate_U+D800.json": INVALID_UTF8,
    "i_string_incomplete_surrogate_and_escape_valid.json": LONE_SURROGATE,
    "i_string_incomplete_surrogate_pair.json": LONE_SURROGATE,
    "i_string_incomplete_surrogates_escape_valid.json": LONE_SURROGATE,
    "i_string_invalid_lonely_surrogate.json": LONE_SURROGATE,
    "i_string_invalid_surrogate.json": LONE_SURROGATE,
    "i_string_invalid_utf-8.json": INVALID_UTF8,
    "i_string_inverted_surrogates_U+1D11E.json": LONE_SURROGATE,
    "i_string_iso_latin_1.json": INVALID_UTF8,
    "i_string_lone_second_surrogate.json": LONE_SURROGATE,
    "i_string_lone_utf8_continuation_byte.json": INVALID_UTF8,
    "i_string_not_in_unicode_range.json": INVALID_UTF8,
    "i_string_overlong_sequence_2_bytes.json": INVALID_UTF8,
    "i_string_overlong_sequence_6_bytes.json": INVALID_UTF8,
    "i_string_overlong_sequence_6_bytes_null.json": INVALID_UTF8,
    "i_string_truncated-utf-8.json": INVALID_UTF8,
    "i_string_utf16BE_no_BOM.json": UTF16,
    "i_string_utf16LE_no_BOM.json": UTF16,
    "i_structure_500_nested_arrays.json": TOO_DEEP,
    "i_structure_UTF-8_BOM_empty_object.json": BYTE_ORDER_MARK,
}

# No values, so the suite wants them refused; as rows they are blank, not bad.
BLANK = {"n_single_space.json", "n_structure_no_data.json"}


@pytest.mark.parametrize("line", ACCEPTED)
def test_accepted(line):
    parse(line)


@pytest.mark.parametrize("line", [b"", b" ", b"\t", b"\r", b"\n", b" \t\r\n "])
def test_a_blank_line_has_no_value(line):
    assert parse(line) is None


@pytest.mark.parametrize(("line", "offset", "reason"), REFUSED)
def test_refused(line, offset, reason):
    with pytest.raises(InvalidJsonError) as caught:
        parse(line)
    assert caught.value.offset == offset
    assert reason in caught.value.reason


@pytest.mark.parametrize("depth", [1, 64, 256, 1000])
def test_the_depth_limit_is_exact(depth):
    parse(b"[" * depth + b"]" * depth, max_depth=depth)
    with pytest.raises(InvalidJsonError) as caught:
        parse(b"[" * (depth + 1) + b"]" * (depth + 1), max_depth=depth)
    assert caught.value.offset == depth


@pytest.mark.skipif(not SUITE.is_dir(), reason="JSONTestSuite is not here")
def test_the_suite_is_whole():
    assert len(FILES) > 300
    assert {file.name for file in FILES if file.name.startswith("i_")} == set(PINS)


@pytest.mark.skipif(not SUITE.is_dir(), reason="JSONTestSuite is not here")
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_the_suite(file):
    line = file.read_bytes()
    pinned = PINS.get(file.name)
    if file.name in BLANK:
        assert parse(line) is None
    elif file.name.startswith("y_") or (file.name in PINS and pinned is None):
        parse(line)
    else:
        with pytest.raises(InvalidJsonError) as caught:
            parse(line)
        assert (pinned or "") in caught.value.reason
