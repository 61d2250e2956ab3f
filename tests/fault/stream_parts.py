"""The two programs that `stream_soak` starts and kills: a writer of logs, and a query.

``python -m tests.fault.stream_parts write DIRECTORY`` appends numbered records to logs
until its standard input ends, and reports acknowledged numbers on standard output. ``…
query MASTER LOGS OUT CHECKPOINT`` streams them into a set, until it is killed; with ``now``
at the end, until it has read all.
"""

import sys
import threading
from pathlib import Path

import headrace

LOGS = ("a", "b")
AT_ONCE = 50
PAUSE = 0.05


def write(directory):
    over = threading.Event()

    def wait_for_the_end():
        sys.stdin.read()
        over.set()

    threading.Thread(target=wait_for_the_end, daemon=True).start()
    logs = [
        # Small segments, which fill up and are compressed all the time.
        headrace.LogWriter(
            Path(directory, name), durability="os", rotate_rows=2000, codec="zstd"
        )
        for name in LOGS
    ]
    number = 0
    while not over.wait(PAUSE):
        for name, log in zip(LOGS, logs, strict=True):
            several = range(number, number + AT_ONCE)
            log.append_many([{"log": name, "n": n} for n in several])
        number += AT_ONCE
        sys.stdout.write(f"{number}\n")
        sys.stdout.flush()
    for log in logs:
        log.close()


def query(master, logs, out, checkpoint, *now):
    import headrace.spark
    from tests.spark.cluster import SETTINGS

    settings = {} if master.startswith("local") else SETTINGS
    spark = headrace.spark.session(master, "soak", **settings)
    lines = (
        spark.readStream.format("headrace")
        .schema("_raw binary")
        .option("maxPartitionBytes", "64KiB")
        .load(logs)
    )
    trigger = {"availableNow": True} if now else {"processingTime": "500 milliseconds"}
    running = (
        lines.writeStream.format("headrace")
        .option("checkpointLocation", checkpoint)
        .trigger(**trigger)
        .start(out)
    )
    running.awaitTermination()
    spark.stop()


if __name__ == "__main__":
    what, *arguments = sys.argv[1:]
    {"write": write, "query": query}[what](*arguments)
