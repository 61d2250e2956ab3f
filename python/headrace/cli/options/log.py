"""The flags that commands about logs have in common."""

from __future__ import annotations

from headrace.cli.flags import flag

TIMES_OF_LOGS = (flag("--since"), flag("--until"))

DAMAGED = flag(
    "--on-error",
    "bad rows are damaged lines here",
    default="abort",
    choices=("abort", "skip"),
)
