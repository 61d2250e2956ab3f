"""Slow reference of replay: all lines in memory, sorted."""


def slow_replay(logs, since=None, until=None, start=None):
    """Yield (partition, line, time) of logs, given as lists of times by name.

    A line is sorted by the latest time among it and the replayed lines before it in its log.
    """
    found = []
    for name, times in logs.items():
        latest = None
        for line, time in enumerate(times, 1):
            early = since is not None and time < since
            late = until is not None and time >= until
            if early or late or line < (start or {}).get(name, 1):
                continue
            latest = time if latest is None else max(latest, time)
            found.append((latest, name.encode(), line, time))
    return [(name.decode(), line, time) for _, name, line, time in sorted(found)]
