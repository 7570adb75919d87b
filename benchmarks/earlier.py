"""Training runs of an earlier commit beside today's: weights, decisions, losses, bit by bit.

Both train the same with golden devices, on this machine and with this PyTorch; what was changed in
its shape alone leaves all equal. Compared are what a summary says of a run's end, the SHA-256 of
its weights among it, and every value of its log that both know, perhaps by another name; names that
only one of them knows are listed.

Exits with status 1 where anything differs.
"""

import json
import os
import subprocess
import sys
import tempfile
import tomllib
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from typing import Annotated, Any

import typer
from _options import counted
from _report import recorded, report
from rich.progress import track

ROOT = Path(__file__).parents[1]

#: The commit of the record, which is compared with where none is named.
RECORDED = recorded("earlier")["commit"]

#: Training presets that are as old as the oldest commits that train.
PRESETS = ("sync", "cadence", "granular")

#: Names that values had, and have now.
RENAMED = {"held": "alpha_held", "units": "channel_groups", "octets": "bytes_moved"}

#: What a summary says of a run's end.
ENDS = ("weights_sha256", "accuracy", "cadences", "precisions", "bytes_sent", "bytes_dense")


def main(
    commit: Annotated[str, typer.Argument(help="Commit to compare with.")] = RECORDED,
    preset: Annotated[list[str] | None, typer.Option(help="Training preset; all if none.")] = None,
    steps: Annotated[int, typer.Option(callback=counted, help="Steps of a run.")] = 200,
    seeds: Annotated[int, typer.Option(callback=counted, help="Runs of a preset.")] = 2,
    record: Annotated[bool, typer.Option(help="Keep the figures.")] = False,
) -> None:
    """Train, compare, report."""
    jobs = [(name, seed) for name in preset or PRESETS for seed in range(seeds)]
    comparisons = {name: Comparison() for name, _ in jobs}
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        trees = {"earlier": checked_out(commit, folder / "tree"), "now": ROOT}
        for name, seed in track(jobs, "runs of both"):
            given = ("--preset", name, "--seed", str(seed), "--steps", str(steps))
            earlier, now = (
                trained(tree, folder / f"{name}_{seed}_{when}", *given)
                for when, tree in trees.items()
            )
            comparisons[name].add(earlier, now)
    rows = {name: own.figures() for name, own in comparisons.items()}
    figures = {"commit": commit, "steps": steps, **rows}
    report("earlier", figures, whole=record, keep="--record")
    if any(own.differing for own in comparisons.values()):
        sys.exit(f"runs of {commit} must be those of today, but are not")


def checked_out(commit: str, folder: Path) -> Path:
    """The tree of a commit of this repository."""
    subprocess.run(["git", "clone", "-q", "--shared", "-n", str(ROOT), str(folder)], check=True)
    done = subprocess.run(["git", "-C", str(folder), "checkout", "-q", commit], check=False)
    if done.returncode:
        raise typer.BadParameter(f"commit must be one of this repository, not {commit!r}")
    return folder


def trained(tree: Path, runs: Path, *options: str) -> dict[str, Any]:
    """What a tree's ``adagrain train`` says of a run: how it ended, and its log."""
    scripts = tomllib.loads((tree / "pyproject.toml").read_text())["project"]["scripts"]
    module, _, function = scripts["adagrain"].partition(":")
    run = (
        "train",
        "--device",
        "golden:",
        "--timing",
        "fixed",
        "--runs",
        str(runs),
        "--name",
        "run",
    )
    subprocess.run(
        [sys.executable, "-c", f"from {module} import {function}; {function}()", *run, *options],
        env={**os.environ, "PYTHONPATH": str(tree)},
        cwd=tree,
        stdout=subprocess.DEVNULL,
        check=True,
    )
    summary = json.loads((runs / "run" / "summary.json").read_text())
    log = (runs / "run" / "metrics.jsonl").read_text().splitlines()
    ends = {name: summary[name] for name in ENDS if name in summary}
    return ends | {"log": [json.loads(line) for line in log]}


@dataclass
class Comparison:
    """Values of runs, two by two.

    Members
    -------
    compared : int
        How many there were.
    differing, earlier, now : set of str
        Names of those that differ, and of those that only one side has.
    """

    compared: int = 0
    differing: set[str] = field(default_factory=set)
    earlier: set[str] = field(default_factory=set)
    now: set[str] = field(default_factory=set)

    def add(self, earlier: Any, now: Any, name: str = "") -> None:
        """Compare two values, and all that is in them."""
        if isinstance(earlier, dict) and isinstance(now, dict):
            earlier = {
                (RENAMED.get(key, key) if key not in now else key): value
                for key, value in earlier.items()
            }
            self.earlier |= {f"{name}.{key}" for key in earlier.keys() - now.keys()}
            self.now |= {f"{name}.{key}" for key in now.keys() - earlier.keys()}
            for key in earlier.keys() & now.keys():
                self.add(earlier[key], now[key], f"{name}.{key}")
        elif isinstance(earlier, list) and isinstance(now, list):
            for one, other in zip_longest(earlier, now):
                self.add(one, other, name)
        else:
            self.compared += 1
            if earlier != now:
                self.differing.add(name)

    def figures(self) -> dict[str, Any]:
        """For a report."""
        return {
            "compared": self.compared,
            "differing": ", ".join(sorted(self.differing)) or "none",
            "known_earlier_alone": ", ".join(sorted(self.earlier)) or "none",
            "known_now_alone": ", ".join(sorted(self.now)) or "none",
        }


if __name__ == "__main__":
    typer.run(main)
