"""Times of gloo's all-reduce on a link of a given rate and delay, after a check of the link.

Each worker has a network namespace of its own (root, ``ip``, ``g++`` and TUN devices). The time on
the wire alone is that in which each worker sends twice the tensor but for its own share, and bytes
on the wire are those of IP packets.
"""

import argparse
from pathlib import Path
from statistics import median

from _lab import Lab
from _lab_options import add_link_options, lab_of
from _workers import told_by_first
from rich.console import Console
from rich.table import Table

WORKER = Path(__file__).with_name("_lab_worker.py")

#: Bytes of the tensors, and how often each is reduced.
SIZES = (4, 16_384, 131_072, 400_000, 2_000_000)
REPEATS = 5

PORT = 29_500


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_link_options(parser)
    with lab_of(parser.parse_args()) as made:
        show(made)


def show(made: Lab) -> None:
    """Time all sizes, and print a table of them."""
    before = made.counts()
    table = Table("bytes", "all-reduce, ms", "from", "to", "on the wire alone, ms")
    workers = made.link.workers
    for told in told_by_first(made.places, WORKER, {"sizes": SIZES, "repeats": REPEATS}, PORT):
        times = [1e3 * seconds for seconds in told["seconds"]]
        sent = 2 * told["bytes"] * (workers - 1) / workers
        least = 8e-3 * sent / made.link.rate
        row = (median(times), min(times), max(times), least)
        table.add_row(f"{told['bytes']:,}", *(f"{figure:.2f}" for figure in row))
    Console().print(table)
    for worker, (then, now) in enumerate(zip(before, made.counts(), strict=True)):
        sent, received = now.sent - then.sent, now.received - then.received
        print(f"worker {worker}: {sent:,} bytes sent and {received:,} received on the wire")


if __name__ == "__main__":
    main()
