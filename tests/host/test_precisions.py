"""Precisions that a device decides: the golden model's, also where it loses its records."""

import random
import sys
from collections.abc import Iterator

import pytest
from matrices import GRANULAR
from transports import ForgetfulTransport

import adagrain
from adagrain.host.device.coprocessor import Coprocessor
from adagrain.host.errors import DeviceError
from adagrain.models.interface.precision import Precision
from adagrain.models.precision_controller import PrecisionTable, precision_record
from adagrain.sim.simulators import runner

RECORD = precision_record((0.1, 0.2, 0.3), hysteresis=0.02, dwell=1, floor=Precision.INT8)


def updates(seed: int, channel_groups: int) -> list[dict[str, int]]:
    rng = random.Random(seed)
    return [
        {
            "channel_group": rng.randrange(channel_groups),
            "variance": rng.getrandbits(20),
            "square": 1 << 21,
        }
        for _ in range(200)
    ]


@pytest.fixture(params=["golden:", "sim:"])
def device(request: pytest.FixtureRequest) -> Iterator[Coprocessor]:
    if request.param == "sim:" and runner.missing("verilator"):
        pytest.skip(str(runner.missing("verilator")))
    with adagrain.open_device(request.param, GRANULAR) as opened:
        yield opened


def demand_equal(device: Coprocessor, channel_groups: int = 100) -> None:
    device.precisions.configure([RECORD] * channel_groups)
    table = PrecisionTable(channel_groups)
    for number in range(channel_groups):
        table.write(number, RECORD)
    told = updates(1, channel_groups)
    assert device.precisions.decide(told) == [table.update(update) for update in told]
    assert device.precisions.state() == [table.read(number) for number in range(channel_groups)]
    read = device.precisions.read(0, channel_groups)
    assert sum(record["switches"] for record in read) > 50
    assert sum(record["overrides"] for record in read) > 5


def test_decisions_are_the_models(device: Coprocessor) -> None:
    demand_equal(device)
    state = device.state_dict()
    with adagrain.open_device("golden:", GRANULAR) as other:
        other.load_state_dict(state)
        assert other.precisions.read(0, 100) == device.precisions.read(0, 100)


@pytest.mark.parametrize("every", [9, 14])
def test_a_device_that_was_reset_gets_its_records_back(every: int) -> None:
    transport = ForgetfulTransport(GRANULAR, every=every)
    with Coprocessor(transport, GRANULAR, url="test:", timeout=0.05, retries=40) as device:
        demand_equal(device)
        demand_equal(device)
        transport.every = sys.maxsize
        assert device.counters()["restored"] > 0


def test_a_device_that_decides_differently(monkeypatch: pytest.MonkeyPatch) -> None:
    with adagrain.open_device("golden:", GRANULAR, direct=False) as device:
        device.precisions.configure([RECORD])
        before = device.precisions.state()
        other = {"channel_group": 0, "normalised_variance": 1, "precision": 0, "wanted": 0}
        other |= {"switched": 0, "overridden": 0, "unknown": 0}
        table = device._session.transport._model.commands["precision_controller"].table
        monkeypatch.setattr(table, "update", lambda _: other)
        with pytest.raises(DeviceError, match="decided differently from the golden model"):
            device.precisions.decide(updates(1, 1))
        assert device.precisions.state() == before


def test_wrong_arguments() -> None:
    with adagrain.open_device("golden:", GRANULAR) as device:
        outside = "groups must be from 0 to 255 on device preset 'whole', not 250 to 259"
        with pytest.raises(ValueError, match=outside):
            device.precisions.configure([RECORD] * 10, first=250)
        with pytest.raises(ValueError, match="record must be 16 bytes, not 3"):
            device.precisions.configure([b"abc"])
        device.precisions.configure([RECORD] * 3)
        with pytest.raises(
            ValueError, match="first must be at most 3, the first channel group that"
        ):
            device.precisions.configure([RECORD], first=4)
        unknown = "channel group must be one that was configured, 0 to 2, not 3"
        with pytest.raises(ValueError, match=unknown):
            device.precisions.decide([{"channel_group": 3, "variance": 0, "square": 1}])
    with adagrain.open_device("golden:", "small") as device:
        missing = "precision_controller must be built, but device preset 'small' has none"
        with pytest.raises(ValueError, match=missing):
            device.precisions.configure([RECORD])
