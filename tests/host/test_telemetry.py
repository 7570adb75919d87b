"""Events of a training, and the sinks that they go to."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
import torch
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from torch import nn
from torch.nn.parallel import DistributedDataParallel

import adagrain
from adagrain.host.distributed.reducer_options import ReducerOptions
from adagrain.host.files import WriteError
from adagrain.host.granular.logs import GranularityLog
from adagrain.host.json_lines import read_json_lines
from adagrain.host.telemetry.events import PrecisionsEvent, StatisticsEvent
from adagrain.host.telemetry.pairing import Pairing
from adagrain.host.telemetry.sinks import JsonLinesSink, TensorBoardSink
from adagrain.models.interface.configuration import PRESETS
from adagrain.models.interface.precision import Precision
from adagrain.models.statistics import statistics

pytestmark = pytest.mark.usefixtures("lone_worker")


class Kept:
    """A sink that keeps everything."""

    def __init__(self) -> None:
        self.events: list[StatisticsEvent] = []
        self.steps: list[Any] = []

    def statistics(self, event: StatisticsEvent) -> None:
        self.events.append(event)

    def step(self, log: Any) -> None:
        self.steps.append(log)


def train(*sinks: Any, steps: int = 3, **options: Any) -> list[list[float]]:
    """The biases' gradients of each step, which are the batches' columns' sums."""
    torch.manual_seed(0)
    model = DistributedDataParallel(nn.Linear(4, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    ours = {"preset": "tiny", "cadence": None, "by": "tensor", "cadences": {"weight": 2}}
    options = ours | options
    state = adagrain.register(model, optimizer, sinks=sinks, **options)
    found = []
    for step in range(steps):
        optimizer.zero_grad()
        (model(torch.full((3, 4), 1.0 + step)) * torch.tensor([1.0, step])).sum().backward()
        found.append(model.module.bias.grad.tolist())
        optimizer.step()
    state.close()
    return found


def test_lines_are_appended_behind_the_last_whole_one(tmp_path: Path) -> None:
    path = tmp_path / "steps.jsonl"
    for _ in range(2):
        with JsonLinesSink(path) as sink:
            train(sink, steps=1)
        path.write_text(path.read_text() + '{"event": "st')
    events = [line["event"] for line in read_json_lines(path)]
    half = len(events) // 2
    assert events == 2 * events[:half] and half > 1


def test_a_file_of_something_else_is_not_appended_to(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("a line\nprecious, without an end")
    with pytest.raises(ValueError, match=r"must end in a JSON object .* not 'precious, without an"):
        JsonLinesSink(path)
    assert path.read_text().endswith("precious, without an end")


@pytest.mark.parametrize(
    "content", [b"step,loss\n1,2\n", b"int main()\n{ return 0; }", b"\x89PNG\r\n\x1a\n", b"[1]\n{"]
)
def test_lines_of_something_else_are_left_alone(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "notes"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"must end in a JSON object to be appended to, not "):
        JsonLinesSink(path)
    assert path.read_bytes() == content


def test_a_full_disk_is_named() -> None:
    kept = Kept()
    train(kept, steps=1)
    sink = JsonLinesSink("/dev/full")
    with pytest.raises(WriteError, match="/dev/full cannot be written: No space left on device"):
        sink.step(kept.steps[0])


def test_a_whole_line_without_an_end_stays(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    path.write_text('{"event": "a"}')
    kept = Kept()
    with JsonLinesSink(path) as sink:
        train(sink, kept, steps=1)
    assert read_json_lines(path)[0] == {"event": "a"} and len(read_json_lines(path)) > 1
    with pytest.raises(ValueError, match=f"the sink of {path} must not be used after close"):
        sink.step(kept.steps[0])


def test_a_line_is_in_the_file_at_once(tmp_path: Path) -> None:
    """Whatever ends the process."""
    path = tmp_path / "events.jsonl"
    with JsonLinesSink(path) as sink:
        kept = Kept()
        train(kept, steps=1)
        sink.step(kept.steps[0])
        assert len(read_json_lines(path)) == 1
        assert path.read_text().endswith("}\n")


@pytest.mark.parametrize("preset", ["tiny", "full"])
def test_every_record_is_an_event(preset: str) -> None:
    """With all sums that the device has: those of third and fourth powers too."""
    kept, logs = Kept(), []
    biases = train(kept, log=logs.append, preset=preset)
    powers = PRESETS[preset].powers
    assert [(e.step, e.region, str(e.kind)) for e in kept.events] == [
        (0, "bias", "local"),
        (0, "bias", "average"),
        (1, "weight", "local"),
        (1, "bias", "local"),
        (1, "weight", "average"),
        (1, "bias", "average"),
        (2, "bias", "local"),
        (2, "bias", "average"),
    ]
    for event in kept.events:
        if event.region == "bias":  # one worker: what leaves is what enters
            gradient = torch.tensor(biases[event.step])
            exponent = event.record.exponent - 127
            assert event.record == statistics(gradient, exponent, powers=powers)
    assert kept.steps == logs and [log.step for log in logs] == [0, 1, 2]


def test_lines_of_json(tmp_path: Path) -> None:
    kept, path = Kept(), tmp_path / "events.jsonl"
    with JsonLinesSink(path) as sink:
        train(sink, kept)
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    records = [line for line in lines if line["event"] == "statistics"]
    assert [(line["step"], line["region"], line["kind"]) for line in records] == [
        (event.step, event.region, event.kind) for event in kept.events
    ]
    assert [line["record"]["s2"] for line in records] == [e.record.s2 for e in kept.events]
    steps = [line for line in lines if line["event"] == "step"]
    assert [line["step"] for line in steps] == [0, 1, 2]
    assert steps[1]["decisions"] == kept.steps[1].decisions


def test_tensorboard(tmp_path: Path) -> None:
    kept = Kept()
    with TensorBoardSink(tmp_path) as sink:
        train(sink, kept)
    events = EventAccumulator(str(tmp_path)).Reload()
    norms = [e.record.l2_norm for e in kept.events if (e.region, e.kind) == ("bias", "local")]
    shown = events.Scalars("local_l2_norm/bias")
    assert [(one.step, one.value) for one in shown] == [*enumerate(map(pytest.approx, norms))]
    assert [one.value for one in events.Scalars("cadence/weight")] == [2.0]


class Told:
    """A sink that keeps the steps of what it is told."""

    def __init__(self) -> None:
        self.order: list[tuple[str, int]] = []

    def step(self, log: Any) -> None:
        self.order.append(("step", log.step))

    def precisions(self, event: PrecisionsEvent) -> None:
        assert event.log == GranularityLog({Precision.INT8: event.step}, ())
        self.order.append(("precisions", event.step))


def test_precisions_wait_for_their_step_also_in_a_run_that_is_resumed() -> None:
    sinks = [Told() for _ in range(3)]
    before, resumed, again = (Pairing(cast("Any", own)) for own in sinks)
    events = [PrecisionsEvent(n, GranularityLog({Precision.INT8: n}, ())) for n in range(2)]
    for event in events:
        before.precisions(event)
    before.step(cast("Any", SimpleNamespace(step=0)))
    assert sinks[0].order == [("step", 0), ("precisions", 0)]
    resumed.load_state_dict(before.state_dict())
    assert resumed.told == 1 and sinks[1].order == []
    resumed.step(cast("Any", SimpleNamespace(step=1)))
    assert sinks[1].order == [("step", 1), ("precisions", 1)]
    again.load_state_dict(resumed.state_dict())
    again.precisions(events[1])
    assert sinks[2].order == [("precisions", 1)], "its step has been told of before"


def test_sinks_are_checked() -> None:
    with pytest.raises(TypeError, match="sinks must be a list or a tuple of sinks, not 3"):
        ReducerOptions.of({"sinks": 3})
