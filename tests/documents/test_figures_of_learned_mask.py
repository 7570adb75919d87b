"""Figures of the learned mask in docs/compression.md are those of the records."""

from collections.abc import Iterator
from functools import partial
from statistics import stdev
from typing import Any

from documented_figures import Quote, check, each

PAGE = partial(Quote, "docs/compression.md")

RECORDS = "learned_mask learned_mask_transformer_0.8M"
TEN_SEEDS = "learned_mask_transformer_ten_seeds"
THIRTY_SEEDS = "learned_mask_thirty_seeds"
CONVOLUTIONS = "learned_mask_conv_0.3M"
COSTS = f"learned_mask_cost {TEN_SEEDS}"

#: How the ways of each record's budget end.
BUDGETS = "3kB", "21kB"

_RATIO, _SMALL = "{:.3f} ± {:.3f}", "{:.2f} ± {:.2f}"
_MORE = f"{_RATIO}; thirty seeds: {{:.4f}} ± {{:.4f}}"

#: Ways by what stands in their rows.
ROWS = {
    f"| `threshold_before` | {_RATIO} | {_RATIO} |": "threshold_before",
    f"| `top_by_share` | {_RATIO} | {_RATIO} |": "top_by_share",
    f"| `random` | {_SMALL} | {_SMALL} |": "random",
    f"| learned, the idea's losses | {_MORE} | {_RATIO};": "learned",
    f"every 64 passes (170 B a pass of the 3 kB) | {_MORE} | {_RATIO} |": "learned_value",
    f"every 16 passes (680 B) | {_MORE} | {_RATIO} |": "learned_value_16",
    f"without headroom and elements | {_SMALL} | {_RATIO} |": "learned_seed_features",
    f"no features but the bound | {_SMALL} | {_SMALL} |": "learned_no_features",
}


def _row(text: str, way: str) -> Quote:
    def values(mlp: Any, transformer: Any, more: Any) -> Iterator[float]:
        names = [f"{way}_{budget}" for budget in BUDGETS]
        found = [mlp[names[0]], transformer[names[1]]]
        if "thirty" in text:
            found.insert(1, more[names[0]])
        for own in found:
            yield from (own["loss_to_first"], own["standard_error"])

    return PAGE(f"{RECORDS} {THIRTY_SEEDS}", text, values)


def _behind(record: Any, way: str) -> tuple[float, float]:
    """Percent by which a way is behind a threshold, and their error."""
    own = record[way]
    return 100 * (own["loss_to_first"] - 1), 100 * own["standard_error"]


def _ahead_by(record: Any, way: str) -> tuple[float, float]:
    """Percent by which a way is ahead of a threshold, and their error."""
    behind, error = _behind(record, way)
    return -behind, error


def _ahead(record: Any, way: str, before: str) -> int:
    """Seeds in which a way's loss is below that of another."""
    return sum(a < b for a, b in zip(record[way]["losses"], record[before]["losses"], strict=True))


def _more_bytes(record: Any) -> float:
    """Percent by which bytes of some ways differ from those of a threshold, at most."""
    ways = [own for own in record.values() if "bytes_to_first" in own]
    return max(abs(100 * (own["bytes_to_first"] - 1)) for own in ways)


def _cut(own: Any, passes: int) -> float:
    """Percent of the passes whose frame did not fit."""
    return 100 * own["overflows"] / passes


def _cost(record: Any, budget: str) -> Iterator[float]:
    """Percent of a step that masks take, and the network."""
    threshold, learned = (record[f"{way}_{budget}"] for way in ("threshold", "learned"))
    yield from (100 * own["mask_of_a_step"] for own in (threshold, learned))
    yield 100 * learned["learning_of_a_step"]


QUOTES = (
    PAGE(
        RECORDS,
        "| `threshold` ({:.3f}; {:.3f}) | 1 | 1 |",
        lambda a, b: (a["threshold_3kB"]["loss"], b["threshold_21kB"]["loss"]),
    ),
    *(_row(text, way) for text, way in ROWS.items()),
    PAGE(
        TEN_SEEDS,
        "; ten seeds: {:.4f} ± {:.4f} |",
        lambda r: (r["learned_21kB"]["loss_to_first"], r["learned_21kB"]["standard_error"]),
    ),
    PAGE(
        "learned_mask",
        "On the MLP five seeds have it {:.1f} % ahead, with an error of {:.1f} %; thirty",
        lambda r: _ahead_by(r, "learned_3kB"),
    ),
    PAGE(
        THIRTY_SEEDS,
        "--record learned_mask_thirty_seeds`) {:.2f} % ahead, with an error of {:.2f} %. On the",
        lambda r: _ahead_by(r, "learned_3kB"),
    ),
    PAGE(
        TEN_SEEDS,
        "have it {:.2f} % behind, with an error of {:.2f} %, and in {} of them it is ahead; from",
        lambda r: (
            *_behind(r, "learned_21kB"),
            _ahead(r, "learned_21kB", "threshold_21kB"),
        ),
    ),
    PAGE(
        THIRTY_SEEDS,
        "with thirty seeds by {:.1f} % with an error of {:.1f} %, the probes' bytes counted, in {} "
        "of them; with",
        lambda r: (
            *_ahead_by(r, "learned_value_3kB"),
            _ahead(r, "learned_value_3kB", "threshold_3kB"),
        ),
    ),
    PAGE(
        THIRTY_SEEDS,
        "with probes every 16 passes by {:.1f} %, in {}. On",
        lambda r: (
            _ahead_by(r, "learned_value_16_3kB")[0],
            _ahead(r, "learned_value_16_3kB", "threshold_3kB"),
        ),
    ),
    PAGE(
        RECORDS,
        "take the same bytes within {:.2f} % (`python",
        lambda r, _: (_more_bytes(r),),
    ),
    PAGE(
        RECORDS,
        "--seeds 5 --steps 120 --record`), within {:.2f} %, but with probes every 16 passes, which "
        "take {:.1f} % more.",
        lambda _, r: (
            _more_bytes({way: own for way, own in r.items() if "_16_" not in way}),
            _more_bytes({"": r["learned_value_16_21kB"]}),
        ),
    ),
    PAGE(
        TEN_SEEDS,
        "from seed to seed losses differ by {:.1f} %.",
        lambda r: (100 * stdev(r["threshold_21kB"]["losses"]) / r["threshold_21kB"]["loss"],),
    ),
    PAGE(
        CONVOLUTIONS,
        "it is {:.1f} % behind, with an error of {:.1f} %; the same share of each parameter is by "
        "{:.0f} %. Frames",
        lambda r: (*_behind(r, "learned_7kB"), _behind(r, "top_by_share_7kB")[0]),
    ),
    PAGE(
        f"{CONVOLUTIONS} {THIRTY_SEEDS} {TEN_SEEDS}",
        "Frames are cut in {:.0f} % of the passes (on the MLP in {:.0f}, on the transformer in "
        "{:.0f}).",
        lambda a, b, c: (
            _cut(a["learned_7kB"], 160),
            _cut(b["learned_3kB"], 240),
            _cut(c["learned_21kB"], 120),
        ),
    ),
    PAGE(
        CONVOLUTIONS,
        "on the convolutions it is worse by {:.1f} %.",
        lambda r: _behind(r, "learned_value_7kB")[:1],
    ),
    PAGE(
        CONVOLUTIONS,
        "| convolutions of 0.3M, 160 steps | {:.1f} % | {:.1f} % | {:.1f} % |",
        lambda r: _cost(r, "7kB"),
    ),
    PAGE(
        f"{COSTS} {CONVOLUTIONS}",
        "**What it takes** is {:.1f} % of the transformer's step, {:.1f} % of the convolutions', "
        "and {:.1f} % of the MLP's, which",
        lambda a, b, c: (
            100 * own["learning_of_a_step"]
            for own in (b["learned_21kB"], c["learned_7kB"], a["learned_3kB"])
        ),
    ),
    PAGE(
        THIRTY_SEEDS,
        "With probes every 64 passes it is {:.1f} % of the MLP's, with probes every 16 passes "
        "{:.1f} %.",
        lambda r: (
            100 * r[f"learned_value{every}_3kB"]["learning_of_a_step"] for every in ("", "_16")
        ),
    ),
    PAGE(
        COSTS, "| MLP, 240 steps | {:.1f} % | {:.1f} % | {:.1f} % |", lambda a, _: _cost(a, "3kB")
    ),
    PAGE(
        COSTS,
        "| character transformer, 120 steps | {:.1f} % | {:.1f} % | {:.1f} % |",
        lambda _, b: _cost(b, "21kB"),
    ),
)


@each(QUOTES)
def test_figures(quote: Quote) -> None:
    check(quote)
