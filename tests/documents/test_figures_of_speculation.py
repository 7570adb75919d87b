"""Figures in the prose of docs/speculation.md are those of the records of steps.

Its tables are made from them. Records of a few links are given in the order of the text.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from statistics import mean
from typing import Any

from documented_figures import Quote, check, each, listed

PAGE = partial(Quote, "docs/speculation.md")

#: Records of all links: those of 100 Mbit/s by their latency, then 20 Mbit/s, then the fast one.
ALL = "speculation_100_5 speculation_100_20 speculation_100_50 speculation_20_5 speculation_1000_1"
SLOW = ALL.rsplit(" ", 1)[0]

#: Ways without cadences and compression.
PLAIN = ("depth 0", "never", "adaptive", "seed_literal", "always", "adaptive, depth 2")


def _ends(values: Iterable[float]) -> tuple[float, float]:
    """Least and most."""
    found = [*values]
    return min(found), max(found)


def _accepted(records: Iterable[Any], way: str) -> tuple[float, float]:
    """Percent of the guesses, on the links where it was least and most."""
    return _ends(100 * record[way]["accepts"] / record[way]["trials"] for record in records)


def _ratio(record: Any, way: str, other: str) -> float:
    """Time of a step of one way by that of another."""
    own, others = (record[name]["ratio_to_best_ddp"] for name in (way, other))
    return float(own / others)


def _behind_the_better(record: Any) -> float:
    """Percent by which the policy is behind guessing always, or never."""
    return 100 * (max(_ratio(record, "adaptive", way) for way in ("always", "never")) - 1)


def _bytes(record: Any, way: str) -> float:
    """Those on the wire, by those of the best DDP."""
    return float(record[way]["wire_bytes"] / record[record["best_ddp"]]["wire_bytes"])


def _more_bytes(records: Iterable[Any], ways: Iterable[str]) -> tuple[float, float]:
    """Percent that ways put more on the wire than DDP, at least and at most."""
    ways = [*ways]
    return _ends(100 * (_bytes(record, way) - 1) for record in records for way in ways)


def _sent(*records: Any) -> Iterator[float]:
    """Parts of DDP's bytes with cadences, with compression, with both: means of all links."""
    for what in ("cadences", "compressed", "cadences, compressed"):
        yield mean(_bytes(record, f"adaptive, {what}") for record in records)


def _device(record: Any) -> tuple[float, float]:
    """Percent that the device takes of a step, at least and at most."""
    ways = (record[way] for way in ("depth 0", "adaptive", "always"))
    return _ends(100 * sum(way["device_ms"].values()) / way["ms"] for way in ways)


def _two_deep(record: Any) -> tuple[float, float]:
    """A step's time by DDP's, and how many times as fast that is."""
    found = record["adaptive, depth 2"]["ratio_to_best_ddp"]
    return found, 1 / found


def _ratios(*ways: str) -> Callable[[Any], Iterator[float]]:
    """Milliseconds of the best DDP, and the ratios of ways to it."""

    def values(record: Any) -> Iterator[float]:
        yield record[record["best_ddp"]]["ms"]
        yield from (record[way]["ratio_to_best_ddp"] for way in ways)

    return values


_SHORT = ("depth 0", "adaptive", "adaptive, depth 2", "adaptive, cadences")
_LOCAL = ("PostLocalSGD 4", "DiLoCo 16")

QUOTES = (
    PAGE(
        "speculation_100_20",
        "of messages take {:.0f} ms (100 Mbit/s, 20 ms).",
        lambda r: (r["adaptive"]["ms"],),
    ),
    PAGE(
        "speculation_1000_1",
        "of {} steps), `seed_literal` in {}, for nothing.",
        lambda r: (r["adaptive"]["steps"], r["seed_literal"]["guessed"]),
    ),
    PAGE(
        SLOW,
        "On the others {:.0f} to {:.0f} % of the guesses of `cost_aware` were accepted, "
        "{:.0f} to {:.0f} % of those of `seed_literal`,",
        lambda *r: (*_accepted(r, "adaptive"), *_accepted(r, "seed_literal")),
    ),
    PAGE(
        ALL,
        "which is slower on all links, by {:.0f} to {:.0f} %, on the fast one by {:.0f} %.",
        lambda *r: (
            *_ends(100 * (_ratio(record, "seed_literal", "adaptive") - 1) for record in r[:-1]),
            100 * (_ratio(r[-1], "seed_literal", "adaptive") - 1),
        ),
    ),
    PAGE(
        ALL,
        "nothing guessed by {:.1f}, {:.1f} and {:.1f} % on three links, "
        "{:.1f} % behind at 50 ms, and {:.1f} % on the fast link.",
        lambda a, b, c, d, e: (
            *(-_behind_the_better(record) for record in (a, b, d)),
            *(_behind_the_better(record) for record in (c, e)),
        ),
    ),
    PAGE(
        SLOW,
        "With τ = 0.5 {:.0f} to {:.0f} % of the guesses are accepted:",
        lambda *r: _accepted(r, "adaptive, depth 2"),
    ),
    PAGE(
        "speculation_100_20 speculation_100_50",
        "are accepted: {:.2f} at 20 ms ({:.2f} times as fast as the best DDP), "
        "{:.2f} at 50 ms ({:.2f} times).",
        lambda a, b: (*_two_deep(a), *_two_deep(b)),
    ),
    PAGE(
        "speculation_tau_1_100_20 speculation_tau_1_100_50",
        "nearly all are: {:.2f} ({:.2f} times) and {:.2f} ({:.2f} times;",
        lambda a, b: (*_two_deep(a), *_two_deep(b)),
    ),
    PAGE(
        ALL,
        "It took {} of `depth=0`; with `cost_aware` {:.2f} to {:.2f}.",
        lambda *r: (
            listed((_ratio(record, "nothing accepted, always", "depth 0") for record in r), 2),
            *_ends(_ratio(record, "nothing accepted", "depth 0") for record in r),
        ),
    ),
    PAGE(
        ALL,
        "send {:.2f} of DDP's bytes on the wire, compression {:.2f}, both {:.2f}.",
        _sent,
    ),
    PAGE(
        ALL,
        "cadences and compression: {:.1f} to {:.1f} % more than DDP's for these",
        lambda *r: _more_bytes(r, PLAIN),
    ),
    PAGE(
        "speculation_transformer_1000_1",
        "decisions of the golden device take {:.1f} to {:.1f} % of a step;",
        _device,
    ),
    PAGE(
        "speculation_transformer_1000_1",
        "the buckets put {:.2f} to {:.2f} % more bytes on the wire than DDP.",
        lambda r: _more_bytes([r], ("depth 0", "adaptive", "always")),
    ),
    PAGE(
        "speculation_transformer_1000_1",
        "Steps took {:.2f} of DDP's with `depth=0`, {:.2f} with `cost_aware`, "
        "which guesses there, in {} of {} steps:",
        lambda r: (
            *(r[way]["ratio_to_best_ddp"] for way in ("depth 0", "adaptive")),
            *(r["adaptive"][name] for name in ("guessed", "steps")),
        ),
    ),
    PAGE(
        "speculation_unpadded_100_20",
        "`depth=0` takes {1:.2f} of the best DDP's {0:.0f} ms, `cost_aware` {2:.2f}, with depth 2 "
        "{3:.2f}, with cadences {4:.2f}; PostLocalSGD every 4 steps {5:.2f}, "
        "DiLoCo every 16 {6:.2f}.",
        _ratios(*_SHORT, *_LOCAL),
    ),
    PAGE(
        "speculation_unpadded_100_5",
        "At 5 ms (DDP {:.0f} ms): {:.2f}, {:.2f}, {:.2f}, {:.2f}; {:.2f}, {:.2f}.",
        _ratios(*_SHORT, *_LOCAL),
    ),
)


@each(QUOTES)
def test_figures(quote: Quote) -> None:
    check(quote)
