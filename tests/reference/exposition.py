"""Strict parser of the text format of Prometheus: any deviation raises."""

import re

_NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
_LABEL = r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"'
_HELP = re.compile(rf"# HELP ({_NAME}) (\S(?:.*\S)?)")
_TYPE = re.compile(rf"# TYPE ({_NAME}) (counter|gauge|histogram)")
_SAMPLE = re.compile(rf"({_NAME})(?:\{{((?:{_LABEL})(?:,{_LABEL})*)\}})? (\S+)")
_NUMBER = re.compile(r"-?\d+(\.\d+)?(e[+-]?\d+)?")
_SUFFIXES = {
    "counter": ("",),
    "gauge": ("",),
    "histogram": ("_bucket", "_sum", "_count"),
}


def parsed(text):
    """Return the samples of each metric: {name: {(suffix, labels): value}}."""
    assert text.endswith("\n")
    metrics, kinds = {}, {}
    lines = iter(text[:-1].split("\n"))
    for line in lines:
        if match := _HELP.fullmatch(line):
            name = match[1]
            assert name not in metrics, f"{name} comes twice"
            kind = _TYPE.fullmatch(next(lines))
            assert kind, f"no type of {name}"
            assert kind[1] == name
            metrics[name], kinds[name] = {}, kind[2]
            continue
        match = _SAMPLE.fullmatch(line)
        assert match, f"not a line of the format: {line!r}"
        full, labels, value = match[1], match[2] or "", match.groups()[-1]
        assert full.startswith(name), f"{full} stands among the samples of {name}"
        suffix = full.removeprefix(name)
        assert suffix in _SUFFIXES[kinds[name]]
        pairs = tuple(sorted(found.groups() for found in re.finditer(_LABEL, labels)))
        assert len(dict(pairs)) == len(pairs), f"a label twice: {line!r}"
        assert _NUMBER.fullmatch(value), value
        assert (suffix, pairs) not in metrics[name], f"twice: {line!r}"
        metrics[name][suffix, pairs] = float(value)
    for name, samples in metrics.items():
        assert samples, f"{name} has no samples"
        _check(name, kinds[name], samples)
    return metrics


def _check(name, kind, samples):
    if kind == "counter":
        assert name.endswith("_total")
    if kind in ("counter", "histogram"):
        assert all(value >= 0 for value in samples.values())
    if kind == "histogram":
        buckets = [
            (float(dict(labels)["le"].replace("+Inf", "inf")), value)
            for (suffix, labels), value in samples.items()
            if suffix == "_bucket"
        ]
        assert buckets == sorted(buckets)
        assert [value for _le, value in buckets] == sorted(v for _le, v in buckets)
        assert buckets[-1][0] == float("inf")
        (count,) = (v for (suffix, _), v in samples.items() if suffix == "_count")
        assert buckets[-1][1] == count
