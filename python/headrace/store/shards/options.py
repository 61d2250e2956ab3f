"""Options of writers, checked before anything is written."""

import json
import sys
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import cast

from headrace.errors import HeadraceWarning, UsageError
from headrace.kernel.blocks import Codec, Packer, codecs, suffixes
from headrace.kernel.values import DEEPEST, MAX_DEPTH, InvalidJsonError, parse
from headrace.store.files.units import parse_size
from headrace.store.shards.metadata import Compression, Limits

_LARGEST = (1 << 63) - 1
LARGEST_BLOCK = 256 << 20
"""The longest block that the core can seek in, and so the longest line."""
_MOST_THREADS = 1 << 10

_SPELLED_OUT = {".gzip": "gzip", ".zstd": "zstd"}

_UNKNOWN_ENDINGS = (
    ".7z",
    ".br",
    ".lz4",
    ".lzma",
    ".lzo",
    ".rar",
    ".snappy",
    ".sz",
    ".z",
    ".zip",
)
"""Suffixes of compressed files that headrace does not write."""


@dataclass(frozen=True, slots=True)
class PackOptions:
    """Options for packing records into files; without `max_depth`, they are not checked."""

    compression: Compression
    suffix: str
    values: tuple[int, ...]
    limits: Limits
    max_depth: int | None
    threads: int

    def packer(self) -> Packer:
        """Return a packer with these options."""
        compression, limits = self.compression, self.limits
        try:
            return Packer(
                compression.codec,
                level=compression.level,
                values=list(self.values),
                block_bytes=compression.block_bytes,
                max_bytes=limits.max_bytes,
                max_logical_bytes=limits.max_logical_bytes,
                max_records=limits.max_records,
                max_depth=self.max_depth,
                threads=self.threads,
            )
        except ValueError as error:
            raise UsageError(f"max_bytes {limits.max_bytes}: {error}") from None


def pack_options(
    codec: str,
    *,
    level: int | None,
    options: Mapping[str, int] | None,
    block_bytes: int | str,
    limits: Limits,
    validate: bool,
    max_depth: int,
    threads: int,
) -> PackOptions:
    """Check the options; warn of values that are out of range and adjusted."""
    info = _codec(codec)
    depth = whole_number("max_depth", max_depth, most=DEEPEST)
    chosen = PackOptions(
        Compression(
            codec,
            _level(info, level),
            _size("block_bytes", block_bytes, LARGEST_BLOCK),
        ),
        info.suffix,
        _values(info, options or {}),
        limits,
        depth if validate else None,
        whole_number("threads", threads, most=_MOST_THREADS),
    )
    if limits.max_bytes is not None:
        replace(chosen, threads=1).packer()  # raises for a limit that no file can keep
    return chosen


def limits(
    max_bytes: int | str | None,
    max_records: int | None,
    max_logical_bytes: int | str | None,
) -> Limits:
    """Check the limits of a file."""
    return Limits(
        None if max_bytes is None else _size("max_bytes", max_bytes),
        None if max_records is None else whole_number("max_records", max_records),
        None
        if max_logical_bytes is None
        else _size("max_logical_bytes", max_logical_bytes),
    )


def run_facts(run: object) -> Mapping[str, object] | None:
    """Return the `run` object of a writer as it will be read back, or raise."""
    if run is None:
        return None
    try:
        text = json.dumps(run, ensure_ascii=False, allow_nan=False)
        facts = parse(
            text.encode(), MAX_DEPTH - 1
        )  # one level for the enclosing object
    except (TypeError, ValueError, RecursionError, InvalidJsonError) as error:
        raise UsageError(f"run: it has no JSON: {error}") from None
    if not isinstance(facts, dict):
        raise UsageError(f"run {run!r}: must be a dictionary")
    return facts


def codec_of(path: str) -> str:
    """Return the codec of the suffix of a file name.

    >>> codec_of("rows.jsonl.gz"), codec_of("rows.jsonl.zstd"), codec_of("rows.jsonl")
    ('gzip', 'zstd', 'none')
    """
    known = {end: name for name, end in suffixes().items()} | _SPELLED_OUT
    name = path.lower()
    if any(map(name.endswith, _UNKNOWN_ENDINGS)):
        ends = " or ".join(end for end in known if known[end] in codecs())
        raise UsageError(
            f"{path}: files are written as {', '.join(codecs())}; let its name end in {ends}"
        )
    return next((codec for end, codec in known.items() if name.endswith(end)), "none")


def whole_number(name: str, value: object, most: int = _LARGEST) -> int:
    """Return a number from 1 to `most`."""
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= most:
        raise UsageError(f"{name} {value!r}: must be a positive integer up to {most}")
    return value


def _size(name: str, value: object, most: int = _LARGEST) -> int:
    if isinstance(value, str):
        value = parse_size(value)
    return whole_number(name, value, most)


def _codec(name: str) -> Codec:
    if name not in codecs():
        raise UsageError(f"{name!r}: files are written as {', '.join(codecs())}")
    return codecs()[name]


def _level(info: Codec, level: object) -> int:
    if level is None:
        return info.default_level
    if isinstance(level, bool) or not isinstance(level, int):
        raise UsageError(f"level {level!r}: must be an integer")
    possible = min(max(level, info.least_level), info.most_level)
    if possible != level:
        span = f"{info.least_level} to {info.most_level}"
        _warn(f"level {level}: {info.name} has levels {span}; {possible} is used")
    return possible


def _values(info: Codec, options: Mapping[str, object]) -> tuple[int, ...]:
    """Return the values of the options of a codec, in their order."""
    known = [choice.name for choice in info.choices]
    for name in options:
        if name not in known:
            there = ", ".join(known) or "none"
            _warn(f"{info.name} has no option {name!r}, it is ignored; it has {there}")
    values = [options.get(choice.name, choice.default) for choice in info.choices]
    for choice, value in zip(info.choices, values, strict=True):
        if not isinstance(value, int) or not 0 <= value <= choice.most:
            reason = f"must be from 0 to {choice.most}"
            raise UsageError(f"{choice.name} {value!r}: {reason}")
    return tuple(cast("int", value) for value in values)


def _warn(message: str) -> None:
    """Warn at the line of the caller outside headrace."""
    frame, level = sys._getframe(), 1
    while frame.f_back and frame.f_globals["__name__"].startswith("headrace."):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, HeadraceWarning, stacklevel=level)
