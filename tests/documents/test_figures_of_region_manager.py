"""Figures in docs/region_manager.md are those of the records."""

from collections.abc import Iterator
from functools import partial
from typing import Any

from documented_figures import Quote, check, each

ALPHA = partial(Quote, "docs/region_manager.md", "alpha")
THRESHOLDS = partial(Quote, "docs/region_manager.md", "speculation_thresholds")

NETWORKS = ("digits", "digits_4", "convolutions", "transformer")

#: Ways to average by their rows, in the order in which they are recorded.
ROWS = (
    "quotient of averages of A and N, k = 4",
    "quotients, k = 3",
    "quotients, k = 4",
    "quotients, k = 5",
    "sums over 8 updates",
    "sums over 16 updates",
    "sums over 32 updates",
    "**quotients, k = 0 … 4: this unit**",
)

#: How guesses are made, in the order of the columns.
GUESSES = ("W=2, {}, gain 1", "W=4, {}, gain 1", "W=2, {}, gain α", "W=4, {}, gain α")

#: Networks whose energies fall most.
FALLING = NETWORKS[:3]


def _row(number: int, title: str) -> Quote:
    def values(record: Any) -> Iterator[float]:
        for name in (*NETWORKS, "noise", "signal"):
            own = record[name]
            if name == "noise":
                yield own["deviation_of_ways"][number]
            else:
                yield from (own["error_of_ways"][number], own["lag_updates_of_ways"][number])

    more = " or more" if number == 0 else ""
    cells = [f"{{:.3f}}, {{:.0f}}{more}"] * 2 + ["{:.3f}, {:.0f}"] * 2
    return ALPHA(f"| {title} | {' | '.join([*cells, '{:.4f}', '{:.3f}, {:.0f}'])} |", values)


def _names(optimizer: str) -> list[str]:
    """Names of an optimizer's figures."""
    return [guess.format(optimizer) for guess in GUESSES]


def _accepted(optimizer: str, title: str, *thresholds: bool) -> Quote:
    """A row of accepted guesses; where all α will do, there is no threshold."""

    def values(record: Any) -> Iterator[float]:
        for name, has in zip(_names(optimizer), thresholds, strict=True):
            yield 100 * record[name]["accepted"]
            if has:
                yield record[name]["threshold"]

    cells = ("{:.0f} %, {:.2f}" if has else "{:.0f} %, all" for has in thresholds)
    return THRESHOLDS(f"| {title} | {' | '.join(cells)} |", values)


def _noise(text: str, drawn: str, *names: str) -> Quote:
    """A row of drawn noise: the scatter of α, and percent of regions taken for signal."""
    return ALPHA(
        text,
        lambda r: (
            r[f"noise, {drawn} updates a decision epoch"]["deviation"],
            *(100 * r[f"noise, {drawn} updates a decision epoch"][name] for name in names),
        ),
    )


QUOTES = (
    *(_row(number, title) for number, title in enumerate(ROWS)),
    ALPHA(
        "average of logarithms is off by {:.1f} to {:.1f}.",
        lambda r: (end(r[name]["rate_error"] for name in FALLING) for end in (min, max)),
    ),
    ALPHA(
        "every region left HYBRID within {} updates of",
        lambda r: (max(r[name]["late_updates_worst"] for name in NETWORKS),),
    ),
    _noise(
        "| 1, 16 updates a decision epoch | {:.3f} | {:.1f} % | {:.1f} % | {:.2f} % |",
        "1 elements, 16",
        *("one_epoch", "first_two_epochs", "two_later_epochs"),
    ),
    _noise("| 4, 16 updates a decision epoch | {:.3f} | below", "4 elements, 16"),
    _noise("| 16, 16 updates a decision epoch | {:.3f} | below", "16 elements, 16"),
    _noise(
        "| 16, 4 updates a decision epoch | {:.3f} | below 10⁻⁵ | {:.2f} % | below 10⁻⁵ |",
        "16 elements, 4",
        "first_two_epochs",
    ),
    _accepted("sgd", "SGD", True, True, True, True),
    _accepted("momentum", "SGD, momentum 0.9", False, True, False, False),
    _accepted("adamw", "AdamW", False, True, False, False),
    THRESHOLDS(
        "| the rule | T2 = {:.2f} | {:.2f} | T1 = {:.2f} | {:.2f} | | SGD, momentum 0.9 |",
        lambda r: (r[name]["in_theory"] for name in _names("sgd")),
    ),
    THRESHOLDS(
        "| the rule | T2 = {:.2f} | {:.2f} | T1 = {:.0f} | {:.0f} | The rule says",
        lambda r: (r[name]["in_theory"] for name in _names("momentum")),
    ),
    THRESHOLDS(
        "7 of 8 need α to be {:.2f} to {:.2f} higher;",
        lambda r: (
            end(r[name]["threshold"] - r[name]["in_theory"] for name in _names("sgd"))
            for end in (min, max)
        ),
    ),
)


@each(QUOTES)
def test_figures(quote: Quote) -> None:
    check(quote)
