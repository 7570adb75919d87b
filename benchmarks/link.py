"""Part of a serial line that is left for payload, without errors and with them.

Measured in clock cycles on the virtual board, down to the UART's pins, with a host that costs no
time; the errors are random, the same in each run.
"""

import statistics
import sys

from _report import report
from rich.progress import track

from adagrain.host.link.line_rate import clean_rates, upload_rate
from adagrain.models.interface.configuration import configuration

PRESET = "small"
ELEMENTS = 50_000
ECHOES = 200
SEEDS = range(3)

#: Goals: shares of the line's rate, the multiple of a round trip, and shares of the clean rate.
LINE, ROUND_TRIP = 0.9, 2.0
ERRORS = {1e-4: 0.9, 1e-3: 0.6, 1e-2: 0.0}
#: Fewer elements, where each takes long.
FEWER = {1e-2: ELEMENTS // 10}


def main() -> None:
    board = configuration(PRESET)
    print("a line without errors", flush=True)
    clean = clean_rates(board, elements=ELEMENTS, echoes=ECHOES)
    print(f"upload {clean.upload:.3f}, echo {clean.echo:.3f} of the line's rate", flush=True)
    runs = [(rate, seed) for rate in ERRORS for seed in SEEDS]
    rates: dict[float, list[float]] = {rate: [] for rate in ERRORS}
    for rate, seed in track(runs, description="lines with errors"):
        elements = FEWER.get(rate, ELEMENTS)
        reached = upload_rate(board, elements=elements, error_rate=rate, seed=seed)
        rates[rate].append(reached / clean.upload)
        print(
            f"error rate {rate:g}, seed {seed}: {rates[rate][-1]:.2f} of the clean rate", flush=True
        )
    report(
        "link",
        {
            "preset": PRESET,
            "upload": clean.upload,
            "echo": clean.echo,
            "round_trip": clean.round_trip,
            "of_clean_rate": {f"{rate:g}": shares for rate, shares in rates.items()},
            "mean_of_clean_rate": {f"{rate:g}": statistics.mean(r) for rate, r in rates.items()},
            "goals": {
                "line": LINE,
                "round_trip": ROUND_TRIP,
                "errors": {f"{rate:g}": goal for rate, goal in ERRORS.items()},
            },
        },
    )
    missed = [f"{rate:g}" for rate, goal in ERRORS.items() if statistics.mean(rates[rate]) < goal]
    if min(clean.upload, clean.echo) < LINE or clean.round_trip > ROUND_TRIP or missed:
        sys.exit(f"goals were missed; of error rates: {', '.join(missed) or 'none'}")


if __name__ == "__main__":
    main()
