"""The table of flags: one type, one meaning and one Python name for each."""

import inspect
import re

import pytest

import headrace
from headrace.api import options as families
from headrace.api.formats import FORMATS
from headrace.api.graph.graph import Graph
from headrace.api.graph.spark_graph import SparkGraph
from headrace.api.log.replay import Replay
from headrace.api.open import open as open_dataset
from headrace.api.recompress import recompress
from headrace.cli.flags import COMMON, FLAGS
from headrace.cli.registry import COMMANDS, load
from headrace.demo.sample import write_sample

NAMES = [entry.name for entry in COMMANDS]
ROWS = {each.flags[-1]: each for each in FLAGS}

READING = (open_dataset,)
CALLS = {
    "count": (*READING, headrace.Dataset.count),
    "head": (*READING, headrace.Dataset.head),
    "tail": (*READING, headrace.Dataset.tail, headrace.follow),
    "row": READING,
    "query": (*READING, headrace.Dataset.query),
    "join": (*READING, headrace.Dataset.join),
    "index build": (headrace.KeyIndex.build, headrace.GraphIndex.build),
    "index update": (headrace.KeyIndex.update,),
    "index compact": (headrace.KeyIndex.compact, headrace.GraphIndex.compact),
    "index get": (headrace.KeyIndex.open,),
    "index check": (headrace.KeyIndex.check,),
    "index stats": (headrace.KeyIndex.stats,),
    "graph expand": (Graph.__init__, Graph.expand, Graph.on_spark, SparkGraph.expand),
    "graph path": (Graph.__init__, Graph.shortest_path),
    "graph stats": (Graph.__init__,),
    "log append": (headrace.LogWriter.__init__,),
    "log cat": (headrace.Log.range, headrace.Log.follow, headrace.Log.consumer),
    "log seal": (headrace.Log.seal,),
    "log retain": (headrace.Log.retain,),
    "log replay": (Replay.__init__, headrace.Log.range),
    "log consumers": (headrace.Log.consumers,),
    "log recover": (headrace.Log.recover,),
    "log check": (headrace.Log.check,),
    "log stats": (headrace.Log.stats,),
    "log backup": (headrace.Log.backup,),
    "log verify": (headrace.Log.verify,),
    "log restore": (headrace.Log.restore,),
    "shard write": (*READING, headrace.ShardWriter.__init__),
    "shard cat": (),
    "shard check": (headrace.ShardSet.check,),
    "shard stats": (),
    "shard publish": (headrace.ShardSet.publish,),
    "shard vacuum": (headrace.ShardSet.vacuum,),
    "pipeline run": (headrace.Pipeline.run,),
    "pipeline explain": (headrace.Pipeline.explain,),
    "pipeline init": (),
    "convert": (headrace.convert,),
    "recompress": (recompress,),
    "demo": (write_sample,),
    "log dump-index": (),
    "functions": (),
    "completions": (),
    "help": (),
}
"""The functions of the API that a command calls."""

OF_THE_COMMAND_LINE = {
    "count": "--per-file --stats --strict",
    "head": "--stats --strict",
    "tail": "--follow --stats --strict",
    "row": "--stats --strict",
    "query": "--query-file --format --raw --tsv --out --explain --analyze --stats --strict",
    "join": "--explain --stats",
    "index build": "--graph --errors",
    "index update": "--graph --errors",
    "index compact": "--graph",
    "index get": "--eq --eq-raw --eq-json --stdin --json-keys --typed --require-match",
    "index check": "--graph --json",
    "index stats": "--graph --json",
    "graph expand": "--seed --per-seed --format --explain --stats --strict --engine",
    "graph path": "--require-match --format --explain --stats",
    "graph stats": "--json",
    "log append": "--ack --metrics --on-error --errors",
    "log cat": "--limit --follow --consumer",
    "log seal": "--json",
    "log retain": "--json",
    "log replay": "--tag",
    "log consumers": "--set --remove --json",
    "log recover": "--json",
    "log check": "--json",
    "log stats": "--json --prometheus",
    "log backup": "--json",
    "log verify": "--json",
    "log restore": "--json",
    "shard write": "--out --errors --stats --strict",
    "shard check": "--json",
    "convert": "--out --stats",
    "demo": "--no-spark --master",
}
"""Flags that no function of the API takes: they print, choose a function, or pass its data."""


KEYWORDS = {
    "--no-progress": "progress",
    "--raw": "format",
    "--tsv": "format",
    "--no-index": "index",
    "--compact": "index_version",
    "--right-index": "index",
    "--pred-raw": "pred",
    "--seed-field": "seeds",
    "--emit-edges": "emit",
    "--tree": "emit",
    "--arg": "args",
    "--argjson": "args",
    "--name": "names",
    "--lines": "shape",
    "--array": "shape",
    "--no-lanes": "lanes",
    "--set-name": "name",
    "--trusted": "validate",
    "--from": "from_line",
    "--to": "to_line",
}
"""The keyword of the Python API, where that is not the flag with underscores."""


def keywords(function):
    """Return the parameters of a function, including its unpacked options."""
    found = set()
    for name, parameter in inspect.signature(function).parameters.items():
        unpacked = re.search(r"Unpack\[(\w+)\]", str(parameter.annotation))
        if unpacked is None:
            found.add(name)
        else:
            options = vars(inspect.getmodule(function)).get(unpacked[1])
            options = options or getattr(families, unpacked[1])
            found |= set(options.__annotations__)
    return found


def flags_of(entry):
    return [each for each in load(entry).ARGUMENTS if each.flags]


@pytest.mark.parametrize("entry", COMMANDS, ids=NAMES)
def test_a_flag_has_one_type_and_one_meaning_in_all_commands(entry):
    for argument in (*flags_of(entry), *COMMON):
        row = ROWS[argument.flags[-1]]
        assert argument.flags == row.flags
        assert (argument.kind, argument.arity) == (row.kind, row.arity)
        assert argument.help.startswith(row.help)
        assert argument.name == row.name
        if row.kind == "choice":
            assert set(argument.choices) <= set(row.value.split("|"))
        else:
            assert argument.metavar == row.value


def test_a_spelling_and_a_name_stand_for_one_flag():
    spellings = [flag for row in FLAGS for flag in row.flags]
    assert len(spellings) == len(set(spellings))
    names = [row.name for row in FLAGS]
    assert len(names) == len(set(names))


def test_every_flag_of_the_table_is_one_of_a_command():
    used = {each.flags[-1] for entry in COMMANDS for each in flags_of(entry)}
    used |= {each.flags[-1] for each in COMMON}
    assert used == set(ROWS)


def test_the_formats_of_a_query_are_in_the_table():
    assert {each.name for each in FORMATS} <= set(ROWS["--format"].value.split("|"))


@pytest.mark.parametrize("name", [name for name, calls in CALLS.items() if calls])
def test_a_flag_is_the_keyword_of_the_function_that_the_command_calls(name):
    known = set().union(*map(keywords, CALLS[name]))
    entry = next(each for each in COMMANDS if each.name == name)
    flags = {each.flags[-1] for each in flags_of(entry)}
    unknown = {
        flag for flag in flags if KEYWORDS.get(flag, ROWS[flag].name) not in known
    }
    assert unknown == set(OF_THE_COMMAND_LINE.get(name, "").split())


def test_every_command_is_compared_with_the_functions_it_calls():
    assert set(CALLS) == set(NAMES)


@pytest.mark.parametrize("entry", COMMANDS, ids=NAMES)
def test_a_default_is_written_as_a_user_would_type_it(entry):
    for argument in flags_of(entry):
        if argument.default is not None:
            assert argument.help.endswith(f"[default: {argument.default}]")
        assert "unless told" not in argument.help


@pytest.mark.parametrize(
    "entry",
    [
        each
        for each in COMMANDS
        if each.name.split()[-1] in ("stats", "check", "verify", "consumers")
    ],
    ids=lambda entry: entry.name,
)
def test_every_report_has_json(entry):
    assert "--json" in {each.flags[-1] for each in flags_of(entry)}
