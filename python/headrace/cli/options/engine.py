"""The arguments that say who does the work: this process, or Spark."""

from __future__ import annotations

from headrace.cli.argument import Argument

MASTER = Argument(
    "master",
    "text",
    "where Spark's tasks run (local[*,4] unless told: all cores of this machine)",
    ("--master",),
    metavar="URL",
)

PARTITION_BYTES = Argument(
    "partition_bytes",
    "size",
    "how many bytes of files one task of Spark reads (64MiB unless told)",
    ("--partition-bytes",),
    metavar="SIZE",
)


def engine(does: str, same: str) -> Argument:
    """Return the argument that chooses who does something; `same` is what that does not change."""
    return Argument(
        "engine",
        "choice",
        f"what {does} (local unless told): this process, or tasks of Spark; {same}",
        ("--engine",),
        choices=("local", "spark"),
        default="local",
    )


ENGINE = (
    engine("reads the rows", "what comes of it is the same"),
    MASTER,
    PARTITION_BYTES,
)
