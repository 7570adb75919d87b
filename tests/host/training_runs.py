"""Training runs, started from the command line as a user would."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

__all__ = ["SECONDS", "STEPS", "end", "metrics", "start", "train"]

STEPS = 40
SECONDS = 240


def start(runs: Path, name: str, *arguments: str) -> subprocess.Popen[str]:
    """Start a run with golden devices, whose cadences grow as fast as they can."""
    defaults = ("--device", "golden:", "--steps", str(STEPS), "--noise", "0")
    command = [sys.executable, "-m", "adagrain.host.cli", "train", "--name", name]
    return subprocess.Popen(
        [*command, "--runs", str(runs), *defaults, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "COLUMNS": "200"},
    )


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
