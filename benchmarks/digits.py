"""Digits on two workers, every step through compiled RTL; and the same run on the golden models.

Exits with status 1 where the two decide otherwise, or end with other weights.
"""

import contextlib
import io
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from _report import report
from rich.progress import track

from adagrain.host.train.options import TrainingOptions
from adagrain.host.train.run import start

SEEDS = range(5)


def run(folder: Path, device: str, seed: int) -> dict[str, Any]:
    """Summary of one run, with its decisions."""
    options = TrainingOptions(
        name=f"{device.strip(':')}-{seed}",
        runs=folder,
        preset="sync",
        device=device,
        seed=seed,
        timing="fixed",
    )
    with contextlib.redirect_stdout(io.StringIO()):
        start(options)
    summary = json.loads((options.folder / "summary.json").read_text())
    return summary | {"metrics": (options.folder / "metrics.jsonl").read_text()}


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        runs = [run(folder, "sim:", seed) for seed in track(SEEDS, "digits, sim:")]
        golden = run(folder, "golden:", SEEDS[0])
    accuracies = [run["accuracy"] for run in runs]
    same = {
        "golden_same_decisions": golden["metrics"] == runs[0]["metrics"],
        "golden_same_weights": golden["weights_sha256"] == runs[0]["weights_sha256"],
    }
    report(
        "digits",
        {
            "steps": runs[0]["steps"],
            "workers": runs[0]["workers"],
            "backend": runs[0]["backend"],
            "accuracy_mean": sum(accuracies) / len(accuracies),
            "accuracy_minimum": min(accuracies),
            "accuracies": accuracies,
            "seconds_maximum": max(run["seconds"] for run in runs),
            **same,
        },
    )
    if differing := [name for name, is_so in same.items() if not is_so]:
        sys.exit("; ".join(f"{name} must be true, but is not" for name in differing))


if __name__ == "__main__":
    main()
