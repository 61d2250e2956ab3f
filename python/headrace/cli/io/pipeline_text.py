"""The progress of a pipeline."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headrace.cli.console import Console
    from headrace.cli.console import Progress as Report
    from headrace.pipeline.report.report import Progress


class RunBar:
    """Draws the progress of a run."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._title = ""

    def tell(self, progress: Progress, report: Report) -> None:
        """Show the progress of a pass."""
        self._title = f"pass {progress.number} of {progress.passes}, {progress.title}"
        if progress.tasks:
            report(progress.done, progress.tasks)
            return
        self._console.emit(
            "begun",
            self._title,
            number=progress.number,
            passes=progress.passes,
            title=progress.title,
        )

    def draw(self, done: int, total: int | None, seconds: float, columns: int) -> str:
        """Draw one line of at most `columns` characters."""
        return task_bar(self._title, done, total or 0, seconds, columns)


def task_bar(title: str, done: int, tasks: int, seconds: float, columns: int) -> str:
    """Draw one line of at most `columns` characters.

    >>> task_bar("pass 1 of 2, validate", 3, 12, 7.5, 80)
    'pass 1 of 2, validate  [######                  ]  3 of 12 tasks  8 s'
    """
    share = done / tasks if tasks else 0.0
    blocks = f"[{'#' * int(share * 24):24}]"
    text = f"{title}  {blocks}  {done} of {tasks} tasks  {seconds:.0f} s"
    return text if len(text) <= columns else text.replace(f"{blocks}  ", "")[:columns]
