"""One worker's part of a run, in a process group of one."""

import math
from dataclasses import replace
from pathlib import Path

import pytest

from adagrain.host.distributed.step_log import StepLog
from adagrain.host.errors import ClosedError
from adagrain.host.telemetry.events import PrecisionsEvent
from adagrain.host.telemetry.run_sink import RunSink
from adagrain.host.train import networks
from adagrain.host.train.data import load
from adagrain.host.train.options import TrainingOptions
from adagrain.host.train.rows import loss_of
from adagrain.host.train.training import Training

pytestmark = pytest.mark.usefixtures("lone_worker")


def training(folder: Path, **options: object) -> Training:
    given = {"name": "run", "runs": folder, "device": "golden:", "workers": 1, "batch": 8}
    return Training(TrainingOptions(**(given | {"steps": 40} | options)), load("digits"))


class Kept(RunSink):
    """A sink that keeps steps, and what layers computed in."""

    def __init__(self) -> None:
        self.happened: list[StepLog | PrecisionsEvent] = []

    def step(self, log: StepLog) -> None:
        self.happened.append(log)

    def precisions(self, event: PrecisionsEvent) -> None:
        self.happened.append(event)


def test_each_step_is_an_event(tmp_path: Path) -> None:
    found, kept = training(tmp_path), Kept()
    assert found.granularity is None
    first = found.advance()
    found.events.add(kept)
    assert kept.happened == [] and first is not None and first.step == 0
    assert [found.advance(), found.advance()] == kept.happened
    found.close()


def test_precisions_are_an_event_that_follows_their_step(tmp_path: Path) -> None:
    found, kept = training(tmp_path, preset="granular"), Kept()
    assert found.granularity is not None
    found.events.add(kept)
    work = []
    for _ in range(2):
        found.advance()
        work.append(dict(found.granularity.work))
    kinds = [(type(event).__name__, event.step) for event in kept.happened]
    assert kinds == [(kind, s) for s in (0, 1) for kind in ("StepLog", "PrecisionsEvent")]
    first, second = (event.log for event in kept.happened if isinstance(event, PrecisionsEvent))
    assert first.work == work[0]
    assert len(first.channel_groups) == len(found.granularity.precisions())
    assert {p: work[0][p] + count for p, count in second.work.items()} == work[1]
    found.close()


@pytest.mark.parametrize(("every", "offloaded"), [(1, 2), (2, 1)])
def test_forward_passes_are_offloaded_so_often(tmp_path: Path, every: int, offloaded: int) -> None:
    found = training(tmp_path, preset="granular", offload="forward", offload_every=every)
    assert found.granularity is not None and found.granularity.offloaded is not None
    for _ in range(2):
        found.advance()
    layers = len(found.granularity.precisions())
    assert found.granularity.offloaded.products == offloaded * layers
    found.close()


def test_nothing_is_offloaded_unasked(tmp_path: Path) -> None:
    found = training(tmp_path, preset="granular")
    assert found.granularity is not None
    assert found.granularity.offloaded is None
    found.advance()
    found.close()


@pytest.mark.parametrize("preset", ["cadence", "granular"])
def test_the_device_is_let_go_of(tmp_path: Path, preset: str) -> None:
    found = training(tmp_path, preset=preset)
    device = found.handle.run.device
    assert device.counters()["sessions"] == 1
    found.close()
    with pytest.raises(ClosedError):
        device.counters()


def test_epochs_end_with_their_last_step(tmp_path: Path) -> None:
    data = load("digits")
    found = training(tmp_path, batch=len(data.inputs) // 3)
    ends = []
    for _ in range(6):
        found.advance()
        ends.append(found.ends_epoch)
    assert ends == [False, False, True] * 2
    found.close()


def test_the_accuracy_counts_every_test_sample_once(tmp_path: Path) -> None:
    found = training(tmp_path)
    count = len(found.data.test_labels)
    guesses = found.network(found.data.test_inputs).argmax(dim=1)
    found.data.test_labels[:] = guesses
    assert found.accuracy() == 1.0
    found.data.test_labels[-1] = (guesses[-1] + 1) % 10
    found.data.test_labels[0] = (guesses[0] + 1) % 10
    assert found.accuracy() == (count - 2) / count
    assert found.network.training
    found.close()


def test_a_text_is_trained_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The loss is that of all characters, and the accuracy counts each of them once."""
    monkeypatch.setattr(networks, "_TRANSFORMER", (8, 1))
    options = TrainingOptions(
        name="run", runs=tmp_path, device="golden:", workers=1, batch=4, data="text"
    )
    found = Training(options, load("text"))
    losses = [loss_of(log) or 0 for log in (found.advance() for _ in range(3)) if log]
    assert len(losses) == 3
    assert all(abs(loss - math.log(found.data.classes)) < 1 for loss in losses)
    found.data = replace(
        found.data,
        test_inputs=found.data.test_inputs[:20],
        test_labels=found.data.test_labels[:20].clone(),
    )
    guesses = found.network(found.data.test_inputs).argmax(dim=2)
    found.data.test_labels[:] = guesses
    assert found.accuracy() == 1.0
    found.data.test_labels[7, 3] = (guesses[7, 3] + 1) % found.data.classes
    assert found.accuracy() == 1 - 1 / (20 * 64)
    found.close()


def test_momentum_is_in_one_place(tmp_path: Path) -> None:
    for corrected, momentum in ((True, 0.0), (False, 0.9)):
        found = training(tmp_path, preset="all", momentum_correction=corrected)
        (optimizer,) = found.handle.run._optimizers
        weights, thresholds = optimizer.param_groups
        assert (weights["momentum"], thresholds["momentum"]) == (momentum, 0.9)
        assert found.handle.frames is not None
        found.close()
    found = training(tmp_path, preset="sync")
    assert found.handle.frames is None
    found.close()
