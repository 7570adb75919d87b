"""Milliseconds of a step of plain DDP with several bucket caps, on a link of given rate and delay.

The best of them is what other ways to train on that link are held against. Passes of the network,
convolutions of 94 thousand parameters, are padded to a given time by sleeps; ``alone`` is without
any exchange. Caps take turns; figures are medians over the repeats.
"""

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median

from _lab import Lab
from _lab_options import add_link_options, add_pass_options, lab_of
from _workers import told_by_first
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

__all__ = ["CAPS", "best", "step_times"]

WORKER = Path(__file__).with_name("_ddp_worker.py")

#: Caps in MB; the default one is 25 MB.
CAPS = ("default", "1", "0.25", "0.08")

PORT = 29_510


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_link_options(parser)
    add_pass_options(parser)
    parser.add_argument("--repeats", type=int, default=5, help="usually 5")
    parser.add_argument("--steps", type=int, default=20, help="of a repeat; usually 20")
    options = parser.parse_args()
    passes = (options.forward, options.backward)
    with lab_of(options) as made, Progress() as progress:
        bar = progress.add_task("training", total=options.repeats * (1 + len(CAPS)))
        times = step_times(
            made,
            *passes,
            repeats=options.repeats,
            steps=options.steps,
            progress=lambda: progress.advance(bar),
        )
    show(times)


def step_times(
    made: Lab,
    forward_ms: float,
    backward_ms: float,
    *,
    caps: Sequence[str] = CAPS,
    repeats: int = 5,
    steps: int = 20,
    progress: Callable[[], None] = lambda: None,
) -> dict[str, list[float]]:
    """Milliseconds of a step by cap, and ``alone``; of all repeats.

    Parameters
    ----------
    made : Lab
        Where the workers run.
    forward_ms, backward_ms : float
        What the passes are padded to.
    caps : sequence of str
        In MB, or ``default``.
    repeats, steps : int
        How often a cap has its turn, and the steps whose mean counts.
    progress : callable
        Called after each turn.
    """
    times: dict[str, list[float]] = {cap: [] for cap in ("alone", *caps)}
    job = {"caps": [*times], "repeats": repeats, "steps": steps}
    job |= {"forward_ms": forward_ms, "backward_ms": backward_ms}
    for told in told_by_first(made.places, WORKER, job, PORT):
        times[told["cap"]].append(1e3 * told["seconds"])
        progress()
    return times


def best(times: dict[str, list[float]]) -> str:
    """The cap with the least median."""
    return min((cap for cap in times if cap != "alone"), key=lambda cap: median(times[cap]))


def show(times: dict[str, list[float]]) -> None:
    """Print a table of them."""
    table = Table("bucket cap, MB", "ms a step", "from", "to", "")
    for cap, own in times.items():
        figures = (f"{figure:.1f}" for figure in (median(own), min(own), max(own)))
        table.add_row(cap, *figures, "best" if cap == best(times) else "")
    Console().print(table)


if __name__ == "__main__":
    main()
