"""docs/pipeline.md has every field of a pipeline."""

from headrace.pipeline.spec import INDEX_KINDS, KINDS, Output, Source, fields_of
from tests.docs.markdown import ROOT


def row(table, field):
    choices = f" ({', '.join(field.choices)})" if field.choices else ""
    left_out = field.default or ""
    return f"| `{table}` | `{field.name}` | {field.doc}{choices} | {left_out} |"


def test_the_manual_has_every_field():
    wanted = [row(kind.name, field) for kind in KINDS for field in kind.fields]
    wanted += [row(kind.name, field) for kind in INDEX_KINDS for field in kind.fields]
    wanted += [row("[source]", field) for field in fields_of(Source)]
    wanted += [row("[output]", field) for field in fields_of(Output)]
    said = (ROOT / "docs/pipeline.md").read_text().split("\n")
    assert [each for each in wanted if each not in said] == []
