"""Requests of the golden device, octet by octet: registers, and who answers."""

import pytest

from adagrain.models.device.commands import CommandModel, identity
from adagrain.models.interface.configuration import configuration
from adagrain.models.interface.protocol import REGISTERS, Opcode, Status, Unit

FULL = configuration("full")
COUNT = len(REGISTERS)


def asked(model: CommandModel, opcode: int, *payload: int) -> tuple[Status, bytes]:
    status, *reply = model.execute(bytes([opcode, *payload]))
    return Status(status), bytes(reply)


def test_units_are_the_bits_of_a_register() -> None:
    assert [int(unit) for unit in Unit] == list(range(len(Unit)))
    for unit in list(Unit)[1:]:
        built = configuration("tiny", units=(Unit.STATISTICS, unit))
        assert identity(built)["units"] == 1 | 1 << unit


def test_registers_are_read_one_by_one_and_all_at_once() -> None:
    numbers = {name: 1000 + place for place, name in enumerate(REGISTERS)}
    own = identity(FULL) | dict.fromkeys(
        ("elements_low", "elements_high", "decisions", "tile_words"), 0
    )
    model = CommandModel(FULL, link_counters=lambda: numbers)
    model.elements, model.decisions, model.tile_words = (5 << 32) + 7, (1 << 32) + 3, (1 << 32) + 4
    own |= {"elements_low": 7, "elements_high": 5, "decisions": 3, "tile_words": 4}
    wanted = numbers | {name: own[name] for name in own if name not in identity(FULL)}
    status, octets = asked(model, Opcode.READ_REGISTERS, 0, COUNT)
    assert status is Status.OK
    read = [int.from_bytes(octets[at : at + 4], "little") for at in range(0, len(octets), 4)]
    assert read == list(wanted.values())
    for place in range(COUNT):
        one = asked(model, Opcode.READ_REGISTERS, place, 1)
        assert one == (Status.OK, octets[4 * place : 4 * place + 4])


@pytest.mark.parametrize(
    ("payload", "status"),
    [
        ((0, 0), Status.BAD_VALUE),
        ((0, COUNT + 1), Status.BAD_VALUE),
        ((COUNT, 1), Status.BAD_VALUE),
        ((COUNT - 1, 2), Status.BAD_VALUE),
        ((255, 255), Status.BAD_VALUE),
        ((0,), Status.BAD_LENGTH),
        ((0, 1, 1), Status.BAD_LENGTH),
        ((), Status.BAD_LENGTH),
    ],
)
def test_registers_that_there_are_not(payload: tuple[int, ...], status: Status) -> None:
    assert asked(CommandModel(FULL), Opcode.READ_REGISTERS, *payload) == (status, b"")


@pytest.mark.parametrize("opcode", sorted({*range(256)} - {int(opcode) for opcode in Opcode}))
def test_operations_that_there_are_not(opcode: int) -> None:
    """A group of which the build has nothing is another matter than one that nobody has."""
    group = Status.UNSUPPORTED if opcode >> 4 in (3, 4) else Status.UNKNOWN_OPCODE
    assert asked(CommandModel(FULL), opcode) == (group, b"")
