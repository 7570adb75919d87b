"""Training runs, started from the command line as a user would."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from process_groups import Ended, WorkerServer

__all__ = [
    "SECONDS",
    "STEPS",
    "Run",
    "Train",
    "end",
    "forked",
    "metrics",
    "repeatable",
    "second_worker",
    "start",
    "train",
    "wait_for",
]

STEPS = 40
SECONDS = 240

Run = Callable[..., Ended]
Train = Callable[..., dict[str, Any]]

_FORKED = Path(__file__).parent / "forked_run.py"


def start(runs: Path, name: str, *arguments: str) -> subprocess.Popen[str]:
    """Start a run with golden devices, whose cadences grow as fast as they can; or resume it."""
    command = [sys.executable, "-m", "adagrain.host.cli.app", "train", "--name", name]
    return subprocess.Popen(
        [*command, "--runs", str(runs), *_defaults(arguments), *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "COLUMNS": "200"},
        start_new_session=True,
    )


def _defaults(arguments: Sequence[str]) -> tuple[str, ...]:
    if "--resume" in arguments:
        return ()
    decides = not {"--preset", "--config"} & {*arguments} or {"cadence", "all"} & {*arguments}
    noise = ("--noise", "0") if decides else ()
    return ("--device", "golden:", "--steps", str(STEPS), *noise)


def wait_for(folder: Path, pattern: str) -> None:
    """Wait until a run has written something to a file; old checkpoints go, so any name will do."""
    deadline = time.monotonic() + SECONDS
    while not any(map(_has_content, folder.glob(pattern))):
        assert time.monotonic() < deadline, f"there is no {pattern} in {folder}"
        time.sleep(0.1)


def _has_content(path: Path) -> bool:
    with suppress(FileNotFoundError):
        return path.stat().st_size > 0
    return False


def second_worker(launcher: int) -> int:
    """Process id of rank 1 of a run that was started."""
    children = Path(f"/proc/{launcher}/task/{launcher}/children").read_text().split()
    workers = [c for c in children if "spawn_main" in Path(f"/proc/{c}/cmdline").read_text()]
    return int(workers[1])


def end(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    """Wait for a run: status, output and error output."""
    try:
        output, errors = process.communicate(timeout=SECONDS)
    finally:
        process.kill()
    return process.returncode, output, errors


def forked(
    server: WorkerServer,
    runs: Path,
    name: str,
    *arguments: str,
    narrow: bool = False,
    late: bool = False,
) -> Ended:
    """A run to its end, as :func:`start` starts it, where all that it imports is there already.

    A narrow network has few weights; late updates are there when they are waited for, not before.
    """
    how = (*("--late",) * late, *("--narrow",) * narrow)
    where = ("train", "--name", name, "--runs", str(runs))
    options = (*how, *where, *_defaults(arguments), *arguments)
    (ended,) = server.run(_FORKED, *options, count=1, timeout=SECONDS)
    return ended


def train(
    server: WorkerServer, runs: Path, name: str, *arguments: str, **how: bool
) -> dict[str, Any]:
    """A whole run: its summary; ``how`` are those of :func:`forked`."""
    ended = forked(server, runs, name, *arguments, **how)
    assert ended.returncode == 0, ended.stderr
    return json.loads((runs / name / "summary.json").read_text())


def metrics(runs: Path, name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (runs / name / "metrics.jsonl").read_text().splitlines()]


def repeatable(runs: Path, name: str) -> list[dict[str, Any]]:
    """A run's log but for what was measured in it."""
    return [{k: v for k, v in line.items() if k != "flown"} for line in metrics(runs, name)]
