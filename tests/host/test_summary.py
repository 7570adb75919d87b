"""The end of a run: numbers of all workers, a picture, a table."""

import errno
import io
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

import pytest
import torch
import torch.distributed as dist
from rich.console import Console

from adagrain.host.files import WriteError
from adagrain.host.train import summary
from adagrain.host.train.data import load
from adagrain.host.train.fingerprint import weights_sha256
from adagrain.host.train.history import History
from adagrain.host.train.metrics import METRICS, Metrics
from adagrain.host.train.options import TrainingOptions
from adagrain.host.train.run_status import RunStatus
from adagrain.host.train.training import Training

OWN = {
    "cycles": 1000,
    "encoded": 50,
    "decoded": 90,
    "tile_words": 9,
    "elements": 200,
    "decisions": 30,
    "decision_cycles": 8,
    "restored": 1,
    "fallbacks": 0,
}
OTHER = {
    "cycles": 234,
    "encoded": 7,
    "decoded": 10,
    "tile_words": 4,
    "elements": 56,
    "decisions": 7,
    "decision_cycles": 9,
    "restored": 2,
    "fallbacks": 2,
}


pytestmark = pytest.mark.usefixtures("lone_worker")


@pytest.fixture
def trained(tmp_path: Path) -> Iterator[Callable[..., tuple[TrainingOptions, Training]]]:
    opened: list[Training] = []

    def build(**changes: Any) -> tuple[TrainingOptions, Training]:
        options = TrainingOptions(
            name="short", runs=tmp_path, device="golden:", workers=2, steps=4, batch=8, **changes
        )
        options.folder.mkdir()
        training = Training(options, load("digits"))
        opened.append(training)
        with Metrics(options.folder, workers=2, granular=options.granular) as metrics:
            training.events.add(metrics)
            while training.step < options.steps:
                training.advance()
        return options, training

    yield build
    for training in opened:
        training.close()


def summarised(
    options: TrainingOptions, training: Training, **changes: int
) -> tuple[dict[str, Any], str, RunStatus | None]:
    """The file, the table's text, and the status, with a second worker."""

    def gather(workers: list[dict[str, Any]], own: dict[str, Any]) -> None:
        assert len(workers) == 2
        workers[:] = [own, own | {"backend": "another", "counts": OTHER}]

    shown = io.StringIO()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dist, "get_world_size", lambda: 2)
        patch.setattr(dist, "all_gather_object", gather)
        status = summary.summarise(
            options,
            training,
            history=History.read(options.folder / METRICS),
            counts=OWN | changes,
            accuracy=0.98765,
            seconds=12.3456,
            console=Console(file=shown, width=200),
        )
    found = json.loads((options.folder / "summary.json").read_text())
    return found, shown.getvalue(), status


def row(table: str, name: str) -> str:
    (line,) = [line for line in table.splitlines() if f" {name} " in line]
    return line.split("│")[2].strip()


def test_numbers_of_all_workers(
    trained: Callable[..., tuple[TrainingOptions, Training]],
) -> None:
    options, training = trained(preset="sync")
    found, table, status = summarised(options, training)
    assert status is RunStatus.FINISHED
    sums = {name: OWN[name] + OTHER[name] for name in OWN}
    handle = training.handle
    assert found.pop("versions").keys() == {"adagrain", "torch", "python"}
    assert found == {
        "status": "finished",
        "accuracy": 0.98765,
        "steps": 4,
        "seconds": 12.35,
        "workers": 2,
        "backend": f"another, {training.handle.run.device.backend}",
        "device_cycles": sums["cycles"],
        "device_encoded": sums["encoded"],
        "device_decoded": sums["decoded"],
        "device_tile_words": sums["tile_words"],
        "device_elements": sums["elements"],
        "decisions": sums["decisions"],
        "decision_cycles": 9,
        "restored": 3,
        "fallbacks": 2,
        "bytes_sent": handle.run.bytes_sent,
        "bytes_dense": handle.run.bytes_dense,
        "dropped": 0,
        "cadences": handle.run.cadences,
        "weights_sha256": weights_sha256(training.network),
        "seed": 0,
        "options": {**json.loads(json.dumps(options.recorded())), "device_preset": "full"},
    }
    assert row(table, "accuracy") == "98.77%"
    assert row(table, "time") == "12.3 s for 4 steps"
    assert row(table, "regions by cadence") == f"{len(handle.run.cadences)} at 1"
    assert row(table, "bytes sent per worker") == f"{handle.run.bytes_sent:,} (100% of dense FP32)"
    assert row(table, "cycles in the devices") == "1,234"
    assert row(table, "elements in the devices") == "256"
    assert row(table, "decisions") == "37, at most 9 cycles each"
    assert row(table, "weights") == found["weights_sha256"][:16] + "…"
    assert row(table, "files") == str(options.folder)
    assert "run short" in table
    for name in ("STATUS", "updates dropped", "multiplications"):
        assert name not in table
    assert (options.folder / "regions.png").is_file()


def test_without_a_picture_a_run_is_not_ended(
    trained: Callable[..., tuple[TrainingOptions, Training]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else it could not go on to draw one when there is room on the disk."""
    options, training = trained(preset="sync")

    def draw(history: History, file: IO[bytes], **marks: Any) -> None:
        file.write(b"begun")
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(summary, "draw", draw)
        with pytest.raises(WriteError, match=r"regions.png cannot be written: No space left on"):
            summarised(options, training)
    assert not {"summary.json", "regions.png", "regions.png.tmp"} & {
        path.name for path in options.folder.iterdir()
    }
    summarised(options, training)
    assert (options.folder / "regions.png").stat().st_size > 20_000


def test_what_went_wrong_is_shown(
    trained: Callable[..., tuple[TrainingOptions, Training]],
) -> None:
    options, training = trained()
    training.handle.run.reducer._stages.decide.dropped = 5
    with torch.no_grad():
        next(iter(training.network.parameters())).view(-1)[0] = torch.nan
    found, table, status = summarised(options, training, fallbacks=1)
    assert status is RunStatus.DIVERGED
    assert (found["status"], found["fallbacks"], found["dropped"]) == ("diverged", 3, 5)
    assert row(table, "STATUS") == "diverged"
    assert row(table, "DEVICES THAT FAILED") == "3; the golden model took over"
    assert row(table, "updates dropped") == "5, of gradients that were not finite"


def test_small_parts_of_the_bytes_have_a_decimal(
    trained: Callable[..., tuple[TrainingOptions, Training]], monkeypatch: pytest.MonkeyPatch
) -> None:
    options, training = trained(preset="sync")
    sent = training.handle.run.bytes_sent
    monkeypatch.setattr(type(training.handle.run), "bytes_dense", 80 * sent)
    _, table, _ = summarised(options, training)
    assert row(table, "bytes sent per worker") == f"{sent:,} (1.2% of dense FP32)"


def test_regions_are_counted_by_cadence(
    trained: Callable[..., tuple[TrainingOptions, Training]],
) -> None:
    options, training = trained()
    names = list(training.handle.run.cadences)
    training.handle.run.reducer._clock.cadences[:2] = [4, 2]
    found, table, _ = summarised(options, training)
    assert found["cadences"] == dict.fromkeys(names, 1) | {names[0]: 4, names[1]: 2}
    assert row(table, "regions by cadence") == f"{len(names) - 2} at 1, 1 at 2, 1 at 4"


def test_precisions_of_all_workers(
    trained: Callable[..., tuple[TrainingOptions, Training]],
) -> None:
    options, training = trained(preset="granular")
    found, table, _ = summarised(options, training)
    granularity = training.granularity
    assert granularity is not None
    work = {name.name: 2 * count for name, count in granularity.work.items()}
    assert found["precisions"]["work"] == work
    assert "multiplications" in table


def test_other_workers_leave_nothing(
    trained: Callable[..., tuple[TrainingOptions, Training]],
) -> None:
    options, training = trained()
    before = sorted(options.folder.iterdir())
    assert [path.name for path in before] != []
    assert (options.folder / METRICS) in before
    console = Console(file=io.StringIO())
    told = summary.summarise(
        options, training, history=None, counts=OWN, accuracy=None, seconds=1.0, console=console
    )
    assert told is None
    assert sorted(options.folder.iterdir()) == before
