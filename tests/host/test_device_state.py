"""State that a device hands over for a checkpoint, and takes back."""

import enum
from dataclasses import replace
from typing import Any

import pytest

import adagrain
from adagrain.host.device.coprocessor import Coprocessor
from adagrain.models.device.table_model import TableModel
from adagrain.models.device.tensor_input import TensorInputModel
from adagrain.models.interface.configuration import Configuration, configuration
from adagrain.models.interface.precision import Precision
from adagrain.models.interface.protocol import PROTOCOL_VERSION
from adagrain.models.interface.units import UNITS, Unit
from adagrain.models.interface.units.precision_controller import PRECISION_CONTROLLER
from adagrain.models.precision_controller import precision_record
from adagrain.models.region_manager.table import default_parameters, region_record


class Opcode(enum.IntEnum):
    """Operations of a unit from elsewhere."""

    WRITE = 0xB0
    READ = 0xB1
    STEP = 0xB2


def other_table() -> Unit:
    """A unit that keeps the precision controller's table under a name of its own."""
    of = PRECISION_CONTROLLER.table
    assert of is not None
    return replace(
        PRECISION_CONTROLLER,
        name="further",
        group=0xB,
        operations=tuple(
            replace(own, opcode=opcode)
            for own, opcode in zip(PRECISION_CONTROLLER.operations, Opcode, strict=True)
        ),
        table=replace(of, write=Opcode.WRITE, read=Opcode.READ, step=Opcode.STEP),
        needs=(),
        twin=f"{__name__}:Further",
    )


class Further(TableModel):
    """Golden model of that unit."""

    def __init__(self, configuration: Configuration, tensor_input: TensorInputModel) -> None:
        super().__init__(UNITS["further"], configuration, tensor_input)


def at_work(steps: int = 20) -> Coprocessor:
    device = adagrain.open_device("golden:", "small")
    device.configure_regions([region_record()] * 3, default_parameters(2))
    for step in range(steps):
        update = {"exponent": 120, "usable": 1, "decide": 1, "a": 1000 + step, "n": 400}
        device.update_regions([update | {"region": region} for region in range(3)], loss=step)
    return device


def decisions(device: Coprocessor) -> list[dict[str, int]]:
    update = {"region": 1, "exponent": 121, "usable": 1, "decide": 1, "a": 7, "n": 3}
    return device.update_regions([update], loss=5)


def test_another_device_goes_on_from_it() -> None:
    with at_work() as device, adagrain.open_device("golden:", "small") as other:
        other.load_state_dict(device.state_dict())
        assert other.read_regions(0, 3) == device.read_regions(0, 3)
        assert decisions(other) == decisions(device)


@pytest.mark.parametrize(
    ("change", "found"),
    [({"protocol": 3}, "3"), ({"protocol": None}, "None"), (None, "3 or older")],
)
def test_state_of_another_version_is_refused(change: dict[str, Any] | None, found: str) -> None:
    """Its records would be misread."""
    with at_work() as device:
        state = device.state_dict()
        if change is None:
            del state["protocol"]
        before = device.read_regions(0, 3)
        message = f"state must be of protocol {PROTOCOL_VERSION}, not {found}"
        with pytest.raises(ValueError, match=message):
            device.load_state_dict(state | (change or {}))
        assert device.read_regions(0, 3) == before


@pytest.mark.parametrize(
    ("state", "error", "message"),
    [
        ([1], TypeError, r"state must be a mapping, as state_dict\(\) gives it, not \[1\]"),
        ({"protocol": PROTOCOL_VERSION}, ValueError, "table, parameters, but there is no 'table'"),
        ({"table": b""}, ValueError, "table, parameters, but there is no 'parameters'"),
    ],
)
def test_what_is_no_state_is_refused(state: Any, error: type[Exception], message: str) -> None:
    with at_work() as device:
        before = device.state_dict()
        with pytest.raises(error, match=message):
            device.load_state_dict(state)
        assert device.state_dict() == before


@pytest.fixture
def with_a_further_table(monkeypatch: pytest.MonkeyPatch) -> Configuration:
    monkeypatch.setitem(UNITS, "further", other_table())
    return configuration("tiny", units=("statistics", "further"))


def test_tables_of_units_from_elsewhere_are_in_it(with_a_further_table: Configuration) -> None:
    record = precision_record((0.05, 0.1, 0.2), floor=Precision.INT4)
    update = {"channel_group": 0, "variance": 1 << 14, "square": 1 << 16}
    with adagrain.open_device("golden:", with_a_further_table) as device:
        device.tables["further"].configure([record] * 2)
        device.tables["further"].decide([update] * 5)
        state, wanted = device.state_dict(), device.tables["further"].read(0, 2)
    with adagrain.open_device("golden:", with_a_further_table) as other:
        other.load_state_dict(state)
        assert other.tables["further"].read(0, 2) == wanted
        assert other.tables["further"].mirror.configured == 2
        old = {key: value for key, value in state.items() if key != "tables"}
        other.load_state_dict(old)  # as before there was such a unit
        assert other.tables["further"].mirror.configured == 0


def test_parameters_that_were_never_written() -> None:
    """Older states have zeros in their place."""
    with adagrain.open_device("golden:", "small") as device:
        state = device.state_dict()
        assert state["parameters"] is None
        older = dict.fromkeys(default_parameters(2), 0)
        for parameters in (None, older):
            device.load_state_dict(state | {"parameters": parameters})
            assert not device.tables["region_manager"].mirror.has_settings
    with at_work() as device:
        assert device.state_dict()["parameters"]["workers"] == 2


def test_a_state_with_a_table_that_is_not_known_is_refused() -> None:
    with adagrain.open_device("golden:", "small") as device:
        state = device.state_dict() | {"tables": {"further": {"records": [], "settings": None}}}
        message = "state must be of tables region_manager, precision_controller, not of 'further'"
        with pytest.raises(ValueError, match=message):
            device.load_state_dict(state)
