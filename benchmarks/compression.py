"""Loss against bytes, and against time on a slow link: compressed exchange and PyTorch's own hooks.

Two workers on gloo train alike networks on the same batches, each way in turn: all-reduce of FP32,
PyTorch's FP16 hook, PowerSGD of three ranks, and ours with several masks. Bytes are all that a
worker puts into collectives in the whole run: slots, agreements, probes, factors. Losses are of
what is held out. PowerSGD runs from the third step on, ours without warm-up.

With ``--link 10`` each worker has a network namespace of its own, and 10 Mbit/s between them
(root, ``ip`` and ``tc``); then seconds count: those until the loss that FP16 reaches at the end,
and 1 % more.
"""

import argparse
import json
import os
import socket
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from _link import Place, link, reason_against
from _report import report
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

WORKER = Path(__file__).parent / "_compression_worker.py"

#: Steps by task; on a link, where the slowest way takes seconds for each, fewer.
STEPS = {"transformer_0.8M": 120, "mlp_0.1M": 320}
LINK_STEPS = {"transformer_0.8M": 90}

#: Ways, all and on a link; the first one is what others are held against.
WAYS = (
    *("fp16", "dense", "powersgd_1", "powersgd_2", "powersgd_4"),
    *("threshold_5%", "threshold_1%", "threshold_0.1%", "threshold_1%_2_bits"),
    "threshold_before_1%",
    *("top_by_share_1%", "top_1%", "random_1%"),
)
LINK_WAYS = ("fp16", "powersgd_4", "powersgd_1", "threshold_5%", "threshold_1%", "auto_1%")

#: A loss counts as reached within this part of it.
NEAR = 0.01


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, help="of the transformer; others in proportion")
    parser.add_argument("--link", type=float, metavar="MBIT", help="Mbit/s between the workers")
    parser.add_argument("--ways", nargs="+", help="which of them")
    options = parser.parse_args()
    if options.link and (reason := reason_against()):
        print(f"left out: {reason}")
        return
    steps = LINK_STEPS if options.link else STEPS
    scale = (options.steps or steps["transformer_0.8M"]) / steps["transformer_0.8M"]
    job = {
        "tasks": {task: max(15, round(scale * count)) for task, count in steps.items()},
        "seeds": [0],
        "ways": options.ways or (LINK_WAYS if options.link else WAYS),
    }
    local = [Place((), {"MASTER_ADDR": "127.0.0.1"})] * 2
    with link(options.link) if options.link else nullcontext(local) as places:
        outcomes = outcomes_of(job, places)
    name = f"compression_link_{options.link:g}" if options.link else "compression"
    _show(name, outcomes, job["tasks"])
    report(name, _figures(outcomes, job["tasks"]))


def outcomes_of(job: dict[str, Any], places: list[Place]) -> list[dict[str, Any]]:
    """What the first worker tells."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        common = {"MASTER_PORT": str(free.getsockname()[1]), "WORLD_SIZE": str(len(places))}
    workers = [
        subprocess.Popen(
            [*place.prefix, sys.executable, str(WORKER), json.dumps(job)],
            env={**os.environ, **common, **place.environment, "RANK": str(rank)},
            stdout=subprocess.PIPE,
            text=True,
        )
        for rank, place in enumerate(places)
    ]
    outcomes = []
    runs = len(job["tasks"]) * len(job["seeds"]) * len(job["ways"])
    with Progress() as progress:
        bar = progress.add_task("training", total=runs)
        for line in workers[0].stdout or ():
            outcomes.append(json.loads(line))
            progress.console.print("{task} {way}: loss {loss:.3f}".format(**outcomes[-1]))
            progress.advance(bar)
    if any(worker.wait() for worker in workers):
        sys.exit("a worker failed")
    return outcomes


def _until(outcome: dict[str, Any], loss: float) -> float | None:
    """Seconds until a loss was reached."""
    rows = zip(outcome["losses"], outcome["seconds"], strict=True)
    return next((seconds for own, seconds in rows if own <= loss), None)


def _rows(outcomes: list[dict[str, Any]], task: str) -> list[dict[str, Any]]:
    own = [outcome for outcome in outcomes if outcome["task"] == task]
    wanted = own[0]["loss"] * (1 + NEAR)
    return [{**outcome, "until": _until(outcome, wanted)} for outcome in own]


def _show(name: str, outcomes: list[dict[str, Any]], tasks: dict[str, int]) -> None:
    for task, steps in tasks.items():
        rows = _rows(outcomes, task)
        title = f"{name}: {task}, {steps} steps"
        headings = ("way", "loss", "kB a step", "of fp16's", "ms a step", "s to fp16's loss")
        table = Table(*headings, title=title)
        for row in rows:
            table.add_row(
                row["way"],
                f"{row['loss']:.3f}",
                f"{row['bytes'] / steps / 1e3:.1f}",
                f"1/{rows[0]['bytes'] / row['bytes']:.1f}",
                f"{1e3 * row['seconds'][-1] / steps:.0f}",
                "-" if row["until"] is None else f"{row['until']:.1f}",
            )
        Console().print(table)


def _figures(outcomes: list[dict[str, Any]], tasks: dict[str, int]) -> dict[str, Any]:
    figures: dict[str, Any] = {}
    for task, steps in tasks.items():
        for row in _rows(outcomes, task):
            known = {"loss", "bytes", "overflows", "bypass", "losses"} & row.keys()
            figures[f"{task}_{row['way']}"] = {
                **{key: row[key] for key in sorted(known)},
                "steps": steps,
                "ms_a_step": 1e3 * row["seconds"][-1] / steps,
                "seconds_to_loss_of_fp16": row["until"] if row["until"] is not None else "never",
            }
    return figures


if __name__ == "__main__":
    main()
