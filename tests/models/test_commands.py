"""Requests of the golden device, byte by byte: registers, and who answers."""

import pytest

from adagrain.models.device.commands import CommandModel
from adagrain.models.interface.configuration import PRESETS, configuration
from adagrain.models.interface.protocol import Status
from adagrain.models.interface.units import ALWAYS, LINK, UNITS, registers
from adagrain.models.interface.units.system import SystemOpcode

FULL, GRANULAR = configuration("full"), configuration("granular")
WORDS = 256


def asked(model: CommandModel, opcode: int, *payload: int) -> tuple[Status, bytes]:
    status, *reply = model.execute(bytes([opcode, *payload]))
    return Status(status), bytes(reply)


def words_of(model: CommandModel, first: int, count: int) -> list[int]:
    status, raw = asked(model, SystemOpcode.REGISTERS, first, count)
    assert status is Status.OK
    return [int.from_bytes(raw[at : at + 4], "little") for at in range(0, len(raw), 4)]


def test_units_are_the_bits_of_a_register() -> None:
    for preset in PRESETS.values():
        groups = {UNITS[name].group for name in (*preset.units, *ALWAYS)}
        assert preset.constants()["units"] == sum(1 << group for group in groups)


@pytest.mark.parametrize("built", [FULL, GRANULAR], ids=lambda built: built.preset)
def test_registers_are_read_one_by_one_and_many_at_once(built) -> None:
    numbers = {register.name: 1000 + place for place, register in enumerate(LINK.registers)}
    model = CommandModel(built, link_counters=lambda: numbers)
    model["statistics"].totals["elements"] = (5 << 32) + 7
    model["region_manager"].decisions = (1 << 32) + 3
    if "granularity_unit" in built.units:
        model["granularity_unit"]._words = (1 << 32) + 4
    wanted = dict.fromkeys(range(WORDS), 0)
    values = (
        built.constants() | numbers | {"elements": (5 << 32) + 7, "decisions": 3, "tile_words": 4}
    )
    for address, unit, register in registers():
        if unit in built.built():
            value = values.get(register.name, 0)
            wanted[address] = value & 0xFFFF_FFFF
            if register.words == 2:
                wanted[address + 1] = value >> 32
    found = [word for first in range(0, WORDS, 64) for word in words_of(model, first, 64)]
    assert found == list(wanted.values())
    assert len({*found}) > 15
    for address in range(WORDS):
        assert words_of(model, address, 1) == [wanted[address]]


@pytest.mark.parametrize(
    ("payload", "status"),
    [
        ((0, 0), Status.BAD_VALUE),
        ((255, 2), Status.BAD_VALUE),
        ((255, 1), Status.OK),
        ((3, 255), Status.BAD_VALUE),
        ((255, 255), Status.BAD_VALUE),
        ((0,), Status.BAD_LENGTH),
        ((0, 1, 1), Status.BAD_LENGTH),
        ((), Status.BAD_LENGTH),
    ],
)
def test_registers_that_there_are_not(payload: tuple[int, ...], status: Status) -> None:
    assert asked(CommandModel(FULL), SystemOpcode.REGISTERS, *payload)[0] is status


def test_registers_that_do_not_fit_a_reply() -> None:
    tiny = CommandModel(configuration("tiny"))
    assert asked(tiny, SystemOpcode.REGISTERS, 0, 64)[0] is Status.OK
    assert asked(tiny, SystemOpcode.REGISTERS, 0, 65)[0] is Status.BAD_VALUE


OPCODES = {operation.opcode for unit in UNITS.values() for operation in unit.operations}


@pytest.mark.parametrize("opcode", sorted({*range(256)} - OPCODES))
def test_operations_that_there_are_not(opcode: int) -> None:
    """A group of which the build has nothing is another matter than one that nobody has."""
    for built in (FULL, GRANULAR):
        unbuilt = {unit.group for unit in UNITS.values() if unit not in built.built()}
        group = Status.UNSUPPORTED if opcode >> 4 in unbuilt else Status.UNKNOWN_OPCODE
        assert asked(CommandModel(built), opcode) == (group, b"")


@pytest.mark.parametrize("built", [FULL, GRANULAR], ids=lambda built: built.preset)
def test_a_length_that_no_request_of_an_operation_has(built) -> None:
    model = CommandModel(built)
    for unit in built.built():
        for operation in unit.operations:
            for length in range(80):
                if not operation.request.fits(length):
                    assert asked(model, operation.opcode, *bytes(length)) == (
                        Status.BAD_LENGTH,
                        b"",
                    )
