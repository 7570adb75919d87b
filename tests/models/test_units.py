"""Descriptors of units: what they refuse, and what follows from them."""

import enum
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace

import pytest
from amaranth.hdl import unsigned
from amaranth.lib import data

from adagrain.models.interface import units
from adagrain.models.interface.units import (
    STATISTICS,
    UNITS,
    Operation,
    Payload,
    Register,
    Table,
    Unit,
)
from adagrain.models.interface.units.ranges import First, Range
from adagrain.models.interface.units.tensor_input import TENSOR_FIELDS

_WORD = data.StructLayout({"word": unsigned(32)})
_BEGIN = data.StructLayout({**TENSOR_FIELDS, "from_link": unsigned(1), "_reserved": unsigned(7)})
_NOTHING, _RECORD, _BEGUN = Payload(), Payload(_WORD), Payload(_BEGIN)
_WORDS = Payload(items=_WORD)


class _Own(enum.IntEnum):
    BEGIN = 0xA0
    WRITE = 0xA1
    READ = 0xA2
    STEP = 0xA3


_READ = Operation(_Own.READ, _NOTHING, _NOTHING, "reads")


def own(**changes: object) -> Unit:
    """A unit that the project does not have."""
    operation = Operation(_Own.BEGIN, Payload(_WORD), _NOTHING, "begins")
    unit = Unit("own", 0xA, "its own", (operation,), gateware="a:A", twin="b:B")
    return replace(unit, **changes)


def keeping(
    item: int = 32,
    number: str = "word",
    written: data.StructLayout = First,
    asked: data.StructLayout = Range,
    decisions: Payload = _WORDS,
    record: data.StructLayout = _WORD,
    **changes: object,
) -> Unit:
    """A unit with a table whose requests write items of so many bits."""
    operations = (
        Operation(_Own.WRITE, Payload(written, unsigned(item)), _NOTHING, "writes"),
        Operation(_Own.READ, Payload(asked), Payload(items=unsigned(32)), "reads"),
        Operation(_Own.STEP, Payload(items=_WORD), decisions, "decides"),
    )
    opcodes = {"write": _Own.WRITE, "read": _Own.READ, "step": _Own.STEP} | changes
    table = Table(record, number, lambda _: 8, model="c:C", **opcodes)
    return own(operations=operations, table=table)


def asking(request: Payload, reply: Payload = _NOTHING) -> Unit:
    """A unit with one operation."""
    return own(operations=(Operation(_Own.BEGIN, request, reply, "begins"),))


def passing(
    begin: data.StructLayout | None = _BEGIN,
    reply: Payload = _RECORD,
    end: Payload = _NOTHING,
    **changes: object,
) -> Unit:
    """A unit that takes a tensor, whose passes begin and end with such records."""
    operations = (
        Operation(_Own.BEGIN, Payload(begin), _NOTHING, "begins"),
        Operation(_Own.WRITE, end, reply, "ends"),
    )
    passes = (_Own.BEGIN, _Own.WRITE)
    return own(**{"operations": operations, "tensors": ("x",), "passes": passes} | changes)


def with_core(request: Payload = _BEGUN, reply: Payload = _NOTHING, **changes: object) -> Unit:
    """One whose handler is that of any passes, which begin with such payloads."""
    begin = Operation(_Own.BEGIN, request, reply, "begins")
    operations = (begin, passing().end)
    return passing(**{"operations": operations, "gateware": "", "core": "a:A"} | changes)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: keeping(read=_Own.BEGIN),
            "read of the table of own must be an operation of it, not <_Own.BEGIN: 160>",
        ),
        (
            lambda: keeping(item=16),
            "record of the table of own, 4 bytes, must be written and read in whole items of one "
            "size, not of 2 and of 4 bytes",
        ),
        (
            lambda: keeping(number="entry"),
            "updates of the table of own must have a field 'entry'",
        ),
        (lambda: own().item_size, "unit 'own' must keep a table, but it has none"),
        (lambda: own(group=16), "group of own must be from 0 to 15, not 16"),
        (lambda: own(group=9), "opcode BEGIN of own must be of group 0x9, not 0xa0"),
        (lambda: own(gateware=""), "own must have a handler and a twin for its operations"),
        (lambda: own(twin=""), "own must have a handler and a twin for its operations"),
        (
            lambda: own(registers=tuple(Register(f"r{n}", "", bits=64) for n in range(9))),
            "registers of own must be at most 16 words, not 18",
        ),
        (
            lambda: own(records={"Odd": data.StructLayout({"odd": 7})}),
            "record Odd of own must be whole bytes long, not 7 bits",
        ),
        (lambda: Register("long", "", bits=48), "register long must have 32 or 64 bits, not 48"),
        (
            lambda: asking(Payload(data.StructLayout({"odd": 7}))),
            "record of the request BEGIN of own must be whole bytes long, not 7 bits",
        ),
        (
            lambda: asking(_NOTHING, Payload(items=unsigned(4))),
            "items of the reply BEGIN of own must be whole bytes long, not 4 bits",
        ),
        (
            lambda: asking(Payload(items=unsigned(24))),
            "items of the request BEGIN of own must be a power of two bytes long, not 3",
        ),
        (
            lambda: own(operations=(*own().operations, *own().operations)),
            "opcode 0xa0 of own must be of one operation, not of two",
        ),
        (
            lambda: own(registers=(Register("same", "one"), Register("same", "two"))),
            "register 'same' of own must be one, not two",
        ),
        (
            lambda: own(tensors=("x",)),
            "own must name the requests of its passes, not None",
        ),
        (
            lambda: own(gateware="", core="a:A"),
            "own must name the requests of its passes, not None",
        ),
        (lambda: passing(tensors=()), "own must name the tensors that its passes take, not none"),
        (
            lambda: passing(passes=(_Own.BEGIN, _Own.STEP)),
            "passes of own must be operations of it, not <_Own.STEP: 163>",
        ),
        (
            lambda: passing(gateware="", core="a:A", operations=(*passing().operations, _READ)),
            "operations of own must be those of its passes, since it has no handler but a core, "
            "not READ",
        ),
        (
            lambda: passing(_WORD),
            "record of the request BEGIN of own must begin with TENSOR_FIELDS and have from_link, "
            "not be of word",
        ),
        (
            lambda: passing(data.StructLayout(TENSOR_FIELDS)),
            "record of the request BEGIN of own must begin with TENSOR_FIELDS and have from_link, "
            "not be of count, format",
        ),
        (
            lambda: passing(data.StructLayout({"count": 8, "format": 32, "from_link": 8})),
            "record of the request BEGIN of own must begin with TENSOR_FIELDS and have from_link, "
            "not be of count, format, from_link",
        ),
        (
            lambda: passing(None),
            "record of the request BEGIN of own must begin with TENSOR_FIELDS and have from_link, "
            "not be of nothing",
        ),
        (
            lambda: passing(reply=Payload(items=_WORD)),
            "reply WRITE of own must be a record of some bytes alone, not items of 4 bytes",
        ),
        (
            lambda: passing(reply=Payload(_WORD, unsigned(8))),
            "reply WRITE of own must be a record of some bytes alone, not record of 4 bytes and "
            "items of 1 bytes",
        ),
        (
            lambda: passing(reply=Payload(data.StructLayout({}))),
            "reply WRITE of own must be a record of some bytes alone, not record of 0 bytes",
        ),
        (
            lambda: passing(end=_RECORD),
            "request WRITE of own must be empty, not record of 4 bytes",
        ),
        (
            lambda: with_core(Payload(_BEGIN, unsigned(8))),
            "request BEGIN of own must be a record of some bytes alone, not record of 6 bytes and "
            "items of 1 bytes",
        ),
        (
            lambda: with_core(sends=True),
            "own must send by a handler of its own, gateware, not by a core",
        ),
        (
            lambda: with_core(reply=_RECORD),
            "reply BEGIN of own must be empty, not record of 4 bytes",
        ),
        (
            lambda: passing(data.StructLayout({**TENSOR_FIELDS, "from_link": unsigned(8)})),
            "from_link of the request BEGIN of own must be one bit, not 8",
        ),
        (
            lambda: passing(passes=(_Own.WRITE, _Own.WRITE)),
            "passes of own must begin and end with two operations, not with WRITE",
        ),
        (
            lambda: keeping(written=Range),
            "request WRITE of own must begin with First, not be record of 3 bytes and items of 4",
        ),
        (
            lambda: keeping(asked=First),
            "request READ of own must begin with Range, not be record of 2 bytes",
        ),
        (
            lambda: keeping(decisions=_NOTHING),
            "reply STEP of own must be decisions alone, not empty",
        ),
        (
            lambda: keeping(decisions=Payload(_WORD, _WORD)),
            "reply STEP of own must be decisions alone, not record of 4 bytes and items of 4 bytes",
        ),
        (
            lambda: keeping(decisions=Payload(items=unsigned(40))),
            "decisions of the table of own must be no longer than updates, 4 bytes, not 5",
        ),
        (
            lambda: keeping(record=data.StructLayout({"long": unsigned(256 * 32)})),
            "entry of the table of own must be at most 255 items, not 256",
        ),
        (
            lambda: keeping(settings=_Own.BEGIN),
            "settings of the table of own must be an operation of it, not <_Own.BEGIN: 160>",
        ),
        (
            lambda: keeping(settings=_Own.STEP),
            "request STEP of own must be a record of some bytes alone, not items of 4 bytes",
        ),
        (
            lambda: own(registers=(Register("tensor", ""),)),
            "register of own must be named unlike what its gateware has, handler, tensor, o_data, "
            "opcodes, signature, elaborate, not 'tensor'",
        ),
        (
            lambda: with_core(registers=(Register("i", "", sums="word"),)),
            "register of own must be named unlike what its gateware has, .*refusal, not 'i'",
        ),
        (
            lambda: passing(registers=(Register("r", "", sums="word", constant=lambda _: 1),)),
            "register 'r' of own must sum 'word' or be constant, not both",
        ),
        (
            lambda: passing(registers=(Register("sum", "", sums="zzz"),)),
            "register 'sum' of own must sum a field of the record that ends its passes, not 'zzz'",
        ),
        (
            lambda: own(registers=(Register("sum", "", sums="word"),)),
            "register 'sum' of own must sum a field of the record that ends its passes, not 'word'",
        ),
    ],
)
def test_descriptors_that_cannot_be(make: Callable[[], object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


def test_a_handler_of_ones_own_may_do_more() -> None:
    """What only the handler of any passes cannot do, and names that only a core has."""
    request, reply = Payload(_BEGIN, unsigned(8)), _RECORD
    operations = (Operation(_Own.BEGIN, request, reply, "begins"), passing().end)
    assert passing(operations=operations, registers=(Register("i", ""),)).begin.reply == reply
    assert with_core().begin.reply == _NOTHING


def test_a_pass_over_a_tensor() -> None:
    unit = passing(registers=(Register("sum", "", sums="word"),))
    assert (unit.begin.opcode, unit.end.opcode) == (_Own.BEGIN, _Own.WRITE)


@pytest.mark.parametrize(
    ("place", "message"),
    [
        (
            "own_unit.zzz:Large",
            "unit 'own' must name a module that can be imported, not 'own_unit.zzz:Large': "
            "No module named 'own_unit'",
        ),
        (":Large", "unit 'own' must name a module that can be imported, not ':Large': Empty"),
        ("enum:Zzz", "unit 'own' must name what is in enum, not 'enum:Zzz'"),
        ("enum", "unit 'own' must name what is in enum, not 'enum'"),
    ],
)
def test_places_that_there_are_not(place: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        units.load(own(), place)


def test_items_of_a_table() -> None:
    unit = keeping()
    assert (unit.item_size, unit.items_per_entry) == (4, 1)
    assert units.UNITS["region_manager"].items_per_entry == 8


@pytest.mark.parametrize(
    ("unit", "message"),
    [
        (
            own(name="statistics"),
            "name of unit 'statistics' must be its own, not 'statistics', which 'statistics' has",
        ),
        (
            own(group=1, operations=(), gateware="", twin=""),
            "group of unit 'own' must be its own, not 1, which 'statistics' has",
        ),
        (
            own(registers=(Register("elements", ""),)),
            "register of unit 'own' must have a name of its own, not 'elements', "
            "which 'statistics' has",
        ),
        (
            passing(tensors=("a", "b", "c")),
            "unit 'own' must take at most 2 tensors at once, not 3",
        ),
        (own(needs=("codec",)), "unit 'own' must need units that there are, not 'codec'"),
    ],
)
def test_units_that_cannot_be_beside_others(unit: Unit, message: str) -> None:
    before = dict(UNITS)
    with pytest.raises(ValueError, match=message):
        units.declare(unit)
    assert before == UNITS


def test_a_unit_may_be_declared_twice() -> None:
    assert units.declare(STATISTICS) is STATISTICS


def test_registers_have_places_of_their_own() -> None:
    places = [
        address + half
        for address, _, register in units.registers()
        for half in range(register.words)
    ]
    assert len(places) == len({*places})
    assert all(unit.group == address >> 4 for address, unit, _ in units.registers())


@pytest.mark.parametrize(
    ("payload", "fitting"),
    [
        (_NOTHING, {0}),
        (Payload(_WORD), {4}),
        (Payload(items=unsigned(16)), {0, 2, 4, 6, 8}),
        (Payload(_WORD, unsigned(16), least=1), {6, 8}),
    ],
)
def test_lengths(payload: Payload, fitting: set[int]) -> None:
    assert {length for length in range(10) if payload.fits(length)} == fitting


@pytest.mark.parametrize("module", ["models.interface.units", "hdl.device", "hdl.link", "hdl.flow"])
def test_gateware_needs_neither_torch_nor_numba(module: str) -> None:
    script = f"import sys, adagrain.{module}; print({{'torch', 'numba'}} & sys.modules.keys())"
    found = subprocess.run(
        [sys.executable, "-c", script], check=False, capture_output=True, text=True
    )
    assert found.stdout == "set()\n", found.stderr
