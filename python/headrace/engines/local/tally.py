"""Tally in threads: every line of some sources is checked and counted.

Plain files and files of blocks are cut into fragments for the threads; the results are added up in
order, so that they do not depend on the cuts.
"""

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor

from headrace.engines.rows.count import Tallying
from headrace.errors import UnusableTableError
from headrace.kernel.rows import Decoding
from headrace.kernel.tally import Stats
from headrace.physical.fragment import fragments
from headrace.store.files.opened import read_in_order
from headrace.store.files.source import Source

FRAGMENT_BYTES = 32 << 20


def tally(
    sources: Iterable[Source],
    *,
    max_line: int,
    max_depth: int,
    threads: int | None = None,
    decoding: Decoding = Decoding(),  # noqa: B008, frozen
    fragment_bytes: int = FRAGMENT_BYTES,
    progress: Callable[[int], None] = lambda _bytes: None,
) -> Stats:
    """Count the lines of all sources by kind.

    `progress` is called, now and then, with the bytes that are done. Pipes have no fragments; the
    caller that has one open counts it.
    """
    parts = [fragments(source, fragment_bytes) for source in sources]
    count = Tallying(max_line, max_depth, decoding._replace(threads=1)).of
    total, done = Stats(), 0
    with ThreadPoolExecutor(threads or os.cpu_count()) as pool:
        pending = [[pool.submit(count, part) for part in file] for file in parts]
        try:
            for file, results in zip(parts, pending, strict=True):
                before, of_file = done, Stats()
                try:
                    for part, result in zip(file, results, strict=True):
                        of_file += result.result().after(of_file.lines)
                        done += part.size
                        progress(done)
                except UnusableTableError as error:
                    source = read_in_order(file[0].source, error)
                    done = before + source.size
                    (whole,) = fragments(source, fragment_bytes)
                    of_file = count(whole)
                total += of_file
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    return total
