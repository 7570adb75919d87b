"""At which agreement α guesses are accepted: what the thresholds of ``cost_aware`` are taken from.

Workers on a link train three networks with three optimizers, guessing every update, with the
whole local gradient (gain 1), and with α of it. Each guess is noted with the α that was known when
it was made. The *threshold* of a way is the least α from which on at least 7 of 8 guesses were
accepted, the bar of the accept counter. Beside it stands what theory has: an update is to a part
φ = 1 − β² the new gradient, where β is the momentum, and a guess misses that one by 1 − α of its
energy with the gain α, by 1/α − 1 with the whole gradient; accepted is what misses by at most τ².
"""

import argparse
from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
from _lab import lab
from _link import Link, reason_against
from _options import check_once, from_zero, positive
from _report import RESULTS, report
from _workers import told_by_first
from rich.progress import Progress

from adagrain.models.region_manager.settings import speculation_thresholds

WORKER = Path(__file__).with_name("_speculation_thresholds_worker.py")

PORT = 29_540

#: Steps of a run by network, and what its guesses are told apart by.
STEPS = {"perceptron": 240, "convolutions": 160, "transformer": 48}
MOMENTA = {"sgd": 0.0, "momentum": 0.9, "adamw": 0.9}
GAINS = ("1", "α")

#: Part of guesses that must be accepted.
BAR = 7 / 8

#: Bounds of what is counted together, in α.
BINS = [n / 10 for n in range(11)]

#: α of a guess, how many workers accepted it, and how many made it.
Guess = tuple[float, int, int]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--workers", type=int, nargs="+", default=[2, 4, 8], help="usually 2 4 8")
    parser.add_argument("--seeds", type=positive, default=2, help="usually 2")
    parser.add_argument("--tau", type=from_zero, default=0.5, help="largest error; usually 0.5")
    parser.add_argument("--delay", type=float, default=20.0, help="of the link, ms; usually 20")
    options = parser.parse_args()
    check_once(parser, "workers", options.workers)
    try:
        links = [Link(1000, options.delay, workers) for workers in options.workers]
    except ValueError as error:
        parser.error(str(error))
    if reason := reason_against():
        print(f"left out: {reason}")
        return
    found: dict[tuple[int, str, str], list[Guess]] = defaultdict(list)
    runs = len(options.workers) * options.seeds * len(STEPS) * len(MOMENTA) * len(GAINS)
    job = {"seeds": [*range(options.seeds)], "steps": STEPS, "tau": options.tau}
    with Progress() as progress:
        bar = progress.add_task("training", total=runs)
        for link in links:
            with lab(link) as made:
                for run in told_by_first(made.places, WORKER, job, PORT):
                    found[link.workers, run["optimizer"], run["gain"]] += map(tuple, run["guesses"])
                    progress.advance(bar)
    whole = vars(options) == vars(parser.parse_args([]))
    report(
        "speculation_thresholds",
        {
            f"W={workers}, {optimizer}, gain {gain}": _figure(
                found[workers, optimizer, gain], options.tau, optimizer, gain
            )
            for optimizer in MOMENTA
            for gain in GAINS
            for workers in options.workers
        },
        whole=whole,
    )
    if whole:
        _draw(found, options.tau, RESULTS / "speculation_thresholds.png")


def threshold(guesses: Sequence[Guess]) -> float:
    """The least α from which on enough of the guesses were accepted; 1 where none is."""
    accepts = trials = 0
    least = 1.0
    for alpha, accepted, made in sorted(guesses, reverse=True):
        accepts, trials = accepts + accepted, trials + made
        if accepts >= BAR * trials:
            least = alpha
    return least


def _figure(guesses: Sequence[Guess], tau: float, optimizer: str, gain: str) -> dict[str, Any]:
    expected = speculation_thresholds(tau, MOMENTA[optimizer])
    trials = sum(made for _, _, made in guesses)
    return {
        "trials": trials,
        "accepted": sum(accepted for _, accepted, _ in guesses) / max(1, trials),
        "least_alpha": min((alpha for alpha, *_ in guesses), default=1.0),
        "threshold": threshold(guesses),
        "in_theory": expected["t2" if gain == "1" else "t1"] / 65536,
    }


def _rates(guesses: Sequence[Guess]) -> tuple[list[float], list[float]]:
    """Middles of the bins that have guesses, and the part of these that was accepted."""
    middles, rates = [], []
    for low, high in pairwise(BINS):
        own = [guess for guess in guesses if low <= guess[0] < high]
        if trials := sum(made for _, _, made in own):
            middles.append((low + high) / 2)
            rates.append(sum(accepted for _, accepted, _ in own) / trials)
    return middles, rates


def _draw(found: dict[tuple[int, str, str], list[Guess]], tau: float, path: Path) -> None:
    """A panel for each optimizer: accepted guesses over α, by workers and gain."""
    figure, axes = plt.subplots(1, len(MOMENTA), figsize=(13, 4), sharey=True, layout="constrained")
    every = sorted({workers for workers, *_ in found})
    for axis, optimizer in zip(axes, MOMENTA, strict=True):
        for number, workers in enumerate(every):
            for gain, line in zip(GAINS, ("--", "-"), strict=True):
                rates = _rates(found[workers, optimizer, gain])
                label = f"W = {workers}, gain {gain}"
                axis.plot(*rates, line, marker="o", markersize=3, color=f"C{number}", label=label)
        axis.axhline(BAR, color="#9ca3af", linewidth=0.8)
        axis.set_title(optimizer, loc="left", fontsize=9.5)
        axis.set_xlabel("agreement α when the guess was made")
        axis.spines[["top", "right"]].set_visible(False)
    axes[0].set_ylabel(f"part of guesses accepted, τ = {tau:g}")
    axes[0].legend(frameon=False, fontsize=7)
    figure.savefig(path, dpi=110)
    plt.close(figure)


if __name__ == "__main__":
    main()
