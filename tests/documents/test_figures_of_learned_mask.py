"""Figures of the learned mask in docs/compression.md are those of the records."""

from collections.abc import Iterator
from functools import partial
from statistics import stdev
from typing import Any

from documented_figures import Quote, check, each

PAGE = partial(Quote, "docs/compression.md")

RECORDS = "learned_mask learned_mask_transformer_0.8M"
TEN_SEEDS = "learned_mask_transformer_ten_seeds"

#: How the ways of each record's budget end.
BUDGETS = "3kB", "21kB"

_RATIO, _SMALL = "{:.3f} ± {:.3f}", "{:.2f} ± {:.2f}"

#: Ways by what stands in their rows.
ROWS = {
    f"| `threshold_before` | {_RATIO} | {_RATIO} |": "threshold_before",
    f"| `top_by_share` | {_RATIO} | {_RATIO} |": "top_by_share",
    f"| `random` | {_SMALL} | {_SMALL} |": "random",
    f"| learned, the idea's losses | {_RATIO} | {_RATIO};": "learned",
    f"every 64 passes (170 B a pass of the 3 kB) | {_RATIO} | {_RATIO} |": "learned_value",
    f"every 16 passes (680 B) | {_RATIO} | {_RATIO} |": "learned_value_16",
    f"without headroom and elements | {_SMALL} | {_RATIO} |": "learned_seed_features",
    f"no features but the bound | {_SMALL} | {_SMALL} |": "learned_no_features",
}


def _row(text: str, way: str) -> Quote:
    def values(*records: Any) -> Iterator[float]:
        for record, budget in zip(records, BUDGETS, strict=True):
            own = record[f"{way}_{budget}"]
            yield from (own["loss_to_first"], own["standard_error"])

    return PAGE(RECORDS, text, values)


def _behind(record: Any) -> tuple[float, float]:
    """Percent by which the network is behind a threshold on the transformer, and their error."""
    own = record["learned_21kB"]
    return 100 * (own["loss_to_first"] - 1), 100 * own["standard_error"]


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
        "learned_mask_transformer_0.8M",
        "had it {:.1f} % behind, with an error of {:.2f} %; ten (",
        _behind,
    ),
    PAGE(TEN_SEEDS, "have it {:.2f} % behind, with an error of {:.2f} %, ahead in", _behind),
    PAGE(
        TEN_SEEDS,
        "from seed to seed losses differ by {:.1f} %.",
        lambda r: (100 * stdev(r["threshold_21kB"]["losses"]) / r["threshold_21kB"]["loss"],),
    ),
    PAGE(
        "learned_mask_cost",
        "| MLP, two workers, 240 steps from the first on | {:.1f} % | {:.1f} % | {:.1f} % |",
        lambda r: (
            100 * r["threshold_3kB"]["mask_of_a_step"],
            100 * r["learned_3kB"]["mask_of_a_step"],
            100 * (r["learned_3kB"]["mask_of_a_step"] - r["threshold_3kB"]["mask_of_a_step"]),
        ),
    ),
    PAGE(
        "learned_mask_cost",
        "then 0.995 ± 0.011, now {:.3f} ± {:.3f}: with",
        lambda r: (r["learned_3kB"]["loss_to_first"], r["learned_3kB"]["standard_error"]),
    ),
)


@each(QUOTES)
def test_figures(quote: Quote) -> None:
    check(quote)
