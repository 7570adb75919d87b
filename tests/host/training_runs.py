"""Training runs, started from the command line as a user would."""

import json
import os
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

__all__ = ["SECONDS", "STEPS", "end", "metrics", "start", "train", "wait_for"]

STEPS = 40
SECONDS = 240


def start(runs: Path, name: str, *arguments: str) -> subprocess.Popen[str]:
    """Start a run with golden devices, whose cadences grow as fast as they can; or resume it."""
    defaults: tuple[str, ...] = ("--device", "golden:", "--steps", str(STEPS), "--noise", "0")
    if "--resume" in arguments:
        defaults = ()
    command = [sys.executable, "-m", "adagrain.host.cli.app", "train", "--name", name]
    return subprocess.Popen(
        [*command, "--runs", str(runs), *defaults, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "COLUMNS": "200"},
        start_new_session=True,
    )


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


def end(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    """Wait for a run: status, output and error output."""
    try:
        output, errors = process.communicate(timeout=SECONDS)
    finally:
        process.kill()
    return process.returncode, output, errors


def train(runs: Path, name: str, *arguments: str) -> dict[str, Any]:
    """A whole run: its summary."""
    status, _, errors = end(start(runs, name, *arguments))
    assert status == 0, errors
    return json.loads((runs / name / "summary.json").read_text())


def metrics(runs: Path, name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (runs / name / "metrics.jsonl").read_text().splitlines()]
