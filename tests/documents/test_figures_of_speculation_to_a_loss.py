"""Figures in the prose of docs/speculation.md are those of the records of losses and of faults."""

from collections.abc import Iterable, Iterator
from functools import partial
from statistics import median
from typing import Any

from documented_figures import Quote, check, each, signed

PAGE = partial(Quote, "docs/speculation.md")

#: Records of slow links: those of 100 Mbit/s by their latency, then 20 Mbit/s.
SLOW = (
    "speculation_loss_100_5 speculation_loss_100_20 speculation_loss_100_50 speculation_loss_20_5"
)

#: Shares of DDP's loss that are trained to.
LEVELS = ("1", "1.1", "1.25")

LOCAL = ("PostLocalSGD 4", "PostLocalSGD 16", "DiLoCo 4", "DiLoCo 16")
OURS = ("adaptive", "adaptive, depth 2", "adaptive, cadences", "adaptive, cadences, depth 2")


def _sooner(record: Any, ways: Iterable[str], level: str = "1") -> float:
    """Times as soon as DDP that the best of some ways comes to a loss."""
    return max(float(median(record[way][f"times_faster_to_{level}_of_loss"])) for way in ways)


def _steps(record: Any, ways: Iterable[str] = ("adaptive, depth 2",)) -> float:
    """Times as fast as DDP that the best of some ways takes all steps."""
    return max(float(median(record[way]["times_faster"])) for way in ways)


def _points(record: Any, way: str = "adaptive, depth 2") -> tuple[str, str]:
    """Accuracy beside DDP's, and its error."""
    own = record[way]
    return signed(own["points_beside_ddp"], 2), f"{own['error_of_points']:.2f}"


def _to_ddps_loss(a: Any, b: Any, c: Any, d: Any) -> Iterator[float]:
    """The best of local steps, and of ours."""
    for record in (c, d, a, b):
        yield from (_sooner(record, LOCAL), _sooner(record, OURS))


def _to_higher_losses(*records: Any) -> Iterator[float]:
    """The best with cadences, and the best of local steps."""
    for record in records:
        for ways in (OURS[2:], LOCAL):
            yield from (_sooner(record, ways, level) for level in LEVELS[1:])


def _pauses(record: Any) -> Iterator[float]:
    pauses = record["pause_seconds_median"]
    yield pauses["stopped for 5 s"]
    yield record["time_out_seconds"] / 3
    yield from (pauses["cut off for a third of the time-out"], pauses["killed"])
    yield pauses["cut off for 10 s"]


QUOTES = (
    PAGE(
        "speculation_loss_100_5",
        "points beside DDP's ({:.1f} %) with the same seed:",
        lambda r: (r["ddp 0.25"]["accuracy"],),
    ),
    PAGE(
        SLOW,
        "but the fast one: {:.2f} times as soon at 50 ms (ours {:.2f}), {:.2f} at 20 Mbit/s "
        "({:.2f}), {:.2f} at 5 ms ({:.2f}), {:.2f} at 20 ms ({:.2f}).",
        _to_ddps_loss,
    ),
    PAGE(
        SLOW,
        "below DDP; it ends {:.1f} to {:.1f} below.)",
        lambda *r: (
            -end(record["PostLocalSGD 16"]["points_beside_ddp"] for record in r)
            for end in (max, min)
        ),
    ),
    PAGE(
        "speculation_loss_20_5 speculation_loss_100_50 speculation_loss_100_20 "
        "speculation_loss_100_5",
        "where it pays, come {:.2f} and {:.2f} times as soon at 20 Mbit/s (local steps at best "
        "{:.2f} and {:.2f}), "
        "{:.2f} and {:.2f} at 50 ms ({:.2f} and {:.2f}), {:.2f} and {:.2f} at 20 ms "
        "({:.2f} and {:.2f}), {:.2f} and {:.2f} at 5 ms ({:.2f} and {:.2f}):",
        _to_higher_losses,
    ),
    PAGE(
        "speculation_loss_100_20 speculation_accuracy_100_20 speculation_accuracy_two_deep_100_20",
        "τ = 0.5, had {} ± {} points with ten seeds at 20 ms, and {} ± {} with the same ten in "
        "another run; with twenty, in a run of its own, {} ± {} (",
        lambda a, b, c: (*_points(a), *_points(b), *_points(c)),
    ),
    PAGE(
        "speculation_loss_tau_1_100_20 speculation_loss_tau_1_100_50",
        "With **τ = 1** it is {} ± {} there ({:.1f} times as fast over all 240 steps), "
        "and {} ± {} at 50 ms, {:.1f} times as fast over all 240 steps (",
        lambda a, b: (*_points(a), _steps(a), *_points(b), _steps(b)),
    ),
    PAGE(
        "speculation_loss_tau_1_100_20 speculation_loss_tau_1_100_50",
        "mostly not reached; 1.25 times it {:.1f} and {:.1f} times as soon.",
        lambda *r: (_sooner(record, ["adaptive, depth 2"], "1.25") for record in r),
    ),
    PAGE(
        "speculation_faults",
        "a time-out of {:.0f} s, τ = 0: {} steps, eight faults, two of each kind, {} attempts; "
        "{:.1f} % of the steps that were taken counted,",
        lambda r: (r["time_out_seconds"], r["steps"], r["attempts"], r["steps_kept_percent"]),
    ),
    PAGE(
        "speculation_faults",
        "workers failed at most {:.2f} s after a fault.",
        lambda r: (r["failed_after_seconds_most"],),
    ),
    PAGE(
        "speculation_faults",
        "A stop of 5 s cost {:.1f} s, a cut of {:.1f} s {:.1f} s, a killed worker {:.0f} s, "
        "and a cut of 10 s {:.0f} s until the next step.",
        _pauses,
    ),
)


@each(QUOTES)
def test_figures(quote: Quote) -> None:
    check(quote)
