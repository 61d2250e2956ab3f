"""Sabotage: Python workers that fail on order.

Spark starts this daemon instead of its own (`spark.python.daemon.module`). The file `order` of
the directory in SABOTAGE names the fault; each time it happens, the file `done` gets a
line. It happens to task 1 only: after it has read some rows, finished a file or looked up
some nodes. An order that ends with ``at segment`` happens after the task has written a segment
of an index.
"""

import os
import signal
import sys
import time
from pathlib import Path

from pyspark import TaskContext, daemon

from tests.spark.quick_python.sitecustomize import import_modules

VARIABLE = "SABOTAGE"
TASK = 1

ATTEMPTS_THAT_FAIL = {"once": 1, "three times": 3, "always": 1000}


class Sabotage:
    """A directory with an order, and a file that counts its executions."""

    def __init__(self, directory):
        self._order = Path(directory, "order")
        self._done = Path(directory, "done")

    def give(self, order):
        self._done.unlink(missing_ok=True)
        self._order.write_text(order)

    def order(self):
        return self._order.read_text()

    def done(self):
        """Return how often the order was executed."""
        return self._done.read_text().count("\n") if self._done.exists() else 0

    def note(self, what):
        with self._done.open("a") as done:
            done.write(f"{what}\n")


def kill_executor():
    pid = os.getppid()
    executor = int(Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])
    called = Path(f"/proc/{executor}/cmdline").read_bytes()
    assert b"CoarseGrainedExecutorBackend" in called
    os.kill(executor, signal.SIGKILL)
    time.sleep(60)


def wait(sabotage):
    """Wait until the order changes or the executor ends."""
    while sabotage.order() == "wait":
        time.sleep(0.05)


def strike(sabotage, task, place=None):
    """Execute the order in an attempt at a task."""
    order, _, at = sabotage.order().partition(" at ")
    if at and at != place:
        return
    attempt = task.attemptNumber()
    if order == "wait":
        sabotage.note(attempt)
        wait(sabotage)
    elif order in ATTEMPTS_THAT_FAIL:
        if attempt < ATTEMPTS_THAT_FAIL[order]:
            sabotage.note(attempt)
            raise RuntimeError(f"attempt {attempt} fails")
    elif order in ("executor", "worker") and not sabotage.done():
        # Tasks whose results were lost with an executor begin with attempt 0 again.
        sabotage.note(attempt)
        if order == "executor":
            kill_executor()
        os.kill(os.getpid(), signal.SIGKILL)


def its_task():
    """Return the sabotaged task if this process runs it."""
    task = TaskContext.get()
    return task if task is not None and task.partitionId() == TASK else None


def watch_reading(sabotage):
    from headrace.engines.spark.graph import edge_task
    from headrace.store.files.opened import Rows

    begun = set()

    def watched(read):
        def watch(*arguments, **options):
            if (task := its_task()) is not None:
                if task.taskAttemptId() in begun:
                    strike(sabotage, task)
                begun.add(task.taskAttemptId())
            return read(*arguments, **options)

        return watch

    Rows.next_batch = watched(Rows.next_batch)
    Rows.advance = watched(Rows.advance)
    edge_task.edges_of = watched(edge_task.edges_of)


def watch_indexing(sabotage):
    from headrace.store.files.atomic import NewFile
    from headrace.store.files.opened import Rows
    from headrace.store.index.set import commit

    advance, finish, finish_segment = (
        Rows.advance,
        NewFile.finish,
        commit.finish_segment,
    )

    def after(done, place=None):
        if (task := its_task()) is not None:
            strike(sabotage, task, place)
        return done

    Rows.advance = lambda self, look_at: after(advance(self, look_at))
    NewFile.finish = lambda self: after(finish(self))
    commit.finish_segment = lambda path: after(finish_segment(path), "segment")


def watch_opening(sabotage):
    """Remove a file after the read was planned and before the task opens it."""
    from headrace.store.files.opened import OpenedFile

    begin = OpenedFile.__init__

    def watch(self, source, *arguments, **options):
        if its_task() is not None and sabotage.order() == "remove":
            if not sabotage.done():
                Path(source.location).unlink()
            sabotage.note(source.location)
        begin(self, source, *arguments, **options)

    OpenedFile.__init__ = watch


def prepare(sabotage):
    """Prepare a worker, which runs one task, as ordered."""
    order = sabotage.order()
    if order == "another version":
        from headrace.kernel import version

        version.__version__ = "0.0.1"
    elif order == "no headrace":
        for name in list(sys.modules):
            if name.partition(".")[0] == "headrace":
                del sys.modules[name]
        sys.modules["headrace"] = None


def main():
    import_modules("pyspark.worker")
    sabotage = Sabotage(os.environ[VARIABLE])
    watch_reading(sabotage)
    watch_indexing(sabotage)
    watch_opening(sabotage)
    os.register_at_fork(after_in_child=lambda: prepare(sabotage))
    daemon.manager()


if __name__ == "__main__":
    main()
