"""Syntax errors of queries, with their position and a hint."""

from __future__ import annotations

from headrace.errors import HeadraceError

_WIDTH = 72
"""Characters of a long line that are shown around the mistake."""


class QuerySyntaxError(HeadraceError, ValueError):
    """The text is not a query; `offset` counts the characters before the mistake."""

    has_lines = True

    text: str
    offset: int
    reason: str
    hint: str = ""

    @property
    def line(self) -> int:
        """The line of the mistake, counted from 1."""
        return self.text.count("\n", 0, self.offset) + 1

    @property
    def column(self) -> int:
        """The column of the mistake in its line, counted from 1."""
        return self.offset - self.text.rfind("\n", 0, self.offset)

    def __str__(self) -> str:
        shown, caret = self._excerpt()
        where = f"line {self.line}, column {self.column}"
        lines = [f"{where}: {self.reason}", f"  {shown}", f"  {caret}^"]
        if self.hint:
            lines.append(self.hint)
        return "\n".join(lines)

    def _excerpt(self) -> tuple[str, str]:
        """Return the line, or the part around the mistake, and the caret's indent."""
        start = self.offset - self.column + 1
        end = self.text.find("\n", start)
        line = self.text[start : end if end >= 0 else len(self.text)]
        at = self.column - 1

        cut = max(0, min(at - _WIDTH // 2, len(line) - _WIDTH))
        before = "…" if cut else ""
        after = "…" if cut + _WIDTH < len(line) else ""
        shown = before + line[cut : cut + _WIDTH] + after
        # A tab keeps its width whatever the terminal makes of it.
        lead = before + line[cut:at]
        caret = "".join("\t" if sign == "\t" else " " for sign in lead)
        return shown.replace("\r", " "), caret
