"""Speculation on a link of a given rate and delay while a fault happens every so many seconds.

Each worker has a network namespace of its own (root, ``ip``, ``g++`` and TUN devices), and an agent
of torchrun that starts it again. Faults, in turn: a worker is killed; stopped for 5 s; cut off for
10 s; cut off for a third of the time-out. In the end the weights must be those of a run without
faults (τ = 0), and no worker may have failed later than the time-out and 5 s after a fault.
"""

import argparse
import math
import sys
import tempfile
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

from _faulty_run import Outcome, run
from _lab_options import add_link_options, add_record_option, lab_of
from _options import above_zero, from_zero, positive
from _report import report

#: Seconds that workers may take beyond the time-out.
GRACE = 5.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_link_options(parser)
    for name, kind, usual, meaning in (
        ("--steps", positive, 3000, "of the run"),
        ("--pace", from_zero, 0.05, "seconds that a step takes beside its own"),
        ("--checkpoint-every", positive, 20, "steps"),
        ("--interval", above_zero, 20.0, "seconds between two faults"),
        ("--faults", positive, 1000, "how many there are at most"),
        ("--time-out", above_zero, 8.0, "seconds, of the process group"),
    ):
        text = f"{meaning}; usually {usual:g}"
        parser.add_argument(name, type=kind, default=usual, metavar=type(usual).__name__, help=text)
    add_record_option(parser)
    options = parser.parse_args()
    job = {name: getattr(options, name) for name in ("steps", "pace", "time_out")}
    job["every"] = options.checkpoint_every
    outcomes = []
    with lab_of(options) as made, tempfile.TemporaryDirectory() as folder:
        for name, faults in (("undisturbed", 0), ("disturbed", options.faults)):
            (place := Path(folder) / name).mkdir()
            outcomes.append(run(made, place, job, options.interval, faults))
        link = str(made.link)
    figures = compared(*outcomes, steps=options.steps, time_out=options.time_out)
    figures = {"link": link, "time_out_seconds": options.time_out} | figures
    name, whole = options.record or "speculation_faults", options.record is not None
    report(name, figures, whole=whole, keep="--record")
    if not figures["weights_equal"] or not figures["in_time"]:
        sys.exit("weights must be equal, and workers must fail in time, but are not, or did not")


def compared(
    undisturbed: Outcome, disturbed: Outcome, *, steps: int, time_out: float
) -> dict[str, Any]:
    """Figures of a run with faults, beside those of one without."""
    weights = {
        entry["weights"]
        for outcome in (undisturbed, disturbed)
        for notes in outcome.notes
        for entry in notes
        if "weights" in entry
    }
    taken = [sum("step" in entry for entry in notes) for notes in disturbed.notes]
    failures = [
        entry["time"] - max(f.began for f in disturbed.faults if f.began < entry["time"])
        for notes in disturbed.notes
        for entry in notes
        if "failed" in entry
    ]
    kinds = sorted({fault.kind for fault in disturbed.faults})
    pauses = {kind: pauses_after(disturbed, kind) for kind in kinds}
    return {
        "steps": steps,
        "faults": {k: sum(f.kind == k for f in disturbed.faults) for k in kinds},
        "attempts": max(sum("first" in entry for entry in notes) for notes in disturbed.notes),
        "steps_kept_percent": 100 * steps * len(taken) / sum(taken),
        "seconds_undisturbed": undisturbed.seconds,
        "seconds": disturbed.seconds,
        "pause_seconds_median": {k: median(own) for k, own in pauses.items() if own},
        "pause_seconds_most": {k: max(own) for k, own in pauses.items() if own},
        "failures": len(failures),
        "failed_after_seconds_most": max(failures, default=0.0),
        "in_time": max(failures, default=0.0) < time_out + GRACE,
        "weights_equal": len(weights) == 1,
    }


def pauses_after(outcome: Outcome, kind: str) -> list[float]:
    """The longest time without a step of a worker, for each fault of a kind; until the next.

    One that has come when there was no step left is not among them.
    """
    found = []
    ends = [*(fault.began for fault in outcome.faults[1:]), math.inf]
    for fault, end in zip(outcome.faults, ends, strict=True):
        times = [
            [fault.began]
            + [e["time"] for e in notes if "step" in e and fault.began < e["time"] < end]
            for notes in outcome.notes
        ]
        if fault.kind == kind and all(len(own) > 1 for own in times):
            found += [max(after - at for own in times for at, after in pairwise(own))]
    return found


if __name__ == "__main__":
    main()
