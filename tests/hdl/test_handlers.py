"""The joints of units and a device: descriptors that do not fit their gateware are refused."""

import enum
from collections.abc import Iterator
from dataclasses import replace

import pytest
from amaranth.hdl import Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import Out

from adagrain.hdl.codec.encoder_commands import EncoderCommands
from adagrain.hdl.device import Coprocessor
from adagrain.hdl.device.handlers import handlers
from adagrain.hdl.difference import Difference
from adagrain.hdl.handler.choice import Choice
from adagrain.hdl.statistics.commands import StatisticsCommands
from adagrain.hdl.tensor_input.pass_commands import PassCommands
from adagrain.models.device.commands import CommandModel
from adagrain.models.interface.configuration import configuration
from adagrain.models.interface.formats import FormatCode
from adagrain.models.interface.units import (
    DIFFERENCE,
    STATISTICS,
    UNITS,
    Operation,
    Payload,
    Register,
    Unit,
)

TINY = configuration("tiny")
SMALL = configuration("small", regions=16)


IDLE = Register("idle", "what nobody drives")


def idle(kind: type[wiring.Component]) -> type[wiring.Component]:
    """The same component with an output that it does not drive."""

    class Idle(kind):  # type: ignore[misc, valid-type]
        def __init__(self, built_with: object) -> None:
            super().__init__(built_with)
            self.idle = Signal(32)

        @property
        def signature(self) -> wiring.Signature:
            return wiring.Signature({**super().signature.members, "idle": Out(32)})

    Idle.__name__ = f"Idle{kind.__name__}"
    return Idle


IdleDifference, IdleStatistics = idle(Difference), idle(StatisticsCommands)


@pytest.fixture
def changed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """``statistics`` has a register that no gateware drives."""
    more = Register("nobody", "what nobody drives")
    other = replace(STATISTICS, registers=(*STATISTICS.registers, more))
    monkeypatch.setitem(UNITS, "statistics", other)
    yield


def test_a_register_that_nobody_drives(changed: None) -> None:
    message = "register 'nobody' of unit 'statistics' must be an output of StatisticsCommands"
    with pytest.raises(ValueError, match=message):
        handlers(TINY, starvation=9)
    with pytest.raises(ValueError, match=message):
        Coprocessor(TINY).elaborate(None)


def test_a_register_that_its_handler_does_not_drive(monkeypatch: pytest.MonkeyPatch) -> None:
    unit = replace(
        STATISTICS,
        gateware=f"{__name__}:IdleStatistics",
        registers=(*STATISTICS.registers, IDLE),
    )
    monkeypatch.setitem(UNITS, "statistics", unit)
    message = "register 'idle' of unit 'statistics' must be driven by IdleStatisticsCommands, which"
    with pytest.raises(ValueError, match=message):
        Coprocessor(TINY).elaborate(None)


def test_an_operation_without_a_handler(monkeypatch: pytest.MonkeyPatch) -> None:
    class More(enum.IntEnum):
        ZERO = 0x1F

    more = Operation(More.ZERO, Payload(), Payload(), "sets all sums to 0")
    unit = replace(STATISTICS, operations=(*STATISTICS.operations, more))
    monkeypatch.setitem(UNITS, "statistics", unit)
    message = (
        "operation ZERO of unit 'statistics' must have a handler, but StatisticsCommands has none "
        "for 0x1f"
    )
    with pytest.raises(ValueError, match=message):
        Coprocessor(TINY).elaborate(None)


def test_a_handler_of_another_unit(monkeypatch: pytest.MonkeyPatch) -> None:
    unit = replace(STATISTICS, operations=STATISTICS.operations[:2])
    monkeypatch.setitem(UNITS, "statistics", unit)
    message = "opcodes of StatisticsCommands must be operations of unit 'statistics', not 0x13"
    with pytest.raises(ValueError, match=message):
        handlers(TINY, starvation=9)


def test_a_handler_that_tells_no_opcodes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(StatisticsCommands, "opcodes", None)
    message = "handler of unit 'statistics' must tell its opcodes, but StatisticsCommands has no"
    with pytest.raises(ValueError, match=message):
        handlers(TINY, starvation=9)


@pytest.mark.parametrize(
    ("unit", "message"),
    [
        (STATISTICS, "unit 'statistics' must name the core that takes its tensors"),
        (
            replace(DIFFERENCE, registers=(Register("nobody", "what nobody drives"),)),
            "register 'nobody' of unit 'difference' must be an output of Difference",
        ),
        (
            replace(DIFFERENCE, core=f"{__name__}:IdleDifference", registers=(IDLE,)),
            "register 'idle' of unit 'difference' must be driven by IdleDifference, which assigns "
            "nothing to it",
        ),
        (
            replace(DIFFERENCE, core="adagrain.hdl.difference:Zzz"),
            "unit 'difference' must name what is in adagrain.hdl.difference, not "
            "'adagrain.hdl.difference:Zzz'",
        ),
    ],
)
def test_cores_that_do_not_fit(unit: Unit, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        PassCommands(SMALL, unit).elaborate(None)


def test_a_unit_that_sends_by_no_port(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(UNITS, "statistics", replace(STATISTICS, sends=True))
    message = "unit 'statistics' must send by an output o_data of StatisticsCommands, which has"
    with pytest.raises(ValueError, match=message):
        handlers(TINY, starvation=9)


def test_elements_as_they_are_need_bf16() -> None:
    built = configuration("tiny", formats=(FormatCode.FP32, FormatCode.FP16))
    with pytest.raises(ValueError, match="formats must contain BF16 for 'encoder', not FP32, FP16"):
        EncoderCommands(built)


def test_an_operation_without_a_golden_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(UNITS, "difference", replace(DIFFERENCE, twin=STATISTICS.twin))
    message = "operation BEGIN of unit 'difference' must have a golden model"
    with pytest.raises(ValueError, match=message):
        CommandModel(SMALL)


def test_each_unit_that_is_built_has_a_handler() -> None:
    built = handlers(SMALL, starvation=9)
    assert [unit.name for unit in built] == [
        "system",
        "statistics",
        "region_manager",
        "difference",
        "encoder",
        "decoder",
        "tensor_input",
    ]
    assert len(built[UNITS["tensor_input"]].user) == 4


def test_a_choice_needs_handlers() -> None:
    with pytest.raises(ValueError, match="opcodes must be those of at least one handler, not none"):
        Choice([])
    with pytest.raises(ValueError, match="opcodes must be of one handler each, not 1"):
        Choice([(1, 2), (1,)])
