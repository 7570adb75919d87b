"""Golden statistics of a million floats, against the torch calls that one would make instead."""

import statistics as moments
import time
from collections.abc import Callable

import torch
from _report import report
from rich.progress import track

from adagrain.models.statistics import statistics

ELEMENTS = 1 << 20
ROUNDS = 60


def main() -> None:
    x = torch.randn(ELEMENTS, generator=torch.Generator().manual_seed(0))
    calls: dict[str, Callable[[], object]] = {
        "torch": lambda: (torch.sum(x), torch.dot(x, x), torch.aminmax(x)),
        "powers_1_2": lambda: statistics(x, 2, powers=2),
        "all_and_histogram": lambda: statistics(x, 2, powers=4, histogram=True),
    }
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    for call in calls.values():
        call()
    for _ in track(range(ROUNDS), "statistics_golden"):
        for name, call in calls.items():
            began = time.perf_counter()
            call()
            seconds[name].append(time.perf_counter() - began)
    median = {name: moments.median(times) for name, times in seconds.items()}
    report(
        "statistics_golden",
        {
            "elements": ELEMENTS,
            "torch_threads": torch.get_num_threads(),
            "torch_microseconds": median["torch"] * 1e6,
            "powers_1_2_ratio": median["powers_1_2"] / median["torch"],
            "all_and_histogram_ratio": median["all_and_histogram"] / median["torch"],
        },
    )


if __name__ == "__main__":
    main()
