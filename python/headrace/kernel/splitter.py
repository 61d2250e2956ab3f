"""The core's splitter of JSON text into values, one line each."""

from __future__ import annotations

from headrace._native import ValueSplitter

__all__ = ["ValueSplitter"]
