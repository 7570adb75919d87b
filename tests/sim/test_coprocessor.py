"""The whole device as compiled RTL against its golden model, over many random requests."""

import os
import random
from collections.abc import Callable

import pytest

from adagrain.models.interface.protocol import Status
from adagrain.models.interface.records import pack, size
from adagrain.models.interface.units import addresses
from adagrain.models.interface.units.granularity_unit import TileLoad, TileOpcode, TileRun
from adagrain.models.interface.units.region_manager import (
    RegionOpcode,
    RegionParameters,
    RegionStep,
)
from adagrain.models.interface.units.statistics import StatisticsBegin, StatisticsOpcode
from adagrain.models.interface.units.system import SystemOpcode
from adagrain.models.interface.units.tensor_input import TensorOpcode
from adagrain.models.link import encode_frame
from adagrain.models.region_manager.settings import default_parameters
from adagrain.sim.benches.coprocessor import VARIANTS
from adagrain.sim.benches.coprocessor.pair import Pair
from adagrain.sim.benches.coprocessor.traffic import Traffic
from adagrain.sim.benches.requests import Request

REQUESTS = 10_000 if os.environ.get("ADAGRAIN_FULL") == "1" else 400

PARAMETERS = pack(RegionParameters, **default_parameters(2))
STEP = bytes(size(RegionStep))


@pytest.mark.parametrize(
    "variant",
    [pytest.param(v, marks=pytest.mark.full) if v == "small" else v for v in VARIANTS],
)
def test_compiled_device_equals_the_model(variant: str, seed: int) -> None:
    generator = random.Random(seed)
    with Pair(VARIANTS[variant](), generator) as pair:
        traffic = Traffic(pair.model.configuration, generator)
        pair.open()
        prologue = [*traffic.prologue(), *traffic.long()]
        for request in [*prologue, *traffic.requests(REQUESTS)]:
            pair.ask(request)
        pair.check_silence()


@pytest.fixture(scope="module")
def pair_of() -> Callable[[str], Pair]:
    """A variant's device and its model, after a reset and with a session."""
    pairs: dict[str, Pair] = {}

    def opened(variant: str) -> Pair:
        if variant not in pairs:
            pairs[variant] = Pair(VARIANTS[variant](), random.Random(0))
        pairs[variant].reset()
        pairs[variant].open()
        return pairs[variant]

    return opened


Opened = Callable[[str], Pair]


@pytest.mark.parametrize("from_link", [0, 1])
@pytest.mark.parametrize("variant", ["tiny_whole", "full"])
@pytest.mark.parametrize("count", [2**32 - 1, 2**32 - 3, 2**32 - 4, 2**31])
def test_the_longest_tensors(pair_of: Opened, variant: str, from_link: int, count: int) -> None:
    """More than 2**30 groups of FP32: all are missed when the pass ends."""
    pair = pair_of(variant)
    begin = pack(StatisticsBegin, count=count, exponent=127, from_link=from_link)
    assert pair.ask(Request(StatisticsOpcode.BEGIN, begin)).status == Status.OK
    wanted = Status.OK if from_link else Status.OVERFLOW
    assert pair.ask(Request(TensorOpcode.DATA, bytes(32))).status == wanted
    assert pair.ask(Request(StatisticsOpcode.END)).status == Status.INCOMPLETE


def test_reserved_bits_of_parameters_read_as_zero(pair_of: Opened) -> None:
    pair = pair_of("tiny_whole")
    raw = PARAMETERS[:-4] + b"\xff" * 4
    assert pair.ask(Request(RegionOpcode.PARAMETERS, raw)).status == Status.OK
    read = pair.ask(Request(RegionOpcode.STATE)).payload
    assert read == PARAMETERS[:-4] + b"\1" + bytes(3)


def test_a_step_needs_parameters(pair_of: Opened) -> None:
    pair = pair_of("tiny_whole")
    assert pair.ask(Request(RegionOpcode.STEP, STEP[1:])).status == Status.BAD_LENGTH
    assert pair.ask(Request(RegionOpcode.STEP, STEP)).status == Status.NO_PARAMETERS
    refused = pair.ask(Request(RegionOpcode.PARAMETERS, bytes(len(PARAMETERS))))
    assert refused.status == Status.BAD_VALUE
    assert pair.ask(Request(RegionOpcode.STEP, STEP)).status == Status.NO_PARAMETERS
    pair.ask(Request(RegionOpcode.PARAMETERS, PARAMETERS))
    assert pair.ask(Request(RegionOpcode.STEP, STEP)).status == Status.OK


def test_what_was_not_begun_is_told_apart(pair_of: Opened) -> None:
    pair = pair_of("granular")
    run = pack(TileRun, words=1, rows=1)
    for opcode, payload, status in (
        (StatisticsOpcode.END, b"", Status.NOT_STARTED),
        (TensorOpcode.DATA, bytes(16), Status.NOT_STARTED),
        (StatisticsOpcode.HISTOGRAM, b"\0\1", Status.NO_HISTOGRAM),
        (TileOpcode.RUN, run, Status.NO_SUM),
        (RegionOpcode.STEP, STEP, Status.NO_PARAMETERS),
    ):
        assert pair.ask(Request(opcode, payload)).status == status


def test_words_of_a_run_are_counted_from_its_start(pair_of: Opened) -> None:
    """Read long before the slices have multiplied them all."""
    pair = pair_of("granular")
    words = pair.model.configuration.operands
    run = pack(TileRun, words=words, rows=1, first=1)
    assert pair.ask(Request(TileOpcode.RUN, run)).status == Status.OK
    counter = Request(SystemOpcode.REGISTERS, bytes([addresses()["tile_words"], 1]))
    assert pair.ask(counter).payload == words.to_bytes(4, "little")
    run = pack(TileRun, words=1, rows=8)  # has other rows: refused, and not counted
    assert pair.ask(Request(TileOpcode.RUN, run)).status == Status.NO_SUM
    assert pair.ask(counter).payload == words.to_bytes(4, "little")


@pytest.mark.parametrize("opcode", [StatisticsOpcode.HISTOGRAM, TileOpcode.RUN])
def test_granular_requests_right_behind_a_new_session_find_no_pass(
    pair_of: Opened, opcode: int
) -> None:
    """Though the unit is still being freed of it: they wait."""
    pair = pair_of("granular")
    if opcode == TileOpcode.RUN:
        begin = Request(TileOpcode.LOAD, pack(TileLoad, count=99, address=1, from_link=1))
        payload = pack(TileRun, words=1, rows=1, mode=2, first=1, last=1)
    else:
        record = pack(StatisticsBegin, count=99, exponent=127, from_link=1, histogram=1)
        begin, payload = Request(StatisticsOpcode.BEGIN, record), b"\0\1"
    for session in range(2, 20):
        pair.open(session)
        assert pair.ask(begin).status == Status.OK
        hello = encode_frame(100 + session, 0, SystemOpcode.HELLO)
        pair.exchange(hello + encode_frame(100 + session, 1, opcode, payload))
