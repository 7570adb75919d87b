"""Tables of any unit: what the driver's mirror keeps, sends again, and refuses."""

import random
import sys

import pytest
from matrices import GRANULAR
from transports import ForgetfulTransport

import adagrain
from adagrain.host.device.coprocessor import Coprocessor
from adagrain.host.device.mirror import Mirror
from adagrain.host.device.mirrored_table import MirroredTable
from adagrain.host.link.frame_size import FrameSize
from adagrain.host.link.session import Request
from adagrain.models.device.commands import CommandModel
from adagrain.models.interface.configuration import configuration
from adagrain.models.interface.records import complete, pack, size, unpack, unpack_all
from adagrain.models.interface.units import UNITS
from adagrain.models.interface.units.region_manager import (
    RegionOpcode,
    RegionParameters,
    RegionRecord,
)
from adagrain.models.region_manager.table import default_parameters, region_record

TABLES = [name for name, unit in UNITS.items() if unit.table is not None]
SETTINGS = {"region_manager": default_parameters(2)}


def records(name: str, count: int, seed: int) -> list[bytes]:
    width, rng = size(UNITS[name].table.record), random.Random(seed)
    return [rng.randbytes(width) for _ in range(count)]


def test_there_are_several() -> None:
    assert {"region_manager", "precision_controller"} <= set(TABLES)


@pytest.mark.parametrize("payload", [64, 256, 1024])
@pytest.mark.parametrize("name", TABLES)
def test_requests_make_a_device_equal_to_the_mirror(name: str, payload: int) -> None:
    """Also where frames are short, and where the device has more entries than the mirror."""
    mirror = Mirror.empty(UNITS[name], GRANULAR)
    mirror = mirror.written(records(name, 3, seed=2), 0).written(records(name, 20, seed=payload), 3)
    model = CommandModel(GRANULAR)
    old = Mirror.empty(UNITS[name], GRANULAR).written(records(name, 30, seed=1), 0)
    for request in old.requests(FrameSize(1024), 0):
        assert model.execute(bytes([request.opcode]) + request.payload)[0] == 0
    size_of_frames = FrameSize(payload)
    for request in mirror.requests(size_of_frames, 30):
        assert len(request.payload) <= size_of_frames.payload
        assert model.execute(bytes([request.opcode]) + request.payload)[0] == 0
    items = 40 * UNITS[name].items_per_entry
    assert model[name].table.read(0, items) == mirror.read(0, 40)
    assert mirror.read(23, 17) == bytes(17 * size(UNITS[name].table.record))


@pytest.mark.parametrize("name", TABLES)
def test_a_step_makes_another_mirror(name: str) -> None:
    """The same one with records and without; that of before stays as it is."""
    unit, rng = UNITS[name], random.Random(3)
    assert unit.table is not None
    step = unit[unit.table.step]
    settings = pack(RegionParameters, **SETTINGS[name]) if name in SETTINGS else None
    before = Mirror.empty(unit, GRANULAR).written(records(name, 20, seed=3), 0, settings)
    head = complete(step.request.record) if step.request.head else {}
    updates = []
    for number in range(9):
        drawn = unpack(step.request.items, rng.randbytes(step.request.item_size))
        fields = {key: value % 2**50 for key, value in drawn.items()} | {unit.table.number: number}
        updates.append(complete(step.request.items, **fields))
    kept = before.read(0, 20)
    packed = b"".join(pack(step.request.items, **own) for own in updates)
    after, decided = before.stepped([bytes(step.request.head_size) + packed])
    same, decisions = before.decided(head, updates)
    assert before.read(0, 20) == kept != after.read(0, 20)
    assert same.read(0, 20) == after.read(0, 20)
    assert decisions == unpack_all(step.reply.items, decided)


@pytest.mark.parametrize("name", TABLES)
def test_a_device_that_forgets_gets_its_records_back(name: str) -> None:
    transport = ForgetfulTransport(GRANULAR, every=15)
    with Coprocessor(transport, GRANULAR, url="test:", timeout=0.05, retries=40) as device:
        wanted = records(name, 40, seed=2)
        device.tables[name].configure(wanted, settings=SETTINGS.get(name))
        for _ in range(12):
            assert device.tables[name].read_bytes(0, 40) == b"".join(wanted)
        transport.every = sys.maxsize
        assert device.counters()["restored"] > 0
        assert device.tables[name].state() == wanted


def test_what_a_table_refuses() -> None:
    with adagrain.open_device("golden:", GRANULAR) as device:
        with pytest.raises(ValueError, match="settings of precision_controller must be None: it"):
            device.precisions.configure([], settings={"workers": 1})
        with pytest.raises(ValueError, match="payload must begin with a record, but it has none"):
            device.precisions.decide([], loss=3)
        assert device.precisions.decide([]) == []
    with adagrain.open_device("golden:", configuration("small")) as device:
        with pytest.raises(
            ValueError, match="precision_controller must be built, but device preset 'sm"
        ):
            device.precisions.read(0, 1)
        assert not device.precisions.decides_alone


def test_settings_may_be_zero() -> None:
    """They are written like any others, again too; what was never written is not."""
    unit = UNITS["region_manager"]
    assert unit.settings is not None
    zeros = bytes(size(RegionParameters))
    before = Mirror.empty(unit, GRANULAR).written(records(unit.name, 2, seed=4), 0)
    with pytest.raises(ValueError, match="regions must be configured before they are updated"):
        before.check_updates([1])
    after = before.written([], 0, zeros).written(records(unit.name, 2, seed=5), 0)
    after.check_updates([1])
    wanted = Request(unit.settings.opcode, zeros)
    sent = [list(mirror.requests(FrameSize(1024), 0)) for mirror in (before, after)]
    assert [wanted in requests for requests in sent] == [False, True]


def test_steps_are_as_few_as_a_frame_allows() -> None:
    table = MirroredTable(UNITS["precision_controller"], GRANULAR, session=None, recovery=None)
    width = 16
    steps = table._steps([bytes([n]) * width for n in range(20)], b"", FrameSize(256))
    assert b"".join(steps) == bytes(n for n in range(20) for _ in range(width))
    assert [len(step) // width for step in steps] == [16, 4]


def test_the_golden_model_decides_where_no_region_manager_is_built() -> None:
    small = configuration("tiny", units=("statistics",))
    with adagrain.open_device("golden:", small) as device:
        table = device.tables["region_manager"]
        assert table.decides_alone and not table.is_built
        assert device.backend.endswith("; region_manager is not built: golden model decides")
        table.configure(records("region_manager", 2, seed=3), settings=default_parameters(1))
        assert len(table.decide([{"region": 1}], loss_valid=0)) == 1


@pytest.mark.parametrize("direct", [True, False])
def test_devices_in_this_process_decide_alike_with_frames_and_without(direct: bool) -> None:
    """And what one has taken over, it does not change for the driver."""
    with adagrain.open_device("golden:", GRANULAR, direct=direct) as device:
        table = device.tables["region_manager"]
        table.configure([region_record()] * 3, settings=default_parameters(2))
        update = {
            "region": 1,
            "exponent": 130,
            "usable": 1,
            "decide": 1,
            "a": 1 << 30,
            "n": 1 << 28,
        }
        for _ in range(3):
            table.decide([update], loss=9, loss_valid=1)
        assert table.read(1, 1)[0]["samples"] == 3
        assert device.counters()["decisions"] == 3
        assert table.read_bytes(0, 3) == b"".join(table.state())
        zeros = bytes(size(RegionRecord))
        device._session.call([Request(RegionOpcode.WRITE, bytes(2) + zeros)])
        assert device._session.transport._model.commands["region_manager"].table.read(0, 8) == zeros
        assert table.state()[0] != zeros
