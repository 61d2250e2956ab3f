"""What people type who come from jq and coreutils, and options that contradict each other."""

import subprocess
import sys

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


def test_a_file_may_be_called_as_a_number(headrace, numbers):
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
def test_an_option_of_jq_is_answered_with_ours(headrace, numbers, option, said):
    done = headrace("query", option, "n", numbers(3))
    assert (done.code, done.out, said in done.err) == (2, b"", True)


def test_arguments_as_jq_takes_them_are_explained(headrace, numbers):
    done = headrace("query", "--arg", "min", "5", "n", numbers(3))
    assert (done.code, "'min' is not NAME=VALUE, such as min=5" in done.err) == (
        2,
        True,
    )


@pytest.mark.parametrize("policy", ["skip", "collect"])
def test_strict_and_a_policy_that_goes_on_contradict_each_other(
    headrace, numbers, policy
):
    done = headrace("query", "--strict", "--on-error", policy, "n", numbers(3))
    assert (done.code, done.out) == (2, b"")
    assert f"--on-error {policy} goes on; leave out one of them" in done.err


def test_the_command_line_names_options_as_it_spells_them(headrace, tmp_path):
    (tmp_path / "bad.jsonl").write_bytes(b"bad\n")
    done = headrace("query", "n", "bad.jsonl")
    assert done.err.endswith("expected a value; --on-error skip skips it\n")
    done = headrace("query", "n", "bad.jsonl", "--max-line", "2")
    assert "the line is longer than --max-line allows" in done.err


COUNTED = """
import sys
from headrace.cli.app import main

main(sys.argv[1:])
print([name for name in sys.modules if "spark" in name], file=sys.stderr)
"""


@pytest.mark.parametrize(
    "arguments", [["count"], ["query", "n"], ["count", "--stats"], ["head"]]
)
def test_a_command_without_spark_imports_nothing_of_it(numbers, arguments):
    line = [sys.executable, "-c", COUNTED, *arguments, str(numbers(3))]
    done = subprocess.run(line, capture_output=True, timeout=60, check=True)
    assert done.stderr.splitlines()[-1] == b"[]"
