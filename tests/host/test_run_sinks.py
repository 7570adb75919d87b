"""Sinks of a run's events: its log, TensorBoard's, and the history that is drawn."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from adagrain.host.distributed.agreement import Agreeing
from adagrain.host.telemetry.events import EvaluationEvent
from adagrain.host.telemetry.run_sink import RunSink
from adagrain.host.train.board import Board
from adagrain.host.train.data import load
from adagrain.host.train.history import History
from adagrain.host.train.metrics import METRICS, Metrics
from adagrain.host.train.options import TrainingOptions
from adagrain.host.train.presets import COMPRESSED, GRANULAR, SPECULATIVE
from adagrain.host.train.recorder import Recorder
from adagrain.host.train.training import Training

pytestmark = pytest.mark.usefixtures("lone_worker")

STEPS = 10


@contextmanager
def trained(folder: Path, *sinks: RunSink, **chosen: Any) -> Iterator[Training]:
    options = TrainingOptions(
        name="run", runs=folder, device="golden:", workers=1, steps=40, batch=8, **chosen
    )
    training = Training(options, load("digits"))
    for sink in sinks:
        training.events.add(sink)
    yield training
    training.close()


def advance(training: Training, steps: int) -> None:
    for _ in range(steps):
        training.advance()
        if training.step % 4 == 0:
            training.events.evaluation(EvaluationEvent(training.step - 1, training.step / 40))
    training.settle()
    training.events.flush()


def lines_of(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / METRICS).read_text().splitlines()]


@pytest.mark.parametrize("preset", ["cadence", "granular", "compress", "speculate", "all"])
def test_the_history_is_that_of_the_log(tmp_path: Path, preset: str) -> None:
    """Also that of a run which goes on with what another process has logged."""
    granular, compressed, state = preset in GRANULAR, preset in COMPRESSED, None
    speculative = preset in SPECULATIVE
    for start, steps in ((0, 4), (4, STEPS - 4)):
        with (
            Metrics(tmp_path, start, start, workers=1, granular=granular) as metrics,
            trained(tmp_path, metrics, preset=preset) as training,
        ):
            history = History.read(tmp_path / METRICS)
            assert history.steps == [*range(start)]
            training.events.add(Recorder(history, workers=1))
            if state is not None:
                training.load_state_dict(state)
            advance(training, steps)
            state = training.state_dict()
    assert history == History.read(tmp_path / METRICS)
    assert history.steps == [*range(STEPS)]
    assert history.evaluations == [3, 7]
    assert history.updates == sum(len(r.step) for r in history.regions.values()) > STEPS
    assert len(history.bit_operations) == (STEPS if granular else 0)
    assert len(history.bytes_sent) == (STEPS if compressed else 0)
    assert len(history.flown) == (STEPS if speculative else 0)
    for region in history.regions.values():
        assert len(region.sent) == (len(region.step) if compressed else 0)
        assert len(region.accepts) == len(region.trials) == len(region.step) * speculative


def test_a_granular_step_is_one_line(tmp_path: Path) -> None:
    with (
        Metrics(tmp_path, workers=1, granular=True) as metrics,
        trained(tmp_path, metrics, preset="granular") as training,
    ):
        advance(training, STEPS)
    lines = lines_of(tmp_path)
    steps = [line for line in lines if "loss" in line]
    assert [line["step"] for line in steps] == [*range(STEPS)]
    assert all(line["precisions"]["bit_operations"] > 0 for line in steps)
    looks = [line["step"] for line in steps if line["precisions"]["channel_groups"]]
    assert looks == [0, 8]
    assert [line["step"] for line in lines if "accuracy" in line] == [3, 7]


def test_what_people_look_at_is_shown(tmp_path: Path) -> None:
    with (
        Metrics(tmp_path, workers=1, granular=True) as metrics,
        Board(tmp_path, workers=1) as board,
        trained(tmp_path, metrics, board, preset="granular") as training,
    ):
        advance(training, STEPS)
    shown = EventAccumulator(str(tmp_path / "events")).Reload()
    steps = [line for line in lines_of(tmp_path) if "loss" in line]
    for name in ("local", "average", "alpha", "cadence"):
        values = [(one.step, one.value) for one in shown.Scalars(f"{name}/output")]
        rows = [(line["step"], line["regions"][-1]) for line in steps]
        assert values == [(step, pytest.approx(row[name])) for step, row in rows]
    assert [one.step for one in shown.Scalars("bits/output")] == [0, 8]
    assert len(shown.Scalars("normalised_variance/output")) == 2
    assert [one.value for one in shown.Scalars("accuracy")] == pytest.approx([0.1, 0.2])
    losses = [one.value for one in shown.Scalars("loss")]
    assert losses == [line["loss"] for line in steps if line["loss"] is not None]


@pytest.fixture
def late(monkeypatch: pytest.MonkeyPatch) -> None:
    """No update is there before it is waited for."""
    monkeypatch.setattr(Agreeing, "arrived", lambda _: False)


@pytest.mark.usefixtures("late")
@pytest.mark.parametrize(("policy", "accepts"), [("always", 1), ("seed_literal", 0)])
def test_guesses_are_logged_and_shown(tmp_path: Path, policy: str, accepts: int) -> None:
    """A lone worker's whole guess is the true update; half of its gradient is half of that."""
    chosen = {"tau": 0.1, "speculation_policy": policy}
    with (
        Metrics(tmp_path, workers=1) as metrics,
        Board(tmp_path, workers=1) as board,
        trained(tmp_path, metrics, board, preset="speculate", **chosen) as training,
    ):
        for _ in range(3):
            training.advance()
        assert training.step == 3
        training.settle()
        training.events.flush()
    first, *steps = lines_of(tmp_path)
    assert [line["step"] for line in steps] == [1, 2]
    assert all(row["guesses"] == {"accepts": 0, "trials": 0} for row in first["regions"])
    rows = [row for line in steps for row in line["regions"]]
    assert all(row["guesses"]["trials"] == 1 for row in rows[:1])
    assert all(row["guesses"]["accepts"] == accepts * row["guesses"]["trials"] for row in rows)
    flown = [line["flown"] for line in (first, *steps)]
    assert [own["passes_redone"] for own in flown] == [0, 1 - accepts, 1 - accepts]
    assert all(own["hidden"] > 0 and own["stall"] >= own["waited"] > 0 for own in flown)
    shown = EventAccumulator(str(tmp_path / "events")).Reload()
    for name in ("passes_redone", "waited", "hidden", "stall"):
        values = [one.value for one in shown.Scalars(name)]
        assert values == pytest.approx([own[name] for own in flown]), name
    for name in ("accepts", "trials"):
        values = [one.value for one in shown.Scalars(f"{name}/hidden1")]
        lines = (first, *steps)
        assert values == [line["regions"][0]["guesses"][name] for line in lines]
    gains = [one.value for one in shown.Scalars("gain/output")]
    assert gains == [16 if policy == "always" else 8] * 3
    assert {one.value for one in shown.Scalars("state/output")} == {2 if policy == "always" else 1}


def test_what_was_sent_is_logged_and_shown(tmp_path: Path) -> None:
    with (
        Metrics(tmp_path, workers=1) as metrics,
        Board(tmp_path, workers=1) as board,
        trained(tmp_path, metrics, board, preset="compress") as training,
    ):
        advance(training, STEPS)
        bytes_sent = training.handle.run.bytes_sent
    steps = [line for line in lines_of(tmp_path) if "loss" in line]
    assert [line["bytes_sent"] for line in steps] == sorted({line["bytes_sent"] for line in steps})
    assert steps[-1]["bytes_sent"] == bytes_sent
    sent = [line["regions"][-1]["sent"] for line in steps]
    assert all(one["elements"] == 64 * 10 + 10 for one in sent)
    for one in sent:
        assert one["density"] == one["nonzeros"] / one["elements"] > 0
        assert one["bits_per_nonzero"] == one["bits"] / one["nonzeros"]
    shown = EventAccumulator(str(tmp_path / "events")).Reload()
    for name in ("density", "bits_per_nonzero"):
        values = [(one.step, one.value) for one in shown.Scalars(f"{name}/output")]
        assert values == [(step, pytest.approx(one[name])) for step, one in enumerate(sent)]
