"""Scripts as their authors would write them: the lines of adagrain change nothing but cadences."""

import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from process_groups import Ended, WorkerServer

EXAMPLES = Path(__file__).parents[2] / "examples"

#: Scripts, and what makes them short.
SCRIPTS = {
    "gpt": ("--steps", "8"),
    "conv": ("--epochs", "1", "--samples", "300"),
    "autocast": ("--steps", "10"),
    "lightning_trainer": ("--steps", "10"),
    "hugging_face": ("--steps", "5"),
}

#: Whose lines are left out in the short run of the tests, too.
QUICK = ("gpt", "conv", "autocast")

MARK = "# adagrain\n"

#: Cadences that never change, in place of those that the scripts ask for.
DECIDED = "cadence_max=args.cadence_max"
FIXED = "cadence=None, by=lambda *_: 'all', cadences={'all': 2}"


@pytest.fixture(scope="module")
def server() -> Iterator[WorkerServer]:
    with WorkerServer(["lightning", "sklearn.datasets", "transformers.trainer"]) as server:
        yield server


class Script:
    """A script of the examples, and how it is run."""

    def __init__(self, name: str, server: WorkerServer, folder: Path) -> None:
        self._path = EXAMPLES / f"{name}.py"
        self._arguments = (*SCRIPTS[name], "--cadence-max", "1", "--save", str(folder / "weights"))
        self._server = server
        self._folder = folder
        self.lines = self._path.read_text().splitlines(keepends=True)
        self.plain = [line for line in self.lines if not line.endswith(MARK)]

    def run(self, lines: list[str]) -> list[Ended]:
        """Run some lines of it on two workers."""
        for path in self._folder.iterdir():
            path.unlink()
        return self._server.run(self._path, *self._arguments, source="".join(lines))

    def weights(self, lines: list[str]) -> str:
        """SHA-256 of the weights that all workers end with."""
        for worker in self.run(lines):
            assert worker.returncode == 0, worker.stderr[-3000:]
        found = {
            hashlib.sha256(
                b"".join(v.detach().numpy().tobytes() for v in torch.load(path).values())
            ).hexdigest()
            for path in self._folder.iterdir()
        }
        assert len(found) == 1
        return found.pop()


@pytest.fixture
def script(name: str, server: WorkerServer, tmp_path: Path) -> Script:
    return Script(name, server, tmp_path)


@pytest.mark.parametrize("name", SCRIPTS)
def test_cadence_1_equals_plain_ddp(script: Script) -> None:
    assert len(script.plain) < len(script.lines)
    plain = script.weights(script.plain)
    assert script.weights(script.lines) == plain
    fixed = [line.replace(DECIDED, FIXED) for line in script.lines]
    assert fixed != script.lines
    assert script.weights(fixed) != plain


@pytest.mark.parametrize(
    "name",
    [name if name in QUICK else pytest.param(name, marks=pytest.mark.full) for name in SCRIPTS],
)
def test_leaving_out_a_line_is_an_error_or_has_no_effect(script: Script) -> None:
    plain = script.weights(script.plain)
    for number, line in enumerate(script.lines):
        if line.endswith(MARK):
            rest = script.lines[:number] + script.lines[number + 1 :]
            ended = script.run(rest)
            if {worker.returncode for worker in ended} == {0}:
                assert script.weights(rest) == plain, line
            else:
                assert all("Error: " in worker.error for worker in ended), line


def test_the_transformer_takes_a_step(server: WorkerServer) -> None:
    for worker in server.run(EXAMPLES / "gpt.py", "--steps", "0"):
        assert worker.returncode == 2
        assert worker.stderr.endswith("error: --steps must be at least 1, not 0\n")
