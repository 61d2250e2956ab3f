"""Habits of users of jq and coreutils, and options that contradict each other."""

import pytest


@pytest.mark.parametrize(
    ("arguments", "numbers_printed"),
    [
        (["head", "-2"], [0, 1]),
        (["head", "-2", "--stats"], [0, 1]),
        (["tail", "-2"], [8, 9]),
        (["tail", "-n", "2"], [8, 9]),
        (["head", "--max-line", "100", "-1"], [0]),
    ],
)
def test_a_number_of_rows_needs_no_letter(
    headrace, numbers, arguments, numbers_printed
):
    done = headrace(*arguments, numbers(10))
    assert done.rows == [b'{"n":%d}' % number for number in numbers_printed]


def test_a_file_whose_name_is_a_number(headrace, numbers):
    numbers(3, name="-2")
    assert headrace("head", "-1", "--", "-2").rows == [b'{"n":0}']


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ("-s", "--stream"),
        ("--slurp", "--stream"),
        ("-n", "echo null | headrace query"),
        ("-c", "each answer is one line already"),
        ("--indent", "--format table"),
        ("--slurpfile", "--name NAME=FILE"),
        ("--nonsense", "see `headrace query --help`"),
    ],
)
def test_an_option_of_jq_is_refused_with_the_option_of_headrace(
    headrace, numbers, option, said
):
    done = headrace("query", option, "n", numbers(3))
    assert (done.code, done.out, said in done.err) == (2, b"", True)


def test_arguments_as_jq_takes_them_are_explained(headrace, numbers):
    done = headrace("query", "--arg", "min", "5", "n", numbers(3))
    assert (done.code, "'min' is not NAME=VALUE, such as min=5" in done.err) == (
        2,
        True,
    )


@pytest.mark.parametrize("policy", ["skip", "collect"])
def test_strict_contradicts_on_error_skip(headrace, numbers, policy):
    done = headrace("query", "--strict", "--on-error", policy, "n", numbers(3))
    assert (done.code, done.out) == (2, b"")
    assert f"--on-error {policy} goes on; leave out one of them" in done.err


def test_the_command_line_names_options_as_it_spells_them(headrace, tmp_path):
    (tmp_path / "bad.jsonl").write_bytes(b"bad\n")
    done = headrace("query", "n", "bad.jsonl")
    assert done.err.endswith("expected a value; --on-error skip skips it\n")
    done = headrace("query", "n", "bad.jsonl", "--max-line", "2")
    assert "the line is longer than --max-line allows" in done.err


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("query --rev n FILE", "write --reverse"),
        ("query --null emit n FILE", "write --nulls drop or --nulls emit"),
        ("query --onerror skip n FILE", "did you mean --on-error?"),
        ("query --output x.csv n FILE", "write --out PATH, or -o"),
        ("index get FILE --on n --key 1", "and --eq VALUE"),
        ("query -f n FILE", "write --query-file FILE"),
        ("head --rows 3 FILE", "write --limit, or -n"),
        ("index get FILE --key n --eq 1", "write --on FIELD"),
        ("index get FILE --strict --eq 1", "write --require-index"),
        ("index build FILE --on n --out x", "write --index FILE"),
        ("index build FILE --on n --format 1", "write --index-version"),
        ("index build FILE --graph --from a", "write --from-field FIELD"),
        ("index build FILE --graph --reverse", "write --incoming"),
        ("index stats FILE --pretty", "--json for programs"),
        ("graph stats --edges FILE --to b", "write --to-field FIELD"),
        ("join FILE --left-key n", "write --left-on"),
        ("join FILE --on n --fallback error", "--require-index"),
        ("log append log --compress zstd", "write --codec"),
        ("log retain log --max-age 7d", "write --retain-age"),
        ("log retain log --max-bytes 1", "write --retain-bytes"),
        ("log seal log --older-than 1d", "write --grace"),
        ("log stats log --format json", "write --json or --prometheus"),
        ("shard write FILE --out x --name y", "write --set-name"),
    ],
)
def test_a_former_flag_is_refused_with_the_one_to_write(headrace, numbers, line, said):
    path = str(numbers(3))
    done = headrace(*(path if word == "FILE" else word for word in line.split()))
    assert (done.code, done.out, said in done.err) == (2, b"", True), done.err


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("query n FILE --on-error skp", "did you mean skip?"),
        ("query n FILE --nulls dorp", "did you mean drop?"),
        ("join FILE --on n --how outer", "see `headrace join --help`"),
    ],
)
def test_a_misspelt_choice_has_a_suggestion(headrace, numbers, line, said):
    path = str(numbers(3))
    done = headrace(*(path if word == "FILE" else word for word in line.split()))
    assert (done.code, done.out) == (2, b"")
    assert done.err.rstrip().endswith(said)


@pytest.mark.parametrize("value", ["-1", "1.5"])
@pytest.mark.parametrize("option", ["--limit", "-n"])
def test_a_limit_that_is_no_count_has_no_hint_for_jq(headrace, numbers, option, value):
    done = headrace("query", option, value, "n", numbers(3))
    assert (done.code, done.out) == (2, b"")
    assert (
        f"'{value}' is not a whole number, 0 or more; see `headrace query" in done.err
    )


def test_a_file_before_the_query_is_reported(headrace, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows.jsonl").write_bytes(b'{"id": 1}\n')
    done = headrace("query", "rows.jsonl", "$.id")
    assert done.code != 0
    assert "the query comes before the files: headrace query '$.id' rows.jsonl" in (
        done.err
    )
    done = headrace("query", "id", "other.jsonl")
    assert "other.jsonl: no such file; check the path" in done.err
